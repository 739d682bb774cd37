"""From weights to a GGUF file. Source: recording 10 of Ollama for a real one, the safetensors format for a made one."""

import json
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from appliance.engine import convert
from appliance.engine.convert import tensor_name, vocabulary_entry
from appliance.engine.gguf import read_header
from tests.engine.recordings import exchange


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("embeddings.word_embeddings.weight", "token_embd.weight"),
        ("embeddings.LayerNorm.bias", "token_embd_norm.bias"),
        ("encoder.layer.3.attention.self.query.bias", "blk.3.attn_q.bias"),
        ("encoder.layer.11.attention.output.LayerNorm.weight", "blk.11.attn_output_norm.weight"),
        ("encoder.layer.0.attention.output.dense.weight", "blk.0.attn_output.weight"),
        ("encoder.layer.0.output.dense.weight", "blk.0.ffn_down.weight"),
        ("encoder.layer.0.output.LayerNorm.weight", "blk.0.layer_output_norm.weight"),
    ],
)
def test_names(theirs: str, ours: str):
    assert tensor_name(theirs) == ours


@pytest.mark.parametrize("name", ["lm_head.weight", "encoder.layer.0.crossattention.self.query.weight"])
def test_a_tensor_that_nobody_knows(name: str):
    with pytest.raises(KeyError):
        tensor_name(name)


@pytest.mark.parametrize(("word", "entry"), [("hello", "▁hello"), ("##ing", "ing"), ("[CLS]", "[CLS]"), ("#", "▁#")])
def test_the_vocabulary(word: str, entry: str):
    assert vocabulary_entry(word) == entry


def test_the_bundled_model_becomes_what_ollama_had(embedding_file: Path):
    recorded = exchange("10-show-embed").objects[0]
    header = read_header(embedding_file)
    info = header.metadata | {"general.parameter_count": header.parameter_count}
    scores = {"tokenizer.ggml.scores"}  # null in the recording, and of no use to WordPiece
    assert {key: recorded["model_info"][key] for key in set(recorded["model_info"]) - scores} == info
    tensors = {tensor.name: (tensor.type, list(tensor.shape)) for tensor in header.tensors}
    assert tensors == {each["name"]: (each["type"], each["shape"]) for each in recorded["tensors"]}


def weights_in(directory: Path, **entry: object) -> Path:
    """A directory with a model that has one tensor of four numbers."""
    tensor = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]} | entry
    head = json.dumps({"embeddings.word_embeddings.weight": tensor, "__metadata__": {"format": "pt"}}).encode()
    numbers = struct.pack("<4f", 1, 2, 3, 4)
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + numbers)
    config = ("num_hidden_layers", "max_position_embeddings", "hidden_size", "intermediate_size", "num_attention_heads")
    (directory / "config.json").write_text(json.dumps(dict.fromkeys([*config, "layer_norm_eps", "type_vocab_size"], 1)))
    (directory / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##s\n")
    return directory


def convert_in(source: Path, target: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", convert.__file__, str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.usefixtures("weights")
class TestProcess:
    def test_a_file_appears_whole_and_nothing_else_stays(self, tmp_path: Path):
        target = tmp_path / "made.gguf"
        done = convert_in(weights_in(tmp_path), target)
        assert (done.returncode, done.stderr) == (0, "")
        header = read_header(target, arrays=True)
        assert [(tensor.name, tensor.type) for tensor in header.tensors] == [("token_embd.weight", "F16")]
        assert target.read_bytes().endswith(struct.pack("<4e", 1, 2, 3, 4).ljust(32, b"\0"))
        assert header.metadata["tokenizer.ggml.tokens"][-2:] == ["▁hello", "s"]
        assert header.metadata["tokenizer.ggml.token_type"] == [3, 3, 3, 3, 3, 1, 1]
        assert list(tmp_path.glob("*.part")) == []

    def test_what_is_there_is_left_alone(self, tmp_path: Path):
        target = tmp_path / "made.gguf"
        target.write_text("there")
        assert convert_in(weights_in(tmp_path), target).returncode == 0
        assert target.read_text() == "there"

    def test_a_part_of_a_file_that_was_left_behind_does_no_harm(self, tmp_path: Path):
        target = tmp_path / "made.gguf"
        (tmp_path / "made.part").write_text("half")
        assert convert_in(weights_in(tmp_path), target).returncode == 0
        assert read_header(target).text("general.architecture") == "bert"

    def test_two_at_once_make_one_file(self, tmp_path: Path):
        weights_in(tmp_path)
        target = tmp_path / "made.gguf"
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda _: convert_in(tmp_path, target), range(2)))
        assert [each.returncode for each in done] == [0, 0]
        assert read_header(target).text("general.architecture") == "bert"

    def test_weights_of_another_type(self, tmp_path: Path):
        target = tmp_path / "made.gguf"
        done = convert_in(weights_in(tmp_path, dtype="BF16"), target)
        assert done.returncode != 0
        assert done.stderr.strip().endswith("has the type BF16; only F32 can be read.")
        assert [path.suffix for path in tmp_path.glob("made.*")] == [".lock"]
