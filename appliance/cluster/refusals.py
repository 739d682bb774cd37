"""Why no machine takes a call, in words for its caller: the error, and what to do next."""

from collections.abc import Sequence

from appliance.cluster.choice import Wanted, obstacle
from appliance.cluster.machine import Machine
from appliance.errors import LocalLaneUnavailable, ModelAbsent, Overloaded

RETRY_SECONDS = 5.0
"""When a caller who found the line full may come again: some calls have ended by then."""


def nobody(machines: Sequence[Machine], wanted: Wanted) -> LocalLaneUnavailable:
    """No machine can serve the call."""
    obstacles = {obstacle(machine, wanted) for machine in machines}
    model = wanted.model
    if "open" in obstacles:
        return LocalLaneUnavailable(
            f"The machines that have the model {model!r} are known by their address only, and sensitive calls are kept"
            " off them.",
            advice="Run `synapse node serve` on one and admit it, or allow them: `synapse policy sensitive-on-open"
            " allow`.",
        )
    if "too small" in obstacles or "tried" in obstacles:
        return LocalLaneUnavailable(
            f"No other machine that has the model {model!r} can take this call.",
            advice="Try again in a moment; `synapse node list` says what is wrong with each machine.",
        )
    if "draining" in obstacles:
        return LocalLaneUnavailable(
            f"The machines that have the model {model!r} take no more calls for now.",
            advice="`synapse node list` shows which are draining, `synapse node resume` takes one back.",
        )
    if "no model" in obstacles:
        if not any(machine.has(model) for machine in machines):
            return ModelAbsent(
                f"No machine of this installation has the model {model!r}.",
                advice=f"Run `ollama pull {model}` on one; or see `synapse model list` for the role that has it, and"
                " change that with `synapse model set` or `synapse model unset`.",
            )
        return LocalLaneUnavailable(
            f"No machine that has the model {model!r} is reachable.",
            advice="Try again in a moment; `synapse node list` says what is wrong with each machine.",
        )
    return LocalLaneUnavailable(
        "No machine that runs models is reachable.",
        advice="Start Ollama or the embedded engine; `synapse node list` says what is wrong with each machine.",
    )


def line_is_full(waiting: int) -> Overloaded:
    """All machines are busy, and so many calls wait that one more may not."""
    return Overloaded(
        f"Every machine is busy, and {waiting} calls wait already.",
        advice="Try again in a moment; more machines answer more calls at a time.",
        retry_after=RETRY_SECONDS,
    )


def waited_too_long(seconds: float) -> Overloaded:
    """All machines were busy all the time that a call may wait."""
    return Overloaded(
        f"Every machine was busy for {seconds:g} s.",
        advice="Try again in a moment; more machines answer more calls at a time.",
        retry_after=RETRY_SECONDS,
    )
