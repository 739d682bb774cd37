"""What is said of a model. Source: recordings 04, 07 and 13."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.engine import listing
from appliance.engine.gguf import read_header
from appliance.engine.listing import Loaded, human_number
from appliance.engine.models import Model, load_model
from tests.engine.ggufs import small_header


@pytest.fixture
def model(tmp_path: Path) -> Model:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    return load_model(path)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (134_515_008, "134.52M"),  # recording 04
        (22_565_376, "22.57M"),
        (7_000_000_000, "7B"),
        (1_100_048_384, "1.1B"),
        (500_000_000, "500M"),
        (6_464, "6K"),
        (999, "999"),
    ],
)
def test_sizes_as_ollama_writes_them(count: int, text: str):
    assert human_number(count) == text


def test_tags(model: Model):
    (entry,) = json.loads(listing.tags([(model, "abc")]))["models"]
    assert list(entry) == ["name", "model", "modified_at", "size", "digest", "details", "capabilities"]
    assert entry["name"] == entry["model"] == "tiny:latest"
    assert entry["digest"] == "abc"
    assert entry["details"] == {
        "parent_model": "",
        "format": "gguf",
        "family": "tiny",
        "families": ["tiny"],
        "parameter_size": "6K",
        "quantization_level": "Q4_1",
        "context_length": 2048,
        "embedding_length": 64,
    }
    assert entry["capabilities"] == ["completion"]


def test_capabilities_are_the_models_own(model: Model):
    callers = replace(model, tools="tagged")
    both = json.loads(listing.tags([(model, "a"), (callers, "b")]))["models"]
    assert [entry["capabilities"] for entry in both] == [["completion"], ["completion", "tools"]]
    assert json.loads(listing.show(callers, callers.header))["capabilities"] == ["completion", "tools"]


def test_ps(model: Model):
    assert listing.ps([]) == b'{"models":[]}'
    (entry,) = json.loads(listing.ps([(model, "abc", Loaded(5, 1_795_980_611_000_000_000, 4096))]))["models"]
    assert list(entry) == ["name", "model", "size", "digest", "details", "expires_at", "size_vram", "context_length"]
    assert (entry["size"], entry["size_vram"], entry["context_length"]) == (5, 0, 4096)
    assert entry["expires_at"] == "2026-11-29T19:30:11.000000000Z"


def test_what_stays_the_longest_comes_first(model: Model):
    two = [(model, "a", Loaded(1, 100, 1)), (model, "b", Loaded(1, 200, 1))]
    assert [entry["digest"] for entry in json.loads(listing.ps(two))["models"]] == ["b", "a"]


def test_show(model: Model):
    body = json.loads(listing.show(model, model.header))
    expected = ["modelfile", "template", "details", "model_info", "tensors", "capabilities", "modified_at"]
    assert list(body) == expected
    assert body["template"] == "{{ messages }}"
    assert body["tensors"][0] == {"name": "token_embd.weight", "type": "Q8_0", "shape": [64, 100]}
    info = body["model_info"]
    assert list(info) == sorted(info)
    assert info["general.parameter_count"] == 6464
    assert info["v.texts"] is None
    assert "general.name" not in info
    assert "tokenizer.chat_template" not in info


def test_show_does_not_tell_where_the_file_lies(model: Model):
    body = listing.show(model, model.header).decode()
    assert "FROM tiny.gguf" in body
    assert str(model.path.parent) not in body


def test_a_verbose_show_has_the_arrays(model: Model):
    body = json.loads(listing.show(model, read_header(model.path, arrays=True)))
    assert body["model_info"]["v.texts"] == ["a", "bc"]
