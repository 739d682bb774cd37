"""What Ollama says when something went wrong. Sources: dialects.md §2 and answers of Ollama 0.32.15."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.ollama.errors import InvalidToolCall, OllamaError, error_text, failure, is_overflow, sentence
from tests.dialects.ollama.recorded import answer, chats, recorded

OVERFLOW = "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it"


class TestErrorText:
    @pytest.mark.parametrize(
        ("body", "text"),
        [
            (b"", ""),
            (b"404 page not found\n", "404 page not found"),
            (b'{"error":"model \'nope\' not found"}', "model 'nope' not found"),
            (json.dumps({"error": json.dumps({"error": {"message": OVERFLOW}})}).encode(), OVERFLOW),
            (b'{"error":{"message":"busy","type":"x"}}', "busy"),
            (b'{"error":"{\\"code\\":5}"}', '{"code":5}'),
            (b'{"error":null}', '{"error":null}'),
            (b"\xff\xfe", "\ufffd\ufffd"),
            (b"x" * 10_000, "x" * 500),
            (b'{"error":"' + b"x" * 10_000 + b'"}', "x" * 500),
        ],
    )
    def test_unwrapped(self, body: bytes, text: str):
        assert error_text(body) == text

    @given(st.binary())
    def test_any_body_has_a_text(self, body: bytes):
        assert len(error_text(body)) <= 500

    @recorded
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("20-chat-tools-unsupported", "registry.ollama.ai/library/smollm2:latest does not support tools"),
            ("27-chat-think-unsupported", '"smollm2" does not support thinking'),
            ("28-chat-images-unsupported", "Multimodal data provided, but model does not support multimodal requests."),
            ("31-chat-ctx-overflow-notruncate", OVERFLOW),
            ("33-chat-404", "model 'nope' not found"),
            ("35-chat-bad-json", "unexpected EOF"),
            ("36-chat-empty-body", "missing request body"),
            ("39-chat-bad-option", 'option "temperature" must be of type float32'),
            ("41-unknown-route", "404 page not found"),
            ("56-chat-on-embed-model", '"smol-minilm" does not support chat'),
        ],
    )
    def test_the_sentence_of_an_error_status(self, name: str, text: str):
        assert error_text(b"\n".join(answer(name))) == text

    @pytest.mark.parametrize("name", [*chats(400), *chats(404), *chats(500)])
    def test_every_recorded_refusal_has_a_sentence(self, name: str):
        text = error_text(b"\n".join(answer(name)))
        assert text
        assert not text.startswith("{")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("model runner has unexpectedly stopped", "model runner has unexpectedly stopped"),
        (json.dumps({"error": {"code": 500, "message": "out of memory"}}), "out of memory"),
        ({"message": "busy"}, "busy"),
        ("", "It gave no reason."),
        ({"code": 5}, "It gave no reason."),
        # Four levels are explained, and the recordings have two.
        ({"error": {"error": {"error": "deep"}}}, "deep"),
        ({"error": {"error": {"error": {"error": {"error": "deeper"}}}}}, "It gave no reason."),
    ],
)
def test_sentence(error: object, text: str):
    assert sentence(error) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OVERFLOW, (6010, 4096)),
        (f"llama runner: {OVERFLOW}", (6010, 4096)),
        ("the input length exceeds the context length", None),
        ("request (many tokens) exceeds the available context size (4096 tokens)", None),
        ("model 'nope' not found", None),
        ("", None),
    ],
)
def test_is_overflow(text: str, expected: tuple[int, int] | None):
    assert is_overflow(text) == expected


class TestFailure:
    @pytest.mark.parametrize(
        "text",
        [
            # harmony/harmonyparser.go, llm/llama_server.go and model/parsers/glm46.go of Ollama 0.33.
            'error parsing tool call: raw=\'{"city": "secret\', err=unexpected end of JSON input',
            'llama-server returned invalid tool call arguments for "secret": unexpected end of JSON input',
            "incomplete GLM tool call: secret",
        ],
    )
    def test_a_call_that_could_not_be_parsed_is_told_without_the_call(self, text: str):
        error = failure(text)
        assert isinstance(error, InvalidToolCall)
        assert str(error) == "The model produced an invalid tool call."

    def test_others_are_told_as_they_are(self):
        error = failure("model runner has unexpectedly stopped")
        assert type(error) is OllamaError
        assert str(error) == "model runner has unexpectedly stopped"
