"""How things look in the console: each state is a glyph and a word, so that colour is never needed."""

from typing import Literal

from rich.style import Style

from appliance.admin.client import looks

Tone = Literal["plain", "good", "warn", "bad", "dim", "strong"]

STYLES: dict[Tone, Style] = {
    "plain": Style(),
    "good": Style(color="green"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red"),
    "dim": Style(dim=True),
    "strong": Style(bold=True),
}

_STATES: dict[str, tuple[str, Tone]] = {
    # machines (cluster.md, "States")
    "candidate": ("?", "warn"),
    "changed": ("!", "bad"),
    "admitted": ("○", "plain"),
    "active": ("●", "good"),
    "unhealthy": ("✗", "bad"),
    "draining": ("◐", "warn"),
    "rejected": ("–", "dim"),
    "revoked": ("–", "dim"),
    # keys
    "expired": ("–", "dim"),
    # how a call ended (architecture.md, rule 4)
    "complete": ("✓", "good"),
    "length": ("≡", "warn"),
    "context_cut": ("≡", "warn"),
    "refused": ("⊘", "warn"),
    "cancelled": ("–", "dim"),
    "failed": ("✗", "bad"),
    # pulls
    "running": ("◐", "warn"),
    "done": ("✓", "good"),
    # checks of a certificate
    "ok": ("✓", "good"),
    "bad": ("✗", "bad"),
    "missing": ("?", "warn"),
    # lanes
    "ready": ("●", "good"),
    "not ready": ("✗", "bad"),
    "no model": ("✗", "bad"),
    # calls
    "left": ("↗", "warn"),
    "stayed": ("⌂", "good"),
}


def state(word: str) -> str:
    """The word with its glyph."""
    glyph, _ = _STATES.get(word, ("·", "plain"))
    return f"{glyph} {word.replace('_', ' ')}"


def tone(word: str) -> Tone:
    return _STATES.get(word, ("·", "plain"))[1]


def short_moment(rfc3339: str | None) -> str:
    """`11-30 10:32`, in UTC as everywhere."""
    return looks.ABSENT if rfc3339 is None else f"{rfc3339[5:10]} {rfc3339[11:16]}"


def bar(part: float, width: int) -> str:
    """So much of the width, in eighths of a column; something is always more than nothing."""
    eighths = round(min(max(part, 0.0), 1.0) * width * 8)
    if part > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
