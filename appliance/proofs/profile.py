"""Whether a payload says all that an intent or a certificate must say, each in its type.

A payload of this version may say more: further members are signed like the rest, so they are let through.
It must not know how a payload was made or who signed it.
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

from appliance.errors import ProofError
from appliance.proofs.fields import Fields

VERSION = 1
"""Major version of both payloads, their `v`. Within one, members may come but not go or change."""

Answered = Literal["complete", "length", "context_cut"]
"""The endings of a call that a model answered."""

Ending = Literal[Answered, "refused", "cancelled", "failed"]
"""How a call ended, in the one word that the ledger says too."""

Tier = Literal["fast", "full", "local"]
ShieldMode = Literal["standard", "medical", "off"]
Trust = Literal["loopback", "pinned", "open"]
"""How a machine is known: on this host, by its pinned identity, or by an administrator's word alone."""

_ID = re.compile(r"prf_[a-z2-7]{26}")
_KINDS = ("auto", "agent")
_LOCAL_PROVIDER = "ollama"


def check_intent(payload: Mapping[str, object]) -> None:
    """Raises `ProofError` naming the first member that an intent lacks or that has a wrong type."""
    top = Fields(payload)
    _check_opening(top)
    _check_pii(top.child("egress").child("pii"))


def check_certificate(payload: Mapping[str, object]) -> None:
    """Raises `ProofError` naming the first member that a certificate lacks or that has a wrong type."""
    top = Fields(payload)
    _check_opening(top)
    log = top.child("log")
    if log.integer("intent") >= log.integer("index"):
        log.fail("intent", "does not come before the certificate")
    top.child("time").time("completed")
    if "recovered" in top:
        _check_recovered(top)
    else:
        _check_outcome(top)


def _check_opening(top: Fields) -> None:
    if top.integer("v") != VERSION:
        raise ProofError(f"v is not {VERSION}: this version of the program cannot read it.")
    top.matching("id", _ID, "a certificate id")
    top.text("workspace")
    top.text("key")
    gateway = top.child("gateway")
    gateway.text("version")
    gateway.text("shieldRules")
    gateway.digest("policy")
    log = top.child("log")
    log.text("origin")
    log.integer("index")
    top.child("time").time("received")
    _check_request(top.child("request"))
    _check_address(top.child("address"))


def _check_request(request: Fields) -> None:
    request.text("endpoint")
    request.text("model", empty=True)
    request.digest("sha256")
    request.integer("bytes")
    request.flag("stream")


def _check_address(address: Fields) -> None:
    kind = address.choice("kind", _KINDS)
    if kind == "agent" or "agent" in address:
        address.text("agent")
    # These three are said only when they differ from the rule (model-addressing, "Where the address shows up").
    for name, said in (("cortex", True), ("knowledge", False), ("memory", False)):
        if name in address and address.flag(name) is not said:
            address.fail(name, f"is there and is not {str(said).lower()}")


def _check_recovered(top: Fields) -> None:
    if not top.flag("recovered"):
        top.fail("recovered", "is there and is not true")
    top.child("response").choice("ending", ("failed",))
    why = "of a recovered call nothing but its intent is known"
    top.forbid("routing", "grounding", "usage", why=why)
    egress = top.child("egress")
    egress.forbid("attempts", "provider", "model", "local", "sha256", "node", why=why)
    _check_pii(egress.child("pii"))


def _check_outcome(top: Fields) -> None:
    egress = top.child("egress")
    attempts = egress.integer("attempts")
    _check_pii(egress.child("pii"))
    if attempts:
        _check_sent(egress)
    else:
        egress.forbid("provider", "model", "local", "sha256", "node", why="nothing was sent")
    if attempts or "routing" in top:
        _check_routing(top.child("routing"))
    _check_response(top.child("response"), attempts)
    if "grounding" in top:
        _check_grounding(top)
    if "usage" in top:
        usage = top.child("usage")
        usage.integer("promptTokens")
        usage.integer("completionTokens")


def _check_pii(pii: Fields) -> None:
    pii.choice("mode", get_args(ShieldMode))
    count = pii.integer("count")
    categories = pii.texts("categories")
    if len(categories) > count or (count and not categories):
        pii.fail("categories", "does not go with the count")


def _check_sent(egress: Fields) -> None:
    provider = egress.text("provider")
    egress.text("model")
    egress.digest("sha256")
    if egress.flag("local") is not (provider == _LOCAL_PROVIDER):
        egress.fail("local", "does not go with the provider")
    if provider != _LOCAL_PROVIDER:
        egress.forbid("node", why="only local calls are answered by a node")
        return
    node = egress.child("node")
    node.text("id")
    node.text("name")
    node.text("engine")
    node.choice("trust", get_args(Trust))


def _check_routing(routing: Fields) -> None:
    routing.text("taskType")
    routing.choice("tier", get_args(Tier))
    routing.text("reason")


def _check_response(response: Fields, attempts: int) -> None:
    ending = response.choice("ending", get_args(Ending))
    if ending in get_args(Answered) and not attempts:
        response.fail("ending", "says that a model answered, and nothing was sent")
    response.digest("sha256")
    if ending != "cancelled" or "status" in response:
        response.integer("status", minimum=100, maximum=599)
    if ending in get_args(Answered) or "textSha256" in response:
        response.digest("textSha256")


def _check_grounding(top: Fields) -> None:
    passages = top.children("grounding")
    if not passages:
        top.fail("grounding", "is there and is empty")
    for passage in passages:
        passage.text("source")
        passage.text("chunkId")
        passage.digest("sha256")
        if "page" in passage:
            passage.integer("page")
