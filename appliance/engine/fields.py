"""Reads the JSON object of a request's body, in Go's words where a value has the wrong type. Pure.

It must not know which request it reads. A refusal never repeats a piece of the body.
"""

from collections.abc import Mapping
from typing import cast

import orjson

from appliance.engine.json_values import is_too_deep
from appliance.engine.refusal import Refused


class Fields:
    """One JSON object of a request. `null` is the same as absent, as it is for Ollama.

    `place` is what Go calls the object, such as `ChatRequest.messages`. Every method but `value` raises Refused (400)
    for a value of another type.
    """

    def __init__(self, value: Mapping[str, object], place: str) -> None:
        self._value = value
        self._place = place

    def value(self, name: str) -> object:
        return self._value.get(name)

    def text(self, name: str) -> str:
        value = self.value(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._wrong(name, value, "string")
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(name, value, "bool")
        return value

    def integer(self, name: str) -> int:
        value = self.value(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, value, "int")
        return value

    def mapping(self, name: str) -> Mapping[str, object]:
        value = self.value(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(name, value, "map[string]interface {}")
        return cast("dict[str, object]", value)

    def array(self, name: str) -> list[object]:
        value = self.value(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(name, value, "array")
        return cast("list[object]", value)

    def integers(self, name: str) -> list[int]:
        items = self.array(name)
        for item in items:
            if isinstance(item, bool) or not isinstance(item, int):
                raise self._wrong(name, item, "int")
        return cast("list[int]", items)

    def inner(self, name: str) -> "Fields":
        """The object at `name`, an empty one where there is none."""
        return Fields(self.mapping(name), f"{self._place}.{name}")

    def objects(self, name: str) -> list["Fields"]:
        items = self.array(name)
        for item in items:
            if not isinstance(item, dict):
                raise self._wrong(name, item, "object")
        return [Fields(item, f"{self._place}.{name}") for item in cast("list[dict[str, object]]", items)]

    def model(self) -> str:
        """The name of the model, without which there is no answer."""
        name = self.text("model")
        if not name:
            raise Refused(400, "model is required")
        return name

    def _wrong(self, name: str, value: object, wanted: str) -> Refused:
        return Refused(
            400, f"json: cannot unmarshal {_kind(value)} into Go struct field {self._place}.{name} of type {wanted}"
        )


def read_object(body: bytes, place: str) -> Fields:
    """The object that `body` holds. Raises Refused (400)."""
    if not body.strip():
        raise Refused(400, "missing request body")
    try:
        value = cast("object", orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise Refused(400, _syntax_error(error)) from None
    if is_too_deep(value):
        raise Refused(400, "invalid JSON: it is nested too deeply")
    if value is None:
        return Fields({}, place)
    if not isinstance(value, dict):
        raise Refused(400, f"json: cannot unmarshal {_kind(value)} into Go value of type api.{place}")
    return Fields(cast("dict[str, object]", value), place)


def _syntax_error(error: orjson.JSONDecodeError) -> str:
    """Ollama's sentence where the recordings have one, else what is wrong and where; never a piece of the body."""
    return "unexpected EOF" if "unexpected end of data" in str(error) else f"invalid JSON: {error}"


def _kind(value: object) -> str:
    """What Go calls a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"
