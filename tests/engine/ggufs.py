"""GGUF headers made by hand from the GGUF specification."""

import struct
from collections.abc import Mapping

Tensor = tuple[str, tuple[int, ...], int]
"""Name, shape and type number."""


def gguf_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_file(entries: Mapping[str, tuple[int, bytes]], tensors: list[Tensor]) -> bytes:
    """The bytes of a GGUF file's header: `entries` maps a key to a type number and the value's bytes."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(entries))]
    for key, (kind, value) in entries.items():
        parts += [gguf_text(key), struct.pack("<I", kind), value]
    for name, shape, kind in tensors:
        parts += [gguf_text(name), struct.pack("<I", len(shape)), struct.pack(f"<{len(shape)}Q", *shape)]
        parts.append(struct.pack("<IQ", kind, 0))
    return b"".join(parts)


def embedding_header() -> bytes:
    """The header of a model that makes embeddings."""
    entries = {
        "general.architecture": (8, gguf_text("bert")),
        "general.file_type": (4, struct.pack("<I", 1)),
        "bert.context_length": (4, struct.pack("<I", 512)),
        "bert.pooling_type": (4, struct.pack("<I", 1)),
    }
    return gguf_file(entries, [("token_embd.weight", (4, 10), 1)])


def templated_header(template: str, key: str = "tokenizer.chat_template") -> bytes:
    """The header of a chat model with that template."""
    entries = {"general.architecture": (8, gguf_text("tiny")), key: (8, gguf_text(template))}
    return gguf_file(entries, [("token_embd.weight", (4, 10), 1)])


def small_header() -> bytes:
    """A header with a value of every kind."""
    u32 = struct.pack("<I", 7)
    array_of_texts = struct.pack("<IQ", 8, 2) + gguf_text("a") + gguf_text("bc")
    array_of_numbers = struct.pack("<IQ", 5, 3) + struct.pack("<3i", 1, -2, 3)
    entries = {
        "general.architecture": (8, gguf_text("tiny")),
        "general.name": (8, gguf_text("Tiny")),
        "general.file_type": (4, struct.pack("<I", 3)),
        "tiny.context_length": (4, struct.pack("<I", 2048)),
        "tiny.embedding_length": (4, struct.pack("<I", 64)),
        "v.u8": (0, b"\xff"),
        "v.i8": (1, b"\xff"),
        "v.u16": (2, b"\x01\x02"),
        "v.i16": (3, b"\xfe\xff"),
        "v.u32": (4, u32),
        "v.i32": (5, struct.pack("<i", -7)),
        "v.f32": (6, struct.pack("<f", 1e-5)),
        "v.bool": (7, b"\x01"),
        "v.u64": (10, struct.pack("<Q", 2**40)),
        "v.i64": (11, struct.pack("<q", -(2**40))),
        "v.f64": (12, struct.pack("<d", 0.1)),
        "v.texts": (9, array_of_texts),
        "v.numbers": (9, array_of_numbers),
        "tokenizer.chat_template": (8, gguf_text("{{ messages }}")),
    }
    return gguf_file(entries, [("token_embd.weight", (64, 100), 8), ("output_norm.weight", (64,), 0)])
