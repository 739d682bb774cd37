import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.lanes.lines import Lines, LineTooLong


@given(st.lists(st.binary().filter(lambda one: b"\n" not in one and one.strip() == one and one)), st.data())
def test_any_chunking_gives_the_same_lines(wanted: list[bytes], data: st.DataObject):
    stream = b"".join(one + b"\n" for one in wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    lines = Lines()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += lines.feed(stream[start:end])
    assert found == wanted
    assert lines.rest == b""


def test_blank_lines_and_carriage_returns_are_nothing():
    assert list(Lines().feed(b"\n\r\n a \r\n\n")) == [b"a"]


def test_the_rest_is_what_no_line_end_followed():
    lines = Lines()
    assert list(lines.feed(b"one\ntw")) == [b"one"]
    assert list(lines.feed(b"o")) == []
    assert lines.rest == b"two"


def test_a_line_without_an_end_is_refused():
    lines = Lines(10)
    assert [list(lines.feed(b"xxxxx")) for _ in range(2)] == [[], []]
    with pytest.raises(LineTooLong):
        list(lines.feed(b"x"))
