"""Answers for property tests: any events that a lane may give, in any order in which choices can mix."""

from hypothesis import strategies as st

from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, TokenChance, ToolCallDelta, Usage

CHANCES = st.lists(
    st.builds(
        TokenChance,
        st.text(max_size=4),
        st.floats(-20, 0),
        st.lists(st.builds(TokenChance, st.text(max_size=4), st.floats(-20, 0)), max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)


@st.composite
def one_choice(draw: st.DrawFn, choice: int) -> list[Event]:
    """The events of one choice, its `Finish` last."""
    events: list[Event] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), max_size=6)):
        if kind == "text":
            events.append(TextDelta(draw(st.text(max_size=8)), draw(CHANCES), choice))
        elif kind == "reasoning":
            events.append(ReasoningDelta(draw(st.text(min_size=1, max_size=8)), choice))
        else:
            arguments = draw(st.sampled_from(["{}", '{"city":"Paris"}', '{"é":[1,2]}', "broken"]))
            name = draw(st.sampled_from(["get_weather", "f", "é"]))
            events.append(ToolCallDelta(calls, f"call_{choice}_{calls}", name, arguments, choice))
            calls += 1
    reason = draw(st.sampled_from(["tool_calls", "length"] if calls else ["stop", "length", "content_filter"]))
    usage = Usage(draw(st.sampled_from([0, 23])), draw(st.integers(0, 50)))
    return [*events, Finish(reason, usage, choice)]


@st.composite
def answers(draw: st.DrawFn, max_choices: int = 3) -> list[Event]:
    """The events of all choices of a call, mixed in any way that keeps each choice's own order."""
    waiting = [draw(one_choice(choice)) for choice in range(draw(st.integers(1, max_choices)))]
    mixed: list[Event] = []
    while any(waiting):
        chosen = draw(st.sampled_from([one for one in waiting if one]))
        mixed.append(chosen.pop(0))
    return mixed


def choices_of(events: list[Event]) -> int:
    return len({event.choice for event in events})
