"""How a machine looks: its line, everything about it, and what stands above them all. Pure."""

from collections.abc import Iterable

from rich.text import Text

from appliance.admin.client import looks, node_wire
from tui.look import STYLES, state, tone
from tui.widgets.table import Column, Row

CANDIDATES = ("candidate", "changed")
HIDDEN = ("rejected", "revoked")
SHOWN_OF_ID = 16
"""Characters, which no two machines share; the commands show as many."""

SHOWN_WORDS = 6
"""Of the eight of a candidate: the person reads the others off its own screen."""

COLUMNS = (
    Column("MACHINE", 16),
    Column("STATE", 11),
    Column("TRUST", 8),
    Column("CALLS", 5, right=True),
    Column("MODELS", 6, right=True),
    Column("WHY UNUSED"),
)

_TRUST = {
    "loopback": "this machine",
    "pinned": "known by its key, and by nothing else",
    "open": "known by its address only: who takes that over gets its calls",
}

_WAY = {
    "key": "by the join key",
    "words": "by its words",
    "administrator": "by its address, which an administrator typed",
}


def called(node: node_wire.Node) -> str:
    """Its name, and the beginning of its id where it has told none."""
    return looks.printable(node.name).strip() or node.id[:SHOWN_OF_ID]


def sentence(why: str) -> str:
    """With its full stop."""
    return why if why.endswith((".", "!", "?")) else f"{why}."


def in_order(nodes: Iterable[node_wire.Node]) -> list[node_wire.Node]:
    """What waits for a decision first, what was put out last."""

    def rank(node: node_wire.Node) -> tuple[int, str, str]:
        place = 0 if node.state in CANDIDATES else 2 if node.state in HIDDEN else 1
        return place, called(node).casefold(), node.id

    return sorted(nodes, key=rank)


def row(node: node_wire.Node) -> Row:
    answers = node.state in ("active", "draining")
    cells = (
        called(node),
        state(node.state),
        node.trust,
        f"{node.in_flight}/{node.slots}" if answers else looks.ABSENT,
        str(len(node.models)) if node.models else looks.ABSENT,
        node.why or ("a admits it" if node.state in CANDIDATES else ""),
    )
    return Row(node.id, tuple(looks.printable(cell) for cell in cells), ("strong", tone(node.state)))


def details(node: node_wire.Node) -> list[str]:
    """Everything of it."""
    return [
        f"Id          {node.id}",
        f"Name        {node.name or looks.ABSENT}",
        f"State       {state(node.state)}",
        *((f"Why unused  {sentence(node.why)}",) if node.why else ()),
        f"Words       {' '.join(node.words) or 'none: it has no key'}",
        f"Trust       {node.trust}: {_TRUST[node.trust]}",
        f"Let in      {'by the settings (local.ollama)' if node.listed else _WAY.get(node.way or '', looks.ABSENT)}",
        "",
        f"Address     {node.url}",
        f"Kind        {node.kind}",
        f"Engine      {node.engine or looks.ABSENT}",
        f"Calls       {node.in_flight} running, of {node.slots} at a time",
        f"Used for    {', '.join(node.roles) or looks.ABSENT}",
        f"Models      {', '.join(node.models) or looks.ABSENT}",
    ]


def above(found: node_wire.NodeList, *, hidden: int) -> Text:
    """What holds for all: the gateway's words, who waits, and why nobody is discovered. `hidden` are not shown."""
    text = Text("This gateway's words; a machine is given them with --gateway-words:\n")
    text.append(f"  {' '.join(found.gateway_words)}\n", STYLES["strong"])
    waiting = found.waiting
    said = "No call waits." if not waiting else "1 call waits." if waiting == 1 else f"{waiting} calls wait."
    text.append(said, STYLES["warn" if waiting else "plain"])
    if hidden:
        text.append(f" {hidden} put out or rejected: h shows {'it' if hidden == 1 else 'them'}.")
    if found.discovery is not None:
        said = f" No machines are discovered: {sentence(found.discovery)}"
        text.append(looks.printable(said), STYLES["warn"])
    return text


def to_compare(node: node_wire.Node) -> list[str]:
    """What a person is told who is to type the last two words of its key."""
    return [
        *((f"! {sentence(node.why)}", "") if node.why else ()),
        "This gateway sees a key whose words begin:",
        "",
        f"    {' '.join(node.words[:SHOWN_WORDS])} …",
        "",
        "Go to the machine, where `synapse node serve` shows eight words. Compare the first six with these: if one"
        " differs, somebody poses as it, and esc leaves it out.",
        "If all six are the same, type the last two as they stand there.",
        "",
    ]


def keyless(node: node_wire.Node) -> list[str]:
    """What is said before a machine is let in that cannot prove who it is."""
    return [
        *((f"! {sentence(node.why)}",) if node.why else ()),
        f"It has no key, and is known by its address only: {node.url}",
        "Whoever takes that address over gets the calls that go there.",
        "Sensitive calls are kept off it, unless the policy lets them (4, then O).",
    ]
