"""Expected values: WHATWG HTML, "Server-sent events", with the examples of its section on interpreting a stream."""

import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.lanes import sse as module
from appliance.lanes.sse import EventStream, EventTooLarge, ServerSentEvent


def events(*chunks: bytes) -> list[ServerSentEvent]:
    stream = EventStream()
    return [event for chunk in chunks for event in stream.feed(chunk)]


def chunked(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = sorted(cuts)
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize(
    ("stream", "wanted"),
    [
        ("data: YHOO\ndata: +2\ndata: 10\n\n", [("", "YHOO\n+2\n10")]),
        (": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
         [("", "first event"), ("", "second event"), ("", " third event")]),
        ("data\n\ndata\ndata\n\ndata:", [("", ""), ("", "\n")]),
        ("data:test\n\ndata: test\n\n", [("", "test"), ("", "test")]),
        ("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", [("add", "73857293"), ("remove", "2153")]),
        ("event: lost\n\ndata: x\n\n", [("", "x")]),
        ("retry: 10\nunknown: y\ndata: a: b\n\n", [("", "a: b")]),
        ("data: not ended\n", []),
    ],
)  # fmt: skip
def test_the_examples_of_the_standard(stream: str, wanted: list[tuple[str, str]]):
    assert events(stream.encode()) == [ServerSentEvent(*one) for one in wanted]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_each_line_end_is_one(end: str):
    stream = end.join(["event: e", "data: a", "data: b", "", "data: c", "", ""])
    assert events(stream.encode()) == [ServerSentEvent("e", "a\nb"), ServerSentEvent("", "c")]


def test_a_line_end_of_two_characters_may_be_cut_in_two():
    assert events(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [ServerSentEvent("", "a\nb")]


def test_a_byte_order_mark_is_read_over_at_the_beginning_alone_also_where_it_is_cut():
    assert events(b"\xef", b"\xbb\xbfdata: a\n\n") == [ServerSentEvent("", "a")]
    assert events(b"data: a\n\n\xef\xbb\xbfdata: b\n\n") == [ServerSentEvent("", "a")]


def test_wrong_bytes_become_replacement_characters():
    assert events(b"data: a\xff\xc3\n\n") == [ServerSentEvent("", "a\ufffd\ufffd")]


LINE = st.one_of(
    st.just(""),
    st.just("data"),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=8),
    st.builds("{}:{}".format, st.sampled_from(["data", "event", "", "id"]), st.sampled_from([" é", "x", " 😀 ", ""])),
)


@given(st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r", "\r\n"])), max_size=20), st.booleans(), st.data())
def test_any_chunking_gives_the_same_events(lines: list[tuple[str, str]], mark: bool, data: st.DataObject):
    stream = ("\ufeff" if mark else "").encode() + "".join(line + end for line, end in lines).encode()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    assert events(*chunked(stream, cuts)) == events(stream)


@given(st.binary(max_size=60), st.data())
def test_any_bytes_at_all_give_the_same_events_byte_by_byte(noise: bytes, data: st.DataObject):
    stream = b"data: a\n\n" + noise + b"\n\ndata: b\n\n"
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    assert events(*chunked(stream, cuts)) == events(stream) == events(*(bytes([one]) for one in stream))


@given(st.lists(st.tuples(st.from_regex(r"\A[a-z]{0,5}\Z"), st.text(st.characters(exclude_categories=["Cs"])))))
def test_what_was_written_is_read(written: list[tuple[str, str]]):
    wanted = [ServerSentEvent(name, data.replace("\r", "")) for name, data in written]
    stream = "".join(
        f"event: {one.event}\n" + "".join(f"data: {line}\n" for line in one.data.split("\n")) + "\n" for one in wanted
    )
    assert events(stream.encode()) == wanted


def test_an_event_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_EVENT_CHARACTERS", 20)
    with pytest.raises(EventTooLarge):
        events(b"data: " + b"x" * 20)
    with pytest.raises(EventTooLarge):
        events(*[b"data: x\n"] * 3)


def test_events_and_comments_that_end_may_be_as_many_as_they_like(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_EVENT_CHARACTERS", 20)
    assert len(events(*[b"data: x\n\n"] * 10)) == 10
    assert events(*[b": still here\n"] * 10, b"data: x\n\n") == [ServerSentEvent("", "x")]


@pytest.mark.parametrize("unit", [b"\r", b"\n", b"\r\n", b"data\n", b":", b"data: x\n\n", b"\xef\xbb\xbf", b"\xff"])
def test_a_megabyte_in_small_chunks_is_read_within_seconds(unit: bytes):
    stream = EventStream()
    began = time.monotonic()
    for _ in range(2**20 // 16):
        for _ in stream.feed((unit * 16)[:16]):
            pass
    assert time.monotonic() - began < 5
