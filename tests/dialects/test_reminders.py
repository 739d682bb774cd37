from appliance.dialects.chat import Chat, Message, Role, Text
from appliance.dialects.reminders import CLOSED, OPENED, folded


def said(role: Role, *texts: str) -> Message:
    return Message(role, tuple(map(Text, texts)), joint="\n")


def read(*messages: Message, reminders: bool = True) -> list[tuple[str, str]]:
    return [(one.role, one.text) for one in folded(Chat(messages, reminders=reminders))]


def reminder(text: str) -> str:
    return f"{OPENED}{text}{CLOSED}"


def test_a_late_system_message_goes_into_the_user_s_turn_before_it():
    turns = read(said("system", "s"), said("user", "a", "b"), said("system", "r"), said("assistant", "c"))
    assert turns == [("system", "s"), ("user", f"a\nb\n{reminder('r')}"), ("assistant", "c")]


def test_behind_a_result_it_waits_for_the_user():
    turns = read(said("user", "a"), said("assistant"), said("tool", "t"), said("system", "r"), said("user", "b"))
    assert turns[3:] == [("user", f"{reminder('r')}\nb")]


def test_two_of_them_are_one_turn_and_the_next_user_s_turn_is_another():
    turns = read(said("assistant", "a"), said("system", "r"), said("system", "q"), said("user", "b"), said("user", "c"))
    assert turns == [("assistant", "a"), ("user", f"{reminder('r')}\n{reminder('q')}\nb"), ("user", "c")]


def test_at_the_beginning_it_is_what_it_says():
    assert read(said("system", "s"), said("system", "t"), said("user", "a")) == [("system", "s\nt"), ("user", "a")]


def test_a_dialect_that_has_system_turns_keeps_them():
    messages = (said("user", "a"), said("system", "r"))
    assert folded(Chat(messages)) == messages
