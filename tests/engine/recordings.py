"""The recorded exchanges of a real Ollama, read where they lie beside this repository."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2].parent / "shared" / "recordings" / "ollama"


@dataclass(frozen=True)
class Exchange:
    method: str
    path: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding") == "chunked"

    @property
    def objects(self) -> list[Any]:
        return objects(self.body, self.headers)


def exchange(name: str) -> Exchange:
    """The exchange `NN-name`. Skips the test where there are no recordings."""
    if not FOLDER.is_dir():
        pytest.skip("the recordings of Ollama are not beside this repository")
    first, request_headers, request_body = _split(FOLDER / f"{name}.request.http")
    method, path, _ = first.split(" ")
    status_line, headers, body = _split(FOLDER / f"{name}.response.http")
    return Exchange(method, path, request_headers, request_body, int(status_line.split(" ")[1]), headers, body)


def objects(body: bytes, headers: Mapping[str, str]) -> list[Any]:
    """The JSON objects of a body: one, or one a line; none of other kinds of body."""
    kind = headers.get("content-type", "")
    if "json" not in kind or not body.strip():
        return []
    return [json.loads(line) for line in (body.splitlines() if "ndjson" in kind else [body])]


def shape(value: Any) -> Any:
    """Fields and kinds of a JSON value, without the values. Of a list, what its items look like."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(item)) for item in value})
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _split(path: Path) -> tuple[str, dict[str, str], bytes]:
    head, _, body = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
    first, *lines = head.decode().split("\n")
    # A repeated header is the later one: the recorder wrote down its own Host before the one that was sent.
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return first, headers, body.rstrip(b"\n") if path.name.endswith("request.http") else body
