"""The second try of a structured answer that is not what was asked for.

Must not know who answers: a run gives its events, and is begun again once. Source: dialects.md §1.1; completions.md
("Request body", `json`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from appliance.calls.record import Course
from appliance.dialects.chat import Event, Finish, Format, Sampling, TextDelta, Usage
from appliance.dialects.structured import check_json
from appliance.errors import UpstreamFailed
from appliance.lanes.attempt import AttemptFailed


async def asking_again(
    run: Callable[[], AsyncGenerator[Event, None]], wanted: Format, sampling: Sampling, course: Course
) -> AsyncGenerator[Event, None]:
    """The events of a run of one answer, whole: of the first whose text is as wanted, of two at most. The end counts
    what the one before has cost.

    Raises AttemptFailed: that of the run, or because the second answer is wrong too.
    """
    spent = Usage(0, 0)
    for last in (False, True):
        async with aclosing(run()) as events:
            answer = [event async for event in events]
        try:
            await check_answer(answer, wanted, sampling)
        except AttemptFailed as failed:
            if failed.usage is not None:
                spent = added(spent, failed.usage)
                course.spent(failed.usage)
            if last:
                raise
            continue
        for event in answer:
            yield with_spent(spent, event) if isinstance(event, Finish) else event
        return


async def check_answer(answer: list[Event], wanted: Format, sampling: Sampling) -> None:
    """Raises AttemptFailed for a text that came to its end and is not as wanted."""
    finish = next((event for event in answer if isinstance(event, Finish)), None)
    if finish is not None and finish.reason == "stop":
        text = "".join(event.text for event in answer if isinstance(event, TextDelta))
        await check_text(text, wanted, sampling, finish.usage)


async def check_text(text: str, wanted: Format, sampling: Sampling, usage: Usage) -> None:
    """Raises AttemptFailed for an answer's text that is not as wanted; `usage` is what it has cost."""
    # A schema can make this slow; meanwhile other calls go on.
    problem = await asyncio.to_thread(check_json, text, wanted)
    if problem is None:
        return
    advice = "Try again, use a larger model, or ask for a simpler schema."
    if sampling.stop:
        advice = "Leave `stop` out: one of its sequences may have ended the answer in its middle."
    error = UpstreamFailed(
        f"The model did not answer in the format that was asked for: its answer {problem}.", advice=advice
    )
    raise AttemptFailed(error, elsewhere=False, again=True, usage=usage)


def with_spent(spent: Usage, finish: Finish) -> Finish:
    """The end of an answer with what its earlier try has cost."""
    return replace(finish, usage=added(spent, finish.usage))


def added(first: Usage, second: Usage) -> Usage:
    """The tokens of both."""
    return Usage(
        first.prompt_tokens + second.prompt_tokens,
        first.completion_tokens + second.completion_tokens,
        first.cache_read + second.cache_read,
        first.cache_written + second.cache_written,
    )
