"""Typed reading of a JSON object's fields, each failure naming the field and the type that was expected.

Must not know a dialect: it knows JSON types. A missing field and null are the same here, and never an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from appliance.dialects.chat import DialectError


@dataclass(frozen=True, slots=True)
class Fields:
    """One object of a body. `path` is where it stands, as in `messages[0]`, "" for the body itself."""

    values: Mapping[str, object]
    path: str = ""

    def param(self, name: str) -> str:
        """The field's own path, as errors name it."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str) -> object:
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise wrong_type(self.param(name), "a string")
        return value

    def flag(self, name: str) -> bool:
        """False when missing."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise wrong_type(self.param(name), "a boolean")
        return value is True

    def integer(self, name: str, low: int, high: int) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # how some languages write every number
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(self.param(name), "an integer")
        if not low <= value <= high:
            raise wrong_type(self.param(name), f"an integer between {low} and {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise wrong_type(self.param(name), f"a number between {low:g} and {high:g}")
        return float(value)

    def items(self, name: str) -> list[object] | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise wrong_type(self.param(name), "a list")
        return cast("list[object]", value)

    def nested(self, name: str) -> "Fields | None":
        value = self.values.get(name)
        return None if value is None else as_fields(value, self.param(name))


def as_fields(value: object, path: str) -> Fields:
    """The object at `path`. Raises DialectError if it is something else."""
    if not isinstance(value, dict):
        raise wrong_type(path, "an object")
    return Fields(cast("dict[str, object]", value), path)


def wrong_type(param: str, expected: str) -> DialectError:
    return DialectError(f"`{param}` must be {expected}.", param)
