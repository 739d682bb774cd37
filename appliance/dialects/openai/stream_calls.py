"""Joins the pieces of one answer's tool calls to whole calls.

OpenAI numbers the calls and sends id and name once. Servers that speak alike leave out the number or the id, number
every call 0, repeat id and name with every piece, invent an id for each piece, or send a call whole.
Source: the OpenAI API reference, "The chat completion chunk object"; dialects.md §1.1 and §4, 4.
"""

from dataclasses import dataclass, field
from typing import cast

import orjson

from appliance.dialects.upstream import ProviderError


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_another(self, call_id: str, name: str, arguments: str) -> bool:
        """Whether a piece that bears this call's number begins another call."""
        if not name:
            return False
        if call_id and self.id:
            return call_id != self.id
        if not self.pieces:
            return False
        return name != self.name or (self.pieces[-1].rstrip()[-1:] == "}" and arguments.lstrip()[:1] == "{")


class Calls:
    """The calls of one answer. `add` every piece, then take them `whole`."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def add(self, piece: object) -> None:
        """One entry of `tool_calls`. Raises ProviderError."""
        fields = _fields(piece, "tool call")
        function = _fields(fields.get("function") or {}, "function of a tool call")
        index, call_id = fields.get("index"), fields.get("id")
        self._add(index if isinstance(index, int) else None, call_id if isinstance(call_id, str) else "", function)

    def add_function(self, piece: object) -> None:
        """A piece of `function_call`, as the one call of an answer was called before. Raises ProviderError."""
        self._add(0, "", _fields(piece, "function call"))

    def whole(self, *, cut: bool) -> list[tuple[str, str]]:
        """Names and arguments in the order in which the calls began; arguments are JSON as the model wrote it.

        `cut`: the answer ended in the middle, so that a call whose arguments are no JSON object never became one.
        Raises ProviderError.
        """
        calls = [(call.name, call.arguments.strip() or "{}") for call in self._calls]
        if cut:
            calls = [(name, arguments) for name, arguments in calls if name and _is_object(arguments)]
        if not all(name for name, _ in calls):
            raise ProviderError("failed", "It sent a tool call without a name.")
        return calls

    def _add(self, index: int | None, call_id: str, function: dict[str, object]) -> None:
        said = function.get("name")
        name = said if isinstance(said, str) else ""
        arguments = _arguments(function.get("arguments"))
        call = self._find(index, call_id)
        if call is None or call.is_another(call_id, name, arguments):
            call = _Call(call_id)
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if call_id:
            call.id = call.id or call_id
            self._by_id[call_id] = call
        if name != call.name and not call.pieces:
            call.name += name
        if arguments:
            call.pieces.append(arguments)

    def _find(self, index: int | None, call_id: str) -> _Call | None:
        if index is not None:
            return self._by_index.get(index)
        return self._by_id.get(call_id) or (self._calls[-1] if self._calls else None)


def _arguments(value: object) -> str:
    """A piece of JSON text; some servers send the whole as an object."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict):
        return orjson.dumps(cast("object", value)).decode()
    raise ProviderError("failed", "It sent a tool call whose arguments are not an object.")


def _fields(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ProviderError("failed", f"It sent a {what} that is not an object.")
    return cast("dict[str, object]", value)


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
