"""Puts values back into an answer while it comes, one object for each channel of it (choice, block, tool call).

What comes out, put together, does not depend on how the answer was cut. Text is held back only from where it may still
become a token of this call. Must not know dialects, or how values were found.
Source: shield.md ("Restoring").
"""

from appliance.shield.addresses import Addresses
from appliance.shield.escapes import inside_json, percent_encoded
from appliance.shield.forms import CONTEXT, Place, beginning, forms, places
from appliance.shield.nesting import Nesting
from appliance.shield.vault import Vault


class Restorer:
    """Restores the tokens of `vault` in one channel. A restored value is never looked at again.

    `depth` is how often a value is escaped in the text: 0 in plain text; 1 in a JSON document, such as a tool call's
    arguments, and 2 in one that is itself a JSON string, and so on. Documents in the strings of the document are
    noticed (`nesting`). `left` counts what was written like a token and stays, since it leads out (`addresses`), or
    is a category alone that several values have.
    """

    def __init__(self, vault: Vault, depth: int = 0) -> None:
        self.left = 0
        self._vault = vault
        self._depth = depth
        self._forms = forms(2 ** (depth + 1) if depth else 1)
        self._addresses = Addresses(depth)
        self._nesting = Nesting(depth) if depth else None
        self._before = ""
        self._held = ""

    @property
    def held(self) -> int:
        """How many of the last characters that came are held back."""
        return len(self._held)

    def feed(self, delta: str) -> str:
        """The next part of the answer, with values; what comes in may be cut anywhere, and be empty."""
        return self._next(delta, last=False)

    def flush(self) -> str:
        """What was held back, when the answer has ended."""
        return self._next("", last=True)

    def _next(self, delta: str, *, last: bool) -> str:
        if not self._vault.cores:
            return delta
        at = len(self._before)
        text = f"{self._before}{self._held}{delta}"
        stop = len(text) if last else beginning(text, at, self._forms, self._vault.cores)
        out: list[str] = []
        read = at
        for place in places(text, at, self._forms, self._vault.categories):
            if place.first >= stop:
                break
            core = self._core(place)
            if core is None:
                continue
            self._read(text[read : place.first])
            read = place.first
            if not self._leads_out(core):
                start, value = self._restored(place, core)
                out += (text[at:start], value)
                at = place.end
        stop = max(stop, at)
        self._read(text[read:stop])
        self._held = text[stop:]
        self._before = text[max(0, stop - CONTEXT) : stop]
        return "".join([*out, text[at:stop]])

    def _core(self, place: Place) -> str | None:
        """The token of this call that the place means, if any."""
        if not place.bare:
            return place.core if self._vault.value(place.core) is not None else None
        core = self._vault.alone.get(place.core)
        self.left += core is None and self._vault.has(place.core)
        return core

    def _leads_out(self, core: str) -> bool:
        address = self._addresses.address()
        if address is None or self._vault.permits(address, core, self._depth):
            return False
        self.left += 1
        return True

    def _restored(self, place: Place, core: str) -> tuple[int, str]:
        """Where the token begins, with what escapes its bracket at this depth, and its value."""
        value = self._vault.value(core) or ""
        if place.percent:
            value = percent_encoded(value)
        if self._nesting is None:
            return place.start - place.backslashes, value
        depth = self._nesting.depth()
        return place.start - min(place.backslashes, 2**depth), inside_json(value, depth)

    def _read(self, text: str) -> None:
        self._addresses.read(text)
        if self._nesting is not None:
            self._nesting.read(text)
