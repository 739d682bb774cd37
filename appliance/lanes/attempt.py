"""How one attempt at a call fails, whichever lane made it."""

from appliance.dialects.chat import Usage
from appliance.errors import CallError


class AttemptFailed(Exception):
    """One attempt failed.

    `elsewhere`: another machine or provider may still answer. `again`: the model got it wrong, and the same one may
    do better on a second try. `reached`: it got our bytes. `usage`: what an answer has cost that came to its end.
    """

    def __init__(
        self,
        error: CallError,
        *,
        elsewhere: bool,
        again: bool = False,
        reached: bool = True,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.elsewhere = elsewhere
        self.again = again
        self.reached = reached
        self.usage = usage
