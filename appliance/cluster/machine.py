"""What is known of one machine and its models, and the pure rules on them.

Knows nothing of HTTP or of calls; `cluster.health` fills it, `cluster.scheduler` chooses from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Trust = Literal["loopback", "pinned", "open"]
"""How sure we are of the other side: this very machine, a pinned certificate, or an address only (cluster.md)."""

Kind = Literal["ollama", "openai-compatible"]
"""What a machine speaks: Ollama's own API, or that of vLLM, Ray Serve and llama.cpp."""

NOT_ASKED = "not asked yet"
"""Why a machine is not used about which nothing is known."""

DEFAULT_SLOTS = 4
"""Calls at the same time on a machine that does not say how many it can run (cluster.md, "Choosing a machine")."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a machine describes it. `parameters` is a count, 0 where the machine does not say.

    `context_length` is the longest context in tokens that the model was made for, None where unknown.
    """

    name: str
    digest: str
    parameters: int
    capabilities: frozenset[str]
    remote: bool
    context_length: int | None = None

    @property
    def answers_chats(self) -> bool:
        return not self.remote and "completion" in self.capabilities


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. `why` says in a sentence why it is not used; it is empty while the machine is healthy.

    `loaded` gives for each model in memory the context length in tokens that it has there, 0 where unknown. `slots`:
    how many calls it gets at the same time, `slots_set` whether that holds whatever it says itself. `draining`: its
    calls may end, and it gets no more. `suspect`: a call has found it failing, and until it was asked again it gets no
    more.
    """

    id: str
    name: str
    url: str
    trust: Trust
    engine: str = ""
    healthy: bool = False
    why: str = NOT_ASKED
    models: tuple[Model, ...] = ()
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])
    kind: Kind = "ollama"
    slots: int = DEFAULT_SLOTS
    slots_set: bool = False
    draining: bool = False
    suspect: bool = False

    @property
    def asked(self) -> bool:
        """Whether it was ever asked how it is."""
        return self.healthy or self.why != NOT_ASKED

    def find(self, model: str) -> Model | None:
        """The model of this name that it runs itself; a tag that Ollama serves from its cloud does not count."""
        wanted = canonical(model)
        return next((own for own in self.models if canonical(own.name) == wanted and not own.remote), None)

    def has(self, model: str) -> bool:
        return self.find(model) is not None

    def failed(self, why: str) -> "Machine":
        return replace(self, healthy=False, suspect=False, why=why)


def canonical(model: str) -> str:
    """`name` and `name:latest` are one model (cluster.md, "Choosing a machine")."""
    return model.removesuffix(":latest")


def leaves_the_building(name: str, remote_host: str | None) -> bool:
    """Whether a tag is served by Ollama's own cloud: never local (cluster.md, last section)."""
    plain = name.strip().casefold()  # Ollama reads the suffix in any case
    return bool(remote_host) or plain.endswith((":cloud", "-cloud"))


def default_model(machines: tuple[Machine, ...]) -> str | None:
    """The model used while none is set: the largest that answers chats on a healthy machine, then by name."""
    found = [model for machine in machines if machine.healthy for model in machine.models if model.answers_chats]
    if not found:
        return None
    best = min(found, key=lambda model: (-model.parameters, canonical(model.name)))
    return canonical(best.name)
