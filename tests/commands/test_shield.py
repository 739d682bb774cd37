import io
import json
from pathlib import Path
from typing import Any

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.commands import shield
from appliance.settings import Shield
from tests.admin.played import Daemon

SETTINGS = Shield()


def scanned(*rows: object, mode: Any = "standard") -> list[Any]:
    outcome = shield.scan([json.dumps(row).encode() + b"\n" for row in rows], mode, SETTINGS)
    assert outcome.stream is not None
    return [json.loads(line) for line in outcome.stream]


async def test_the_mode_and_what_it_masks(client: Client):
    outcome = await shield.show(client)
    assert outcome.lines == (
        "mode        standard (from the settings file, or the default)",
        "masks       EMAIL, PHONE",
        "country     FR: phone numbers without a prefix are read as of there",
        "own lists   2 names to mask, 1 words to ignore (shield.names, shield.ignore)",
    )
    assert outcome.document["mode"] == "standard"


async def test_a_mode_that_was_set_says_so(client: Client):
    assert (await shield.choose(client, "standard")).lines[0] == "mode        standard (set by an administrator)"


async def test_what_would_leave_and_why(client: Client, tmp_path: Path):
    (tmp_path / "text").write_text("my secret\nis out\x1b[2J")
    outcome = await shield.test(client, str(tmp_path / "text"))
    assert outcome.lines == (
        "CATEGORY  VALUE   TOKEN             WHY",
        "EMAIL     secret  [EMAIL_aaaaaaaa]  a word, beside “my”",
        "",
        "In the mode standard this would leave:",
        "",
        "my [EMAIL_aaaaaaaa]",
        "is out\\x1b[2J",
    )
    assert outcome.document["findings"][0]["rule"] == "a word"


async def test_a_text_without_personal_values(client: Client, tmp_path: Path):
    (tmp_path / "text").write_text("nothing")
    assert (await shield.test(client, str(tmp_path / "text"))).lines[0] == "Nothing would be masked."


async def test_when_it_is_off(client: Client, listening: Daemon, tmp_path: Path):
    listening.shield.mode = "off"
    (tmp_path / "text").write_text("nothing")
    (line,) = (await shield.test(client, str(tmp_path / "text"))).lines
    assert line == "The shield is off: the text would leave as it is."


async def test_a_text_from_standard_input(client: Client, listening: Daemon, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("a très secret".encode())))
    await shield.test(client, "-")
    assert listening.shield.tested == ["a très secret"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"\xff", "is not text in UTF-8"),
        (b"x" * (shield.MAX_TEXT_BYTES + 1), "The text is larger than 2 MB."),
    ],
)
async def test_a_text_that_cannot_be_had(client: Client, tmp_path: Path, content: bytes | None, message: str):
    if content is not None:
        (tmp_path / "text").write_bytes(content)
    with pytest.raises(wire.InvalidInput) as caught:
        await shield.test(client, str(tmp_path / "text"))
    assert message in caught.value.message
    assert caught.value.advice


def test_a_line_in_is_a_line_out():
    # shield.md, last paragraph: what the scorer uses.
    assert scanned({"id": 7, "text": "à jane@example.org"}, {"id": "b", "text": ""}) == [
        {"id": 7, "spans": [[2, 18, "EMAIL"]]},
        {"id": "b", "spans": []},
    ]


def test_lines_go_out_as_they_come():
    def lines():
        yield b'{"id": 1, "text": ""}\n'
        raise AssertionError("the second line is asked for too early")

    stream = shield.scan(lines(), "standard", SETTINGS).stream
    assert stream is not None
    assert next(stream) == b'{"id": 1, "spans": []}\n'


@pytest.mark.parametrize("line", [b"{", b"5", b"[]", b'{"id": 1}', b'{"text": "a"}', b'{"id": 1, "text": 5}', b"\xff"])
def test_a_line_that_is_none(line: bytes):
    stream = shield.scan([b'{"id": 1, "text": ""}', b"\n", line], "standard", SETTINGS).stream
    assert stream is not None
    next(stream)
    with pytest.raises(wire.InvalidInput, match="Line 3 is not an object"):
        next(stream)


def test_off_finds_nothing():
    assert scanned({"id": 1, "text": "jane@example.org"}, mode="off") == [{"id": 1, "spans": []}]
