"""What the `model` field of a call asks for: the grammar of addresses, as a pure function.

Knows nothing of agents that exist, of policy or of HTTP: it reads a string.
Source: model-addressing.md ("Grammar", "Prefixes", "Flags", "Where the address shows up in a certificate").
"""

import unicodedata
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from appliance.errors import AddressNotSupported, BadRequest

Kind = Literal["auto", "agent", "debate"]
"""Who answers: Synapse's own choice of model, one of the workspace's agents, or the reserved form."""

DEFAULT_BASE = "pulse-auto"
FULL_BASE = "pulse-agent"
SENSITIVE_BASE = "pulse-sensitive"
AGENT_PREFIX = "agent:"
DEBATE_PREFIX = "debate:"

MAX_MODEL_CHARACTERS = 1024
"""Code points. Longer than any real name with every flag; the string is kept in every certificate (gateway.md)."""


@dataclass(frozen=True, slots=True)
class Address:
    """What an address asks for, with each flag set only where it is acted upon.

    `model` is the string as it was sent, "" if none was. `passthrough` means that the base is a name that is
    not ours. `slug` is set for `agent` and `debate`, and may be empty there, which names no agent. `full` is
    the wish for the full-quality model; `knowledge` and `memory` are false only on agents told to do without.
    """

    model: str
    kind: Kind = "auto"
    passthrough: bool = False
    slug: str = ""
    cortex: bool = False
    sensitive: bool = False
    full: bool = False
    knowledge: bool = True
    memory: bool = True


def parse(model: str | None) -> Address:
    """Reads any string; a missing or empty base is `pulse-auto`, an unknown flag is ignored."""
    text = model or ""
    first, *rest = (part.strip() for part in text.split("+"))
    base = first or DEFAULT_BASE
    flags = {flag.lower() for flag in rest}
    if base.startswith(AGENT_PREFIX):
        return Address(
            text,
            kind="agent",
            slug=slug(base.removeprefix(AGENT_PREFIX)),
            # Beyond the seed (routing.md, "Task"): a residency flag that is ignored is a trap.
            sensitive="sensitive" in flags,
            knowledge=flags.isdisjoint({"nocortex", "noknowledge"}),
            memory="nomemory" not in flags,
        )
    debate = base.startswith(DEBATE_PREFIX)
    return Address(
        text,
        kind="debate" if debate else "auto",
        passthrough=not debate and base not in {DEFAULT_BASE, FULL_BASE, SENSITIVE_BASE},
        slug=slug(base.removeprefix(DEBATE_PREFIX)) if debate else "",
        cortex="cortex" in flags,
        sensitive=base == SENSITIVE_BASE or "sensitive" in flags,
        full=base == FULL_BASE or "agent" in flags,
    )


def slug(name: str) -> str:
    """An agent's name as it stands in an address: without accents, lower case, one dash between words.

    Letters and digits of every script count as alphanumeric, so that an agent with a Greek or Chinese name
    has a slug too. The result may be empty.
    """
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.category(c).startswith("M"))
    runs = groupby(bare.lower(), key=str.isalnum)
    return "-".join("".join(run) for alphanumeric, run in runs if alphanumeric)


def check_model(model: str) -> None:
    """Raises `BadRequest` for a name that a certificate could not record verbatim (gateway.md, proofs.md "Profile")."""
    if len(model) > MAX_MODEL_CHARACTERS:
        raise BadRequest(f"`model` must be at most {MAX_MODEL_CHARACTERS} characters long.", param="model")
    if any(c == "\x7f" or "\ud800" <= c <= "\udfff" for c in model):
        raise BadRequest("`model` must not hold the control character U+007F or a lone surrogate.", param="model")


def check_served(address: Address) -> None:
    """Raises `AddressNotSupported` for the reserved `debate:` form."""
    if address.kind == "debate":
        raise AddressNotSupported("debate: addresses are reserved and not served by this installation", param="model")


def certificate_fields(address: Address) -> dict[str, str | bool]:
    """`payload.address` of a call in the OpenAI dialect. The address has passed `check_served`."""
    fields: dict[str, str | bool] = dict(narrow_certificate_fields(address))
    if not address.knowledge:
        fields["knowledge"] = False
    if not address.memory:
        fields["memory"] = False
    return fields


def narrow_certificate_fields(address: Address) -> dict[str, str | bool]:
    """`payload.address` of a call in the Anthropic dialect, which records kind, agent and cortex only."""
    fields: dict[str, str | bool] = {"kind": address.kind}
    if address.kind == "agent":
        fields["agent"] = address.slug
    if address.cortex:
        fields["cortex"] = True
    return fields
