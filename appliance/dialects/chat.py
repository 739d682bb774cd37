"""The neutral form of a chat call and of the events that answer it: what every dialect and lane can say.

Only a call that changes dialect goes through it. Values are what the caller wrote: nothing is defaulted,
trimmed or added here, and JSON that the caller wrote as text stays that text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

FAILED = "Error: "
"""Before the result of a call that failed, where the dialect has no other way to say so (dialects.md §1.2)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model made. `arguments` is JSON text, as it was written, and may be broken in a history."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. `tool_call_id`, `tool_name` and `failed` (the call did) are of a `tool` message, the other fields as
    their names say.

    `joint` stands between its texts where they have to be one: nothing, unless the dialect has blocks that are read
    apart, since a separator would be text that nobody wrote.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    reasoning: str = ""
    failed: bool = False
    joint: str = ""

    @property
    def text(self) -> str:
        """All text of the turn as one."""
        return self.joint.join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def told(self) -> "Message":
        """The same turn for a dialect that cannot tell a failed call but in words."""
        if not self.failed:
            return self
        first, rest = self.parts[:1], self.parts[1:]
        if first and isinstance(first[0], Text):
            return replace(self, parts=(Text(FAILED + first[0].text), *rest))
        return replace(self, parts=(Text(FAILED), *self.parts))


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. `parameters` is a JSON schema, None where the caller gave none.

    `written` is the definition as it stands in the caller's body.
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, object] | None = None
    written: Mapping[str, object] | None = field(default=None, compare=False, repr=False)


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
    top_k: int | None = None


@dataclass(frozen=True, slots=True)
class Unsaid:
    """What only the dialect of the caller can say, as the refusal of whoever would have to say it otherwise."""

    message: str
    param: str


@dataclass(frozen=True, slots=True)
class Chat:
    """`choices` is how many answers are wanted; `parallel` whether one answer may hold several tool calls.

    `unsaid` is the first thing in the call that is not in the `Chat`: see `check_said`. `reminders`: a system message
    behind the first turn belongs to the user's turn beside it, and goes into it where a model reads none there.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    parallel: bool = True
    format: Format | None = None
    effort: Effort | None = None
    choices: int = 1
    unsaid: Unsaid | None = None
    reminders: bool = False

    def check_said(self) -> None:
        """Raises DialectError where the call has more than a `Chat` can say, so that nothing is lost in silence."""
        if self.unsaid is not None:
            raise DialectError(self.unsaid.message, self.unsaid.param)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model reported them. Those of the prompt that a provider read from its cache, or wrote into it, are
    among the prompt's."""

    prompt_tokens: int
    completion_tokens: int
    cache_read: int = 0
    cache_written: int = 0


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
    """A tool call, whole. `index` numbers the calls of one answer from 0; index and id are the gateway's own.

    `own`: what else its provider's dialect says of it, as a JSON object, "" for nothing; for callers of that dialect.
    """

    index: int
    id: str
    name: str
    arguments: str
    choice: int = 0
    own: str = ""


@dataclass(frozen=True, slots=True)
class OwnBlock:
    """A whole block of an answer that only the dialect of its provider can say, as JSON.

    Only callers of that dialect are told. `sealed`: its provider wants it back byte for byte. `kept` are the strings in
    it that it wants back so, where the whole is not sealed.
    """

    json: str
    choice: int = 0
    sealed: bool = False
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnDelta:
    """What that dialect adds to the block before: the signature of a thought, the source of a text, as JSON;
    `sealed` and `kept` as above."""

    json: str
    choice: int = 0
    sealed: bool = False
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """What comes next is another block of the answer, where its dialect has blocks and tells them apart."""

    choice: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The model's own end of one answer: the last event of every whole stream of that choice.

    For callers of the provider's own dialect: `stated` is its word where that dialect knows more of them,
    `stop_sequence` the one that ended the answer, `own` what else it says of the end, and `own_usage` all that it
    counted, each as a JSON object, "" for nothing.
    """

    reason: FinishReason
    usage: Usage
    choice: int = 0
    stated: str = ""
    stop_sequence: str | None = None
    own: str = ""
    own_usage: str = ""


Event = TextDelta | ReasoningDelta | ToolCallDelta | OwnBlock | OwnDelta | BlockEnd | Finish


class DialectError(Exception):
    """A body that the dialect cannot say. `param` names the field, as in `messages[0].role`."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
