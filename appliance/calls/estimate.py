"""How long a prompt is, and what else of its shape decides the task: measured once, before anything is added to it.

Must not know a tokenizer or a model: the estimate is the one that `count_tokens` returns too.
Source: synapse.md ("How the task is decided"), routing.md ("Task", auto-classify).
"""

from dataclasses import dataclass

from appliance.dialects.chat import Chat
from appliance.dialects.leaves import leaves

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

    @property
    def tokens(self) -> int:
        """The estimate."""
        return tokens(self.characters)


def tokens(characters: int) -> int:
    """The estimate: a quarter of the characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def measure(chat: Chat) -> Prompt:
    """Measures a call before grounding or persona. Each tool counts as compact JSON, a picture as nothing."""
    sizes = [(leaf.role, len(leaf.text)) for leaf in leaves(chat)]
    return Prompt(
        characters=sum(size for _, size in sizes),
        system_characters=sum(size for role, size in sizes if role == "system"),
        tools=len(chat.tools),
        tool_turns=any(message.role == "tool" or message.tool_calls for message in chat.messages),
        json_mode=chat.format is not None,
    )
