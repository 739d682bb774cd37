"""What is known of a call before it runs: who asks, and what they sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from appliance.dialects.chat import Chat
from appliance.store.keys import Caller

Ending = Literal["complete", "length", "context_cut", "refused", "cancelled", "failed"]
"""How a call ended, in the one word that ledger and certificate share (architecture.md, rule 4)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, parsed. `model` is the string as it was sent, "" if none was. `drives` is the part of the chat that
    decides where it goes, None where that is all of it. `beside` are texts that are known of the same matter and are
    not sent: what they give away, such as a name, is found in the call too.

    `body` is what was sent; it came in `received_bytes` bytes, which are fewer where it was compressed, and
    `body_sha256` is of those. `headers` are those that say how the body is to be read, by their names in small letters.
    """

    caller: Caller
    endpoint: str
    model: str
    stream: bool
    chat: Chat
    body: bytes
    body_sha256: str
    received: datetime
    received_bytes: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    drives: Chat | None = None
    beside: Sequence[str] = ()

    @property
    def body_bytes(self) -> int:
        return len(self.body)
