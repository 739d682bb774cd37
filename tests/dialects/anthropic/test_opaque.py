"""Which strings nobody has written. Sources: the types of PyPI `anthropic` 2.14.0; ids as Anthropic, OpenAI, vLLM and
llama.cpp write them, in their documentation and sources."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.opaque import encrypted_in, is_encrypted, is_opaque
from appliance.dialects.jsontext import KEY, Path

BLOCK: Path = ("messages", 1, "content", 0)
ID = "toolu_01D7FLrfh4GYq7yT1ULFeyMV"
IDS = [
    ID,
    "srvtoolu_01WYG3ziw53XMcoyKL4XcZmE",
    "mcptoolu_014Q35RayjACSWkSj4X2yov1",
    "toolu_bdrk_01KvYh3oJtRMcAJpRUTyuEcJ",
    "toolu_vrtx_01KvYh3oJtRMcAJpRUTyuEcJ",
    "call_abc123DEFghi456JKLmno7pQ",
    "call_mfzwizlsoqzwkzdtnv2ge3lfmi",
    "chatcmpl-tool-5feb7b8f3af3b6de14fa0c9f550ed994",
    "call_3e90f275-3feb-0867-735f-e348bcbd13e3",
]
ENCRYPTED = base64.b64encode(bytes(range(7, 47))).decode()


@pytest.mark.parametrize("given_id", IDS)
@pytest.mark.parametrize("place", [("id",), ("tool_use_id",), ("caller", "tool_id")])
def test_an_id_of_a_call(given_id: str, place: Path):
    assert is_opaque((*BLOCK, *place), given_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "toolu_1",
        "jane@example.org",
        "toolu_jane@example.org",
        f"{ID} jane",
        f"{ID}\n",
        "call_0612345678",
        "call_06123456780612345678",
        "toolu_FR7630006000011234567890189",
        "toolu_MRN84729131aBcDeFgHiJkL",
        "call_JeanDupontJeanDupontJean",
        "jean_01D7FLrfh4GYq7yT1ULFeyMV",
        "call_" + "1" * 24,
        "chatcmpl-tool-jane7b8f3af3b6de14fa0c9f550ed9",
        "call_" + "aB3" * 20,
        "D7FLrfh4G",
    ],
)
def test_what_has_not_the_form_of_one(text: str):
    assert not is_opaque((*BLOCK, "id"), text)


@pytest.mark.parametrize("name", ["encrypted_content", "encrypted_index", "encrypted_stdout"])
@pytest.mark.parametrize("within", [(), ("content",), ("content", 3), ("citations", 0)])
def test_what_the_provider_encrypted(name: str, within: Path):
    assert is_opaque((*BLOCK, *within, name), ENCRYPTED)
    assert not is_opaque((*BLOCK, *within, name), f"{ENCRYPTED} Jean Dupont")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((*BLOCK, "id", KEY), ID),
        ((*BLOCK, "name"), ID),
        ((*BLOCK, "text"), ID),
        ((*BLOCK, "input", "id"), ID),
        ((*BLOCK, "content", "id"), ID),
        (("messages", 0, "id"), ID),
        (("tools", 0, "id"), ID),
        ((*BLOCK, "input", "encrypted_content"), ENCRYPTED),
        ((*BLOCK, "encrypted_content", KEY), ENCRYPTED),
        ((*BLOCK, "content", "text"), ENCRYPTED),
        (("encrypted_content",), ENCRYPTED),
        (("system", 0, "citations", 0, "encrypted_index"), ENCRYPTED),
    ],
)
def test_anything_may_be_said_elsewhere(path: Path, text: str):
    assert not is_opaque(path, text)


@given(st.binary(min_size=24, max_size=300))
def test_base64_is_known_in_both_alphabets(data: bytes):
    assert is_encrypted(base64.b64encode(data).decode())
    assert is_encrypted(base64.urlsafe_b64encode(data).decode().rstrip("="))


@pytest.mark.parametrize("text", ["", "A" * 31, "=" * 40, f"{'A' * 20}={'A' * 20}", "A" * 40 + ".", "A" * 40 + "\n"])
def test_other_text_is_not_encrypted(text: str):
    assert not is_encrypted(text)


def test_what_is_encrypted_in_an_answer_is_found_by_its_name_whatever_it_is():
    found = {"type": "web_search_result", "title": "t", "encrypted_content": "[EMAIL_k3j2h4m5]"}
    broken = {"encrypted_content": 1, "encrypted_index": None}
    block = {"type": "web_search_tool_result", "content": [found, broken, {"deep": {"encrypted_stdout": "b"}}]}
    assert sorted(encrypted_in(block)) == ["[EMAIL_k3j2h4m5]", "b"]
    assert encrypted_in({"citation": {"encrypted_index": "c"}}) == ("c",)
    assert encrypted_in({"type": "text", "text": "encrypted_content"}) == ()
