"""The neutral form of a chat call and of the events that answer it: what every dialect and lane can say.

Only a call that changes dialect goes through it. Values are what the caller wrote: nothing is defaulted,
trimmed or added here, and JSON that the caller wrote as text stays that text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
"""Who wrote a message; OpenAI's `developer` is `system` here, and `tool` answers a call."""

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
"""Why the model stopped: by itself or at a stop sequence, at the output ceiling, to call tools, or declining."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How long a model that can think shall think."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """The bytes of a picture, decoded; `media_type` is what they are (`image/png`), whatever was claimed."""

    data: bytes
    media_type: str


Part = Text | Image


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model made. `arguments` is JSON text, as it was written, and may be broken in a history."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `tool_call_id` and `tool_name` are of a `tool` message, the other fields as their names say."""

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    reasoning: str = ""

    @property
    def text(self) -> str:
        """All text of the turn, joined by nothing: a separator would be text that nobody wrote."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. `parameters` is a JSON schema, None where the caller gave none."""

    name: str
    description: str | None = None
    parameters: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """`named` goes with `name`: exactly this tool has to be called; `required`: any one."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A structured answer: any JSON object, or one that fits `schema`."""

    schema: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample. `None` and `()` mean that the caller did not say, and nothing is sent.

    `top_logprobs` is the number of alternatives (0 to 20) where log probabilities are wanted.
    """

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    top_logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """`choices` is how many answers are wanted; `parallel` whether one answer may hold several tool calls."""

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    parallel: bool = True
    format: Format | None = None
    effort: Effort | None = None
    choices: int = 1


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model reported them."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token of the answer and the natural logarithm of its probability, with the likeliest alternatives."""

    token: str
    logprob: float
    alternatives: tuple["TokenChance", ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text. `choice` numbers the answers of a call that wants several, from 0."""

    text: str
    chances: tuple[TokenChance, ...] = ()
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thought, apart from its answer."""

    text: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A tool call, whole. `index` numbers the calls of one answer from 0; index and id are the gateway's own."""

    index: int
    id: str
    name: str
    arguments: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The model's own end of one answer: the last event of every whole stream of that choice."""

    reason: FinishReason
    usage: Usage
    choice: int = 0


Event = TextDelta | ReasoningDelta | ToolCallDelta | Finish


class DialectError(Exception):
    """A body that the dialect cannot say. `param` names the field, as in `messages[0].role`."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
