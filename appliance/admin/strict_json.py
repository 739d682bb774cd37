"""The strict JSON form of frozen shapes: what is missing, unknown or of another type is refused by name.

Must not know the shapes.
"""

import difflib
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from appliance.errors import AdminError

T = TypeVar("T")


class InvalidInput(AdminError):
    """What was asked for makes no sense as it is."""

    code = "invalid_request"


def encode(shape: Any) -> dict[str, Any]:
    """The JSON object of a shape."""
    return asdict(shape)


def decode(cls: type[T], value: object, *, lenient: bool = False) -> T:
    """The shape that a JSON value holds.

    Args:
        cls: the shape, a dataclass.
        value: what a JSON parser gave.
        lenient: let members pass that the shape does not have. For answers, so that a newer daemon may say more.

    Raises:
        InvalidInput: a member is missing, unknown or of the wrong type; the message names it.
    """
    return cast(T, _shape(cls, value, "", lenient))


def _shape(cls: Any, value: object, where: str, lenient: bool) -> object:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where or 'The body'} must be a JSON object.")
    members = cast(dict[str, object], value)
    hints = _hints(cls)
    for name in members:
        if name not in hints and not lenient:
            near = difflib.get_close_matches(name, list(hints), n=1)
            raise InvalidInput(
                f"{_join(where, name)} is not known here.", advice=f"Did you mean {near[0]}?" if near else ""
            )
    given: dict[str, object] = {}
    for item in fields(cls):
        if item.name in members:
            given[item.name] = _value(hints[item.name], members[item.name], _join(where, item.name), lenient)
        elif item.default is MISSING:
            raise InvalidInput(f"{_join(where, item.name)} is missing.")
    return cls(**given)


def _value(hint: Any, value: object, where: str, lenient: bool) -> object:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # only `X | None` is used
        return None if value is None else _value(arguments[0], value, where, lenient)
    if origin is tuple:
        if not isinstance(value, list):
            raise InvalidInput(f"{where} must be a list.")
        entries = enumerate(cast(list[object], value))
        return tuple(_value(arguments[0], entry, f"{where}[{n}]", lenient) for n, entry in entries)
    if origin is Literal:
        if value not in arguments:
            raise InvalidInput(f"{where} must be one of: {', '.join(arguments)}.")
        return value
    if is_dataclass(hint):
        return _shape(hint, value, where, lenient)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise InvalidInput(f"{where} must be {_KINDS[hint]}.")
    return value


_KINDS: Mapping[type, str] = {str: "a string", int: "a whole number", bool: "true or false"}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
