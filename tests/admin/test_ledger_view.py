import pytest

from appliance.admin import wire
from appliance.admin.ledger_wire import CallsQuestion, Sum, SumsQuestion, Which
from tests.admin.ledgers import fill
from tests.admin.played import MACHINE, Daemon


@pytest.fixture
async def filled(daemon: Daemon) -> Daemon:
    await fill(daemon)
    return daemon


async def ids(daemon: Daemon, **which: str | bool) -> list[str]:
    page = await daemon.service.calls(CallsQuestion(Which(**which)))  # type: ignore[arg-type]  an ending is a word
    return [call.proof_id for call in page.calls]


async def test_a_call_has_all_that_the_ledger_has_with_names_in_place_of_numbers(filled: Daemon):
    page = await filled.service.calls(CallsQuestion(Which(key="laptop")))
    second, first = page.calls
    assert first.at == "2026-11-28T10:00:00.000Z"
    assert (first.workspace, first.key, first.user) == ("default", "laptop", "admin")
    assert (first.node, first.model, first.task, first.tier) == (MACHINE.name, "qwen3", "simple", "fast")
    assert (first.cost_micro, first.full_cost_micro, first.questions_milli, first.first_token_ms) == (0, 500, 250, 90)
    assert (second.node, second.provider, second.masked, second.ending) == (None, "openai", 2, "length")
    assert (first.left, second.left) == (False, True)
    assert first.key_id.startswith("key_")


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ({}, "43210"),
        ({"key": "n8n"}, "432"),
        ({"workspace": "default"}, "10"),
        ({"model": "qwen3"}, "20"),
        ({"model": ""}, "4"),
        ({"node": MACHINE.name}, "20"),
        ({"node": MACHINE.id}, "20"),
        ({"node": ""}, "431"),
        ({"task": "complex"}, "31"),
        ({"ending": "refused"}, "4"),
        ({"left": True}, "321"),
        ({"left": False}, "40"),
        ({"left": True, "node": MACHINE.name}, "2"),
        ({"since": "2026-11-29T00:00:00Z"}, "432"),
        ({"until": "2026-11-29T00:00:00Z"}, "10"),
        ({"since": "2026-11-29T01:00:00+01:00", "until": "2026-11-29T09:00:01Z"}, "32"),
        ({"key": "n8n", "model": "qwen3", "ending": "complete"}, "2"),
    ],
)
async def test_which_calls(filled: Daemon, which: dict[str, str | bool], found: str):
    assert await ids(filled, **which) == [f"prf_{one}" for one in found]


@pytest.mark.parametrize("oldest_first", [False, True])
async def test_page_by_page(filled: Daemon, oldest_first: bool):
    cursor, found = None, ""
    for _ in range(3):
        page = await filled.service.calls(CallsQuestion(Which(), 2, cursor, oldest_first))
        found += "".join(call.proof_id[-1] for call in page.calls)
        cursor = page.next
    assert found == ("01234" if oldest_first else "43210")
    assert cursor is None


@pytest.mark.parametrize(
    ("question", "error"),
    [
        (CallsQuestion(Which(), 0), wire.InvalidInput),
        (CallsQuestion(Which(), 1001), wire.InvalidInput),
        (CallsQuestion(Which(), 5, "x"), wire.InvalidInput),
        (CallsQuestion(Which(), 5, "1-2-3"), wire.InvalidInput),
        (CallsQuestion(Which(since="yesterday")), wire.InvalidInput),
        (CallsQuestion(Which(until="2026-11-29T00:00:00")), wire.InvalidInput),
        (CallsQuestion(Which(since="2026-11-30T00:00:00Z", until="2026-11-30T00:00:00Z")), wire.InvalidInput),
        (CallsQuestion(Which(key="nobody")), wire.UnknownSubject),
        (CallsQuestion(Which(workspace="nowhere")), wire.UnknownSubject),
    ],
)
async def test_what_makes_no_sense(filled: Daemon, question: CallsQuestion, error: type[Exception]):
    with pytest.raises(error):
        await filled.service.calls(question)


async def sums(daemon: Daemon, question: SumsQuestion) -> dict[str | None, Sum]:
    return {one.group: one for one in (await daemon.service.sums(question)).sums}


async def test_the_sum_of_all(filled: Daemon):
    total = (await sums(filled, SumsQuestion(Which())))[None]
    assert (total.calls, total.prompt_tokens, total.completion_tokens, total.questions_milli) == (5, 2200, 440, 4500)
    # Unknown is the price of the failed call and of the one that reached nobody.
    assert (total.cost_micro, total.cost_unknown, total.saved_micro, total.masked) == (4500, 2, 1000, 4)
    assert total.first_token is not None
    assert 80 <= total.first_token.p50 <= 100


@pytest.mark.parametrize(
    ("by", "calls"),
    [
        ("day", {"2026-11-28": 2, "2026-11-29": 3}),
        ("workspace", {"default": 2, "legal": 3}),
        ("model", {"": 1, "gpt-4o": 2, "qwen3": 2}),
        ("node", {"": 3, MACHINE.name: 2}),
        ("task", {"": 1, "complex": 2, "simple": 2}),
        ("left", {"stayed": 2, "left": 3}),
    ],
)
async def test_by_group(filled: Daemon, by: str, calls: dict[str, int]):
    found = await sums(filled, SumsQuestion(Which(), by))  # type: ignore[arg-type]  of the literal's words
    assert {group: one.calls for group, one in found.items()} == calls


async def test_by_key_with_its_id_since_names_may_be_there_twice(filled: Daemon):
    found = await sums(filled, SumsQuestion(Which(since="2026-11-29T00:00:00Z"), "key"))
    (name,) = found
    assert name is not None
    assert name.startswith("n8n (key_")


async def test_nothing_is_a_sum_of_zeros_and_no_groups(daemon: Daemon):
    assert (await sums(daemon, SumsQuestion(Which())))[None].calls == 0
    assert await sums(daemon, SumsQuestion(Which(), "day")) == {}
