"""A reader of a stream that may end without its last words: the model's end has come, and only the counts are missing.

Servers that speak like OpenAI's may send no usage and no `[DONE]`; what ends an answer is its `finish_reason`
(gateway.md, "Streaming"). It adds to `upstream.Reader` what the lane has to ask for then.
"""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from appliance.dialects.chat import Event


@runtime_checkable
class OpenEnd(Protocol):
    @property
    def ended(self) -> bool:
        """Whether the model has ended every answer, though `finished` may wait for more."""
        ...

    def close(self) -> Iterable[Event]:
        """The events that were held back for what does not come."""
        ...
