"""Certificates: the signed evidence of every call, read, verified before one's eyes, and taken away as files.

What a certificate says is put into words by `tui.certificate`; whether it is good, `Tools.verify` alone decides.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from textual.widget import Widget

from appliance.admin.client import AdminError, looks, wire
from tui import actions, certificate, files
from tui.actions import Action
from tui.desk import Desk
from tui.feed import Picture
from tui.look import Tone, short_moment, state, tone
from tui.screens.page import Page, one_at_a_time
from tui.tools import Step
from tui.widgets.dialogs import Ask, Show
from tui.widgets.form import Field, Form, Given
from tui.widgets.table import Column, Row, Table

PAGE_SIZE = 100

MOST = 500
"""In the list: an older one is found by its id, or by its call in the ledger."""

KEYS_FILE = "keys.json"

WIDE = 110
"""Columns of the terminal from which on a line has the whole id."""

LOCAL_PROVIDER = "ollama"
"""Says in a certificate that it was answered by a machine of the installation (docs/certificates.md)."""

_NARROW = (
    Column("WHEN", 11),
    Column("ASKED FOR", 15),
    Column("ANSWERED BY", 14),
    Column("WHERE", 9),
    Column("ENDING", 13),
    Column("ID"),
)
_WIDE = (
    Column("WHEN", 11),
    Column("ASKED FOR", 20),
    Column("ANSWERED BY"),
    Column("WHERE", 9),
    Column("ENDING", 13),
    Column("ID", 30),
)

_ID = re.compile(r"prf_[0-9a-z]{1,64}")

_VERIFY = Action("verify", "v", "verify", "Check it before your eyes, step by step.")
_EXPORT = Action("export", "e", "export", "Write it, and the public keys, to files.")


class CertificatesPage(Page):
    NAME = "certificates"
    BINDINGS: ClassVar = actions.bindings("certificates")

    def body(self) -> Iterable[Widget]:
        self._proofs: tuple[wire.Proof, ...] = ()
        self._next: int | None = None
        yield Table(_NARROW, empty="No certificate yet: each call leaves one.")

    async def load(self) -> None:
        table = self.query_one(Table)
        at_first = not table.line
        # So many that the chosen one is among them again.
        size = PAGE_SIZE if table.line < PAGE_SIZE // 2 else min(max(len(self._proofs), PAGE_SIZE), MOST)
        page = await self.desk.client.proofs(limit=size)
        self._proofs, self._next = page.proofs, page.next_before
        self.filter_changed()
        if at_first:
            table.go_to_top()

    def resumed(self) -> None:
        # What was loaded further down stays, so that nobody loses their place.
        if not self._proofs or self.query_one(Table).near_top:
            self.reload()
        if wanted := self.desk.wanted.pop(self.NAME, ""):
            self._open(wanted)

    def picture_changed(self, before: Picture, now: Picture) -> None:
        news = now.fresh and (not before.fresh or _last_calls(now) != _last_calls(before))
        if news and self.query_one(Table).near_top:
            self.reload()

    def filter_changed(self) -> None:
        wide = self.size.width >= WIDE
        rows = map(_row, self._proofs)
        self.show_filtered(rows, columns=_WIDE if wide else _NARROW, more=self._next is not None)

    def on_resize(self) -> None:
        if self.query_one(Table).known:
            self.filter_changed()

    def on_table_near_end(self) -> None:
        if self._next is None:
            return
        if len(self._proofs) >= MOST:
            self.say(f"{MOST} certificates are loaded. f finds an older one by its id.", "plain")
        elif not self.works("more"):
            self.run_worker(self._more, group="more")

    # What is done with the keys

    def action_open(self) -> None:
        if chosen := self._chosen:
            self._open(chosen)

    @one_at_a_time
    async def action_verify(self) -> None:
        if chosen := self._chosen:
            await self._verify(chosen)

    @one_at_a_time
    async def action_export(self) -> None:
        if chosen := self._chosen:
            await self._export(chosen)

    @one_at_a_time
    async def action_find(self) -> None:
        async def fetch(given: Given) -> tuple[str, bytes]:
            return given["id"], await self.desk.client.proof(given["id"])

        form = Form(
            "Find a certificate",
            (Field("id", "Id", "prf_…, the x-pulse-proof of the answer"),),
            done="open it",
            check=lambda given: "" if _ID.fullmatch(given["id"]) else "That is no id: prf_ and 26 letters and digits.",
            submit=fetch,
        )
        found = await self.ask(form)
        if found is not None:
            await self._read(*found)

    @one_at_a_time
    async def _open(self, proof_id: str) -> None:
        data = await self.tried(self.desk.client.proof(proof_id))
        if data is not None:
            await self._read(proof_id, data)

    async def _read(self, proof_id: str, data: bytes) -> None:
        words = certificate.words(data, await self._names())
        details = Show(f"Certificate {proof_id}", words, copy=proof_id, actions=(_VERIFY, _EXPORT))
        match await self.ask(details):
            case "verify":
                await self._verify(proof_id)
            case "export":
                await self._export(proof_id)
            case _:
                pass

    async def _verify(self, proof_id: str) -> None:
        if await self.ask(Verification(proof_id, self.desk)) == "export":
            await self._export(proof_id)

    async def _export(self, proof_id: str) -> None:
        if not _ID.fullmatch(proof_id):
            self.say(f"{proof_id} is no name for a file. synapse proof show writes it.", "bad")
            return

        async def write(given: Given) -> str | None:
            data, keys = await self.desk.client.proof(proof_id), await self.desk.client.proof_keys()
            directory = files.full_path(given["directory"])
            return await self._write(directory, {f"{proof_id}.json": data, KEYS_FILE: keys})

        form = Form(
            "Export a certificate",
            (Field("directory", "Directory", value="~"),),
            lines=(f"{proof_id}.json and {KEYS_FILE}, byte for byte.", files.WHERE),
            done="write both",
            check=lambda given: files.directory_problem(given["directory"]),
            submit=write,
        )
        written = await self.ask(form)
        if written is not None:
            self.say(written)

    async def _write(self, directory: Path, contents: Mapping[str, bytes]) -> str | None:
        """What was written, in a sentence; None where the person thought better of it."""
        # A key set that is there already, from the export before, is no question.
        missing = {name: data for name, data in contents.items() if not files.holds(directory / name, data)}
        others = [name for name in missing if files.taken(directory / name)]
        lines = (*(str(directory / name) for name in others), "What is in there now is lost.")
        if others and not await self.ask(Ask("Replace what is there?", lines, "replace it")):
            return None
        for name, data in missing.items():
            await files.write(directory / name, files.whole(data), replace=name in others)
        told = " and ".join(f"{name} ({len(data)} bytes)" for name, data in contents.items())
        return f"In {directory} now: {told}."

    # What is on the screen

    @property
    def _chosen(self) -> str:
        """The id of a certificate, or "" where there is none."""
        row = self.query_one(Table).chosen
        return "" if row is None else row.id

    async def _more(self) -> None:
        before = self._next
        size = min(PAGE_SIZE, MOST - len(self._proofs))
        page = await self.tried(self.desk.client.proofs(limit=size, before=before))
        # Not where others were loaded meanwhile.
        if page is not None and before == self._next:
            self._proofs, self._next = (*self._proofs, *page.proofs), page.next_before
            self.filter_changed()

    async def _names(self) -> Mapping[str, str]:
        """Of keys and workspaces by their ids, which are all that a certificate has of them."""
        try:
            keys = (await self.desk.client.keys()).keys
            workspaces = (await self.desk.client.workspaces()).workspaces
        except AdminError:
            return {}
        return {**{key.id: key.name for key in keys}, **{one.id: one.name for one in workspaces}}


class Verification(Show):
    """Says each check once it was made, and at the end what they prove. Ends with the dialog."""

    def __init__(self, proof_id: str, desk: Desk) -> None:
        super().__init__(f"Verify {proof_id}", "", actions=(_EXPORT,))
        self._proof_id = proof_id
        self._desk = desk
        self._done: list[Step] = []

    def on_mount(self) -> None:
        self.run_worker(self._check)

    async def _check(self) -> None:
        client = self._desk.client
        try:
            data = await client.proof(self._proof_id)
            self._tell(self._fetched(data))
            keys = await client.proof_keys()
        except AdminError as error:
            self._tell(Step("evidence", "missing", str(error)))
            return
        count = certificate.key_count(keys)
        told = f"{count} {'key' if count == 1 else 'keys'}, {len(keys)} bytes, from this daemon"
        self._tell(Step("public keys", "ok" if count else "missing", told))
        # In a thread: what checks signatures takes its time to load.
        verdict = await asyncio.to_thread(self._desk.tools.verify, f"{self._proof_id}.json", data, keys)
        for step in verdict.steps:
            self._tell(step)
        self.say(certificate.checks(self._done) + certificate.outcome(self._done, verdict))

    def _fetched(self, data: bytes) -> Step:
        told = f"{len(data)} bytes, SHA-256 {certificate.digest(data)}"
        found = certificate.id_in(data)
        if found != self._proof_id:
            return Step("certificate", "bad", f"{told}. Its id is {found or 'missing'}: it is not the one asked for.")
        return Step("certificate", "ok", told)

    def _tell(self, step: Step) -> None:
        self._done.append(step)
        self.say(certificate.checks(self._done))


def _row(proof: wire.Proof) -> Row:
    # Where it was answered, not whether something left: an attempt before the last one may have gone outside.
    where = "" if proof.provider is None else "here" if proof.provider == LOCAL_PROVIDER else "outside"
    cells = (
        short_moment(proof.received),
        proof.model or looks.ABSENT,
        proof.answered_by or looks.ABSENT,
        state(where) if where else looks.ABSENT,
        state(proof.ending),
        proof.id,
    )
    tones: tuple[Tone, ...] = ("plain", "plain", "plain", tone(where), tone(proof.ending))
    return Row(proof.id, tuple(looks.printable(cell) for cell in cells), tones)


def _last_calls(picture: Picture) -> tuple[wire.Call, ...]:
    return picture.status.last_calls if picture.status else ()
