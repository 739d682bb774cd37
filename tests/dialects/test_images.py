"""Pictures as data URLs, and as base64 alone. Sources: dialects.md §0.2, §1.1; RFC 2397; RFC 4648 (vectors of §10)."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects import images
from appliance.dialects.chat import Chat, DialectError, Image, Message, Text
from appliance.dialects.images import MAX_IMAGE_BYTES, from_base64, from_data_url, refuse_gifs, remote

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
JPEG = b"\xff\xd8\xff\xe0" + b"\x00" * 8
GIF = b"GIF89a\x01\x00"
WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 "


def url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def refused(text: str) -> str:
    with pytest.raises(DialectError) as error:
        from_data_url(text, "messages[0].content[1].image_url.url")
    assert error.value.param == "messages[0].content[1].image_url.url"
    assert error.value.message.startswith("`messages[0].content[1].image_url.url` ")
    return error.value.message


@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp"), (GIF, "image/gif")]
)
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
def test_a_gif_is_refused_by_its_name_where_no_model_reads_one(data: bytes):
    gif = from_data_url(url(data), "p")
    for role, parts in (("user", (Text("a"), gif)), ("tool", (gif,))):
        with pytest.raises(DialectError, match="has a GIF, which their models do not read") as error:
            refuse_gifs(Chat((Message("user", (Text("a"),)), Message(role, parts))), "their models")
        assert error.value.param == "messages"
    refuse_gifs(Chat((Message("user", (Text("GIF89a"), Image(PNG, "image/png"))),)), "their models")


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"%PDF-1.7", b"RIFF\x24\x00\x00\x00WAVEfmt ", b"BM", PNG[:7]])
def test_other_bytes_are_refused(data: bytes):
    assert "send PNG, JPEG, WebP or GIF" in refused(url(data))


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


class TestBase64Alone:
    @pytest.mark.parametrize(("data", "kind"), [(PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp")])
    def test_the_bytes_say_what_they_are(self, data: bytes, kind: str):
        assert from_base64(base64.b64encode(data).decode(), "p") == Image(data, kind)

    @pytest.mark.parametrize(
        "text",
        [
            "/etc/passwd", "/etc/hostname", "file:///etc/passwd", "~/.ssh/id_rsa", "http://127.0.0.1/x.png",
            "data:image/png;base64,iVBORw0KGgo=", "data:;base64,/etc/passwd", "", "Zg=", "Zg==Zg==", "Z g==", "Zg==\n",
            "Zm9-", "Zmé=",
        ],
    )  # fmt: skip
    def test_whatever_else_is_refused_by_name_and_not_quoted(self, text: str):
        with pytest.raises(DialectError) as error:
            from_base64(text, "messages[0].content[0].source.data")
        assert error.value.param == "messages[0].content[0].source.data"
        assert error.value.message.startswith("`messages[0].content[0].source.data` ")
        assert not text or text not in error.value.message

    def test_a_file_that_exists_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """dialects.md §0.2. A path may be base64 itself: that of a file whose name has as many letters as it takes."""
        monkeypatch.chdir(tmp_path)
        for name in ("abcd", "abcdefgh", "x.png"):
            (tmp_path / name).write_bytes(PNG)
            for text in (name, str(tmp_path / name), f"./{name}"):
                with pytest.raises(DialectError):
                    from_base64(text, "p")

    def test_it_has_the_same_size(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 3 * 1024)
        largest = PNG + bytes(3 * 1024 - len(PNG))
        assert from_base64(base64.b64encode(largest).decode(), "p").data == largest
        with pytest.raises(DialectError, match="is a picture of more than"):
            from_base64(base64.b64encode(largest + b"\x00").decode(), "p")

    @given(st.text() | st.binary().map(lambda data: base64.b64encode(data).decode()))
    def test_any_string_is_the_same_as_in_a_data_url(self, text: str):
        outcomes: list[Image | None] = []
        for read, said in ((from_base64, text), (from_data_url, f"data:;base64,{text}")):
            try:
                outcomes.append(read(said, "p"))
            except DialectError:
                outcomes.append(None)
        assert outcomes[0] == outcomes[1]


def test_what_would_have_to_be_fetched_is_refused_with_what_to_do():
    error = remote("messages[0].content[0].source.url")
    assert error.param == "messages[0].content[0].source.url"
    assert "no address is ever fetched: send the content itself, in base64" in error.message
