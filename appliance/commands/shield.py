"""`synapse shield show | set | test | scan`: what the shield masks, and what it would mask in a text, and why."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import text
from appliance.commands.outcome import Outcome
from appliance.settings import Shield
from appliance.shield.categories import Mode
from appliance.shield.detect import Detector
from appliance.shield.names import Names

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Of a text to be tested; for more there is `scan`."""


async def show(client: Client) -> Outcome:
    return _outcome(await client.shield())


async def choose(client: Client, mode: wire.ShieldMode) -> Outcome:
    return _outcome(await client.set_shield_mode(mode))


async def test(client: Client, file: str) -> Outcome:
    """What would leave instead of the text in `file`, `-` for standard input."""
    asked = _read(file)
    found = await client.test_shield(asked)
    if found.mode == "off":
        return Outcome(wire.encode(found), ("The shield is off: the text would leave as it is.",))
    rows = [(each.category, asked[each.start : each.end], each.token, _because(each)) for each in found.findings]
    lines = text.table(("CATEGORY", "VALUE", "TOKEN", "WHY"), rows, whole=(0, 2))
    heading = f"In the mode {found.mode} this would leave:"
    masked = tuple(looks.printable(line) for line in found.masked.splitlines())
    return Outcome(wire.encode(found), (*(lines if rows else ("Nothing would be masked.",)), "", heading, "", *masked))


def scan(lines: Iterable[bytes], mode: Mode, settings: Shield) -> Outcome:
    """Reads `{"id", "text"}` lines and writes `{"id", "spans": [[start, end, category], …]}` lines as they come.

    Raises `InvalidInput` where a line is none, once it is reached.
    """
    detector = Detector(mode, country=settings.country, names=lambda: Names(settings.names, settings.ignore))
    return Outcome(stream=_scanned(lines, detector))


def _scanned(lines: Iterable[bytes], detector: Detector) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _row(line, number)
        asked = cast("str", row["text"])
        (found,) = detector.spread([asked], [detector.find(asked)])
        spans = [[each.start, each.end, each.category] for each in found]
        yield json.dumps({"id": row["id"], "spans": spans}).encode() + b"\n"


def _row(line: bytes, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or "id" not in row or not isinstance(cast("Any", row).get("text"), str):
        raise wire.InvalidInput(
            f'Line {number} is not an object with "id" and "text".', advice='Write one a line: {"id": 1, "text": "…"}'
        )
    return cast("dict[str, Any]", row)


def standard_input() -> Iterable[bytes]:
    """Its lines; none where a shell has closed it."""
    return () if cast("object", sys.stdin) is None else sys.stdin.buffer


def _read(name: str) -> str:
    try:
        if name == "-":
            data = b"" if cast("object", sys.stdin) is None else sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise wire.InvalidInput(
            f"{looks.printable(name)} cannot be read ({reason}).", advice="Give its right path."
        ) from error
    if len(data) > MAX_TEXT_BYTES:
        raise wire.InvalidInput(
            f"The text is larger than {MAX_TEXT_BYTES // 2**20} MB.", advice="Try synapse shield scan for a large one."
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise wire.InvalidInput(
            f"{looks.printable(name)} is not text in UTF-8.", advice="Convert it, for example with iconv."
        ) from error


def _because(each: wire.ShieldFinding) -> str:
    return f"{each.rule}, beside “{each.context}”" if each.context else each.rule


def _outcome(found: wire.Shield) -> Outcome:
    source = "set by an administrator" if found.set else "from the settings file, or the default"
    lines = (
        f"mode        {found.mode} ({source})",
        f"masks       {', '.join(found.categories) or 'nothing: texts leave as they are'}",
        f"country     {found.country}: phone numbers without a prefix are read as of there",
        f"own lists   {found.names} names to mask, {found.ignored} words to ignore (shield.names, shield.ignore)",
    )
    return Outcome(wire.encode(found), lines)
