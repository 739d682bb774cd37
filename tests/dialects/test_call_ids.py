"""Providers refuse a result that answers no call (OpenAI API reference, "Tool messages")."""

import pytest

from appliance.dialects.call_ids import check_answered, with_ids
from appliance.dialects.chat import DialectError, Message, ToolCall


def ids(*messages: Message, **options: object) -> list[list[str] | str]:
    return [
        [call.id for call in one.tool_calls] if one.tool_calls else one.tool_call_id
        for one in with_ids(messages, **options)  # type: ignore[arg-type]
    ]


def called(*calls: tuple[str, str]) -> Message:
    return Message("assistant", tool_calls=tuple(ToolCall(call_id, name, "{}") for call_id, name in calls))


def result(call_id: str = "", name: str = "") -> Message:
    return Message("tool", tool_call_id=call_id, tool_name=name)


def test_ids_that_are_there_stay():
    assert ids(called(("i", "a"), ("j", "b")), result("j"), result("i")) == [["i", "j"], "j", "i"]


def test_each_id_is_spelled_as_the_provider_wants_it():
    assert ids(called(("i", "a")), result("i"), spelled=str.upper) == [["I"], "I"]


def test_a_call_without_an_id_gets_one_and_its_result_finds_it():
    calls, second, first = ids(called(("", "a"), ("", "b")), result(name="b"), result(name="a"))
    assert [first, second] == calls
    assert first != second


def test_results_without_names_are_in_the_order_of_the_calls():
    assert ids(called(("i", "a"), ("j", "a")), result(), result(), result()) == [["i", "j"], "i", "j", ""]


def test_the_same_call_again_is_another_one():
    one, _, other, _ = ids(called(("", "a")), result(name="a"), called(("", "a")), result(name="a"))
    assert one != other


def test_nothing_else_changes():
    message = Message("user", reasoning="r")
    assert with_ids((message,)) == (message,)


SAID, AGAIN = Message("user"), called(("k", "c"))


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (SAID,),
        (called(("i", "a"), ("j", "b")), result("j"), result("i"), AGAIN, result("k"), SAID),
        (called(("", "a"), ("", "b")), result(name="b"), result(name="a")),
        # One that answers nothing, or twice, is for others to refuse.
        (result("x"), called(("i", "a")), result("i"), result("i")),
    ],
)
def test_calls_that_all_have_their_results(messages: tuple[Message, ...]):
    check_answered(messages)


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ((called(("i", "a")),), "'i' of 'a'"),
        ((called(("i", "a")), SAID), "'i' of 'a'"),
        ((called(("i", "a"), ("j", "b")), result("i"), SAID), "'j' of 'b'"),
        ((called(("i", "a")), result("j"), SAID), "'i' of 'a'"),
        ((called(("i", "a")), SAID, result("i")), "'i' of 'a'"),
        ((called(("i", "a")), AGAIN, result("k")), "'i' of 'a'"),
        ((called(("i", "a" * 200)),), f"'{'a' * 80}'"),
    ],
)
def test_the_first_without_one_is_named(messages: tuple[Message, ...], named: str):
    with pytest.raises(DialectError) as error:
        check_answered(messages)
    assert named in error.value.message
    assert error.value.param == "messages"
