"""Sources: dialects.md §4, 20 and 21; mistral-common's validator for the order of roles."""

import base64

from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import Image, Message, Text, ToolCall
from appliance.dialects.mistral.turns import nine, turns

PNG = b"\x89PNG\r\n\x1a\n"


def user(*texts: str) -> Message:
    return Message("user", tuple(Text(text) for text in texts))


def assistant(text: str = "", *ids: str) -> Message:
    return Message("assistant", (Text(text),), tuple(ToolCall(one, "look", "{}") for one in ids))


@given(st.text())
def test_ids_are_nine_letters_and_digits_and_the_same_each_time(call_id: str):
    made = nine(call_id)
    assert len(made) == 9
    assert made.isascii()
    assert made.isalnum()
    assert nine(call_id) == made == nine(made)


def test_an_id_that_mistral_made_stays():
    assert nine("D681PevKs") == "D681PevKs"
    assert nine("call_1") != nine("call_2")


def test_calls_and_results_have_the_same_ids():
    result = Message("tool", (Text("it"),), tool_call_id="call_abc", tool_name="look")
    call, answer = turns([assistant("", "call_abc"), result])
    assert call == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": nine("call_abc"), "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    assert answer == {"role": "tool", "content": "it", "tool_call_id": nine("call_abc"), "name": "look"}


def test_a_result_without_the_name_of_its_tool():
    (_, answer) = turns([assistant("", "call_abc"), Message("tool", tool_call_id="call_abc")])
    assert "name" not in answer


def test_turns_of_the_same_side_are_one_turn_and_their_texts_stay_apart():
    made = turns([user("a"), user("b", "c"), assistant("d"), assistant("e", "i"), user("f")])
    assert [turn["role"] for turn in made] == ["user", "assistant", "user"]
    assert made[0]["content"] == [{"type": "text", "text": text} for text in "abc"]
    assert (made[1]["content"], len(made[1]["tool_calls"])) == ([{"type": "text", "text": t} for t in "de"], 1)  # type: ignore[arg-type]


def test_between_a_result_and_a_user_stands_the_assistant():
    made = turns([user("a"), assistant("", "i"), Message("tool", tool_call_id="i"), user("b")])
    assert [turn["role"] for turn in made] == ["user", "assistant", "tool", "assistant", "user"]
    assert made[3]["content"]


def test_an_answer_that_was_begun_is_gone_on_with():
    assert turns([user("a"), assistant("It is")])[-1] == {"role": "assistant", "content": "It is", "prefix": True}
    assert "prefix" not in turns([user("a"), assistant("b"), user("c")])[1]


def test_pictures_stay_where_they_are():
    picture = Image(PNG, "image/png")
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    result = Message("tool", (picture,), tool_call_id="i")
    for message in (Message("user", (picture,)), result):
        (turn,) = turns([message])
        assert turn["content"] == [{"type": "image_url", "image_url": {"url": url}}]


def test_no_turns():
    assert turns([]) == []
