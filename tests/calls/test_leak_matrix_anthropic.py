"""Every category in every position of a Messages body to every provider, whole and streamed: nothing leaks and all is
restored.

Generated; `leaks` says what is put where, and what each call asserts. Beside it what only this dialect has: thoughts
that are signed, the name of the end user in `metadata`, and a body that is forwarded as it came.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.box import Box
from tests.calls.leaks import masked_and_restored, matrix, nested, saying, tokens_of
from tests.calls.outside import KINDS, add, answer_text, last_body, outside, received, spellings
from tests.upstreams import anthropic as upstream
from tests.upstreams.anthropic import AnthropicDouble
from tests.upstreams.anthropic_events import block, end, start
from tests.upstreams.anthropic_rules import SIGNATURE as GIVEN_OUT

MESSAGES = "/v1/messages"
SIGNATURE = f"{GIVEN_OUT}Dab3hGgxBdjrkzLoky3dl1pkiMOYdsEqQBCgIYAhIM1gbcDa9GJ"
HI: Any = {"role": "user", "content": "Hi"}
LOOK = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [*blocks]}]}


def loop(call: Any, content: Any) -> dict[str, Any]:
    """A call and its result."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
    return {"messages": [HI, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def document(**fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, **fields}


POSITIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "system": lambda said: {"system": said, "messages": [HI]},
    "system block": lambda said: {"system": [text("Be brief."), text(said)], "messages": [HI]},
    "system turn": lambda said: {"messages": [HI, {"role": "system", "content": said}]},
    "user": lambda said: {"messages": [{"role": "user", "content": said}]},
    "user block": lambda said: user(text("Look:"), text(said)),
    "assistant": lambda said: {"messages": [HI, {"role": "assistant", "content": said}, HI]},
    "assistant block": lambda said: {"messages": [HI, {"role": "assistant", "content": [text(said)]}, HI]},
    "document": lambda said: user(document(source={"type": "text", "media_type": "text/plain", "data": said})),
    "document of blocks": lambda said: user(document(source={"type": "content", "content": [text(said)]})),
    "title of a document": lambda said: user(document(title=said)),
    "context of a document": lambda said: user(document(context=said)),
    "input of a call": lambda said: loop({**LOOK, "input": {"rows": [{"said": said}]}}, "done"),
    "result": lambda said: loop(LOOK, said),
    "result of blocks": lambda said: loop(LOOK, [text("It says:"), text(said)]),
    "nested JSON": lambda said: loop(LOOK, nested(said)),
    "tool description": lambda said: {"messages": [HI], "tools": [{**TOOL, "description": said}]},
}


async def post(gateway: Box, fields: dict[str, Any]) -> Any:
    return await gateway.http.post(MESSAGES, content=orjson.dumps({"model": "m", "max_tokens": 99, **fields}))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_leaks_and_all_is_restored(tmp_path: Path, kind: str, stream: bool):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        if isinstance(double, AnthropicDouble):
            double.lenient = True  # system turns are for models that say so
        for position, categories in matrix(POSITIONS, kind, stream):
            fields = POSITIONS[position](saying(categories))
            used = [TOOL] if "toolu_1" in str(fields) else []
            body = {"model": "m", "max_tokens": 99, "stream": stream, "tools": used, **fields}
            where = f"{categories} in {position} to {kind}"
            await masked_and_restored(gateway, double, MESSAGES, body, categories, where)


NUMBER_POSITIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "input of a call": lambda said: loop({**LOOK, "input": {"phone": said}}, "done"),
    "result": lambda said: loop(LOOK, orjson.dumps({"phone": {"value": said}}).decode()),
    "schema": lambda said: {"messages": [HI], "tools": [with_property({"type": "integer", "default": said})]},
    "list of a schema": lambda said: {"messages": [HI], "tools": [with_property({"enum": [said]})]},
    "metadata": lambda said: {"messages": [HI], "metadata": {"phone": said}},
    "member that nobody knows": lambda said: {"messages": [HI], "extra": {"phone": said}},
    "member of a block": lambda said: user({**text("Hi"), "phone": said}),
}


def with_property(phone: dict[str, Any]) -> dict[str, Any]:
    return {**TOOL, "input_schema": {"type": "object", "properties": {"phone": phone}}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("position", NUMBER_POSITIONS)
async def test_a_number_is_read_wherever_it_stands_and_however_it_is_written(tmp_path: Path, position: str, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        if isinstance(double, AnthropicDouble):
            double.lenient = True  # it would refuse members that it does not know
        for number in (33612345678, -33612345678, 33612345678.0):
            answer = await post(gateway, {"tools": [TOOL], **NUMBER_POSITIONS[position](number)})
            assert answer.status_code == 200, answer.text
        assert b"33612345678" not in received(double)
        # What is for Anthropic alone, or for nobody, does not go to the others.
        assert b"[PHONE_" in received(double) or (kind != "anthropic" and position.startswith("me"))


@pytest.mark.parametrize("kind", KINDS)
async def test_who_asks_is_told_to_nobody(tmp_path: Path, kind: str):
    # Real clients send a JSON string with the id of a device in it.
    who = orjson.dumps({"device_id": "d" * 32, "email": "jane.roe@example.org"}).decode()
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        seen: list[Any] = []
        for _ in range(2):
            answer = await post(gateway, {"messages": [HI], "metadata": {"user_id": who}})
            assert answer.status_code == 200, answer.text
            seen.append(last_body(double))
        for form in (*spellings("jane.roe@example.org"), b"d" * 32):
            assert form not in received(double)
        assert seen[0] == seen[1]
        if kind == "anthropic":
            assert re.fullmatch("[0-9a-f]{32}", seen[0]["metadata"]["user_id"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_value_comes_back_in_the_input_of_a_call(tmp_path: Path, stream: bool):
    value = "Jean Dupuis"
    async with outside(tmp_path / "state", "anthropic") as (gateway, double):

        async def call(request: Any, body: Any) -> Any:
            given = orjson.dumps({"who": tokens_of(orjson.dumps(body))}).decode()
            return await upstream.calls(("look", tuple(given)))(request, body)

        double.default = call  # type: ignore[assignment]
        answer = await post(gateway, {**user(text(f"Patient : {value}, stable.")), "tools": [TOOL], "stream": stream})
        assert orjson.loads(answer_text(answer)) == {"who": value}
        assert value.encode() not in received(double)


class TestForwarding:
    """architecture.md, rule 1: to a provider of the same dialect a body goes as it came."""

    async def test_nothing_changes_but_what_has_to(self, tmp_path: Path):
        body = (
            '{ "model":"claude-x", "max_tokens": 99 ,"unknown_of_tomorrow":[1.0,{"a":null}],"temperature":1.0,'
            '"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h"}}],'
            '"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},'
            '"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},'
            '{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"' + SIGNATURE + '"},'
            '{"type":"redacted_thinking","data":"' + SIGNATURE + '"},{"type":"text","text":"\\u00e9"}]},'
            '{"role":"user","content":"Go on."}],"metadata":{"user_id":"u","x":1} }'
        )
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
            assert isinstance(double, AnthropicDouble)
            double.lenient = True  # it refuses what it does not know
            versioned = {
                "anthropic-version": "2026-10-21",
                "anthropic-beta": "context-management-2025-06-27,oauth-2025-04-20, interleaved-thinking-2025-05-14",
            }
            answer = await gateway.http.post(MESSAGES, content=body, headers=versioned)
            assert answer.status_code == 200, answer.text
            hidden = last_body(double)["metadata"]["user_id"]
            expected = body.replace('"model":"claude-x"', '"model":"claude-double-small"').replace('"u"', f'"{hidden}"')
            sent = double.received[-1].decode()
            assert sent == expected.replace(',"x":1} }', ',"x":1},"stream":true }')
            headers = double.headers[-1]
            assert headers["anthropic-version"] == "2026-10-21"
            assert headers["anthropic-beta"] == "context-management-2025-06-27,interleaved-thinking-2025-05-14"

    async def test_thoughts_come_and_go_byte_for_byte(self, tmp_path: Path):
        mail = "jane.roe@example.org"
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):

            async def think(request: Any, body: Any) -> Any:
                token = tokens_of(orjson.dumps(body))
                deltas = [{"type": "thinking_delta", "thinking": f"About {token}."}]
                signed = {"type": "signature_delta", "signature": SIGNATURE}
                opened = {"type": "thinking", "thinking": "", "signature": ""}
                thought = block(0, opened, [*deltas, signed])
                said = block(1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": f"To {token}."}])
                return await upstream.says(start(), *thought, *said, end())(request, body)

            double.default = think  # type: ignore[assignment]
            first = user(text(f"Write to {mail}."))
            answer = (await post(gateway, first)).json()
            thought, said = answer["content"]
            # A thought that was restored would come back to its provider changed, and with the value in it.
            assert re.fullmatch(r"About \[EMAIL_[a-z2-7]{8}\]\.", thought["thinking"])
            assert thought["signature"] == SIGNATURE
            assert said["text"] == f"To {mail}."
            turns = [*first["messages"], {"role": "assistant", "content": answer["content"]}, HI]
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert last_body(double)["messages"][1]["content"][0] == thought
            assert mail.encode() not in received(double)

    async def test_what_its_provider_made_up_in_a_thought_goes_back_as_it_was(self, tmp_path: Path):
        # A sample address in the thoughts of a model is nobody's, and to leave it out would break a loop of calls.
        opened = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": "Say to bob@example.net."},
            {"type": "signature_delta", "signature": SIGNATURE},
        ]
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
            double.default = upstream.says(start(), *block(0, opened, deltas), end())  # type: ignore[assignment]
            content = (await post(gateway, {"messages": [HI]})).json()["content"]
            turns = [HI, {"role": "assistant", "content": content}, HI]
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert last_body(double)["messages"][1]["content"] == content

    async def test_what_one_provider_made_up_does_not_go_to_another_of_its_kind(self, tmp_path: Path):
        opened = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": "Say to bob@example.net."},
            {"type": "signature_delta", "signature": SIGNATURE},
        ]
        async with (
            outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double),
            upstream.anthropic_double() as other,
        ):
            await add(gateway, other, "anthropic", name="other", active=False)
            double.default = upstream.says(start(), *block(0, opened, deltas), end())  # type: ignore[assignment]
            content = (await post(gateway, {"messages": [HI]})).json()["content"]
            await gateway.admin.set_active("other")
            turns = [HI, {"role": "assistant", "content": [*content, text("So.")]}, HI]
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert last_body(other)["messages"][1]["content"] == [text("So.")]
            assert b"bob@" not in received(other)

    @pytest.mark.parametrize(
        ("said", "thought"),
        [
            ("Write to jane.roe@example.org.", "She is Jane.Roe@Example.org."),
            ("Patient : Jean Dupont, stable.", "Monsieur Dupont is stable."),
            ("Call 06 12 34 56 78.", "It is 0612345678."),
            ("Hi", "It is bob@example.net."),
        ],
    )
    async def test_a_thought_from_elsewhere_that_knows_somebody_does_not_leave(
        self, tmp_path: Path, said: str, thought: str
    ):
        signed = {"type": "thinking", "thinking": thought, "signature": SIGNATURE}
        turns = [{"role": "user", "content": said}, {"role": "assistant", "content": [signed, text("I did.")]}, HI]
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert last_body(double)["messages"][1]["content"] == [text("I did.")]
            assert thought.encode() not in received(double)

    async def test_a_thought_that_repeats_what_is_masked_was_never_its_provider_s(self, tmp_path: Path):
        mail = "jane.roe@example.org"
        thought = {"type": "thinking", "thinking": f"She is {mail}.", "signature": SIGNATURE}
        turns = [
            {"role": "user", "content": f"Write to {mail}."},
            {"role": "assistant", "content": [thought, text("I did.")]},
            HI,
        ]
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert mail.encode() not in received(double)
            assert last_body(double)["messages"][1]["content"] == [text("I did.")]

    async def test_thoughts_of_a_model_of_ours_stay_here(self, tmp_path: Path):
        thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
        turns = [HI, {"role": "assistant", "content": [thought, text("I did.")]}, HI]
        async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert last_body(double)["messages"][1]["content"] == [text("I did.")]

    async def test_thoughts_do_not_go_to_another_provider(self, tmp_path: Path):
        thought = {"type": "thinking", "thinking": "Of jane.roe@example.org.", "signature": SIGNATURE}
        turns = [HI, {"role": "assistant", "content": [thought, text("I did.")]}, HI]
        async with outside(tmp_path / "state", "openai", mode="cloud") as (gateway, double):
            assert (await post(gateway, {"messages": turns})).status_code == 200
            assert b"jane.roe" not in received(double)

    @pytest.mark.parametrize("kind", KINDS)
    async def test_what_only_this_dialect_says_goes_to_its_own_provider_alone(self, tmp_path: Path, kind: str):
        searching = {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "messages": [HI]}
        async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
            if isinstance(double, AnthropicDouble):
                double.lenient = True
            answer = await post(gateway, searching)
            assert answer.status_code == (200 if kind == "anthropic" else 400), answer.text
            if kind != "anthropic":
                assert "web_search_20250305" in answer.json()["error"]["message"]

    @pytest.mark.parametrize("kind", KINDS)
    async def test_what_cannot_be_read_does_not_leave(self, tmp_path: Path, kind: str):
        pages = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
        asked = user({"type": "document", "source": pages}, text("Sum it up."))
        async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
            answer = await post(gateway, asked)
            assert answer.status_code == 422, answer.text
            assert answer.json()["error"]["type"] == "invalid_request_error"
            assert received(double) == b""
