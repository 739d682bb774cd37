"""The child process that turns the weights of a sentence-transformers BERT into a GGUF file.

`minilm` starts this very file, so it imports nothing of ours; the packages that it needs are loaded nowhere else. It
takes the directory of the weights and the file to write as arguments. Its last line on stderr says what went wrong.

The file appears at once and whole, or not at all. Source: llama.cpp's `convert_hf_to_gguf.py` for the names and the
vocabulary, the safetensors format, and recording 10 of an Ollama for the types of the tensors.
"""

import fcntl
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

_NAMES = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
"""What llama.cpp calls the tensors of a BERT; longer names stand before those that are a part of them."""
_UNUSED = ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias")
_WHOLE = ("token_types.weight",)
"""Tensors of more than one dimension that keep 32 bits, as llama.cpp wants them."""
_SPECIAL = {"[PAD]": "padding", "[UNK]": "unknown", "[CLS]": "cls", "[SEP]": "seperator", "[MASK]": "mask"}
"""The words that stand for something, and what the GGUF format calls them, a slip of the pen included."""


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    # Two engines that start at once take turns, and the second finds the work done.
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            part = target.with_suffix(".part")
            try:
                write(source, part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
            _sync(target.parent)


def write(source: Path, part: Path) -> None:
    """Writes the GGUF file and waits until the disk has it. Raises ImportError, OSError, KeyError or ValueError."""
    gguf: Any = importlib.import_module("gguf")  # without type information of its own
    numpy: Any = importlib.import_module("numpy")
    config = json.loads((source / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(part, "bert")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_bool("bert.normalize_embeddings", True)
    _add_vocabulary(gguf, writer, source, config["type_vocab_size"])
    for name, tensor in read_tensors(numpy, source / "model.safetensors"):
        half = tensor.ndim > 1 and name not in _WHOLE
        writer.add_tensor(name, tensor.astype(numpy.float16) if half else tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with part.open("rb+") as file:
        os.fsync(file.fileno())


def read_tensors(numpy: Any, path: Path) -> list[tuple[str, Any]]:
    """Names as llama.cpp's and 32-bit arrays, from a safetensors file: a length, a JSON header, the numbers."""
    with path.open("rb") as file:
        entries = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
    numbers = numpy.memmap(path, dtype=numpy.uint8, mode="r", offset=start)
    tensors: list[tuple[str, Any]] = []
    for name, entry in entries.items():
        if name == "__metadata__" or name in _UNUSED:
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"The tensor {name} has the type {entry['dtype']}; only F32 can be read.")
        first, last = entry["data_offsets"]
        tensors.append((tensor_name(name), numbers[first:last].view("<f4").reshape(entry["shape"])))
    return tensors


def tensor_name(name: str) -> str:
    """`encoder.layer.3.attention.self.query.bias` → `blk.3.attn_q.bias`. Raises KeyError for an unknown one."""
    block, rest = "", name
    if name.startswith("encoder.layer."):
        _, _, number, rest = name.split(".", 3)
        block = f"blk.{number}."
    for theirs, ours in _NAMES.items():
        if rest == theirs:
            return block + ours
        if rest in (f"{theirs}.weight", f"{theirs}.bias"):
            return block + ours + rest.removeprefix(theirs)
    raise KeyError(name)


def _add_vocabulary(gguf: Any, writer: Any, source: Path, types: int) -> None:
    words = (source / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([vocabulary_entry(word) for word in words])
    writer.add_token_types([gguf.TokenType.CONTROL if word in _SPECIAL else gguf.TokenType.NORMAL for word in words])
    writer.add_token_type_count(types)
    for word, meaning in _SPECIAL.items():
        writer.add_uint32(f"tokenizer.ggml.{meaning}_token_id", words.index(word))


def vocabulary_entry(word: str) -> str:
    """llama.cpp marks where a word begins, WordPiece where it goes on."""
    if word in _SPECIAL:
        return word
    return word[2:] if word.startswith("##") else "\u2581" + word


def _sync(directory: Path) -> None:
    """Makes a new name in a directory outlive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main()
