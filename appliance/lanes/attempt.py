"""How one attempt at a call fails, whichever lane made it."""

from appliance.errors import CallError


class AttemptFailed(Exception):
    """One attempt failed. `elsewhere`: another machine or provider may still answer; `reached`: it got our bytes."""

    def __init__(self, error: CallError, *, elsewhere: bool, reached: bool = True) -> None:
        super().__init__(error.message)
        self.error = error
        self.elsewhere = elsewhere
        self.reached = reached
