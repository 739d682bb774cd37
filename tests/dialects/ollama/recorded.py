"""The exchanges with a real Ollama that are recorded, as bodies."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3].parent / "shared" / "recordings" / "ollama"

recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings of Ollama are not on this machine")


def _read(name: str, kind: str) -> tuple[bytes, bytes]:
    head, body = (FOLDER / f"{name}.{kind}.http").read_bytes().replace(b"\r\n", b"\n").split(b"\n\n", 1)
    return head, body


def request(name: str) -> dict[str, Any]:
    """The body of a recorded request."""
    return json.loads(_read(name, "request")[1])


def answer(name: str) -> list[bytes]:
    """The lines of a recorded answer's body."""
    return _read(name, "response")[1].splitlines()


def chats(status: int) -> list[str]:
    """The names of all recorded calls of `/api/chat` that were answered with this status."""
    if not FOLDER.is_dir():
        return []
    names = [path.name.removesuffix(".request.http") for path in FOLDER.glob("*.request.http")]
    return sorted(
        name
        for name in names
        if _read(name, "request")[0].startswith(b"POST /api/chat ")
        and _read(name, "response")[0].startswith(f"HTTP/1.1 {status} ".encode())
    )
