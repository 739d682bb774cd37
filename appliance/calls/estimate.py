"""How long a prompt is, and what else of its shape decides the task: measured once, before anything is added to it.

Must not know a tokenizer or a model: the estimate is the one that `count_tokens` returns too.
Source: synapse.md ("How the task is decided"), routing.md ("Task", auto-classify).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.dialects.chat import Chat

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """The shape of the caller's own text. Characters are Unicode code points.

    `characters` counts system, messages and tools; `system_characters` the system and developer text alone;
    `tools` how many tools are defined; `tool_turns` whether tool calls or results are in the conversation.
    """

    characters: int
    system_characters: int = 0
    tools: int = 0
    tool_turns: bool = False
    json_mode: bool = False


def tokens(characters: int) -> int:
    """The estimate: a quarter of the characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def measure(chat: Chat, *, tools: Sequence[object] = (), tool_turns: bool = False, json_mode: bool = False) -> Prompt:
    """Measures a call before grounding or persona. `tools` are the caller's definitions as JSON values."""
    system = sum(len(message.text) for message in chat.messages if message.role == "system")
    turns = sum(len(message.text) for message in chat.messages if message.role != "system")
    definitions = sum(len(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) for tool in tools)
    return Prompt(
        characters=system + turns + definitions,
        system_characters=system,
        tools=len(tools),
        tool_turns=tool_turns,
        json_mode=json_mode,
    )
