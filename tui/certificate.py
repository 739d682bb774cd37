"""A certificate in words, as docs/certificates.md explains its fields, and its verification as it goes on.

Takes whatever the daemon answered: what is missing or of another form is left out, for `verify` to name. It proves
nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import cast

from rich.text import Text

from appliance.admin.client import looks
from tui.look import STYLES, Tone, state, tone
from tui.tools import Step, Verdict

ELSEWHERE = """\
Check it elsewhere too: e writes it and keys.json; docs/verify.md, or
  synapse proof verify FILE --keys keys.json
Get keys.json by another way than the certificate."""

BAD = "At least one check is bad: do not rely on it."


class Said:
    """What a JSON value holds, by paths; nothing where there is no such thing."""

    def __init__(self, value: object) -> None:
        self._value = value

    def at(self, *path: str) -> object:
        found = self._value
        for name in path:
            found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
        return found

    def text(self, *path: str) -> str:
        found = self.at(*path)
        return str(found) if isinstance(found, str | int) and not isinstance(found, bool) and found != "" else ""

    def many(self, *path: str) -> list[object]:
        found = self.at(*path)
        return cast("list[object]", found) if isinstance(found, list) else []


def read(data: bytes) -> Said:
    """The whole file."""
    try:
        return Said(json.loads(data))
    except (ValueError, RecursionError):
        return Said(None)


def words(data: bytes, names: Mapping[str, str]) -> list[str]:
    """What a certificate says.

    Args:
        data: the file.
        names: of keys and workspaces, by the ids that it has of them.
    """
    file = read(data)
    said = Said(file.at("payload"))
    if said.at("request") is None:
        return ["This does not read as a certificate. v checks it, and names what is wrong."]
    return [
        *_call(said, names),
        "",
        *_egress(said),
        "",
        *_answer(said),
        "",
        *_evidence(file, said),
    ]


def id_in(data: bytes) -> str:
    """The id that a certificate says it has."""
    return read(data).text("payload", "id")


def key_count(keys: bytes) -> int:
    return len(read(keys).many("keys"))


def digest(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def checks(done: Sequence[Step]) -> Text:
    """The checks that were made so far."""
    text = Text()
    for number, step in enumerate(done, 1):
        text.append(f"{number}. ")
        text.append(f"{state(step.state):<9} ", STYLES[tone(step.state)])
        text.append(looks.printable(f"{step.name}: {step.text}") + "\n")
    return text


def outcome(done: Sequence[Step], verdict: Verdict) -> Text:
    """What all of them prove together, and how anybody else can check it."""
    good = verdict.good and all(step.state == "ok" for step in done)
    look: Tone = "good" if good else "bad"
    text = Text("\n")
    text.append("✓ Good. " if good else "✗ Not good. ", STYLES[look] + STYLES["strong"])
    text.append(looks.printable(verdict.statement if good or not verdict.good else BAD))
    text.append(f"\n\n{ELSEWHERE}")
    return text


def _call(said: Said, names: Mapping[str, str]) -> list[str]:
    return [
        f"Came       {_moment(said.text('time', 'received'))}, ended {_moment(said.text('time', 'completed'))}",
        f"Key        {_named(said.text('key'), names)}",
        f"Workspace  {_named(said.text('workspace'), names)}",
        f"Asked for  {said.text('request', 'model') or looks.ABSENT}{_address(said)}",
        f"At         {said.text('request', 'endpoint')}, {said.text('request', 'bytes')} bytes"
        f"{', as a stream' if said.at('request', 'stream') is True else ''}",
    ]


def _address(said: Said) -> str:
    agent = said.text("address", "agent")
    parts = (
        f"agent {agent}" if agent else "",
        "with knowledge asked for" if said.at("address", "cortex") is True else "",
        "without the agent's knowledge" if said.at("address", "knowledge") is False else "",
        "without the agent's memory" if said.at("address", "memory") is False else "",
    )
    found = ", ".join(part for part in parts if part)
    return f" ({found})" if found else ""


def _egress(said: Said) -> list[str]:
    count, mode = said.text("egress", "pii", "count"), said.text("egress", "pii", "mode")
    kinds = ", ".join(str(kind) for kind in said.many("egress", "pii", "categories"))
    masked = f"{count or looks.ABSENT} {'value' if count == '1' else 'values'}{f': {kinds}' if kinds else ''}"
    return [
        f"Building   {_where(said)}",
        *_sent(said),
        f"Masked     {masked} (shield: {mode or looks.ABSENT})",
    ]


def _where(said: Said) -> str:
    if said.at("recovered") is True:
        return "? unknown: the gateway died during the call; text may have left the building"
    if said.at("egress", "provider") is None:
        return "⌂ nothing was sent to any model"
    attempts = said.at("egress", "attempts")
    if said.at("egress", "local") is not True:
        return f"{state('left')} the building: sent to {said.text('egress', 'provider')}"
    if isinstance(attempts, int) and attempts > 1:
        # A certificate names who was asked last; whoever was asked before may be outside.
        return f"{state('here')}, at the last of {attempts} attempts; the ledger says whether one of them left"
    return f"{state('stayed')} in the building"


def _sent(said: Said) -> list[str]:
    if said.at("egress", "provider") is None:
        return []
    attempts = said.text("egress", "attempts")
    lines = [f"Answered   model {said.text('egress', 'model')}, attempts: {attempts or looks.ABSENT}"]
    if said.at("egress", "node") is not None:
        name, engine, trust = (said.text("egress", "node", part) for part in ("name", "engine", "trust"))
        lines.append(f"Machine    {name} ({engine}; known as: {trust}; {said.text('egress', 'node', 'id')})")
    if reason := said.text("routing", "reason"):
        lines.append(f"Because    {reason}")
    return lines


def _answer(said: Said) -> list[str]:
    status = said.text("response", "status")
    lines = [f"Ending     {state(said.text('response', 'ending'))}{f', status {status}' if status else ''}"]
    if said.at("usage") is not None:
        read_, written = said.text("usage", "promptTokens"), said.text("usage", "completionTokens")
        lines.append(f"Tokens     {read_} read, {written} written")
    for passage in map(Said, said.many("grounding")):
        page = passage.text("page")
        lines.append(f"Passage    {passage.text('source')}{f', page {page}' if page else ''}")
    return lines


def _evidence(file: Said, said: Said) -> list[str]:
    """Hashes stand alone on their lines: with anything before them they would not fit on a narrow screen."""
    hashes = (
        ("The request, as it came", said.text("request", "sha256")),
        ("What was sent to the model", said.text("egress", "sha256")),
        ("The answer, as it was delivered", said.text("response", "sha256")),
        ("The answer's text alone", said.text("response", "textSha256")),
        ("The policy in force", said.text("gateway", "policy")),
    )
    signatures = [Said(signature).text("keyid") for signature in file.many("signatures")]
    lines = ["SHA-256 of"]
    for name, value in hashes:
        lines += [f"  {name}", f"  {value}"] if value else []
    return [
        *lines,
        f"Signed by the key{'s' if len(signatures) > 1 else ''}",
        *(f"  {keyid}" for keyid in signatures),
        f"Log        {said.text('log', 'origin')}, entry {said.text('log', 'index')}"
        f" (its intent: {said.text('log', 'intent') or looks.ABSENT})",
        f"Gateway    {said.text('gateway', 'version')}, shield rules {said.text('gateway', 'shieldRules')}",
    ]


def _named(one: str, names: Mapping[str, str]) -> str:
    return f"{names[one]} ({one})" if one in names else one or looks.ABSENT


def _moment(rfc3339: str) -> str:
    return rfc3339.replace("T", " ") or looks.ABSENT
