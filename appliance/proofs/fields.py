"""Reads the members of one JSON object by name and type, and names the member that is not what it must be.

It must not know which object it reads, and never puts a value into a message: files come from strangers.
"""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NoReturn, cast

from appliance.errors import ProofError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


class Fields:
    """One JSON object. Every reader raises `ProofError` where the member is missing or of another type."""

    __slots__ = ("_path", "values")

    def __init__(self, values: Mapping[str, object], path: str = "") -> None:
        self.values = values
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def child(self, name: str) -> "Fields":
        return self._object(self._member(name), self.path(name))

    def children(self, name: str) -> tuple["Fields", ...]:
        """A list of objects."""
        return tuple(self._object(item, f"{self.path(name)}[{i}]") for i, item in enumerate(self._list(name)))

    def text(self, name: str, *, empty: bool = False) -> str:
        value = self._member(name)
        if not isinstance(value, str):
            self.fail(name, "is not a text")
        if not value and not empty:
            self.fail(name, "is empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._list(name)
        if not all(isinstance(item, str) and item for item in items):
            self.fail(name, "is not a list of texts")
        return cast("tuple[str, ...]", tuple(items))

    def integer(self, name: str, *, minimum: int = 0, maximum: int | None = None) -> int:
        value = self._member(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(name, "is not an integer")
        if value < minimum or (maximum is not None and value > maximum):
            self.fail(name, "is out of range")
        return value

    def flag(self, name: str) -> bool:
        value = self._member(name)
        if not isinstance(value, bool):
            self.fail(name, "is not true or false")
        return value

    def digest(self, name: str) -> str:
        """A SHA-256 as 64 lower-case hexadecimal digits."""
        return self.matching(name, _DIGEST, "a SHA-256 in lower-case hexadecimal")

    def time(self, name: str) -> str:
        """A moment as RFC 3339, UTC, with milliseconds: `2026-11-29T18:57:03.120Z`."""
        value = self.matching(name, _TIME, "a UTC time with milliseconds")
        try:
            datetime.fromisoformat(value)
        except ValueError:
            self.fail(name, "is not a date and time of the calendar")
        return value

    def matching(self, name: str, pattern: re.Pattern[str], what: str) -> str:
        value = self.text(name)
        if not pattern.fullmatch(value):
            self.fail(name, f"is not {what}")
        return value

    def choice(self, name: str, allowed: Collection[str]) -> str:
        value = self.text(name)
        if value not in allowed:
            self.fail(name, f"is not {' or '.join(allowed)}")
        return value

    def forbid(self, *names: str, why: str) -> None:
        for name in names:
            if name in self.values:
                self.fail(name, f"must be absent: {why}")

    def only(self, *names: str) -> None:
        """Exactly these members, all of them."""
        for name in names:
            self._member(name)
        if len(self.values) != len(names):
            raise ProofError(f"{self._path or 'The object'} has a member that does not belong there.")

    def path(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def fail(self, name: str, what: str) -> NoReturn:
        raise ProofError(f"{self.path(name)} {what}.")

    def _member(self, name: str) -> object:
        if name not in self.values:
            self.fail(name, "is missing")
        return self.values[name]

    def _list(self, name: str) -> list[object]:
        value = self._member(name)
        if not isinstance(value, list):
            self.fail(name, "is not a list")
        return cast("list[object]", value)

    def _object(self, value: object, path: str) -> "Fields":
        if not isinstance(value, dict):
            raise ProofError(f"{path} is not an object.")
        return Fields(cast("dict[str, object]", value), path)
