"""A whole gateway inside the test's own process: real sockets and database, doubles for the machines."""

import hashlib
import os
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.admin.peers import AdminListener
from appliance.app import App, running
from appliance.ids import Clock
from appliance.listener import Listener, same_app
from appliance.proofs import verify
from appliance.settings import load
from appliance.store import ledger
from appliance.store.ledger import LedgerRow
from appliance.times import utc_now

T = TypeVar("T")

CHAT = "/v1/chat/completions"


@dataclass
class Box:
    """`http` sends the key; `url` is without a path."""

    url: str
    key: str
    app: App
    admin: Client
    http: httpx.AsyncClient
    state_dir: Path

    def body(self, text: str = "Hi", **fields: Any) -> bytes:
        return orjson.dumps({"model": "pulse-auto", "messages": [{"role": "user", "content": text}], **fields})

    async def chat(self, body: bytes | None = None, **fields: Any) -> httpx.Response:
        content = self.body(**fields) if body is None else body
        return await self.http.post(CHAT, content=content, headers={"content-type": "application/json"})

    async def certificate(self, proof_id: str) -> dict[str, Any]:
        """The payload of a certificate, checked by the offline verifier."""
        answer = await self.http.get(f"/v1/proofs/{proof_id}")
        assert answer.status_code == 200, answer.text
        report = verify.verify({proof_id: answer.content}, self.app.public_keys)
        assert report.exit_code == 0, verify.render(report)
        return orjson.loads(answer.content)["payload"]

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Look into the database from outside."""
        conn = sqlite3.connect(f"file:{self.state_dir / 'synapse.db'}?mode=ro", uri=True)
        try:
            return query(conn)
        finally:
            conn.close()

    async def ledger(self, proof_id: str) -> LedgerRow:
        row = await self.read(lambda conn: ledger.get(conn, proof_id))
        assert row is not None
        return row


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


@asynccontextmanager
async def box(state_dir: Path, *machines: str, clock: Clock = utc_now, **environ: str) -> AsyncIterator[Box]:
    """A gateway on these machines; `environ` holds further settings by their name in the environment."""
    settings = load(
        None,
        {
            "SYNAPSE_STATE_DIR": str(state_dir),
            "SYNAPSE_LOCAL__OLLAMA": ",".join(machines),
            "SYNAPSE_DISCOVERY__ENABLED": "false",
            **environ,
        },
        system_file=state_dir / "none.toml",
    )
    os.makedirs(state_dir, exist_ok=True)  # noqa: PTH103  nothing waits for a temporary directory
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    async with running(settings, {}, base_url=f"{url}/v1", clock=clock) as app:
        administration = await AdminListener.open(settings.admin.socket, app.admin)
        listener = await Listener.open(sock, same_app(app.gateway), keep_alive_seconds=5)
        async with Client(settings.admin.socket) as admin:
            key = (await admin.create_key(wire.NewKey("test", scopes=("engine",)))).secret
            headers = {"authorization": f"Bearer {key}"}
            # Nothing here speaks TLS, and to read the certificates of the system takes 15 ms.
            options: dict[str, Any] = {"timeout": 30, "trust_env": False, "verify": False}
            async with httpx.AsyncClient(base_url=url, headers=headers, **options) as http:
                yield Box(url, key, app, admin, http, state_dir)
        await app.drain.finish(1)
        await listener.close()
        await administration.close()
