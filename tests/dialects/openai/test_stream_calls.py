"""The shapes are those of the OpenAI API reference and of servers that speak alike (dialects.md §4, 4)."""

from typing import Any

import pytest

from appliance.dialects.openai.stream_calls import Calls
from appliance.dialects.upstream import ProviderError


def piece(index: int | None = None, call_id: str | None = None, **function: Any) -> dict[str, Any]:
    named = {"index": index, "id": call_id}
    return {**{name: value for name, value in named.items() if value is not None}, "function": function}


def whole(*pieces: object, cut: bool = False) -> list[tuple[str, str]]:
    calls = Calls()
    for one in pieces:
        calls.add(one)
    return calls.whole(cut=cut)


A, B = ("a", '{"x":1}'), ("b", '{"y":2}')


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        pytest.param([piece(0, "i", name="a", arguments=""), piece(0, arguments='{"x"'), piece(0, arguments=":1}"),
                      piece(1, "j", name="b", arguments=""), piece(1, arguments='{"y":2}')], [A, B], id="OpenAI"),
        pytest.param([piece(0, "i", name="a", arguments=""), piece(1, "j", name="b", arguments='{"y"'),
                      piece(0, arguments='{"x":1}'), piece(1, arguments=":2}")], [A, B], id="mixed"),
        pytest.param([piece(0, "i", name="a", arguments='{"x":1}'), piece(0, "j", name="b", arguments='{"y":2}')],
                     [A, B], id="whole, all of them number 0"),
        pytest.param([piece(0, name="a", arguments='{"x":1}'), piece(0, name="a", arguments='{"y":2}')],
                     [A, ("a", '{"y":2}')], id="whole, all of them number 0, without ids"),
        pytest.param([piece(None, "i", name="a", arguments='{"x":1}'), piece(None, "j", name="b", arguments='{"y":2}')],
                     [A, B], id="whole, without numbers"),
        pytest.param([piece(None, "i", name="a"), piece(None, arguments='{"x"'), piece(None, arguments=":1}"),
                      piece(None, "j", name="b", arguments='{"y":2}')], [A, B], id="pieces without numbers"),
        pytest.param([piece(None, "i", name="a"), piece(None, "j", name="b"), piece(None, "i", arguments='{"x":1}'),
                      piece(None, "j", arguments='{"y":2}')], [A, B], id="pieces by their ids"),
        pytest.param([piece(0, "i", name="a", arguments='{"x"'), piece(0, "i", name="a", arguments=":1}")], [A],
                     id="id and name with every piece"),
        pytest.param([piece(0, "i", name="a", arguments='{"x"'), piece(0, "other", arguments=":1}")], [A],
                     id="an id of its own for every piece"),
        pytest.param([piece(0, "i", name="a", arguments='{"x"'), piece(0, "", name="", arguments=":1}")], [A],
                     id="empty id and name"),
        pytest.param([piece(0, name="a", arguments='{"x"'), piece(0, name="a", arguments=":1}")], [A],
                     id="the name with every piece, without ids"),
        pytest.param([piece(0, "i", name="get_"), piece(0, name="it", arguments="{}")], [("get_it", "{}")],
                     id="a name in two pieces"),
        pytest.param([piece(0, "i", name="a", arguments={"x": 1})], [A], id="arguments as an object"),
        pytest.param([piece(0, "i", name="a"), piece(1, "j", name="b", arguments=None)], [("a", "{}"), ("b", "{}")],
                     id="no arguments"),
        pytest.param([piece(0, "i", name="a", arguments="{broken")], [("a", "{broken")], id="broken arguments"),
    ],
)  # fmt: skip
def test_whole_calls(pieces: list[dict[str, Any]], wanted: list[tuple[str, str]]):
    assert whole(*pieces) == wanted


def test_of_an_answer_that_was_cut_a_call_that_is_not_whole_is_none():
    pieces = [piece(0, "i", name="a", arguments='{"x":1}'), piece(1, "j", name="b", arguments='{"y"')]
    assert whole(*pieces, cut=True) == [A]
    assert whole({"index": 0}, cut=True) == []


def test_the_older_form_is_one_call():
    calls = Calls()
    for one in ({"name": "a", "arguments": ""}, {"arguments": '{"x"'}, {"arguments": ":1}"}):
        calls.add_function(one)
    assert calls.whole(cut=False) == [A]


@pytest.mark.parametrize("wrong", ["call", None, {"function": "f"}, piece(0, "i", name="a", arguments=[1])])
def test_what_is_no_tool_call(wrong: object):
    with pytest.raises(ProviderError):
        whole(wrong)


def test_a_call_without_a_name():
    with pytest.raises(ProviderError, match="without a name"):
        whole(piece(0, "i", arguments="{}"))
