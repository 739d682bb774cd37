"""Checks of who answers calls: machines, models, contexts and providers. Pure."""

from collections.abc import Mapping, Sequence

from appliance.admin.node_wire import Node
from appliance.admin.policy_wire import ProviderCheck, ProviderList
from appliance.admin.wire import ContextList, ModelContext, ModelList, RoleModel
from appliance.doctor.facts import DaemonFacts, DatabaseFacts, MachineFacts
from appliance.doctor.finding import Finding, failed, ok, warning

LOCAL = "ollama"
"""The provider that is this installation's own machines."""

TINY = 4096
"""Tokens: with less, a page of text with a question does not fit."""

AGENTS = 32_768
"""Tokens that Claude Code and other agents begin with (docs/clients.md)."""

_SHOWN_BY_DEFAULT = ("rejected", "revoked")


def machines(found: DaemonFacts) -> list[Finding]:
    """Each machine, and whether any answers."""
    shown = [node for node in found.nodes.nodes if node.state not in _SHOWN_BY_DEFAULT]
    active = [node for node in shown if node.state == "active"]
    findings = [_machine(node) for node in shown]
    if active:
        return findings
    said = "No machine answers calls."
    advice = "Start Ollama on this machine (ollama serve), or take one in: synapse node add URL, or docs/machines.md."
    if found.status.active_provider == LOCAL:
        return [failed("machines", said, advice), *findings]
    said += f" Those that may leave go to {found.status.active_provider}; sensitive ones are refused."
    return [warning("machines", said, advice), *findings]


def listed_machines(found: Sequence[MachineFacts]) -> list[Finding]:
    """Those of the settings, as they answer without a daemon."""
    findings = [_listed(machine) for machine in found]
    if any(machine.problem is None for machine in found):
        return findings
    advice = "Start Ollama on this machine (ollama serve), or name one that runs it in local.ollama."
    return [
        warning("machines", "No machine of the settings answers. Others only the daemon can ask.", advice),
        *findings,
    ]


def models(found: ModelList, active_provider: str) -> list[Finding]:
    """Whether each role's model is there."""
    findings = [_absent(one) for one in found.roles if one.configured and not one.available]
    full = next((one for one in found.roles if one.role == "full"), None)
    if full is not None and full.effective is None:
        state = failed if active_provider == LOCAL else warning
        said = "No machine has a model that answers chats."
        findings.append(state("models", said, "Get one on a machine: ollama pull llama3.2, or another."))
    if findings:
        return findings
    told = [f"{one.role} {one.effective}" for one in found.roles if one.effective]
    return [ok("models", f"{', '.join(told)}.")]


def contexts(found: ContextList) -> list[Finding]:
    """How long prompts may be."""
    tiny = [one for one in found.contexts if one.tokens is not None and one.tokens < TINY]
    if tiny:
        return [_tiny(one) for one in tiny]
    known = [one.tokens for one in found.contexts if one.tokens is not None]
    if not known:
        return []
    least, most = min(known), max(known)
    said = f"{least} tokens" if least == most else f"{least} to {most} tokens"
    if most < AGENTS:
        said += f". Claude Code and other agents need {AGENTS} and more: local.context in the settings"
    return [ok("context", f"{said}.")]


def providers(found: ProviderList, checks: Mapping[str, ProviderCheck], database: DatabaseFacts) -> list[Finding]:
    """Whether each external provider can be called; only trial calls say whether it lets us in."""
    findings: list[Finding] = []
    for provider in found.providers:
        name = f"provider {provider.name}"
        check = checks.get(provider.name)
        if provider.name in database.closed_providers:
            findings.append(_closed(provider.name))
        elif not provider.configured:
            said = "It has no full model, and no call goes there."
            findings.append(
                warning(name, said, f"Add it again with --full MODEL, or: synapse provider remove {provider.name}")
            )
        elif check is None:
            findings.append(ok(name, "Its key is there; it was not tried (synapse doctor --online does)."))
        elif check.ok:
            findings.append(ok(name, "A trial call was answered."))
        else:
            findings.append(
                failed(name, check.problem, check.advice or f"Try again: synapse provider test {provider.name}")
            )
    return findings


def sealed_providers(database: DatabaseFacts) -> list[Finding]:
    """What can be said of providers without a daemon."""
    return [_closed(name) for name in database.closed_providers]


def _machine(node: Node) -> Finding:
    name = f"machine {node.name or node.id[:16]}"
    listing = "synapse node list shows it."
    if node.state in ("candidate", "changed"):
        said = "It wants to join." if node.state == "candidate" else "It shows another key than before."
        said += f" {_sentence(node.why)}" if node.why else ""
        return warning(name, said.strip(), f"synapse node admit {node.id[:16]}, or synapse node reject {node.id[:16]}")
    if node.state == "active" and node.why is None:
        trust = {"loopback": "this machine", "pinned": "its certificate is pinned", "open": "known by its address only"}
        return ok(name, f"It answers ({trust[node.trust]}), for {', '.join(node.roles)}.")
    why = _sentence(node.why or "it has not been asked yet")
    if node.state == "draining":
        return warning(name, why, f"To give it calls again: synapse node resume {node.name or node.id[:16]}")
    if node.state == "unhealthy":
        return warning(
            name,
            f"It is not used: {node.why or 'it does not answer'}.",
            f"See that it runs and is reachable. {listing}",
        )
    return warning(name, why, listing)


def _listed(machine: MachineFacts) -> Finding:
    name = f"machine {machine.url}"
    if machine.problem is not None:
        return warning(
            name, f"It is not used: {machine.problem}.", "Start Ollama there, or take it out of local.ollama."
        )
    if not machine.models:
        return warning(
            name, f"It answers ({machine.engine}), and has no models.", "Get one there: ollama pull llama3.2"
        )
    return ok(name, f"It answers ({machine.engine}; {', '.join(machine.models)}).")


def _absent(one: RoleModel) -> Finding:
    said = f"No healthy machine has {one.configured}, which is set for {one.role}: such calls are refused."
    return failed("models", said, f"ollama pull {one.configured}, or: synapse model unset {one.role}")


def _tiny(one: ModelContext) -> Finding:
    said = f"{one.model} on {one.machine} takes {one.tokens} tokens: longer prompts are refused."
    if one.longest is not None and one.longest < TINY:
        return warning("context", said, f"It was made for {one.longest}: choose another model, synapse model set.")
    return warning("context", said, "Set local.context in the settings, such as 8192, and restart the daemon.")


def _closed(name: str) -> Finding:
    said = "Its key does not open with this key file: calls there fail."
    return failed(f"provider {name}", said, f"Give its key again: synapse provider add {name} … --key-stdin")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
