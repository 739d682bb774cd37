"""Calls in a model's text. Source: Qwen's and Hermes' format, recordings 201 and 207, Ollama's parser for its ways."""

import itertools
import json
import random
from collections.abc import AsyncGenerator, Iterable

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.calls import CLOSING, OPENING, CallReader, call_grammar, read_calls
from appliance.engine.gbnf import MAX_CHARACTERS
from appliance.engine.llama import End, Event, Piece, TokenChance
from appliance.engine.tools import Tool, ToolCall
from tests.engine.gbnf_reader import Reader

WEATHER = Tool("get_weather", "", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
LAMP = Tool(
    "set_lamp",
    "",
    {"type": "object", "properties": {"room": {"enum": ["hall", "attic"]}, "on": {"type": "boolean"}}},
)
TOOLS = [WEATHER, LAMP]
PARIS = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
HALL = '<tool_call>\n{"name": "set_lamp", "arguments": {"room": "hall", "on": true}}\n</tool_call>'


def reader(*, bare: bool = False) -> CallReader:
    numbers = itertools.count()
    return CallReader(TOOLS, lambda: f"id{next(numbers)}", bare=bare)


def read(pieces: Iterable[str], *, bare: bool = False) -> tuple[str, list[ToolCall]]:
    """The text and the calls of an answer that comes in these pieces."""
    calls = reader(bare=bare)
    events = [event for piece in pieces for event in calls.feed(Piece(piece))] + calls.finish()
    text = "".join(event.text for event in events if isinstance(event, Piece))
    return text, [event for event in events if isinstance(event, ToolCall)]


def call(name: str, index: int = 0, **arguments: object) -> ToolCall:
    return ToolCall(name, arguments, f"id{index}", index)


@pytest.mark.parametrize(
    ("answer", "text", "calls"),
    [
        ("It is sunny.", "It is sunny.", []),
        ("", "", []),
        (" \n", " \n", []),
        (PARIS, "", [call("get_weather", city="Paris")]),
        ("Let me look.\n" + PARIS, "Let me look.", [call("get_weather", city="Paris")]),
        (PARIS + "\n" + HALL, "", [call("get_weather", city="Paris"), call("set_lamp", 1, room="hall", on=True)]),
        (PARIS + HALL + "\n", "", [call("get_weather", city="Paris"), call("set_lamp", 1, room="hall", on=True)]),
        (PARIS + " Done.", " Done.", [call("get_weather", city="Paris")]),
        ("a < b and <tool> and <tool_calls", "a < b and <tool> and <tool_calls", []),
        (
            '<tool_call>{"name":"get_weather","parameters":{"city":"Rome"}}</tool_call>',
            "",
            [call("get_weather", city="Rome")],
        ),
        ('<tool_call>\n{"name": "set_lamp", "arguments": {}}', "", [call("set_lamp")]),  # stopped before it was closed
    ],
)
def test_what_an_answer_holds(answer: str, text: str, calls: list[ToolCall]):
    assert read([answer]) == (text, calls)
    assert read(answer) == (text, calls)  # letter by letter


@pytest.mark.parametrize(
    "answer",
    [
        "<tool_call>",
        "<tool_call>\n",
        '<tool_call>\n{"name": "get_weather", "argum',  # cut off
        "<tool_call>\nnothing of the kind\n</tool_call>",
        '<tool_call>\n{"name": "launch", "arguments": {}}\n</tool_call>',  # there is no such tool
        '<tool_call>\n{"name": "get_weather", "arguments": "Paris"}\n</tool_call>',
        '<tool_call>\n{"name": "get_weather"}\n</tool_call>',
        "<tool_call>\n[1]\n</tool_call>",
        "<tool_call>` is how a call begins.",
        "text and <tool_call> more",
        PARIS.replace(CLOSING, "and more"),
        PARIS.replace("\n</", "}\n</"),
        '<tool_call>{"name": "get_weather, "arguments": {"city": "Paris"}}</tool_call>',
    ],
)
def test_what_is_no_call_is_text_to_the_letter(answer: str):
    assert read([answer]) == (answer, [])
    assert read(answer) == (answer, [])


INSIDE = Tool("a</tool_call>", "", {"type": "object", "properties": {"t": {"type": "string"}}})


@pytest.mark.parametrize("inside", [CLOSING, OPENING, "}}\n" + CLOSING, '\\"}' + CLOSING, "{[", OPENING + CLOSING])
@pytest.mark.parametrize("name", ["get_weather", INSIDE.name])
def test_a_call_ends_where_its_object_does_and_not_inside_of_a_string(inside: str, name: str):
    body = json.dumps({"name": name, "arguments": {"city": inside, "t": inside}})
    answer = f"Look.{OPENING}\n{body}\n{CLOSING} Done."
    for pieces in ([answer], answer, [answer[:40], answer[40:]]):
        calls = CallReader([WEATHER, INSIDE], lambda: "id0", bare=False)
        events = [event for piece in pieces for event in calls.feed(Piece(piece))] + calls.finish()
        assert [event for event in events if isinstance(event, ToolCall)] == [call(name, city=inside, t=inside)]
        assert "".join(event.text for event in events if isinstance(event, Piece)) == "Look. Done."


def test_the_grammar_allows_it():
    assert grammar(INSIDE).accepts(
        f'{OPENING}\n{{"name": "a</tool_call>", "arguments": {{"t": "x{CLOSING}"}}}}\n{CLOSING}'
    )


def test_a_call_that_is_cut_off_in_its_closing_is_one():
    assert read([PARIS[:-5]]) == read(PARIS[:-5]) == ("", [call("get_weather", city="Paris")])


def test_a_call_nested_too_deeply_for_an_answer_is_text():
    deep = "[" * 250 + "]" * 250
    answer = f'{OPENING}{{"name": "get_weather", "arguments": {{"city": {deep}}}}}{CLOSING}'
    assert read([answer]) == (answer, [])


@given(
    st.lists(st.sampled_from([PARIS, HALL, "Hi", "\n", " ", "<", "<tool", "_call>", OPENING, CLOSING, '{"name":'])),
    st.lists(st.integers(1, 12)),
)
def test_the_cut_into_pieces_makes_no_difference(parts: list[str], sizes: list[int]):
    answer = "".join(parts)
    pieces, rest = [], answer
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    assert read([*pieces, rest]) == read([answer])


@pytest.mark.parametrize(
    ("piece", "given_out"),
    [
        ("The sky", "The sky"),
        ("a <b", "a <b"),
        ("a <", "a"),
        ("a <tool", "a"),
        ("a \n", "a"),
        ("<tool_ca", ""),
        ("x<tool_call", "x"),
        ("x<tool_cakes", "x<tool_cakes"),
        ("x <tool_call> y", "x <tool_call> y"),
        ("x <tool_call>", "x"),
    ],
)
def test_text_is_held_back_only_while_it_may_begin_a_call(piece: str, given_out: str):
    events = reader().feed(Piece(piece))
    assert "".join(event.text for event in events if isinstance(event, Piece)) == given_out


def test_a_call_is_given_out_when_it_is_closed_and_not_at_the_end():
    calls = reader()
    assert calls.feed(Piece(PARIS)) == [call("get_weather", city="Paris")]
    assert calls.finish() == []


def test_log_probabilities_are_not_held_back():
    chance = TokenChance("<", -1.0, (60,))
    calls = reader()
    assert calls.feed(Piece("<", (chance,))) == [Piece("", (chance,))]
    assert calls.feed(Piece("b", (chance,))) == [Piece("<b", (chance,))]


BARE = '{"name": "get_weather", "arguments": {"city": "Paris"}}'


@pytest.mark.parametrize(
    ("answer", "text", "calls"),
    [
        (BARE, "", [call("get_weather", city="Paris")]),  # recording 201
        ("{\n  " + BARE[1:], "", [call("get_weather", city="Paris")]),
        ('{"arguments": {"city": "Oslo"}, "name": "get_weather"}', "", [call("get_weather", city="Oslo")]),
        ('{"name": "Paris", "country": "France"}', '{"name": "Paris", "country": "France"}', []),
        ('{"city": "Paris"}', '{"city": "Paris"}', []),
        ('{"name": "get_wea', '{"name": "get_wea', []),
        ("[1, 2]", "[1, 2]", []),
        ("", "", []),
    ],
)
def test_an_answer_that_a_schema_holds_to_json(answer: str, text: str, calls: list[ToolCall]):
    assert read([answer], bare=True) == (text, calls)
    assert read(answer, bare=True) == (text, calls)


def test_json_that_is_no_call_is_held_back_no_longer_than_it_could_be_one():
    calls = reader(bare=True)
    assert calls.feed(Piece('{"na')) == []
    assert calls.feed(Piece('tion": "F')) == [Piece('{"nation": "F')]
    assert calls.feed(Piece('rance"}')) == [Piece('rance"}')]


async def of(*events: Event) -> AsyncGenerator[Event]:
    for event in events:
        yield event


async def test_the_end_comes_after_what_was_held_back():
    end = End("length", "", 1, 1, 1, 1)
    assert [event async for event in read_calls(of(Piece("a <tool"), end), reader())] == [
        Piece("a"),
        Piece(" <tool"),
        end,
    ]


async def test_text_in_the_last_event_counts():
    end = End("stop", PARIS, 1, 1, 1, 1)
    events = [event async for event in read_calls(of(Piece("a"), end), reader())]
    assert events == [Piece("a"), call("get_weather", city="Paris"), end.without_text()]


async def test_closing_closes_what_is_read():
    closed = []

    async def endless() -> AsyncGenerator[Event]:
        try:
            while True:
                yield Piece("a")
        finally:
            closed.append(True)

    events = read_calls(endless(), reader())
    await anext(events)
    await events.aclose()
    assert closed


def grammar(*tools: Tool) -> Reader:
    made = call_grammar(tools)
    assert made is not None
    assert made.trigger == OPENING
    return Reader(made.text)


@pytest.mark.parametrize(
    "answer", [PARIS, HALL, PARIS + "\n" + HALL, PARIS.replace("\n", ""), "<tool_call>` and so on"]
)
def test_what_may_follow_the_opening(answer: str):
    assert grammar(*TOOLS).accepts(answer)


@pytest.mark.parametrize(
    "answer",
    [
        '<tool_call>\n{"name": "launch", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "set_lamp", "arguments": {"room": "cellar"}}\n</tool_call>',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}',
        "<tool_call>\nHello",
    ],
)
def test_what_may_not(answer: str):
    assert not grammar(*TOOLS).accepts(answer)


def test_every_sentence_is_calls_with_valid_arguments():
    checks = {tool.name: jsonschema_rs.Draft202012Validator(dict(tool.parameters)) for tool in TOOLS}
    sentences = grammar(*TOOLS)
    chance = random.Random(5)
    seen = set[int]()
    for _ in range(200):
        answer = sentences.sentence(chance)
        if answer.startswith((OPENING + "\n", OPENING + " ", OPENING + "{")):
            text, calls = read([answer])
            assert text == ""
            assert all(checks[each.name].is_valid(json.loads(json.dumps(each.arguments))) for each in calls)
            seen.add(len(calls))
    assert {1, 2} <= seen


def test_a_tool_without_parameters_takes_any_object():
    anything = grammar(Tool("ping", "", {}))
    assert anything.accepts('<tool_call>\n{"name": "ping", "arguments": {"a": [1]}}\n</tool_call>')
    assert not anything.accepts('<tool_call>\n{"name": "ping", "arguments": 3}\n</tool_call>')


def test_a_schema_beyond_grammar_does_not_stop_the_tool():
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}, "required": ["a"]}
    lenient = grammar(Tool("f", "", parameters))
    assert lenient.accepts('<tool_call>\n{"name": "f", "arguments": {"a": "y"}}\n</tool_call>')
    assert not lenient.accepts('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')


def branching(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "anyOf": [{"title": "a"}, {"title": "b"}, {}], "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize("levels", [10, 22])
def test_a_schema_that_means_endless_work_takes_any_object_and_leaves_the_other_tools_alone(levels: int):
    lenient = grammar(Tool("f", "", branching(levels)), WEATHER)
    assert lenient.accepts('<tool_call>{"name": "f", "arguments": {"b": 1}}</tool_call>')
    assert not lenient.accepts('<tool_call>{"name": "get_weather", "arguments": {"b": 1}}</tool_call>')
    assert not lenient.accepts('<tool_call>{"name": "f", "arguments": 3}</tool_call>')


def test_schemas_that_are_too_large_together_are_left_out_from_where_they_are():
    properties = {f"p{number}": {"enum": [number]} for number in range(1000)}
    large = [Tool(f"t{number}", "", {"properties": properties, "required": sorted(properties)}) for number in range(3)]
    assert len(grammar(*large).text) < 2 * MAX_CHARACTERS
    assert not grammar(*large).accepts('<tool_call>{"name": "t0", "arguments": {}}</tool_call>')
    assert grammar(*large).accepts('<tool_call>{"name": "t2", "arguments": {}}</tool_call>')


def test_tools_without_end_have_no_grammar():
    assert call_grammar([Tool(f"t{number}", "", {}) for number in range(9000)]) is None
