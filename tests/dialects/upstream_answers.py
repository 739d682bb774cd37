"""Answers as machines and providers stream them, for property tests: cut into any pieces, with what was said in them.

Sources: dialects.md §1.1, §1.2 ("SSE") and §2; the OpenAI API reference, "The chat completion chunk object".
"""

import itertools
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from appliance.dialects.anthropic import stream as anthropic_stream
from appliance.dialects.chat import Event
from appliance.dialects.ollama import lines
from appliance.dialects.openai import stream as openai_stream
from tests.dialects.answers import JSON_OBJECTS, OWN_BLOCKS, SOME_TEXT
from tests.upstreams.anthropic_events import block, end, event, parsed, ping, start, text, thinking, tool_use

Json = dict[str, Any]

NAMES = st.sampled_from(["get_weather", "f", "wait-2"])
SAID = st.lists(
    st.tuples(st.just("text"), SOME_TEXT)
    | st.tuples(st.just("thinking"), SOME_TEXT)
    | st.tuples(st.just("call"), st.tuples(NAMES, JSON_OBJECTS)),
    max_size=6,
)
PROMPT, COMPLETION = 7, 3


@dataclass(frozen=True)
class Streamed:
    """What was said, kind by kind, whether the answer was cut off, and the neutral events that a reader made of it."""

    said: list[tuple[str, Any]]
    cut: bool
    events: list[Event]

    def of(self, kind: str) -> list[Any]:
        return [value for each, value in self.said if each == kind]

    @property
    def reason(self) -> str:
        """In OpenAI's words."""
        return "length" if self.cut else "tool_calls" if self.of("call") else "stop"


@st.composite
def split(draw: st.DrawFn, whole: str) -> list[str]:
    """The text in pieces, some of which may be empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    return [whole[a:b] for a, b in itertools.pairwise([0, *cuts, len(whole)])]


@st.composite
def ollama(draw: st.DrawFn) -> Streamed:
    """A line may hold thinking, text and calls, read in this order, and the last one all of them too."""
    said, cut = draw(SAID), draw(st.booleans())
    parts: list[tuple[str, Any]] = []
    for kind, value in said:
        if kind == "call":
            name, given = value
            called = {"function": {"index": 0, "name": name, "arguments": given}}
            parts.append(("tool_calls", [called]))
        else:
            parts += [({"text": "content"}.get(kind, kind), piece) for piece in draw(split(value))]
    order = ("thinking", "content", "tool_calls")
    messages: list[Json] = [{}]
    for name, value in parts:
        later = all(order.index(name) > order.index(other) for other in messages[-1])
        if later and draw(st.booleans()):
            messages[-1][name] = value
        else:
            messages.append({name: value})
    sent = [{"message": {"role": "assistant", "content": "", **one}, "done": False} for one in messages]
    ended = {"done": True, "done_reason": "length" if cut else "stop"}
    ended |= {"prompt_eval_count": PROMPT, "eval_count": COMPLETION}
    sent = [*sent[:-1], sent[-1] | ended] if draw(st.booleans()) else [*sent, {"message": {"content": ""}, **ended}]
    ids = itertools.count()
    reader = lines.Reader(None, lambda: f"call_{next(ids)}")
    events = [one for line in sent for one in reader.read(json.dumps(line).encode())]
    assert reader.finished
    return Streamed(said, cut, events)


@st.composite
def openai(draw: st.DrawFn) -> Streamed:
    """Thoughts under either name, calls in pieces or whole, the usage in a chunk of its own, with the reason or not at
    all."""
    said, cut = draw(SAID), draw(st.booleans())
    thought = draw(st.sampled_from(["reasoning", "reasoning_content"]))
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    calls = 0
    for kind, value in said:
        if kind == "call":
            name, given = value
            pieces = draw(split(json.dumps(given, ensure_ascii=draw(st.booleans()))))
            first = {"index": calls, "id": f"theirs_{calls}", "type": "function"}
            first |= {"function": {"name": name, "arguments": pieces[0]}}
            deltas.append({"tool_calls": [first]})
            deltas += [{"tool_calls": [{"index": calls, "function": {"arguments": one}}]} for one in pieces[1:]]
            calls += 1
        else:
            deltas += [{"content" if kind == "text" else thought: piece} for piece in draw(split(value))]
    reason = "length" if cut else draw(st.sampled_from(["stop", "tool_calls"])) if calls else "stop"
    chunks = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    usage = {"usage": {"prompt_tokens": PROMPT, "completion_tokens": COMPLETION}}
    chunks = draw(st.sampled_from([[*chunks, {"choices": [], **usage}], [*chunks[:-1], chunks[-1] | usage], [*chunks]]))
    ids = itertools.count()
    reader = openai_stream.Reader(lambda: f"call_{next(ids)}")
    events = [one for chunk in chunks for one in reader.read("", json.dumps(chunk))]
    events += reader.read("", "[DONE]") if draw(st.booleans()) else reader.close()
    assert reader.finished
    return Streamed(said, cut, events)


@st.composite
def anthropic(draw: st.DrawFn) -> Streamed:
    """With blocks and events between that a reader for another dialect reads over."""
    said, cut = draw(SAID), draw(st.booleans())
    written: list[bytes] = [start(tokens=PROMPT)]
    index = itertools.count()
    for kind, value in said:
        if draw(st.integers(0, 3)) == 0:
            written.append(b"".join(block(next(index), draw(OWN_BLOCKS | st.just({"type": "of_tomorrow"})), ())))
        if kind == "call":
            name, given = value
            written.append(tool_use(name, *draw(split(json.dumps(given))), index=next(index)))
        else:
            write = text if kind == "text" else thinking
            written.append(write(*draw(split(value)), index=next(index)))
    called = any(kind == "call" for kind, _ in said)
    written.append(end("max_tokens" if cut else "tool_use" if called else "end_turn", tokens=COMPLETION))
    between = st.sampled_from([b"", b"", ping(), event("of_tomorrow", index=0)])
    ids = itertools.count()
    reader = anthropic_stream.Reader(lambda: f"call_{next(ids)}")
    sent = [one + b"\n\n" for one in b"".join(written).split(b"\n\n") if one]
    data = b"".join(piece for one in sent for piece in (one, draw(between)))
    events = [one for name, line in parsed(data) for one in reader.read(name, line)]
    assert reader.finished
    return Streamed(said, cut, events)
