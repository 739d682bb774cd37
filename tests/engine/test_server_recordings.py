"""The engine against recorded exchanges of Ollama 0.32.15: status, content type, framing, fields, fixed values.

Each entry says which values must be equal, and what differs on purpose and why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.engine.live import Engine
from tests.engine.recordings import exchange, objects, shape


@dataclass(frozen=True)
class Case:
    """`equal` are dotted paths into the first and the last JSON object of the body."""

    name: str
    equal: tuple[str, ...] = ()
    same_body: bool = False
    before: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)


GO_BUFFERS = "Go chunks bodies over 2 kB; a length says more"
OWN_FILE = "the GGUF file's own digest and size; there is no manifest and no blob"
DETAILS = tuple(
    f"details.{name}"
    for name in ("parent_model", "format", "family", "families", "parameter_size", "quantization_level")
)
MODEL = tuple(f"models.0.{name}" for name in ("name", "model", *DETAILS))
CASES = [
    Case("01-root", same_body=True),
    Case("02-root-head"),
    Case("03-version", differs={"body": "the build part says what really answers"}),
    Case("04-tags", differs={"values": "Ollama listed three models"}),
    Case("05-tags-head", differs={"length": "Ollama listed three models"}),
    Case("06-ps-empty", before="unload", same_body=True),
    Case(
        "07-show",
        equal=("template", "capabilities", *DETAILS),
        differs={"framing": GO_BUFFERS, "parameters": "a ceiling, since so small a model rambles on"},
    ),
    Case("11-show-404", same_body=True),
    Case("12-chat-load", equal=("model", "message", "done", "done_reason")),
    Case("13-ps-loaded", before="load", equal=(*MODEL, "models.0.size_vram", "models.0.context_length")),
    Case("14-chat-stream", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("15-chat-nostream", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("16-chat-system-multi", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("20-chat-tools-unsupported", differs={"text": "the model's name without the host it was pulled from"}),
    Case("27-chat-think-unsupported", same_body=True),
    Case("28-chat-images-unsupported", same_body=True),
    Case("29-chat-logprobs", equal=("done_reason", "prompt_eval_count", "eval_count", "logprobs.0.token")),
    Case("31-chat-ctx-overflow-notruncate", same_body=True),
    Case("33-chat-404", same_body=True),
    Case("34-chat-404-nostream", same_body=True),
    Case("35-chat-bad-json", same_body=True),
    Case("36-chat-empty-body", same_body=True),
    Case("37-chat-no-model", same_body=True),
    Case("38-chat-bad-role", equal=("model", "done", "prompt_eval_count")),
    Case("39-chat-bad-option", same_body=True),
    Case("40-chat-get-405", same_body=True),
    Case("41-unknown-route", same_body=True),
    Case("47-ps-after-unload", before="unload", same_body=True),
    Case("102-cors-forbidden", same_body=True),
    Case("103-host-header", same_body=True),
]

REFUSED = {
    "17-chat-format-json": "the engine does not do structured output and says so",
    "18-chat-format-schema": "the engine does not do structured output and says so",
    "19-chat-format-schema-stream": "the engine does not do structured output and says so",
    "30-chat-ctx-overflow": "Ollama cuts the middle out of the message without a word",
}
"""What Ollama answers and the engine refuses with 400, and why."""


def at(value, path: str):
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value.get(step)
    return value


def replayed(engine: Engine, name: str):
    recorded = exchange(name)
    hosts = {key: value for key, value in recorded.request_headers.items() if key in ("origin", "content-type")}
    if "example" in recorded.request_headers["host"]:
        hosts["host"] = recorded.request_headers["host"]
    return recorded, engine.send(recorded.method, recorded.path, recorded.request_body or None, hosts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_exchange(engine: Engine, case: Case):
    if case.before:
        engine.chat(messages=[], keep_alive=0 if case.before == "unload" else "5m")
    recorded, reply = replayed(engine, case.name)
    assert reply.status == recorded.status
    assert reply.headers.get("content-type") == recorded.headers.get("content-type")
    assert reply.headers.get("allow") == recorded.headers.get("allow")
    assert ("content-length" in reply.headers) != reply.chunked
    if "framing" not in case.differs:
        assert reply.chunked == recorded.chunked
    mine, theirs = objects(reply.body, reply.headers), recorded.objects
    assert bool(mine) == bool(theirs)
    if mine:
        for ours, other in ((mine[0], theirs[0]), (mine[-1], theirs[-1])):
            assert list(ours) == list(other)
            assert shape_of(ours) == shape_of(other)
            for path in case.equal:
                assert at(ours, path) == at(other, path)
    if case.same_body:
        assert reply.body == recorded.body


def shape_of(body):
    """Of a list of models, the one that both have; of metadata, the keys alone, since arrays are null."""
    if "models" in body:
        return [shape(model) for model in body["models"] if model["name"] == "smollm2:latest"]
    return shape(body)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_on_purpose(engine: Engine, name: str):
    recorded, reply = replayed(engine, name)
    assert recorded.status == 200
    assert reply.status == 400
    assert list(reply.json) == ["error"]


def test_tools_are_refused_in_ollamas_words(engine: Engine):
    recorded, reply = replayed(engine, "20-chat-tools-unsupported")
    assert recorded.objects[0]["error"].endswith("/" + reply.json["error"])


def test_metadata_as_ollama_shows_it(engine: Engine):
    recorded, reply = replayed(engine, "07-show")
    assert reply.json["model_info"] == recorded.objects[0]["model_info"]
    in_order = [
        sorted(body["tensors"], key=lambda tensor: tensor["name"]) for body in (reply.json, recorded.objects[0])
    ]
    assert in_order[0] == in_order[1]


def test_a_verbose_show_has_the_vocabulary(engine: Engine):
    recorded, reply = replayed(engine, "08-show-verbose")
    assert reply.json["model_info"] == recorded.objects[0]["model_info"]


def test_a_page_of_this_machine_gets_no_cors_headers(engine: Engine):
    # Ollama answers 204 and allows the page (recording 101); the engine has no web pages to serve.
    recorded, reply = replayed(engine, "101-cors-preflight")
    assert recorded.status == 204
    assert reply.status == 405
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_every_line_of_a_stream_has_the_recorded_fields(engine: Engine):
    recorded, reply = replayed(engine, "14-chat-stream")
    assert {tuple(line) for line in reply.lines[:-1]} == {tuple(line) for line in recorded.objects[:-1]}
    assert list(reply.lines[-1]) == list(recorded.objects[-1])
