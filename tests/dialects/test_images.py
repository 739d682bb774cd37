"""Pictures as data URLs. Sources: dialects.md §0.2 and §1.1; RFC 2397; RFC 4648 (test vectors of §10)."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects import images
from appliance.dialects.chat import DialectError, Image
from appliance.dialects.images import MAX_IMAGE_BYTES, from_data_url

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
JPEG = b"\xff\xd8\xff\xe0" + b"\x00" * 8
WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 "


def url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def refused(text: str) -> str:
    with pytest.raises(DialectError) as error:
        from_data_url(text, "messages[0].content[1].image_url.url")
    assert error.value.param == "messages[0].content[1].image_url.url"
    assert error.value.message.startswith("`messages[0].content[1].image_url.url` ")
    return error.value.message


@pytest.mark.parametrize(("data", "kind"), [(PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp")])
@pytest.mark.parametrize("claimed", ["image/png", "image/jpeg", "image/gif", "text/plain;charset=utf-8", ""])
def test_the_bytes_say_what_they_are(data: bytes, kind: str, claimed: str):
    assert from_data_url(url(data, claimed), "p") == Image(data, kind)


def test_the_scheme_is_not_case_sensitive():
    assert from_data_url(url(PNG).replace("data:", "DATA:").replace("base64", "Base64"), "p").data == PNG


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1/x.png",
        "https://example.com/x.png",
        "HTTPS://example.com/x.png",
        "ftp://example.com/x.png",
    ],
)
def test_no_address_is_fetched(text: str):
    assert "no address is ever fetched" in refused(text)


@pytest.mark.parametrize(
    "text", ["", "x", "file:///etc/passwd", "/etc/passwd", "data:", "data:image/png,abc", "data:;base64", "gs://b/x"]
)
def test_no_string_is_a_path(text: str):
    assert "is not a base64 data URL" in refused(text)


def test_a_file_that_exists_is_not_read(tmp_path: Path):
    """dialects.md §0.2: clients of Ollama open a string that names a file."""
    (tmp_path / "x.png").write_bytes(PNG)
    for text in (str(tmp_path / "x.png"), f"data:;base64,{tmp_path / 'x.png'}", f"data:image/png;base64,/{tmp_path}"):
        refused(text)


@pytest.mark.parametrize(
    "encoded",
    [
        # RFC 4648 §10 has "Zg==" for "f" and "Zm8=" for "fo"; each of these is one of them made wrong.
        "Zg=", "Zg", "Z", "=Zg=", "Zg===", "Zm8", "Zm8==", "Zg==Zg==", "Z g==", "Zg==\n", "Zm9-", "Zm9_", "Zm9%",
        "Zmé=",
    ],
)  # fmt: skip
def test_base64_is_strict(encoded: str):
    assert "base64 is not valid" in refused(f"data:image/png;base64,{encoded}")


@pytest.mark.parametrize("data", [b"GIF87a\x01\x00", b"GIF89a\x01\x00"])
def test_a_gif_is_refused_by_name(data: bytes):
    assert "GIF" in refused(url(data, "image/gif"))


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"%PDF-1.7", b"RIFF\x24\x00\x00\x00WAVEfmt ", b"BM", PNG[:7]])
def test_other_bytes_are_refused(data: bytes):
    assert "send PNG, JPEG or WebP" in refused(url(data))


def test_a_picture_has_a_size(monkeypatch: pytest.MonkeyPatch):
    assert MAX_IMAGE_BYTES == 20 * 1024 * 1024
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 3 * 1024 * 1024)
    largest = PNG + bytes(3 * 1024 * 1024 - len(PNG))
    assert from_data_url(url(largest), "p").data == largest
    assert "more than 3 MiB" in refused(url(largest + b"\x00"))


@given(st.text() | st.text().map("data:image/png;base64,".__add__) | st.binary().map(url))
def test_any_string_is_a_picture_or_refused_without_being_quoted(text: str):
    try:
        outcome: Image | DialectError = from_data_url(text, "p")
    except DialectError as error:
        outcome = error
    if isinstance(outcome, Image):
        assert base64.b64encode(outcome.data).decode() == text.split(",", 1)[1]
    else:
        assert len(outcome.message) < 200
