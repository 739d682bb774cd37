import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.join_errors import ANSWERED, Failure, JoinError
from appliance.cluster.join_messages import (
    MAX_LINE,
    Challenge,
    Claim,
    Hello,
    Welcome,
    is_name,
    read_challenge,
    read_claim,
    read_hello,
    read_line,
    read_welcome,
    refusal,
)

NONCE, PROOF, SIGNATURE = bytes(32), bytes(range(32)), b"\x30" * 72

HELLO = Hello(b"certificate", NONCE)
CHALLENGE = Challenge(NONCE, ("key", "words"))
CLAIM = Claim("key", SIGNATURE, PROOF)
WELCOME = Welcome(PROOF, SIGNATURE, "Büro 3", 11435, 4)

READERS: list[tuple[Any, Any]] = [
    (HELLO, read_hello),
    (CHALLENGE, read_challenge),
    (CLAIM, read_claim),
    (WELCOME, read_welcome),
]


@pytest.mark.parametrize(("message", "read"), [*READERS, (Claim("words", SIGNATURE, None), read_claim)])
def test_a_message_is_one_line_that_reads_back(message: Any, read: Any):
    line = message.line()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read(line) == message


def test_what_is_unknown_may_be_missing():
    message = Welcome(None, SIGNATURE, "one", 1, None)
    assert read_welcome(message.line()) == message


@pytest.mark.parametrize(("message", "read"), READERS)
def test_no_field_is_missing_or_strange(message: Any, read: Any):
    fields = orjson.loads(message.line())
    for name in fields:
        without = {key: value for key, value in fields.items() if key != name}
        assert fails(read, orjson.dumps(without) + b"\n") is Failure.BAD_MESSAGE
        for value in ([], {}, True, 1.5, -1, 0, "", "=", "é" * 4, "A" * 8000, 10**9, [1]):
            if name == "name" and isinstance(value, str) and is_name(value):
                continue
            changed = orjson.dumps(fields | {name: value}) + b"\n"
            assert fails(read, changed) is Failure.BAD_MESSAGE, (name, value)
    assert fails(read, orjson.dumps(fields | {"more": 1}) + b"\n") is Failure.BAD_MESSAGE
    assert fails(read, message.line()[:-1]) is Failure.BAD_MESSAGE
    assert fails(read, orjson.dumps([fields]) + b"\n") is Failure.BAD_MESSAGE
    assert fails(read, orjson.dumps(fields) + b" " * MAX_LINE + b"\n") is Failure.BAD_MESSAGE


@given(st.binary(max_size=300))
def test_garbage_is_no_message(garbage: bytes):
    for _, read in READERS:
        assert fails(read, garbage + b"\n") is Failure.BAD_MESSAGE


def test_another_version_is_not_understood():
    fields = orjson.loads(HELLO.line()) | {"v": 2}
    assert fails(read_hello, orjson.dumps(fields) + b"\n") is Failure.BAD_MESSAGE


@pytest.mark.parametrize("failure", Failure)
def test_only_what_a_node_may_say_is_taken_for_its_refusal(failure: Failure):
    said = failure if failure in ANSWERED else Failure.BAD_MESSAGE
    assert fails(read_challenge, refusal(failure)) is said
    assert fails(read_welcome, refusal(failure)) is said
    assert fails(read_claim, refusal(failure)) is Failure.BAD_MESSAGE


@pytest.mark.parametrize("name", ["", " ", "a" * 65, "two\nlines", "red\x1b[31m", " one", "‮one"])
def test_a_name_can_be_shown(name: str):
    assert not is_name(name)
    assert fails(read_welcome, Welcome(None, SIGNATURE, name, 1, None).line()) is Failure.BAD_MESSAGE


async def test_a_line_is_read_whole_or_not_at_all():
    assert await line_of(b"one\ntwo\n") == b"one\n"
    assert await failing(b"") is Failure.CLOSED
    assert await failing(b"x" * (MAX_LINE + 10)) is Failure.BAD_MESSAGE
    assert await failing(b"x" * (MAX_LINE + 10) + b"\n") is Failure.BAD_MESSAGE


async def line_of(content: bytes) -> bytes:
    reader = asyncio.StreamReader(limit=MAX_LINE)
    reader.feed_data(content)
    reader.feed_eof()
    return await read_line(reader)


async def failing(content: bytes) -> Failure:
    with pytest.raises(JoinError) as caught:
        await line_of(content)
    return caught.value.failure


def fails(read: Any, line: bytes) -> Failure:
    with pytest.raises(JoinError) as caught:
        read(line)
    return caught.value.failure
