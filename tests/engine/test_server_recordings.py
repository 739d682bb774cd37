"""The engine against every recorded exchange of Ollama 0.32.15: status, content type, framing, fields, fixed values.

`CASES` are those that it answers alike, `DIFFERENT` those that it answers otherwise on purpose, with the reason, and
`ABSENT` those of routes that it does not have. Names of recorded models stand for those of the engine's own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from appliance.engine.models import bundled_path
from tests.engine.live import Engine, Reply
from tests.engine.recordings import FOLDER, exchange, objects, shape

MODELS = {
    "smol-toolshot": "smollm2",
    "smol-tooljson": "smollm2",
    "smol-tools": "smollm2",
    "smol-think": "smollm2",
    "smol-minilm": "all-minilm",
}
"""Recorded models, and the engine's that play their parts."""


@dataclass(frozen=True)
class Case:
    """`equal` are dotted paths into the first and the last JSON object of the body.

    `before` puts models into memory or out of it. `differs` names what is not compared, and says why.
    """

    name: str
    equal: tuple[str, ...] = ()
    same_body: bool = False
    before: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)


GO_BUFFERS = "Go chunks bodies over 2 kB; a length says more"
NOT_RECORDED = "the recorder left in the middle of the answer"
WHAT_IT_SAYS = ("model", "message.role", "message.content", "done", "done_reason", "prompt_eval_count", "eval_count")
A_CALL = ("message.content", "message.tool_calls.0.function", "done", "done_reason")
DETAILS = tuple(
    f"details.{name}"
    for name in ("parent_model", "format", "family", "families", "parameter_size", "quantization_level")
)
MODEL = tuple(f"models.0.{name}" for name in ("name", "model", *DETAILS))
CASES = [
    Case("01-root", same_body=True),
    Case("02-root-head"),
    Case("03-version", differs={"body": "the build part says what really answers"}),
    Case("04-tags", differs={"values": "Ollama listed three models, and an embedding model as one for text"}),
    Case("05-tags-head", differs={"length": "Ollama listed three models"}),
    Case("06-ps-empty", before="unload", same_body=True),
    Case(
        "07-show",
        equal=("template", *DETAILS, "model_info"),
        differs={
            "framing": GO_BUFFERS,
            "parameters": "a ceiling, since so small a model rambles on",
            "capabilities": "the bundled model calls tools, by a template of the engine's own",
        },
    ),
    Case("08-show-verbose", equal=("model_info",), differs={"framing": GO_BUFFERS}),
    Case(
        "09-show-tools",
        equal=("capabilities",),
        differs={
            "framing": GO_BUFFERS,
            "template": "it is Ollama's, and the one shown here is for requests without tools",
        },
    ),
    Case(
        "10-show-embed",
        equal=("capabilities", *DETAILS),
        differs={
            "framing": GO_BUFFERS,
            "fields": "the recorded file has scores in its vocabulary, which WordPiece ignores",
        },
    ),
    Case("11-show-404", same_body=True),
    Case("12-chat-load", equal=("model", "message", "done", "done_reason")),
    Case("13-ps-loaded", before="load text", equal=(*MODEL, "models.0.size_vram", "models.0.context_length")),
    Case("14-chat-stream", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("15-chat-nostream", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("16-chat-system-multi", equal=("model", "message.role", "done", "prompt_eval_count")),
    Case("17-chat-format-json", equal=WHAT_IT_SAYS),
    Case("18-chat-format-schema", equal=WHAT_IT_SAYS),
    Case("19-chat-format-schema-stream", equal=("model", "message", "done", "done_reason", "prompt_eval_count")),
    Case("24-chat-tool-result", equal=("message.role", "done"), differs={"values": "the model here tells the result"}),
    Case("27-chat-think-unsupported", same_body=True),
    Case("28-chat-images-unsupported", same_body=True),
    Case("29-chat-logprobs", equal=("done_reason", "prompt_eval_count", "eval_count", "logprobs.0.token")),
    Case("31-chat-ctx-overflow-notruncate", same_body=True),
    Case("32-chat-stream-abort", equal=("message.role",), differs={"last": NOT_RECORDED}),
    Case("33-chat-404", same_body=True),
    Case("34-chat-404-nostream", same_body=True),
    Case("35-chat-bad-json", same_body=True),
    Case("36-chat-empty-body", same_body=True),
    Case("37-chat-no-model", same_body=True),
    Case("38-chat-bad-role", equal=("model", "done", "prompt_eval_count")),
    Case("39-chat-bad-option", same_body=True),
    Case("40-chat-get-405", same_body=True),
    Case("41-unknown-route", same_body=True),
    Case("42-generate-stream", equal=("model", "done", "done_reason", "prompt_eval_count", "eval_count")),
    Case("43-generate-nostream", equal=("model", "done", "done_reason", "prompt_eval_count", "eval_count")),
    Case("44-generate-raw", equal=("model", "done", "done_reason", "prompt_eval_count", "eval_count")),
    Case("45-generate-load", equal=("model", "response", "done", "done_reason")),
    Case("46-generate-unload", equal=("model", "response", "done", "done_reason")),
    Case("47-ps-after-unload", before="unload", same_body=True),
    Case("48-embed-minilm", equal=("prompt_eval_count",), differs={"framing": GO_BUFFERS}),
    Case("49-embed-minilm-batch", equal=("prompt_eval_count",), differs={"framing": GO_BUFFERS}),
    Case("50-embed-minilm-dims", equal=("prompt_eval_count",)),
    Case("51-embed-truncate-false", same_body=True),
    Case("52-embed-truncate-default", equal=("prompt_eval_count",), differs={"framing": GO_BUFFERS}),
    Case("53-embed-chat-model", same_body=True),
    Case("54-embed-empty", same_body=True),
    Case("55-embeddings-legacy", differs={"framing": GO_BUFFERS}),
    Case("56-chat-on-embed-model", same_body=True),
    Case("102-cors-forbidden", same_body=True),
    Case("103-host-header", same_body=True),
    Case("104-tags-final", differs={"framing": GO_BUFFERS}),
    Case("105-ps-final", before="load", equal=MODEL),
    Case("214-show-think", differs={"framing": GO_BUFFERS, "values": "no model here thinks"}),
    Case("215-show-tooljson", equal=("capabilities",), differs={"framing": GO_BUFFERS}),
    Case("216-chat-concurrent", equal=("model", "done", "prompt_eval_count")),
    Case("217-chat-concurrent", equal=("model", "done", "prompt_eval_count")),
    Case("218-ps-three", before="load text", equal=("models.0.size_vram", "models.0.context_length")),
    # The prompts with tools come last and together, so that llama.cpp reads what they have in common once.
    Case("201-chat-toolcall", equal=A_CALL),
    Case("207-chat-toolcall-stream", equal=A_CALL),
    Case("302-chat-tools-noformat", equal=A_CALL),
    Case("305-chat-tools-noformat-stream", equal=A_CALL),
]


@dataclass(frozen=True)
class Difference:
    """What the engine answers instead: a status, and whether it calls a tool."""

    status: int
    why: str
    calls: bool | None = None


CALLS_A_TOOL = "the recorded model said something else; the bundled one is told how to call, by worked examples"
DIFFERENT = {
    "20-chat-tools-unsupported": Difference(
        200, "the bundled model calls tools, by a template of the engine's own", True
    ),
    "21-chat-tools": Difference(200, CALLS_A_TOOL, calls=True),
    "22-chat-tools-stream": Difference(200, CALLS_A_TOOL, calls=True),
    "23-chat-tools-prefill": Difference(200, "after an assistant's words the engine begins a new turn"),
    "25-chat-tools-fewshot": Difference(200, CALLS_A_TOOL, calls=True),
    "26-chat-tools-fewshot-stream": Difference(200, CALLS_A_TOOL, calls=True),
    "30-chat-ctx-overflow": Difference(400, "Ollama cuts the middle out of the message without a word"),
    "101-cors-preflight": Difference(405, "Ollama allows pages of this machine; the engine has no web pages to serve"),
    "203-chat-think": Difference(400, "no model here thinks, and it says so as Ollama does (27)"),
    "209-chat-think-stream": Difference(400, "no model here thinks, and it says so as Ollama does (27)"),
    "213-chat-toolcall-result": Difference(
        200, "the recorded model called again; the bundled one tells the result", False
    ),
}
"""Exchanges that the engine answers otherwise on purpose."""

ABSENT = {
    "/v1/": "the gateway speaks the other dialects, the engine Ollama's own only",
    "/api/copy": "models come from packages and paths, nothing is managed over HTTP",
    "/api/create": "models come from packages and paths, nothing is managed over HTTP",
    "/api/delete": "models come from packages and paths, nothing is managed over HTTP",
    "/api/pull": "the engine fetches nothing",
    "/api/push": "the engine sends nothing away",
    "/api/blobs/": "there are no blobs",
}
"""Routes that the engine does not have: 404, as for any unknown route."""


def at(value, path: str):
    """What is at a dotted path, `None` where it leads nowhere."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else (value or {}).get(step)
    return value


def everything() -> list[str]:
    return [entry["file"] for entry in json.loads((FOLDER / "index.json").read_text())] if FOLDER.is_dir() else []


def is_absent(name: str) -> bool:
    return exchange(name).path.startswith(tuple(ABSENT))


_REPLIES: dict[tuple[int, str], Reply] = {}


def replayed(engine: Engine, name: str, *, anew: bool = False):
    """The recorded exchange, and what the engine answers; asked once for the tests of an exchange together."""
    if anew or (engine.port, name) not in _REPLIES:
        _REPLIES[engine.port, name] = _asked(engine, name)
    return exchange(name), _REPLIES[engine.port, name]


def _asked(engine: Engine, name: str) -> Reply:
    recorded = exchange(name)
    hosts = {key: value for key, value in recorded.request_headers.items() if key in ("origin", "content-type")}
    if "example" in recorded.request_headers["host"]:
        hosts["host"] = recorded.request_headers["host"]
    body = renamed(recorded.request_body)
    if name == "32-chat-stream-abort":  # whose recorder left after three lines
        body = body.replace(b"200", b"4")
    return engine.send(recorded.method, recorded.path, body or None, hosts)


def renamed(body: bytes) -> bytes:
    for theirs, ours in MODELS.items():
        body = body.replace(theirs.encode(), ours.encode())
    return body


def test_every_exchange_is_compared_or_has_no_counterpart():
    names = everything()
    known = [case.name for case in CASES] + list(DIFFERENT)
    assert len(known) == len(set(known))
    assert sorted(known + [name for name in names if name not in known and is_absent(name)]) == sorted(names or known)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded_exchange(engine: Engine, case: Case, request: pytest.FixtureRequest):
    if b"smol-minilm" in exchange(case.name).request_body or case.name in ("104-tags-final", "105-ps-final"):
        request.getfixturevalue("weights")
    prepare(engine, case.before)
    recorded, reply = replayed(engine, case.name, anew=True)
    assert reply.status == recorded.status
    assert reply.headers.get("content-type") == recorded.headers.get("content-type")
    assert reply.headers.get("allow") == recorded.headers.get("allow")
    assert ("content-length" in reply.headers) != reply.chunked
    if "framing" not in case.differs:
        assert reply.chunked == recorded.chunked
    mine, theirs = objects(reply.body, reply.headers), objects(renamed(recorded.body), recorded.headers)
    assert bool(mine) == bool(theirs)
    if mine:
        pairs = [(mine[0], theirs[0]), (mine[-1], theirs[-1])]
        for ours, other in pairs[:1] if "last" in case.differs else pairs:
            assert list(ours) == list(other)
            if "fields" not in case.differs:
                assert shape_of(ours) == shape_of(other)
            for path in case.equal:
                assert at(ours, path) == at(other, path)
    if case.same_body:
        assert reply.body == renamed(recorded.body)


def prepare(engine: Engine, before: str) -> None:
    """Puts both models out of memory, and those that are wanted into it: the one for embeddings first, as recorded."""
    if before:
        for name in ("smollm2", "all-minilm"):
            engine.send("POST", "/api/generate", {"model": name, "keep_alive": 0})
    if before == "load":
        engine.send("POST", "/api/embed", {"model": "all-minilm", "input": "a", "keep_alive": "4m"})
    if before.startswith("load"):
        engine.chat(messages=[], keep_alive="5m")


def shape_of(body):
    """Of a list of models, the one that both have; of metadata, the keys alone, since arrays are null."""
    if "models" in body:
        return next((shape(model) for model in body["models"] if model["name"] == "smollm2:latest"), None)
    return shape(body)


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_on_purpose(engine: Engine, name: str):
    difference = DIFFERENT[name]
    recorded, reply = replayed(engine, name)
    assert reply.status == difference.status
    if difference.status == 200:
        assert reply.headers["content-type"] == recorded.headers["content-type"] or recorded.status != 200
        assert list(reply.lines[-1]) == list(exchange("15-chat-nostream").objects[0])
        if difference.calls is not None:
            calls = [call for line in reply.lines for call in line["message"].get("tool_calls", [])]
            assert bool(calls) == difference.calls
    elif reply.body and "json" in reply.headers["content-type"]:
        assert list(reply.json) == ["error"]
    assert not [header for header in reply.headers if header.startswith("access-control")]


@pytest.mark.parametrize("name", [name for name in everything() if is_absent(name)])
def test_routes_that_are_not_there(engine: Engine, name: str):
    _, reply = replayed(engine, name)
    assert reply.status == 404
    assert reply.headers["content-type"] == "text/plain"


def test_a_model_without_tools_refuses_them_in_ollamas_words(own_engine: Callable[..., Engine]):
    recorded = exchange("20-chat-tools-unsupported")
    engine = own_engine(model=str(bundled_path()), slots=1, context=256)
    name = engine.send("GET", "/api/tags").json["models"][0]["name"]
    reply = engine.send("POST", "/api/chat", json.loads(recorded.request_body) | {"model": name})
    assert reply.status == recorded.status
    # Ollama puts the place that the model came from before its name.
    assert (
        recorded.objects[0]["error"].replace("registry.ollama.ai/library/smollm2:latest", name) == reply.json["error"]
    )


VECTORS = ["48-embed-minilm", "49-embed-minilm-batch", "50-embed-minilm-dims", "52-embed-truncate-default"]


@pytest.mark.parametrize("name", [*VECTORS, "55-embeddings-legacy"])
def test_vectors_are_the_recorded_ones(engine: Engine, weights: object, name: str):
    recorded, reply = replayed(engine, name)
    mine, theirs = (body.get("embeddings", [body.get("embedding")]) for body in (reply.json, recorded.objects[0]))
    assert len(mine) == len(theirs)
    for ours, other in zip(mine, theirs, strict=True):
        assert ours == pytest.approx(other, abs=1e-3)


def test_tensors_as_ollama_shows_them(engine: Engine):
    recorded, reply = replayed(engine, "07-show")
    in_order = [
        sorted(body["tensors"], key=lambda tensor: tensor["name"]) for body in (reply.json, recorded.objects[0])
    ]
    assert in_order[0] == in_order[1]


def test_the_context_begins_with_the_recorded_prompt(engine: Engine):
    recorded, reply = replayed(engine, "43-generate-nostream")
    prompt = recorded.objects[0]["prompt_eval_count"]
    assert reply.json["context"][:prompt] == recorded.objects[0]["context"][:prompt]
    assert len(reply.json["context"]) == len(recorded.objects[0]["context"])


STREAMS = ["14-chat-stream", "19-chat-format-schema-stream", "42-generate-stream", "305-chat-tools-noformat-stream"]


@pytest.mark.parametrize("name", STREAMS)
def test_every_line_of_a_stream_has_the_recorded_fields(engine: Engine, name: str):
    recorded, reply = replayed(engine, name)
    assert {tuple(line) for line in reply.lines[:-1]} == {tuple(line) for line in recorded.objects[:-1]}
    assert list(reply.lines[-1]) == list(recorded.objects[-1])
