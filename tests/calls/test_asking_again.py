"""Source: completions.md ("Request body", `json`); dialects.md §1.1."""

from collections.abc import AsyncGenerator, Callable

import pytest

from appliance.calls.asking_again import asking_again
from appliance.calls.record import Course
from appliance.dialects.chat import Event, Finish, FinishReason, Format, Sampling, TextDelta, Usage
from appliance.errors import UpstreamFailed
from appliance.lanes.attempt import AttemptFailed

Run = Callable[[], AsyncGenerator[Event, None]]
JSON = ("{", "}")
TEXT = ("Sure", "!")


def course() -> Course:
    return Course(started=0.0, shield_mode="standard")


def saying(*answers: tuple[str, ...] | AttemptFailed, reason: FinishReason = "stop") -> Run:
    """Runs that say these one after the other, 7 tokens read and one written a piece."""
    waiting = list(answers)

    async def run() -> AsyncGenerator[Event, None]:
        answer = waiting.pop(0)
        if isinstance(answer, AttemptFailed):
            raise answer
        for piece in answer:
            yield TextDelta(piece)
        yield Finish(reason, Usage(7, len(answer), 1, 2))

    return run


async def all_of(run: Run, what: Course, sampling: Sampling = Sampling()) -> list[Event]:  # noqa: B008  frozen
    return [event async for event in asking_again(run, Format(), sampling, what)]


async def test_an_answer_that_is_as_wanted_goes_on_as_it_is():
    what = course()
    events = await all_of(saying(JSON), what)
    assert events == [TextDelta("{"), TextDelta("}"), Finish("stop", Usage(7, 2, 1, 2))]
    assert what.lost == []


async def test_one_that_is_not_is_asked_for_once_more_and_both_are_counted():
    what = course()
    events = await all_of(saying(TEXT, JSON), what)
    assert events == [TextDelta("{"), TextDelta("}"), Finish("stop", Usage(14, 4, 2, 4))]
    assert what.lost == [Usage(7, 2, 1, 2)]


async def test_a_second_one_that_is_not_either_fails_the_call():
    what = course()
    with pytest.raises(AttemptFailed) as failed:
        await all_of(saying(TEXT, TEXT), what)
    assert isinstance(failed.value.error, UpstreamFailed)
    assert "format that was asked for: its answer is not JSON" in failed.value.error.message
    assert not failed.value.elsewhere
    assert what.lost == [Usage(7, 2, 1, 2)] * 2


async def test_who_fails_is_not_asked_again_here():
    gone = AttemptFailed(UpstreamFailed("Gone."), elsewhere=True)
    for answers in ((gone,), (TEXT, gone)):
        with pytest.raises(AttemptFailed) as failed:
            await all_of(saying(*answers), course())
        assert failed.value is gone


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_one_that_was_cut_or_declined_is_not_asked_for_again(reason: FinishReason):
    what = course()
    assert (await all_of(saying(TEXT, reason=reason), what))[-1] == Finish(reason, Usage(7, 2, 1, 2))
    assert what.lost == []


async def test_where_a_stop_sequence_may_have_ended_it_the_advice_says_so():
    with pytest.raises(AttemptFailed) as failed:
        await all_of(saying(TEXT, TEXT), course(), Sampling(stop=("}",)))
    assert "Leave `stop` out" in failed.value.error.advice
