"""`synapse node list | add | admit | reject | drain | resume | remove`: which machines answer calls."""

import sys
from pathlib import Path

from appliance.admin import looks
from appliance.admin import node_wire as wire
from appliance.admin.client import Client
from appliance.admin.wire import InvalidInput, encode
from appliance.commands import text
from appliance.commands.outcome import Outcome
from appliance.commands.prompts import interruptible

CANDIDATES = ("candidate", "changed")
HIDDEN = ("rejected", "revoked")
MAX_CA_BYTES = 64 * 1024
WORDS = 8


async def show_all(client: Client, *, everything: bool) -> Outcome:
    found = await client.nodes()
    shown = [node for node in found.nodes if everything or node.state not in HIDDEN]
    lines = list(_table(shown))
    for node in shown:
        if node.why:
            end = "" if node.why.endswith((".", "!", "?")) else "."
            lines += text.wrapped(looks.printable(f"{_called(node)}: {node.why}{end}"))
    if found.waiting:
        waiting = f"{found.waiting} calls wait" if found.waiting > 1 else "One call waits"
        lines.append(f"{waiting} for a machine.")
    notes = [] if found.discovery is None else [f"No machines are discovered: {found.discovery}."]
    candidates = [node for node in shown if node.state in CANDIDATES]
    for node in candidates:
        lines += [f"{_called(node)}: {line[0].lower()}{line[1:]}" for line in _words(node)]
    if candidates:
        notes.append(_how_to_admit(candidates[0]))
    return Outcome(encode(found), tuple(lines), notes=tuple(notes))


async def add(client: Client, new: wire.NewNode) -> Outcome:
    made = await client.add_node(new)
    if made.state in CANDIDATES:
        lines = (f"{_called(made)} is a candidate now.", *_words(made))
        return Outcome(encode(made), lines, notes=(_how_to_admit(made),))
    if made.state in HIDDEN:  # a node's address was typed, and it answered
        lines = (f"{_called(made)} was {made.state} before, and stays so.", *_words(made))
        return Outcome(encode(made), lines, notes=(_how_to_admit(made),))
    if made.trust == "pinned":
        return Outcome(encode(made), (f"Machine {_called(made)} is in use already.",), notes=_after(made))
    lines = (f"Machine {_called(made)} is taken in. It is known by its address only.",)
    clear = new.key is not None and made.trust == "open" and made.url.startswith("http://")
    bare = ("Its key goes over the network in the clear: with https:// it would not.",) if clear else ()
    return Outcome(encode(made), lines, notes=(*bare, *_after(made)))


async def admit(client: Client, node: str, words: str | None) -> Outcome:
    """`words`: all eight; at a terminal the machine's are shown but for the last two, which are asked for.

    Raises InvalidInput: fewer, of which somebody could find a key that has them too.
    """
    if words is not None and len(words.replace("-", " ").split()) != WORDS:
        raise InvalidInput(
            f"A machine has {WORDS} words.", advice="Give all that it shows, in quotation marks: fewer can be forged."
        )
    if words is None and sys.stdin is not None and sys.stdin.isatty():
        words = await _ask_for_words(client, node)
    made = await client.admit_node(wire.Admission(node, words))
    return Outcome(encode(made), (f"Machine {_called(made)} is admitted.",), notes=_after(made))


async def reject(client: Client, node: str) -> Outcome:
    gone = await client.reject_node(node)
    lines = (f"{_called(gone)} is not shown any more.",)
    return Outcome(encode(gone), lines, notes=(f"To see it again: synapse node remove {gone.id[:16]}",))


async def drain(client: Client, node: str) -> Outcome:
    made = await client.drain_node(node)
    left = f"{made.in_flight} still run there" if made.in_flight else "none runs there"
    lines = (f"Machine {_called(made)} gets no more calls; {left}.",)
    return Outcome(encode(made), lines, notes=(f"To give it calls again: synapse node resume {made.id[:16]}",))


async def resume(client: Client, node: str) -> Outcome:
    made = await client.resume_node(node)
    return Outcome(encode(made), (f"Machine {_called(made)} gets calls again.",), notes=_after(made))


async def remove(client: Client, node: str) -> Outcome:
    gone = await client.remove_node(node)
    if gone.state == "revoked":
        said = f"Machine {_called(gone)} was put out before. No cluster key lets it in again, only you can."
        return Outcome(encode(gone), (said,))
    if gone.state == "rejected":
        return Outcome(encode(gone), (f"Of {_called(gone)} nothing is known any more.",))
    if gone.trust != "pinned":
        return Outcome(encode(gone), (f"Machine {_called(gone)} is put out, and gets no more calls.",))
    lines = (
        f"Machine {_called(gone)} is put out, and its connections are closed.",
        "Its certificate is not trusted any more. It joins again only if you admit it.",
    )
    return Outcome(encode(gone), lines)


def read_ca(path: Path) -> str:
    """The text of a file of certificates. Raises InvalidInput where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_CA_BYTES + 1).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(f"{path} cannot be read ({reason}).", advice="Give a file of certificates in PEM.") from None


async def _ask_for_words(client: Client, node: str) -> str | None:
    named = node.removeprefix("syn-")
    meant = [one for one in (await client.nodes()).nodes if one.id.startswith(named) or one.name == node]
    if len(meant) != 1 or not meant[0].words:
        return None
    print(f"Compare with what the machine shows: {' '.join(meant[0].words[:6])} …", file=sys.stderr)  # noqa: T201
    print("Its last two words: ", end="", flush=True, file=sys.stderr)  # noqa: T201  stdout is data
    with interruptible():
        return sys.stdin.readline().strip() or None


def _table(nodes: list[wire.Node]) -> tuple[str, ...]:
    if not nodes:
        return ("There is no machine. Start `synapse node serve` on one, or name its address: synapse node add URL.",)
    rows = [
        (
            _called(node),
            node.id[:16],
            node.state,
            node.trust,
            node.engine or looks.ABSENT,
            f"{node.in_flight}/{node.slots}" if node.state in ("active", "draining") else looks.ABSENT,
            ", ".join(node.roles) or looks.ABSENT,
            ", ".join(node.models) or looks.ABSENT,
        )
        for node in nodes
    ]
    return text.table(("MACHINE", "ID", "STATE", "TRUST", "ENGINE", "CALLS", "USED FOR", "MODELS"), rows, whole=(1, 2))


def _called(node: wire.Node) -> str:
    return looks.printable(node.name or node.id[:16])


def _words(node: wire.Node) -> tuple[str, ...]:
    return (f"Its words: {' '.join(node.words)}",) if node.words else ()


def _how_to_admit(node: wire.Node) -> str:
    if not node.words:
        return f"To take in {node.url}, which is known by its address only: synapse node admit {node.id[:16]}"
    return (
        "To let it in, read its eight words on that machine, and compare them all: synapse node admit"
        f' {node.id[:16]} --words "WORD WORD …"'
    )


def _after(node: wire.Node) -> tuple[str, ...]:
    return ("synapse node list shows how it is.",) if node.state != "active" else ()
