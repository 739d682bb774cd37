"""What is known of a call before it runs: who asks, what they sent, in which dialect."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from appliance.dialects.chat import Chat
from appliance.store.keys import Caller

Dialect = Literal["openai"]

Ending = Literal["complete", "length", "context_cut", "refused", "cancelled", "failed"]
"""How a call ended, in the one word that ledger and certificate share (architecture.md, rule 4)."""

DIALECTS: dict[str, Dialect] = {"/v1/chat/completions": "openai"}
"""The dialect that each endpoint speaks."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, parsed. `model` is the string as it was sent, "" if none was; `body` is as it came, and so is the
    hash of it."""

    caller: Caller
    endpoint: str
    model: str
    stream: bool
    chat: Chat
    body: bytes
    body_sha256: str
    received: datetime

    @property
    def body_bytes(self) -> int:
        return len(self.body)
