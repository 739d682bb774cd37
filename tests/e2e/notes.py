"""An agent's task of two steps, for the SDKs: send a note, and say that it was sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.box import Box, box
from tests.calls.outside import TOKEN, Double, last_body, outside, received, spellings
from tests.e2e.models_with_tools import Player, ids_of
from tests.upstreams.ollama import OllamaDouble, ollama_double

KINDS = ("ollama", "openai", "mistral", "anthropic")

MAIL = "jane.roe@example.org"
RESULT = f"Sent to {MAIL}."
CLOSING = "Your note to {} is on its way."
TOOL: dict[str, Any] = {
    "name": "send_note",
    "description": "Send a note to a colleague",
    "input_schema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
        "required": ["to", "text"],
    },
}
ASKED: dict[str, Any] = {
    "model": "pulse-agent",
    "max_tokens": 200,
    "system": "You send notes.",
    "messages": [{"role": "user", "content": f"Send a note to {MAIL}: the meeting is at noon."}],
    "tools": [TOOL],
}


@dataclass
class Noted:
    """A gateway on a double that plays the model."""

    gateway: Box
    double: Double | OllamaDouble
    kind: str
    player: Player

    async def check(self, answers: list[dict[str, Any]]) -> None:
        """Both answers are what the model said, and the double saw the calls and their results, but no value."""
        called, told = answers
        (used,) = [block for block in called["content"] if block["type"] == "tool_use"]
        assert (used["name"], used["input"]) == ("send_note", {"to": MAIL, "text": "Noon."})
        assert called["stop_reason"] == "tool_use"
        assert [block["text"] for block in told["content"]] == [CLOSING.format(MAIL)]
        assert told["stop_reason"] == "end_turn"
        for answer in answers:
            assert (answer["type"], answer["role"]) == ("message", "assistant")
            assert answer["usage"]["input_tokens"] > 0
            assert answer["usage"]["output_tokens"] > 0
            row = await self.gateway.ledger(answer["id"].replace("msg_", "prf_"))
            assert (row.provider, row.ending) == (self.kind, "complete")
        assert len(self.player.seen) == 2
        self._check_what_left()

    def _check_what_left(self) -> None:
        if isinstance(self.double, OllamaDouble):
            assert self.player.seen == [[MAIL]] * 2
            last = orjson.loads(self.double.received[-1])["messages"]
            assert [message["role"] for message in last] == ["system", "user", "assistant", "tool"]
            assert last[-1]["tool_name"] == "send_note"
            return
        assert all(TOKEN.fullmatch(seen) for (seen,) in self.player.seen)
        assert [form for form in spellings(MAIL) if form in received(self.double)] == []
        calls, results = ids_of(last_body(self.double))
        assert calls == results
        assert len(calls) == 1


@asynccontextmanager
async def noted(state_dir: Path, kind: str) -> AsyncIterator[Noted]:
    player = Player(
        "Send a note",
        (MAIL,),
        "send_note",
        lambda seen: {"to": seen[0], "text": "Noon."},
        lambda seen: CLOSING.format(*seen),
    )
    if kind == "ollama":
        async with (
            ollama_double(capabilities=["completion", "tools"]) as machine,
            box(state_dir, machine.url) as gateway,
        ):
            player.take(machine, kind)
            yield Noted(gateway, machine, kind, player)
    else:
        async with outside(state_dir, kind, mode="cloud") as (gateway, double):
            player.take(double, kind)
            yield Noted(gateway, double, kind, player)
