"""A call's body on its way out of the building: its text scanned once, and masked before it leaves.

Must not know which provider it goes to. Source: architecture.md, rules 1 and 2; shield.md; gateway.md ("Sensitive data
that is not text").
"""

from collections.abc import Callable, Sequence

from appliance.calls.call import Call
from appliance.calls.entries import ENTRIES
from appliance.calls.live_shield import Shielding
from appliance.calls.offload import offloaded
from appliance.dialects.bodies import is_encoded, reads_number
from appliance.dialects.jsontext import JsonText, TooDeep
from appliance.errors import UnscannableContent
from appliance.shield.finding import Finding
from appliance.shield.mask import Masked


class Outbound:
    """The body of one call. What was never scanned is not masked, so that whoever lets it leave scans it first.

    `end_user` makes what a provider is told of the name of an end user.
    """

    def __init__(self, call: Call, shield: Shielding, end_user: Callable[[str], str]) -> None:
        self._call = call
        self._shield = shield
        self._end_user = end_user
        self._document: JsonText | None = None
        self._texts: Sequence[str] = ()
        self._labels: Sequence[str] = ()
        self._findings: Sequence[Sequence[Finding]] = ()
        self._thoughts: Sequence[str] = ()  # that are signed
        self._personal: frozenset[str] = frozenset()
        self._opaque: Sequence[int] = ()  # the numbers of the texts that look random
        self._settled: dict[int, str] = {}  # what leaves in a text's place without having been scanned
        self.unscannable = False
        """Whether it holds what the shield cannot read."""

    async def scan(self) -> bool:
        """Read all text that would leave; whether any of it is personal.

        Raises UnscannableContent for text that is hidden too deep to be read.
        """
        await offloaded(self._call, self._read)
        thoughts = self._thoughts
        unlabelled = [*thoughts, *self._call.beside]
        texts, opaque = [*self._texts, *unlabelled], [self._texts[number] for number in self._opaque]
        for number in self._opaque:
            texts[number] = ""
        found = await self._shield.scan(texts, [*self._labels, *[""] * len(unlabelled)])
        for number, in_opaque in zip(self._opaque, await self._shield.scan_opaque(opaque), strict=True):
            found[number] = in_opaque
        self._findings = found[: len(self._texts)]
        in_thoughts = found[len(self._texts) :][: len(thoughts)]
        self._personal = frozenset(thought for thought, has in zip(thoughts, in_thoughts, strict=True) if has)
        return any(self._findings)

    def is_personal(self, thought: str) -> bool:
        """Whether something in this signed thought, which cannot be masked, is personal."""
        return thought in self._personal

    async def leaving(self) -> tuple[str, Masked]:
        """The body as it may leave, and the vault that restores the answer to it."""
        if self._document is None:
            await offloaded(self._call, self._read)
            self._findings = [()] * len(self._texts)
        return await offloaded(self._call, self._masked)

    def _read(self) -> None:
        body = self._call.body.decode()
        structure = ENTRIES[self._call.endpoint].structure(body)
        try:
            document = JsonText.read(body, structure.is_text, structure.is_document, reads_number)
        except TooDeep:
            raise UnscannableContent(
                "The call holds JSON inside of JSON to more levels than the shield reads.",
                advice="Send it as one document.",
            ) from None
        texts: list[str] = []
        labels: list[str] = []
        opaque: list[int] = []
        for number, (path, text, label) in enumerate(document.leaves):
            labels.append(label)
            if structure.is_end_user(path):
                self._settled[number] = self._end_user(text)
            elif structure.is_unscannable(path, text):
                self.unscannable = True
                if is_encoded(text):
                    self._settled[number] = text
            elif structure.is_opaque(path, text):
                opaque.append(number)
            texts.append("" if number in self._settled else text)
        self._document, self._texts, self._labels, self._opaque = document, texts, labels, opaque
        self._thoughts = structure.thoughts

    def _masked(self) -> tuple[str, Masked]:
        assert self._document is not None  # noqa: S101  read by now
        masked = self._shield.mask(self._texts, self._findings)
        settled = self._settled
        return self._document.with_texts(settled.get(at, text) for at, text in enumerate(masked.texts)), masked
