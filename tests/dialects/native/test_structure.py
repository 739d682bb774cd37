"""Source: completions.md ("Request body"); shield.md ("What is scanned")."""

import json
from typing import Any

import pytest

from appliance.dialects.jsontext import JsonText
from appliance.dialects.native.structure import is_text, structure

BODY: dict[str, Any] = {
    "systemPrompt": "A",
    "messages": [{"role": "user", "content": "B"}, {"role": "assistant", "content": "C"}],
    "supplementary": [
        {"category": "D", "label": "E", "priority": "high", "data": {"phone": "F", "since": ["G"], "id": "H"}},
        {"category": "I", "data": '{"mobile": "J"}'},
        {"category": "K", "priority": "low", "data": 33612345678},
    ],
    "extraction": {"source": "L", "categories": ["M", "N"], "persist": True},
    "json": True,
    "model": "O",
    "user": "P",
    "unknown 06": {"deep": ["Q"]},
}  # fmt: skip


def leaves(body: Any) -> dict[str, str]:
    """The label of each text."""
    said = structure("")
    document = JsonText.read(json.dumps(body), said.is_text, said.is_document, lambda _: True)
    return {leaf.text: leaf.label for leaf in document.leaves}


def test_all_that_is_said_is_text_fields_that_nobody_knows_too():
    assert set("ABCDEFGHIJKOPQ") | {"33612345678", "unknown 06"} <= leaves(BODY).keys()


def test_what_is_no_text():
    assert not {"user", "assistant", "high", "low", "messages", "systemPrompt"} & leaves(BODY).keys()
    assert not {*"LMN", "source", "categories"} & leaves(BODY).keys(), "goes out with a call of its own"
    said = structure("")
    assert not said.is_end_user(("user",))
    assert not is_text(("systemPrompt",), "")


def test_the_names_in_a_block_s_data_say_what_its_values_are():
    said = leaves(BODY)
    assert [said[text] for text in ("F", "G", "H", "J")] == ["phone", "since", "id", "mobile"]
    assert [said[text] for text in ("A", "B", "D", "E")] == [""] * 4


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "jane@example.org"}]},
        {"supplementary": [{"priority": "06 12 34 56 78"}]},
        {"supplementary": [{"category": "high"}]},
        {"source": {"role": "user"}},
    ],
)
def test_what_stands_in_the_place_of_a_word_and_is_none_is_text(body: Any):
    assert len(leaves(body)) == 1


def test_a_file_is_what_nobody_can_read():
    assert structure("").is_unscannable(("systemPrompt",), "data:image/png;base64,AAAA")
    assert not structure("").is_unscannable(("systemPrompt",), "Be brief.")
