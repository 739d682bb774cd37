"""A call's body on its way out of the building: its text scanned once, and masked before it leaves.

Must not know which provider it goes to. Source: architecture.md, rules 1 and 2; shield.md.
"""

from collections.abc import Mapping, Sequence

from appliance.calls.call import DIALECTS, Call, Dialect
from appliance.calls.live_shield import LiveShield
from appliance.calls.offload import offloaded
from appliance.dialects.jsontext import IsText, JsonText
from appliance.dialects.openai import structure
from appliance.shield.finding import Finding
from appliance.shield.mask import Masked

IS_TEXT: Mapping[Dialect, IsText] = {"openai": structure.is_text}
"""Which strings of a dialect's bodies are text."""


class Outbound:
    """The body of one call. What was never scanned leaves as it is, so that whoever lets it leave scans it first."""

    def __init__(self, call: Call, shield: LiveShield) -> None:
        self._call = call
        self._shield = shield
        self._document: JsonText | None = None
        self._texts: Sequence[str] = ()
        self._findings: Sequence[Sequence[Finding]] = ()

    async def scan(self) -> bool:
        """Read all text that would leave; whether any of it is personal."""
        self._document = document = await offloaded(self._call, self._read)
        self._texts = list(document.texts)
        self._findings = await self._shield.scan(self._texts)
        return any(self._findings)

    async def leaving(self) -> tuple[str, Masked]:
        """The body as it may leave, and the vault that restores the answer to it."""
        document = self._document
        if document is None:
            return self._call.body.decode(), self._shield.mask((), ())

        def mask() -> tuple[str, Masked]:
            masked = self._shield.mask(self._texts, self._findings)
            return document.with_texts(masked.texts), masked

        return await offloaded(self._call, mask)

    def _read(self) -> JsonText:
        return JsonText.read(self._call.body.decode(), IS_TEXT[DIALECTS[self._call.endpoint]])
