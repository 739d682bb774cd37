"""The turns of a chat as Mistral takes them: their order, and ids of nine letters and digits.

Source: dialects.md §4, 20 and 21; mistral-common, `protocol/instruct/validator.py`; the Mistral API reference.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from appliance.dialects.call_ids import with_ids
from appliance.dialects.chat import Message, Text
from appliance.dialects.openai.written import Json, content, tool_call

ID_CHARACTERS = 9

_ID = re.compile(r"[A-Za-z0-9]{9}")

BETWEEN = Message("assistant", (Text("Done."),))
"""Stands between a tool's result and a user's turn, which Mistral refuses there; it takes no turn without a word."""


def turns(messages: Sequence[Message]) -> list[Json]:
    """The `messages`; turns of users, and of the assistant, that follow each other are one turn."""
    out: list[Message] = []
    for message in with_ids(messages, nine):
        last = out[-1] if out else None
        if last is not None and last.role == message.role and message.role in ("user", "assistant"):
            out[-1] = replace(last, parts=last.parts + message.parts, tool_calls=last.tool_calls + message.tool_calls)
            continue
        if last is not None and (last.role, message.role) == ("tool", "user"):
            out.append(BETWEEN)
        out.append(message)
    written = [_turn(message) for message in out]
    if out and out[-1].role == "assistant":
        written[-1]["prefix"] = True  # else a conversation has to end with somebody else
    return written


def nine(call_id: str) -> str:
    """The id as Mistral takes it: as it is, or nine characters that are always the same for the same id."""
    if _ID.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode()[:ID_CHARACTERS].lower()


def _turn(message: Message) -> Json:
    turn: Json = {"role": message.role, "content": content(message.told)}
    if message.tool_calls:
        turn["tool_calls"] = [tool_call(call) for call in message.tool_calls]
    if message.role == "tool":
        turn["tool_call_id"] = message.tool_call_id
        if message.tool_name:
            turn["name"] = message.tool_name
    return turn
