"""The grammar of addresses, row by row from model-addressing.md; each table names its section."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.address import (
    Address,
    certificate_fields,
    check_model,
    check_served,
    narrow_certificate_fields,
    parse,
    slug,
)
from appliance.errors import AddressNotSupported, BadRequest


def auto(model: str, **fields: bool) -> Address:
    return Address(model, kind="auto", **fields)


def agent(model: str, name: str, **fields: bool) -> Address:
    return Address(model, kind="agent", slug=name, **fields)


@pytest.mark.parametrize(
    "expected",
    [
        # "Prefixes", row by row.
        auto("pulse-auto"),
        auto("pulse-agent", full=True),
        auto("pulse-sensitive", sensitive=True),
        agent("agent:demo-cfo", "demo-cfo"),
        Address("debate:board", kind="debate", slug="board"),
        auto("gpt-4o", passthrough=True),
        auto("claude-sonnet-4-6", passthrough=True),
        auto("my-model", passthrough=True),
        # "Flags", row by row.
        auto("pulse-auto+cortex", cortex=True),
        auto("pulse-auto+sensitive", sensitive=True),
        auto("gpt-4o+sensitive", passthrough=True, sensitive=True),
        auto("pulse-auto+agent", full=True),
        agent("agent:cfo+nocortex", "cfo", knowledge=False),
        agent("agent:cfo+noknowledge", "cfo", knowledge=False),
        agent("agent:cfo+nomemory", "cfo", memory=False),
        agent("agent:cfo+nocortex+nomemory", "cfo", knowledge=False, memory=False),
        # "Composition", row by row.
        auto("gpt-4o+cortex", passthrough=True, cortex=True),
        auto("pulse-agent+cortex", full=True, cortex=True),
        auto("pulse-sensitive+cortex", sensitive=True, cortex=True),
        auto("pulse-auto+sensitive+cortex", sensitive=True, cortex=True),
        auto("pulse-auto+cortex+sensitive", sensitive=True, cortex=True),
        agent("agent:demo-cfo+nocortex", "demo-cfo", knowledge=False),
        agent("agent:demo-cfo+nomemory", "demo-cfo", memory=False),
        agent("agent:demo-cfo+nocortex+nomemory", "demo-cfo", knowledge=False, memory=False),
        agent("agent:Demo CFO", "demo-cfo"),
        auto("pulse-auto+cortx"),
        # "Which flags are read where".
        auto("pulse-auto+nocortex+noknowledge+nomemory"),
        agent("agent:cfo+cortex", "cfo"),
        agent("agent:cfo+agent", "cfo"),
        # routing.md, "Task": beyond the seed, the residency flag is honoured on agents.
        agent("agent:cfo+sensitive", "cfo", sensitive=True),
        # "Parsing rules": whitespace, case.
        auto("  pulse-agent  + cortex ", full=True, cortex=True),
        auto("pulse-auto+Cortex", cortex=True),
        auto("pulse-auto+SENSITIVE+aGeNt", sensitive=True, full=True),
        auto("Pulse-Auto", passthrough=True),
        auto("PULSE-SENSITIVE", passthrough=True),
        auto("Agent:cfo", passthrough=True),
        auto("Debate:board", passthrough=True),
        agent(" agent: Demo CFO +nomemory", "demo-cfo", memory=False),
        # "An empty or missing `model` is read as `pulse-auto`"; an empty base with flags likewise.
        auto(""),
        auto("   "),
        auto("+"),
        auto("+cortex", cortex=True),
        auto(" + sensitive", sensitive=True),
        # Both spellings of one thing compose.
        auto("pulse-sensitive+agent", sensitive=True, full=True),
        auto("pulse-agent+agent+agent", full=True),
        auto("gpt-4o+", passthrough=True),
        # A prefix with nothing after it still asks for an agent, which does not exist: 404, never a passthrough.
        agent("agent:", ""),
        agent("agent:--", ""),
        Address("debate:", kind="debate"),
        # A name that only resembles a base is a passthrough.
        auto("pulse-autos", passthrough=True),
        auto("agent", passthrough=True),
        auto("my-agent:x", passthrough=True),
    ],
    ids=lambda address: repr(address.model),
)
def test_address(expected: Address):
    assert parse(expected.model) == expected


def test_a_missing_model_is_recorded_as_empty():
    assert parse(None) == Address("")


NAMES = st.text(max_size=30)
FLAGS = st.sampled_from(["cortex", "sensitive", "agent", "nocortex", "noknowledge", "nomemory", "cortx", ""])


@given(st.text())
def test_any_string_is_an_address_and_kept_verbatim(model: str):
    assert parse(model).model == model


@given(st.text().filter(lambda base: "+" not in base), st.lists(FLAGS), st.randoms())
def test_order_case_and_spaces_of_flags_do_not_matter(base: str, flags: list[str], random):
    shuffled = [f" {random.choice([flag, flag.upper(), flag.title()])}\t" for flag in random.sample(flags, len(flags))]
    plain, other = parse("+".join([base, *flags])), parse("+".join([base, *shuffled]))
    assert Address("", *_fields(plain)) == Address("", *_fields(other))


@given(st.text().filter(lambda base: "+" not in base), st.text(string.ascii_letters).filter(lambda f: len(f) > 11))
def test_an_unknown_flag_changes_nothing(base: str, flag: str):
    assert _fields(parse(f"{base}+{flag}")) == _fields(parse(base))


def _fields(address: Address) -> tuple:
    return tuple(getattr(address, name) for name in Address.__slots__ if name != "model")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Demo CFO", "demo-cfo"),  # model-addressing.md, "Parsing rules"
        ("demo-cfo", "demo-cfo"),
        ("Éléonore Müller", "eleonore-muller"),  # accents removed, composed
        ("E\u0301le\u0301onore", "eleonore"),  # and decomposed
        ("  --Board / 2026!--  ", "board-2026"),  # one dash for a run, none at the edges
        ("ﬁnance №1", "finance-no1"),  # compatibility forms (NFKD)
        ("Ｄｅｍｏ", "demo"),
        ("Ελένη", "ελενη"),  # letters of every script are alphanumeric
        ("会计", "会计"),
        ("İstanbul", "istanbul"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_slug(name: str, expected: str):
    assert slug(name) == expected


@given(NAMES)
def test_a_slug_is_its_own_slug(name: str):
    assert slug(slug(name)) == slug(name)


@given(NAMES)
def test_a_slug_is_made_of_lower_case_words_and_single_dashes(name: str):
    made = slug(name)
    assert made == made.lower()
    assert all(word.isalnum() for word in made.split("-") if made)
    assert not any(unicodedata.combining(c) for c in made)


@given(NAMES)
def test_agents_are_addressed_by_name_and_by_slug_alike(name: str):
    assert parse(f"agent:{slug(name)}").slug == slug(name)


class TestCheckModel:
    """gateway.md, "Streaming", limits."""

    @pytest.mark.parametrize("model", ["", "gpt-4o", "a" * 1024, "é" * 1024, "😀" * 1024, "a\x00b\nc", "\x7e\x80"])
    def test_accepted(self, model: str):
        check_model(model)

    @pytest.mark.parametrize("model", ["a" * 1025, "a\x7fb", "\ud800", "x\udfff", "\ude00\ud83d"])
    def test_refused(self, model: str):
        with pytest.raises(BadRequest) as refused:
            check_model(model)
        assert refused.value.param == "model"


class TestCheckServed:
    @pytest.mark.parametrize("model", ["debate:board", "debate:", "debate:board+sensitive"])
    def test_debates_are_reserved(self, model: str):
        """model-addressing.md, "Errors specific to addressing"; the sentence is gateway.md's."""
        with pytest.raises(AddressNotSupported) as refused:
            check_served(parse(model))
        assert str(refused.value) == "debate: addresses are reserved and not served by this installation"
        assert refused.value.param == "model"

    @pytest.mark.parametrize("model", ["", "gpt-4o", "agent:board", "pulse-agent", "Debate:board"])
    def test_everything_else_is_served(self, model: str):
        check_served(parse(model))


@pytest.mark.parametrize(
    ("model", "openai", "anthropic"),
    [
        # model-addressing.md, "Where the address shows up in a certificate"; proofs.md, "One certificate".
        ("pulse-auto", {"kind": "auto"}, {"kind": "auto"}),
        ("gpt-4o", {"kind": "auto"}, {"kind": "auto"}),
        ("", {"kind": "auto"}, {"kind": "auto"}),
        ("pulse-auto+cortex", {"kind": "auto", "cortex": True}, {"kind": "auto", "cortex": True}),
        ("pulse-sensitive+nomemory", {"kind": "auto"}, {"kind": "auto"}),
        ("agent:Demo CFO", {"kind": "agent", "agent": "demo-cfo"}, {"kind": "agent", "agent": "demo-cfo"}),
        ("agent:cfo+cortex", {"kind": "agent", "agent": "cfo"}, {"kind": "agent", "agent": "cfo"}),
        (
            "agent:cfo+nocortex",
            {"kind": "agent", "agent": "cfo", "knowledge": False},
            {"kind": "agent", "agent": "cfo"},
        ),
        (
            "agent:cfo+noknowledge+nomemory",
            {"kind": "agent", "agent": "cfo", "knowledge": False, "memory": False},
            {"kind": "agent", "agent": "cfo"},
        ),
    ],
)
def test_certificate_fields(model: str, openai: dict[str, object], anthropic: dict[str, object]):
    assert certificate_fields(parse(model)) == openai
    assert narrow_certificate_fields(parse(model)) == anthropic
