"""Which calls of the ledger a person asks for, as it was typed, and in words. Must not know how calls are shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, cast

from appliance.admin.client import ledger_wire, values
from tui.widgets.form import Field
from tui.widgets.reading import optional
from tui.widgets.reading import problem as reading_problem

Span = Literal["all", "today", "yesterday", "7 days", "typed"]

NONE = "-"
"""Typed for the calls that reached no model, no machine, no task."""

ANY = "any"
"""The ending of the form that takes all."""

_NEXT: Mapping[Span, Span] = {
    "all": "today",
    "today": "yesterday",
    "yesterday": "7 days",
    "7 days": "all",
    "typed": "today",
}

_DAYS: Mapping[Span, tuple[int, int]] = {"today": (0, 0), "yesterday": (1, 1), "7 days": (6, 0)}
"""The first and the last day of a span, counted back from today."""

_NAMES = {
    "workspace": "workspace",
    "key": "key",
    "model": "model",
    "node": "machine",
    "task": "task",
    "ending": "ending",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """`since` and `until` are what was typed, where the span is "typed". Other empty texts take any. `by` asks for sums
    instead of calls."""

    span: Span = "all"
    since: str = ""
    until: str = ""
    workspace: str = ""
    key: str = ""
    model: str = ""
    node: str = ""
    task: str = ""
    ending: str = ""
    left: bool | None = None
    by: ledger_wire.By | None = None

    def which(self, now: datetime) -> ledger_wire.Which:
        since, until = self._texts(now)
        begin = optional(since, lambda text: values.since(text, now))
        end = optional(until, values.until)
        return ledger_wire.Which(
            since=begin.isoformat() if begin else None,
            until=end.isoformat() if end else None,
            workspace=self.workspace or None,
            key=self.key or None,
            model=_or_none(self.model),
            node=_or_none(self.node),
            task=_or_none(self.task),
            ending=cast(ledger_wire.Ending, self.ending) if self.ending else None,
            left=self.left,
        )

    def words(self, now: datetime) -> str:
        """`yesterday 2026-11-28 (UTC), left the building only, key n8n`."""
        parts = [self._span_words(now)]
        if self.left is not None:
            parts.append("left the building only" if self.left else "stayed in the building only")
        for name, word in _NAMES.items():
            if value := cast(str, getattr(self, name)):
                parts.append(
                    f"no {word}"
                    if value == NONE
                    else f"{word} {value.replace('_', ' ') if name == 'ending' else value}"
                )
        return ", ".join(parts)

    def cut_days(self) -> bool:
        """Whether it begins within a day, of which sums count the whole."""
        return self.span == "typed" and bool(self.since) and not _is_date(self.since)

    def may_grow(self, now: datetime) -> bool:
        """Whether a call that comes now can be among these."""
        until = self._texts(now)[1]
        return not until or values.until(until) > now

    def next_day(self) -> "Asked":
        return replace(self, span=_NEXT[self.span], since="", until="")

    def turned(self) -> "Asked":
        """Only what left, or all again."""
        return replace(self, left=None if self.left else True)

    def narrowed(self, group: str) -> "Asked":
        """The calls of one group of these sums."""
        calls = replace(self, by=None)
        match self.by:
            case "day":
                return replace(calls, span="typed", since=group, until=group)
            case "left":
                return replace(calls, left=group == "left")
            case "key":  # told as `name (id)`, since a name may be there twice
                return replace(calls, key=group.rpartition("(")[2].removesuffix(")"))
            case "workspace":
                return replace(calls, workspace=group)
            case "model":
                return replace(calls, model=group or NONE)
            case "node":
                return replace(calls, node=group or NONE)
            case "task":
                return replace(calls, task=group or NONE)
            case None:
                return self

    def fields(self, now: datetime) -> tuple[Field, ...]:
        """Of the form that asks for it."""
        since, until = self._texts(now)
        return (
            Field("since", "Since", "a day (2026-11-01) or how long ago (30d, 12h); empty: ever", since),
            Field("until", "Until", "the last day, such as 2026-11-30; empty: now", until),
            Field("workspace", "Workspace", "its name; empty: any", self.workspace),
            Field("key", "Key", "its name or id; empty: any", self.key),
            Field("model", "Model", "as in the list; - is none; empty: any", self.model),
            Field("node", "Machine", "its name or id; - is none; empty: any", self.node),
            Field("task", "Task", "such as simple or code; - is none; empty: any", self.task),
            Field("ending", "Ending", value=self.ending or ANY, choices=(ANY, *ledger_wire.ENDINGS)),
        )

    def filled(self, given: Mapping[str, str], now: datetime) -> "Asked":
        """With what was typed. A span by name stays one where its days were not changed."""
        since, until = given["since"], given["until"]
        changed = self
        if (since, until) != self._texts(now):
            changed = replace(self, span="typed" if since or until else "all", since=since, until=until)
        return replace(
            changed,
            workspace=given["workspace"],
            key=given["key"],
            model=given["model"],
            node=given["node"],
            task=given["task"],
            ending="" if given["ending"] == ANY else given["ending"],
        )

    def _texts(self, now: datetime) -> tuple[str, str]:
        if self.span not in _DAYS:
            return self.since, self.until
        first, last = _DAYS[self.span]
        return _day(now, first), _day(now, last)

    def _span_words(self, now: datetime) -> str:
        since, until = self._texts(now)
        if self.span == "all":
            return "all calls"
        if since and not _is_date(since):
            since = f"{since} ago"
        days = since if since == until else f"{since} to {until}"
        if not until:
            days = f"from {since} on"
        elif not since:
            days = f"until {until}"
        return f"{days} (UTC)" if self.span == "typed" else f"{self.span} {days} (UTC)"


def problem(given: Mapping[str, str], now: datetime) -> str:
    """What makes no sense in the form, in a sentence; "" where all does."""
    wrong = reading_problem(
        given, {"since": ("Since", lambda text: values.since(text, now)), "until": ("Until", values.until)}
    )
    if wrong or not (given["since"] and given["until"]):
        return wrong
    if values.since(given["since"], now) >= values.until(given["until"]):
        return "The span ends before it begins."
    return ""


def _or_none(text: str) -> str | None:
    return "" if text == NONE else text or None


def _day(now: datetime, back: int) -> str:
    return (now - timedelta(days=back)).date().isoformat()


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) is not None
