"""Ollama's native chat. Sources: dialects.md §2 and answers recorded from Ollama 0.32.15."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import Chat, Finish, Message, Sampling, TextDelta, Usage
from appliance.dialects.ollama import OllamaError, chat_body, error_text, is_overflow, read_line

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings" / "ollama"

recorded = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings of Ollama are not on this machine")

HI = Chat((Message("user", "hi"),))
OVERFLOW = "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it"


def written(chat: Chat, **more: object) -> dict[str, object]:
    return json.loads(chat_body(chat, model="smollm2", **more))


def answer(name: str) -> list[bytes]:
    """The lines of a recorded answer's body."""
    return (RECORDINGS / f"{name}.response.http").read_bytes().replace(b"\r\n", b"\n").split(b"\n\n", 1)[1].splitlines()


class TestChatBody:
    def test_what_the_caller_did_not_set_is_not_sent(self):
        assert chat_body(HI, model="smollm2") == (
            b'{"model":"smollm2","messages":[{"role":"user","content":"hi"}],"stream":true,"truncate":false}'
        )

    def test_messages_keep_order_and_text(self):
        turns = [("system", "be\x00 terse"), ("user", "é😀"), ("assistant", ""), ("user", '"\\\n')]
        chat = Chat(tuple(Message(role, text) for role, text in turns))
        assert written(chat)["messages"] == [{"role": role, "content": text} for role, text in turns]

    def test_every_option(self):
        sampling = Sampling(
            temperature=0.0,
            top_p=0.5,
            frequency_penalty=-1.0,
            presence_penalty=1.0,
            seed=0,
            stop=("\n", "END"),
            max_tokens=40,
        )
        assert written(Chat(HI.messages, sampling), num_ctx=4096)["options"] == {
            "num_ctx": 4096,
            "num_predict": 40,
            "stop": ["\n", "END"],
            "temperature": 0.0,
            "top_p": 0.5,
            "seed": 0,
            "frequency_penalty": -1.0,
            "presence_penalty": 1.0,
        }

    def test_a_ceiling_beyond_32_bits_is_the_largest(self):
        assert written(Chat(HI.messages, Sampling(max_tokens=2**63 - 1)))["options"] == {"num_predict": 2**31 - 1}

    @pytest.mark.parametrize("keep_alive", ["5m", 300, -1, 0])
    def test_keep_alive(self, keep_alive: str | int):
        assert written(HI, keep_alive=keep_alive)["keep_alive"] == keep_alive

    @recorded
    def test_it_is_what_the_real_server_was_sent(self):
        sent = (RECORDINGS / "14-chat-stream.request.http").read_text().split("\n\n", 1)[1]
        text = "Reply to the email jean@example.com in one sentence"
        chat = Chat((Message("user", text),), Sampling(temperature=0, seed=1, max_tokens=40))
        assert written(chat) == {**json.loads(sent), "stream": True, "truncate": False}


def line(**fields: object) -> bytes:
    return json.dumps({"model": "m", "created_at": "2026-11-29T19:30:11Z", **fields}).encode()


DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 23, "eval_count": 29}


class TestReadLine:
    @pytest.mark.parametrize(
        ("fields", "events"),
        [
            ({"message": {"role": "assistant", "content": " é\n"}, "done": False}, (TextDelta(" é\n"),)),
            ({"message": {"role": "assistant", "content": ""}, "done": False}, ()),
            ({"message": {"role": "assistant", "content": ""}, **DONE}, (Finish("stop", Usage(23, 29)),)),
            ({**DONE, "done_reason": "length"}, (Finish("length", Usage(23, 29)),)),
            # "The done line can itself carry content."
            ({"message": {"content": "Hi"}, **DONE}, (TextDelta("Hi"), Finish("stop", Usage(23, 29)))),
            # "Counts are omitempty."
            ({"message": {"content": ""}, "done": True, "done_reason": "stop"}, (Finish("stop", Usage(0, 0)),)),
            # Thinking is not the answer's text.
            ({"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False}, ()),
            ({"message": {"role": "assistant", "content": "8", "thinking": "Hm."}}, (TextDelta("8"),)),
        ],
    )
    def test_events(self, fields: dict[str, object], events: tuple[object, ...]):
        assert read_line(line(**fields)) == events
        assert read_line(line(**fields) + b"\r\n") == events

    @pytest.mark.parametrize("blank", [b"", b"\n", b" \r\n"])
    def test_a_blank_line_says_nothing(self, blank: bytes):
        assert read_line(blank) == ()

    @pytest.mark.parametrize("reason", ["load", "unload", "", None, "tool_calls", 5])
    def test_an_end_that_is_not_the_models_own_is_a_failure(self, reason: object):
        """gateway.md: an answer without its terminal has failed; only `stop` and `length` are ends of a model."""
        with pytest.raises(OllamaError):
            read_line(line(message={"content": ""}, done=True, done_reason=reason))

    def test_an_end_without_a_reason_is_a_failure(self):
        """Ollama's `DoneReasonConnectionClosed` is written as "", and that is left out."""
        with pytest.raises(OllamaError):
            read_line(line(message={"content": ""}, done=True))

    @pytest.mark.parametrize(
        ("error", "text"),
        [
            ("model runner has unexpectedly stopped", "model runner has unexpectedly stopped"),
            (json.dumps({"error": {"code": 500, "message": "out of memory"}}), "out of memory"),
            ({"message": "busy"}, "busy"),
            ("", "It gave no reason."),
            ({"code": 5}, "It gave no reason."),
        ],
    )
    def test_an_error_line(self, error: object, text: str):
        with pytest.raises(OllamaError) as raised:
            read_line(line(error=error))
        assert str(raised.value) == text

    @pytest.mark.parametrize(
        "wrong",
        [
            b"<html>",
            b"[]",
            b'"x"',
            b'{"message":{"content":"cut of',
            b"\xff",
            b"[" * 100_000,
            line(message="hi"),
            line(message=[]),
            line(message={"content": None}),
            line(message={"content": 5}),
            line(message={"content": "x"}, done="true"),
            line(**{**DONE, "eval_count": -1}),
            line(**{**DONE, "eval_count": "29"}),
            line(**{**DONE, "prompt_eval_count": True}),
            line(**{**DONE, "prompt_eval_count": 1.5}),
        ],
    )
    def test_a_malformed_line(self, wrong: bytes):
        with pytest.raises(OllamaError):
            read_line(wrong)

    @given(
        st.binary()
        | st.dictionaries(
            st.sampled_from(["message", "done", "error", "done_reason", "eval_count"]),
            st.none()
            | st.booleans()
            | st.integers()
            | st.text()
            | st.dictionaries(st.just("content"), st.text() | st.integers()),
        ).map(lambda fields: json.dumps(fields).encode())
    )
    def test_any_line_is_events_or_an_error_with_a_sentence(self, data: bytes):
        try:
            outcome: object = read_line(data)
        except OllamaError as error:
            outcome = str(error)
        assert isinstance(outcome, tuple) or outcome


@recorded
class TestRecordedAnswers:
    @pytest.mark.parametrize("name", ["14-chat-stream", "15-chat-nostream", "16-chat-system-multi", "38-chat-bad-role"])
    def test_text_and_one_end(self, name: str):
        lines = answer(name)
        events = [event for one in lines for event in read_line(one)]
        last = json.loads(lines[-1])
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(
            json.loads(one)["message"]["content"] for one in lines
        )
        assert [event for event in events if isinstance(event, Finish)] == [
            Finish(last["done_reason"], Usage(last["prompt_eval_count"], last["eval_count"]))
        ]
        assert isinstance(events[-1], Finish)

    def test_the_same_answer_whole_and_streamed(self):
        streamed, whole = (
            "".join(event.text for one in answer(name) for event in read_line(one) if isinstance(event, TextDelta))
            for name in ("14-chat-stream", "15-chat-nostream")
        )
        assert (
            streamed
            == whole
            == (
                'The email is a classic example of a "spam" email, designed to trick users into clicking on links'
                " that lead to malicious websites."
            )
        )

    def test_thinking_is_not_the_answer(self):
        events = [event for one in answer("209-chat-think-stream") for event in read_line(one)]
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "The answer is 8."

    def test_an_aborted_stream_has_no_end(self):
        lines = [one for one in answer("32-chat-stream-abort") if one.endswith(b"}")]
        assert lines
        assert not any(isinstance(event, Finish) for one in lines for event in read_line(one))

    def test_loading_is_not_an_answer(self):
        with pytest.raises(OllamaError):
            read_line(answer("12-chat-load")[-1])

    def test_an_error_in_a_stream_of_status_200(self):
        with pytest.raises(OllamaError, match=r"^pull model manifest: "):
            read_line(answer("98-pull-offline")[-1])

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("27-chat-think-unsupported", '"smollm2" does not support thinking'),
            ("28-chat-images-unsupported", "Multimodal data provided, but model does not support multimodal requests."),
            ("31-chat-ctx-overflow-notruncate", OVERFLOW),
            ("33-chat-404", "model 'nope' not found"),
            ("35-chat-bad-json", "unexpected EOF"),
            ("36-chat-empty-body", "missing request body"),
            ("39-chat-bad-option", 'option "temperature" must be of type float32'),
            ("41-unknown-route", "404 page not found"),
        ],
    )
    def test_the_sentence_of_an_error_status(self, name: str, text: str):
        assert error_text(b"\n".join(answer(name))) == text


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
