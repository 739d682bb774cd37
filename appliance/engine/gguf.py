"""Reads the header of a GGUF file: its metadata and the names, types and shapes of its tensors.

Pure reading, without numpy and without touching a weight. A file is somebody else's bytes: every length is
checked against what the file can hold before anything is allocated. Source: the GGUF specification, versions 2 and 3.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from appliance.errors import EngineError

TYPE_NAMES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K",
    12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
    20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
"""ggml's tensor types, by number."""

MAX_HEADER = 256 * 2**20
"""Bytes of the whole header; those of the largest vocabularies take about 20 MB."""
MAX_ENTRIES = 65_536
"""Metadata entries; the largest known models have about a hundred."""
MAX_TENSORS = 262_144
"""Tensors; a model with thousands of experts stays below."""
MAX_TEXT = 16 * 2**20
"""Bytes of one string; the longest are chat templates of some ten kilobytes."""
MAX_ITEMS = 16 * 2**20
"""Items of one array; the largest vocabularies have some hundred thousand."""
MAX_DIMENSIONS = 8
"""Dimensions of a tensor; ggml knows four."""
MAX_WEIGHTS = 2**44
"""Weights of one tensor; the largest known models have some 2**40 altogether."""

Scalar = str | int | float | bool
Value = Scalar | list[Scalar] | None
"""What a metadata entry holds; `None` stands for an array that was not asked for."""

_ADVICE = "Give a complete GGUF file of a chat model, or none to use the bundled one."

_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_FLOAT32, _STRING, _ARRAY = 6, 8, 9


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """Metadata in the file's order, and the tensors in the file's order."""

    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]

    @property
    def parameter_count(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self.tensors)

    def text(self, key: str) -> str:
        """The string at `key`, or an empty one."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_header(path: Path, *, arrays: bool = False) -> Header:
    """Reads `path`. With `arrays` the vocabulary and other arrays are kept, else only their place.

    Raises EngineError if the file is absent, is no GGUF file, or ends before its header does.
    """
    try:
        with path.open("rb") as file:
            return _Reader(file, path, keep_arrays=arrays).header()
    except OSError as error:
        raise EngineError(f"The model {path} cannot be read: {error.strerror}.", advice=_ADVICE) from None


class _Reader:
    def __init__(self, file: BinaryIO, path: Path, *, keep_arrays: bool) -> None:
        self._file = file
        self._path = path
        self._keep_arrays = keep_arrays
        self._left = min(path.stat().st_size, MAX_HEADER)

    def header(self) -> Header:
        if self._take(4) != b"GGUF":
            raise self._wrong("is not a GGUF file")
        version = self._unpack("I")
        if version not in (2, 3):
            raise self._wrong(f"has GGUF version {version}; 2 and 3 can be read")
        tensor_count = self._count(MAX_TENSORS, "tensors")
        entry_count = self._count(MAX_ENTRIES, "metadata entries")
        metadata = dict(self._entry() for _ in range(entry_count))
        return Header(metadata, tuple(self._tensor() for _ in range(tensor_count)))

    def _entry(self) -> tuple[str, Value]:
        key = self._text()
        kind: int = self._unpack("I")
        return key, self._array() if kind == _ARRAY else self._scalar_reader(kind)()

    def _array(self) -> Value:
        kind: int = self._unpack("I")
        count = self._count(MAX_ITEMS, "array items")
        if kind in _FORMATS and not self._keep_arrays:
            self._take(count * struct.calcsize(_FORMATS[kind]))
            return None
        read = self._scalar_reader(kind)
        items = [read() for _ in range(count)]
        return items if self._keep_arrays else None

    def _tensor(self) -> Tensor:
        name = self._text()
        dimensions: int = self._unpack("I")
        if dimensions > MAX_DIMENSIONS:
            raise self._wrong(f"has a tensor of {dimensions} dimensions")
        shape = tuple(self._unpack("Q") for _ in range(dimensions))
        if math.prod(shape) > MAX_WEIGHTS:
            raise self._wrong(f"claims a tensor of {math.prod(shape)} weights")
        kind: int = self._unpack("I")
        self._take(8)
        return Tensor(name, TYPE_NAMES.get(kind, "unknown"), shape)

    def _scalar_reader(self, kind: int) -> Callable[[], Scalar]:
        if kind == _STRING:
            return self._text
        if kind not in _FORMATS:
            raise self._wrong(f"has a value of unknown type {kind}")
        if kind == _FLOAT32:
            return lambda: shortest_float32(self._unpack("f"))
        return lambda: self._unpack(_FORMATS[kind])

    def _text(self) -> str:
        length = self._unpack("Q")
        if length > MAX_TEXT:
            raise self._wrong(f"has a string of {length} bytes")
        return self._take(length).decode("utf-8", errors="replace")

    def _count(self, most: int, what: str) -> int:
        count = self._unpack("Q")
        if count > most:
            raise self._wrong(f"claims {count} {what}")
        return count

    def _unpack(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self._take(struct.calcsize(f"<{form}")))[0]

    def _take(self, length: int) -> bytes:
        if length > self._left:
            raise self._wrong("ends before its header does")
        self._left -= length
        taken = self._file.read(length)
        if len(taken) != length:
            raise self._wrong("ends before its header does")
        return taken

    def _wrong(self, what: str) -> EngineError:
        return EngineError(f"The model {self._path} {what}.", advice=_ADVICE)


def shortest_float32(value: float) -> float:
    """The number with the fewest digits that is the same 32-bit float: 1e-05, not 9.999999747378752e-06."""
    if not math.isfinite(value):
        return value
    for digits in range(6, 10):
        short = float(f"{value:.{digits}g}")
        if struct.pack("<f", short) == struct.pack("<f", value):
            return short
    return value
