"""The fewest tokens. The oracle is the bundled file's own vocabulary; `test_runner` asks llama.cpp itself."""

import pytest

from appliance.engine.floors import ANY_FLOOR, BUNDLED_FLOOR
from appliance.engine.gguf import read_header
from appliance.engine.models import bundled_path
from appliance.engine.requests import Message
from appliance.engine.tools import Tool, ToolCall


def letters() -> dict[str, int]:
    """How GPT-2's vocabularies write a byte: as itself where it is printable, else as a letter from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}


@pytest.fixture(scope="module")
def vocabulary(needs_llama: None) -> list[bytes]:
    tokens = read_header(bundled_path(), arrays=True).metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    byte = letters()
    return [bytes(byte[letter] for letter in str(token)) for token in tokens]


def test_no_token_of_the_bundled_model_is_longer(vocabulary: list[bytes]):
    assert max(map(len, vocabulary)) == BUNDLED_FLOOR.token_bytes
    assert ANY_FLOOR.token_bytes > 2 * BUNDLED_FLOOR.token_bytes


def test_no_token_of_the_bundled_model_goes_from_one_word_to_the_next(vocabulary: list[bytes]):
    # What is no whole character on either side is taken for a letter, which is the stricter reading.
    texts = [token.decode("utf-8", errors="replace") for token in vocabulary]
    assert [text for text in texts if len(text.split()) > 1] == []


def test_texts():
    assert BUNDLED_FLOOR.of_text("") == 0
    assert BUNDLED_FLOOR.of_text("a b\n c") == 3
    assert BUNDLED_FLOOR.of_text("#" * 82) == 2
    assert BUNDLED_FLOOR.of_text("é" * 81) == 2  # bytes count, not characters
    assert ANY_FLOOR.of_text("a b c") == 1


def test_messages():
    assert BUNDLED_FLOOR.of_message(Message("user", "a b")) == 5
    assert BUNDLED_FLOOR.of_message(Message("user", "")) == 4
    assert ANY_FLOOR.of_message(Message("user", "a b")) == 1
    call = ToolCall("f", {"a": "x" * 810})
    assert BUNDLED_FLOOR.of_message(Message("assistant", "", (call,))) > 4 + 10
    assert BUNDLED_FLOOR.of_message(Message("tool", "", (call,))) == 4  # our template leaves these out
    assert ANY_FLOOR.of_message(Message("assistant", "", (call,))) == 1


def test_tools():
    tools = [Tool("f", "x " * 20, {"type": "object"})]
    asked = [Message("user", "Hi")]
    assert BUNDLED_FLOOR.of_tools(tools, asked) >= 20
    assert BUNDLED_FLOOR.of_tools(tools, [*asked, Message("tool", "r")]) == 0  # our template leaves them out
    assert BUNDLED_FLOOR.of_tools(tools, []) == 0
    assert ANY_FLOOR.of_tools(tools, asked) == 0
