"""How one attempt at a call fails, whichever lane made it."""

from appliance.dialects.chat import Usage
from appliance.errors import CallError, ContextLengthExceeded, LocalLaneUnavailable


class AttemptFailed(Exception):
    """One attempt failed.

    `elsewhere`: another machine or provider may still answer. `again`: the model got it wrong, and the same one may
    do better on a second try. `reached`: it got our bytes. `severed`: there was no connection, or it broke. `usage`:
    what an answer has cost that came to its end.
    """

    def __init__(
        self,
        error: CallError,
        *,
        elsewhere: bool,
        again: bool = False,
        reached: bool = True,
        severed: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.elsewhere = elsewhere
        self.again = again
        self.reached = reached
        self.severed = severed
        self.usage = usage

    @property
    def speaks_against(self) -> bool:
        """Whether it speaks against who was asked (a connection error, a 5xx, a 429), and not against the request, the
        model or the list of models."""
        listed = self.reached and isinstance(self.error, LocalLaneUnavailable)
        return self.elsewhere and not listed and not isinstance(self.error, ContextLengthExceeded)
