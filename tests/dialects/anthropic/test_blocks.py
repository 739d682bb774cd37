"""Reading blocks. Sources: dialects.md §0.2 and §1.2 ("Blocks"); the types of PyPI `anthropic` 2.14.0."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from appliance.dialects.anthropic.blocks import Gaps, as_text, content, kind, parts, required, texts
from appliance.dialects.chat import DialectError, Image, Part, Text
from appliance.dialects.fields import Fields

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 "
Json = dict[str, Any]


def read(block: Json) -> list[Part]:
    """The parts of a block that has nothing a `Chat` cannot say."""
    gaps = Gaps()
    found = list(parts(Fields(block, "b"), gaps))
    assert gaps.unsaid is None
    return found


def noted(block: Json) -> tuple[str, str]:
    """What is noted of a block: of what, and in which words."""
    gaps = Gaps()
    list(parts(Fields(block, "b"), gaps))
    assert gaps.unsaid is not None
    assert gaps.unsaid.message.startswith(f"`{gaps.unsaid.param}`: ")
    return gaps.unsaid.param, gaps.unsaid.message


def refused(block: Json) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(block)
    assert f"`{error.value.param}`" in error.value.message
    return error.value


def image(**source: object) -> Json:
    return {"type": "image", "source": source}


def encoded(data: bytes, **fields: object) -> Json:
    return image(type="base64", data=base64.b64encode(data).decode(), **fields)


def document(source: object, **fields: object) -> Json:
    return {"type": "document", "source": source, **fields}


class TestGaps:
    def test_the_first_of_them_is_kept(self):
        gaps = Gaps()
        assert gaps.unsaid is None
        gaps.note("a[0]", "a block", "is strange")
        gaps.note("a[1]", "another")
        assert gaps.unsaid is not None
        assert (gaps.unsaid.param, gaps.unsaid.message) == ("a[0]", "`a[0]`: a block is strange.")


class TestContent:
    @pytest.mark.parametrize("value", [None, "", "x"])
    def test_nothing_and_text_are_as_they_are(self, value: str | None):
        assert content(Fields({"c": value}, "m"), "c") == value
        assert content(Fields({}, "m"), "c") is None

    def test_blocks_know_where_they_stand(self):
        found = content(Fields({"c": [{"a": 1}, {}]}, "m"), "c")
        assert isinstance(found, list)
        assert [(block.path, block.values) for block in found] == [("m.c[0]", {"a": 1}), ("m.c[1]", {})]

    @pytest.mark.parametrize(
        ("value", "param"), [(5, "m.c"), ({}, "m.c"), (False, "m.c"), ([{}, "x"], "m.c[1]"), ([None], "m.c[0]")]
    )
    def test_anything_else_is_refused_by_name(self, value: object, param: str):
        with pytest.raises(DialectError) as error:
            content(Fields({"c": value}, "m"), "c")
        assert error.value.param == param


def test_a_text_that_has_to_be_there():
    assert required(Fields({"a": ""}, "b"), "a") == ""
    assert kind(Fields({"type": "text"}, "b")) == "text"
    for fields in ({}, {"type": None}, {"type": 5}):
        with pytest.raises(DialectError) as error:
            kind(Fields(fields, "b"))
        assert error.value.param == "b.type"


def test_a_text():
    assert read({"type": "text", "text": " a\n", "cache_control": {"type": "ephemeral"}, "citations": None}) == [
        Text(" a\n")
    ]


class TestPictures:
    @pytest.mark.parametrize(("data", "media_type"), [(PNG, "image/png"), (WEBP, "image/webp")])
    @pytest.mark.parametrize("claimed", [{}, {"media_type": "image/jpeg"}, {"media_type": 5}])
    def test_the_bytes_say_what_they_are(self, data: bytes, media_type: str, claimed: Json):
        assert read(encoded(data, **claimed)) == [Image(data, media_type)]

    @pytest.mark.parametrize(
        ("source", "param"),
        [
            ({"type": "base64", "data": "/etc/passwd"}, "b.source.data"),
            ({"type": "base64", "data": "data:image/png;base64,iVBORw0KGgo="}, "b.source.data"),
            ({"type": "base64", "data": "http://127.0.0.1/x.png"}, "b.source.data"),
            ({"type": "base64", "data": ""}, "b.source.data"),
            ({"type": "base64", "data": None}, "b.source.data"),
            ({"type": "base64"}, "b.source.data"),
            ({"type": "url", "url": "https://example.com/x.png"}, "b.source.url"),
            ({"type": "url", "url": "file:///etc/passwd"}, "b.source.url"),
            ({"type": "url"}, "b.source.url"),
            ({"data": "x"}, "b.source.type"),
            ("x", "b.source"),
            (None, "b.source"),
        ],
    )
    def test_what_is_none_is_refused_by_name(self, source: object, param: str):
        error = refused({"type": "image", "source": source})
        assert error.param == param
        assert "passwd" not in error.message

    def test_a_file_of_this_machine_is_not_read(self, tmp_path: Path):
        """dialects.md §0.2: clients of Ollama open a string that names a file."""
        (tmp_path / "x.png").write_bytes(PNG)
        for data in (str(tmp_path / "x.png"), f"file://{tmp_path}/x.png", f"data:;base64,{tmp_path}/x.png"):
            refused(image(type="base64", media_type="image/png", data=data))

    def test_one_of_another_source_is_noted(self):
        param, message = noted(image(type="file", file_id="f"))
        assert param == "b.source"
        assert "'file'" in message


class TestDocuments:
    def test_its_title_and_its_context_are_text_before_it(self):
        source = {"type": "text", "media_type": "text/plain", "data": "d"}
        assert read(document(source, context="c", title="t")) == [Text("t"), Text("c"), Text("d")]
        assert read(document(source, context="", title=None)) == [Text("d")]

    @pytest.mark.parametrize(
        ("inside", "found"),
        [
            ("d", [Text("d")]),
            ([{"type": "text", "text": "a"}, encoded(PNG)], [Text("a"), Image(PNG, "image/png")]),
            (None, []),
            ([], []),
        ],
    )
    def test_it_may_be_made_of_blocks(self, inside: object, found: list[Part]):
        assert read(document({"type": "content", "content": inside})) == found

    @pytest.mark.parametrize("citations", [None, {}, {"enabled": False}])
    def test_without_citations(self, citations: object):
        assert read(document({"type": "text", "data": "d"}, citations=citations)) == [Text("d")]

    @pytest.mark.parametrize(
        ("block", "param", "word"),
        [
            (document({"type": "text", "data": "d"}, citations={"enabled": True}), "b.citations", "citations"),
            (document({"type": "base64", "media_type": "application/pdf", "data": "x"}), "b", "'application/pdf'"),
            (document({"type": "base64", "data": "x"}), "b", "''"),
            (document({"type": "file", "file_id": "f"}), "b.source", "'file'"),
            (document({"type": "x" * 100}), "b.source", "x" * 40),
        ],
    )
    def test_what_no_chat_can_say_is_noted_and_never_dropped(self, block: Json, param: str, word: str):
        where, message = noted(block)
        assert where == param
        assert word in message
        assert len(message) < 200

    @pytest.mark.parametrize(
        ("block", "param"),
        [
            (document({"type": "url", "url": "https://example.com/x.pdf"}), "b.source.url"),
            (document({"type": "text"}), "b.source.data"),
            (document({"type": "text", "data": 5}), "b.source.data"),
            (document({"type": "content", "content": 5}), "b.source.content"),
            (document({}), "b.source.type"),
            (document(None), "b.source"),
            (document({"type": "text", "data": "d"}, title=5), "b.title"),
            (document({"type": "text", "data": "d"}, context=[]), "b.context"),
            (document({"type": "text", "data": "d"}, citations=True), "b.citations"),
            (document({"type": "text", "data": "d"}, citations={"enabled": 1}), "b.citations.enabled"),
            (document({"type": "base64", "media_type": 5}), "b.source.media_type"),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(self, block: Json, param: str):
        assert refused(block).param == param


def test_a_search_result():
    block = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "c"}]}
    assert read(block) == [Text("t"), Text("s"), Text("c")]
    assert read({"type": "search_result"}) == []


def test_a_reference_to_a_tool_is_its_name():
    assert read({"type": "tool_reference", "tool_name": "f"}) == [Text("f")]
    assert refused({"type": "tool_reference"}).param == "b.tool_name"


@pytest.mark.parametrize("other", ["container_upload", "video", "", "TEXT"])
def test_another_block_is_noted_by_its_name(other: str):
    param, message = noted({"type": other, "text": "secret"})
    assert param == "b"
    assert repr(other) in message
    assert "secret" not in message


class TestTexts:
    @pytest.mark.parametrize(
        ("value", "found"),
        [(None, ()), ("", ()), ("a", (Text("a"),)), ([], ()), ([{"type": "text", "text": "a"}], (Text("a"),))],
    )
    def test_the_parts_of_a_field(self, value: object, found: tuple[Part, ...]):
        assert texts(Fields({"c": value}), "c", Gaps()) == found

    def test_what_is_noted_in_them_is_named_by_its_place(self):
        gaps = Gaps()
        texts(Fields({"c": [{"type": "text", "text": "a"}, {"type": "x"}]}, "m"), "c", gaps)
        assert gaps.unsaid is not None
        assert gaps.unsaid.param == "m.c[1]"


def test_a_block_as_text_is_its_json():
    block = {"type": "server_tool_use", "input": {"query": "é", "n": [1, None]}}
    assert json.loads(as_text(Fields(block)).text) == block
