"""Why a join of a node and a gateway failed: one word on the wire, a sentence and a next step for people."""

from enum import StrEnum

from appliance.errors import SynapseError


class Failure(StrEnum):
    """Why a join failed. Those down to NOT_STORED a node can answer; the rest only the gateway says."""

    NOT_TOLD = "not_told"
    NOT_MY_GATEWAY = "not_my_gateway"
    CLAIMED = "claimed"
    TOO_MANY = "too_many"
    BAD_MESSAGE = "bad_message"
    WAY_NOT_OFFERED = "way_not_offered"
    NOT_PROVEN = "not_proven"
    NOT_STORED = "not_stored"
    UNREACHABLE = "unreachable"
    BUSY = "busy"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    OTHER_MACHINE = "other_machine"
    NODE_NOT_PROVEN = "node_not_proven"


ANSWERED = frozenset(list(Failure)[: list(Failure).index(Failure.NOT_STORED) + 1])
"""The failures that a node tells a gateway; from anybody else they are no message."""

_SAID: dict[Failure, tuple[str, str]] = {
    Failure.NOT_TOLD: (
        "The machine was told of no gateway, so it refuses everybody.",
        "Start `synapse node serve` there with --cluster-key-stdin or --gateway-words.",
    ),
    Failure.NOT_MY_GATEWAY: (
        "The machine was told of another gateway.",
        "Give it the cluster key or the words of this one.",
    ),
    Failure.CLAIMED: (
        "The machine belongs to another gateway.",
        "Run `synapse node reset` on it, if it is to change.",
    ),
    Failure.TOO_MANY: ("The machine was asked to join too often.", "Wait a minute."),
    Failure.BAD_MESSAGE: (
        "The two sides do not understand each other.",
        "Run the same version of Synapse on both.",
    ),
    Failure.WAY_NOT_OFFERED: (
        "The machine was not given the cluster key.",
        "Give it the key, or admit it by its words.",
    ),
    Failure.NOT_PROVEN: (
        "The machine did not accept the gateway's proof.",
        "Give it the cluster key that is valid now (`synapse cluster key show`).",
    ),
    Failure.NOT_STORED: (
        "The machine could not keep the gateway's certificate or open its port.",
        "Read the log of `synapse node serve` there.",
    ),
    Failure.UNREACHABLE: (
        "The machine does not answer on its join port.",
        "See that `synapse node serve` runs there, and that no firewall is in between.",
    ),
    Failure.BUSY: ("The machine is busy with another join.", "Try again in 10 seconds."),
    Failure.TIMEOUT: ("The machine did not answer in time.", "Try again; if it stays so, restart its agent."),
    Failure.CLOSED: ("The machine closed the connection.", "Try again; if it stays so, read the log of its agent."),
    Failure.OTHER_MACHINE: (
        "Another machine answers at this address.",
        "Compare its words; somebody may be posing as the machine.",
    ),
    Failure.NODE_NOT_PROVEN: (
        "The machine does not know the cluster key.",
        "Give it the key that is valid now, or admit it by its words.",
    ),
}


class JoinError(SynapseError):
    """A join that failed; `failure` says why."""

    code = "join_failed"

    def __init__(self, failure: Failure) -> None:
        message, advice = _SAID[failure]
        super().__init__(message, advice=advice)
        self.failure = failure
