"""One attempt on one machine: the dialect that it speaks, over the connections and with the key that are its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from appliance.cluster.connections import open_session
from appliance.cluster.identity import Identity, client_context
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine
from appliance.dialects.chat import Chat, Event, Finish, Message, Text, TextDelta, Usage
from appliance.dialects.ollama.body import Prepared, Target, prepare
from appliance.dialects.openai.upstream import written
from appliance.dialects.upstream import Outgoing
from appliance.errors import LocalLaneUnavailable
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.limits import Timeouts
from appliance.lanes.machines import MachineLane
from tests.upstreams.compatible import compatible_double
from tests.upstreams.ollama import OllamaDouble, answers, line, refuses, says
from tests.waiting import until

TIMEOUTS = Timeouts(connect=2, first_byte=5, idle=5, total=10)
HI = Chat((Message("user", (Text("Hi"),)),))
KEY = {"Authorization": "Bearer secret-of-the-machine"}


@pytest.fixture
async def links() -> AsyncIterator[Links]:
    made = Links(lambda tls: open_session(tls=tls))
    yield made
    await made.close()


def for_ollama() -> Prepared:
    return prepare(HI, Target("double"), new_id=lambda: "call_1")


def for_others() -> Outgoing:
    return written(HI, model="org/model", new_id=lambda: "call_1", compatible=True)


async def run(links: Links, machine: Machine, body: Prepared | Outgoing) -> list[Event]:
    return [event async for event in MachineLane(links, TIMEOUTS).ask(machine, body)]


async def test_ollama_is_spoken_to_in_its_own_way(links: Links, ollama: OllamaDouble):
    ollama.default = answers("Hel", "lo")
    machine = Machine("m", "m", ollama.url, "loopback")
    assert await run(links, machine, for_ollama()) == [TextDelta("Hel"), TextDelta("lo"), Finish("stop", Usage(7, 2))]
    assert ollama.received == [for_ollama().body]
    assert "Authorization" not in ollama.headers[0]


async def test_one_with_a_key_gets_it_and_no_other_does(links: Links, ollama: OllamaDouble):
    await links.put("keyed", None, KEY)
    for name in ("keyed", "other"):
        await run(links, Machine(name, name, ollama.url, "open"), for_ollama())
    assert [headers.get("Authorization") for headers in ollama.headers] == [KEY["Authorization"], None]


async def test_a_server_that_speaks_like_openai(links: Links):
    async with compatible_double("vllm", key="secret-of-the-machine") as double:
        await links.put("m", None, KEY)
        machine = Machine("m", "m", double.url, "open", kind="openai-compatible")
        events = await run(links, machine, for_others())
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello there."
    assert isinstance(events[-1], Finish)


async def test_one_that_was_put_out_meanwhile_gets_nothing_and_another_may_answer(links: Links, ollama: OllamaDouble):
    identity = Identity.create()
    machine = Machine("p", "p", ollama.url, "pinned")
    await links.put("p", client_context(identity, identity.certificate))
    await links.drop("p")
    for body in (for_ollama(), for_others()):
        with pytest.raises(AttemptFailed) as failed:
            await run(links, machine, body)
        assert isinstance(failed.value.error, LocalLaneUnavailable)
        assert (failed.value.elsewhere, failed.value.reached) == (True, False)
        assert "not admitted any more" in failed.value.error.message
    assert ollama.received == []


async def test_one_that_is_put_out_in_the_middle_of_its_answer_breaks_off_at_once(links: Links, ollama: OllamaDouble):
    await links.put("m", None, KEY)
    ollama.default = says(line("Hel"), asyncio.Event())
    machine = Machine("m", "m", ollama.url, "open")
    async with asyncio.timeout(2), aclosing(MachineLane(links, TIMEOUTS).ask(machine, for_ollama())) as told:
        assert await anext(told) == TextDelta("Hel")
        await links.drop("m")
        with pytest.raises(AttemptFailed) as failed:
            await anext(told)
    assert (failed.value.elsewhere, failed.value.severed) == (True, True)
    await until(lambda: ollama.left == 1)


async def test_closing_the_answer_stops_the_machine(links: Links, ollama: OllamaDouble):
    ollama.default = says(line("Hel"), asyncio.Event())
    async with aclosing(MachineLane(links, TIMEOUTS).ask(Machine("m", "m", ollama.url, "open"), for_ollama())) as told:
        assert await anext(told) == TextDelta("Hel")
    await until(lambda: ollama.left == 1)


async def test_no_error_tells_the_key(links: Links):
    async with compatible_double("vllm") as double:
        await links.put("m", None, KEY)
        double.default = refuses(500, "the header was Bearer secret-of-the-machine")
        machine = Machine("m", "m", double.url, "open", kind="openai-compatible")
        with pytest.raises(AttemptFailed) as failed:
            await run(links, machine, for_others())
    assert "secret-of-the-machine" not in str(failed.value.error)


async def test_the_time_that_a_call_has_used_up_counts(links: Links, ollama: OllamaDouble):
    ollama.default = says(asyncio.Event())
    machine = Machine("m", "m", ollama.url, "open")
    async with aclosing(MachineLane(links, TIMEOUTS).ask(machine, for_ollama(), elapsed=9.9)) as told:
        with pytest.raises(AttemptFailed, match="took longer than 10 s"):
            await anext(told)
    await until(lambda: ollama.left == 1)
