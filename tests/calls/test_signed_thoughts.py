from collections.abc import AsyncGenerator

from appliance.calls.signed_thoughts import SignedThoughts
from appliance.dialects.chat import BlockEnd, Event, Finish, OwnDelta, ReasoningDelta, TextDelta, Usage

HERE = "https://api.anthropic.com"
SIGNED = OwnDelta('{"type":"signature_delta","signature":"sig"}', sealed=True)


def thoughts(**options: int) -> SignedThoughts:
    return SignedThoughts(b"k" * 32, **options)


async def stream(*events: Event) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


async def test_what_a_provider_signed_is_known_as_it_was():
    known = thoughts()
    events = [ReasoningDelta("Hm"), ReasoningDelta("."), SIGNED, BlockEnd(), ReasoningDelta("So."), SIGNED, BlockEnd()]
    ended = [TextDelta("a"), Finish("stop", Usage(1, 1))]
    assert [event async for event in known.noted(HERE, stream(*events, *ended))] == [*events, *ended]
    assert known.knows(HERE, "Hm.", "sig")
    assert known.knows(HERE, "So.", "sig")
    for thought, signature in (("Hm", "sig"), ("Hm.So.", "sig"), ("Hm.", "gis"), ("Hm.s", "ig"), ("", "sig")):
        assert not known.knows(HERE, thought, signature)


async def test_a_thought_that_is_not_shown_is_known_by_its_signature():
    known = thoughts()
    async for _ in known.noted(HERE, stream(SIGNED, BlockEnd())):
        pass
    assert known.knows(HERE, "", "sig")


async def test_another_provider_has_not_signed_it():
    known = thoughts()
    known.remember(HERE, "Hm.", "sig")
    for other in ("https://other.example", HERE[:-1], HERE + "H"):
        assert not known.knows(other, "Hm.", "sig")
    assert not known.knows(HERE + "Hm.", "", "sig")


async def test_what_nobody_signed_is_not_known():
    known = thoughts()
    async for _ in known.noted(HERE, stream(ReasoningDelta("Hm."), OwnDelta('{"type":"citations_delta"}'), BlockEnd())):
        pass
    assert not known.knows(HERE, "Hm.", "None")


def test_only_so_many_are_known_and_the_oldest_go_first():
    known = thoughts(most=2)
    for thought in "abc":
        known.remember(HERE, thought, "sig")
    assert [known.knows(HERE, thought, "sig") for thought in "abc"] == [False, True, True]
