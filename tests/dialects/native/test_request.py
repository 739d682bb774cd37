"""Reading a call as a whole. Source: completions.md ("Request body", "Responses")."""

import json
from typing import Any

import pytest

from appliance.dialects.chat import Chat, DialectError, Format, Message, Sampling, Text
from appliance.dialects.native.request import JSON_INSTRUCTION, Extraction, Request, parse, parse_chat

HI = [{"role": "user", "content": "Hi"}]
EXTRACTION = {"source": "ticket-4812", "categories": ["contact", "preferences"]}


def content(**fields: Any) -> bytes:
    return json.dumps({"systemPrompt": "Be brief.", "messages": HI, **fields}).encode()


def read(**fields: Any) -> Request:
    return parse(content(**fields))


def refused(**fields: Any) -> str:
    with pytest.raises(DialectError) as error:
        read(**fields)
    assert error.value.param is not None
    assert error.value.message.startswith(error.value.param)
    return error.value.message


def said(role: Any, text: str) -> Message:
    return Message(role, (Text(text),))


def system(**fields: Any) -> str:
    return read(**fields).chat.messages[0].text


def test_the_smallest_call():
    user = said("user", "Hi")
    assert read() == Request(Chat((said("system", "Be brief."), user)), Chat((user,)), None)


def test_a_call_with_everything():
    asked = read(
        supplementary=[{"category": "customer", "label": "Account", "priority": "high", "data": {"plan": "Pro"}}],
        extraction=EXTRACTION,
        json=True,
        max_tokens=300,
        temperature=0.2,
        model="gpt-4o",
        stream=True,
        tools=[{"unknown": "fields are ignored"}],
        top_p=0.1,
    )
    context = '## SUPPLEMENTARY CONTEXT\n\n### Account (HIGH PRIORITY)\n{\n  "plan": "Pro"\n}'
    assert asked.chat == Chat(
        (said("system", f"Be brief.\n\n{context}\n\n{JSON_INSTRUCTION}"), said("user", "Hi")),
        Sampling(max_tokens=300, temperature=0.2),
        format=Format(),
    )
    assert asked.drives == Chat((said("user", "Hi"),), format=Format())
    assert asked.extraction == Extraction("ticket-4812", ("contact", "preferences"), True)


class TestWhatDrives:
    """completions.md: "the last `user` message drives routing and extraction"."""

    def test_the_last_user_message_alone(self):
        turns = [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "last"},
            {"role": "system", "content": "S"},
            {"role": "assistant", "content": "B"},
        ]
        asked = read(messages=turns)
        assert [message.role for message in asked.chat.messages[1:]] == [turn["role"] for turn in turns]
        assert asked.drives == Chat((said("user", "last"),))

    def test_where_there_is_none_nothing_does(self):
        assert read(messages=[{"role": "assistant", "content": "A"}]).drives == Chat(())


@pytest.mark.parametrize("wrong", [None, "", " \n"])
def test_a_system_prompt_has_to_be_there(wrong: Any):
    assert refused(systemPrompt=wrong) == "systemPrompt is required and must not be empty"


@pytest.mark.parametrize("wrong", [None, [], "Hi", {"role": "user"}, 7])
def test_messages_have_to_be_there(wrong: Any):
    assert refused(messages=wrong) == "messages array is required and must not be empty"


@pytest.mark.parametrize("body", [b"{}", b'{"messages":[]}', b'{"systemPrompt":""}'])
def test_the_system_prompt_is_asked_for_first(body: bytes):
    with pytest.raises(DialectError) as error:
        parse(body)
    assert error.value.message == "systemPrompt is required and must not be empty"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"systemPrompt":' + b"[" * 300])
def test_what_is_no_object_is_told_as_everywhere(body: bytes):
    with pytest.raises(DialectError, match="The request body"):
        parse(body)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"systemPrompt": 7}, "systemPrompt must be a string"),
        ({"messages": ["Hi"]}, "messages[0] must be an object"),
        ({"messages": [*HI, {"content": "x"}]}, "messages[1].role must be one of user, assistant and system"),
        ({"messages": [{"role": "tool"}]}, "messages[0].role must be one of user, assistant and system"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role must be a string"),
        ({"messages": [{"role": "user"}]}, "messages[0].content must be a string"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content must be a string"),
        ({"messages": HI * 10_001}, "messages must be an array of at most 10000 messages"),
        ({"supplementary": {}}, "supplementary must be a list"),
        ({"supplementary": ["x"]}, "supplementary[0] must be an object"),
        ({"supplementary": [{"data": "x"}]}, "supplementary[0].category is required and must not be empty"),
        ({"supplementary": [{"category": " "}]}, "supplementary[0].category is required and must not be empty"),
        ({"supplementary": [{"category": 1, "data": "x"}]}, "supplementary[0].category must be a string"),
        ({"supplementary": [{"category": "c"}]}, "supplementary[0].data is required"),
        ({"supplementary": [{"category": "c", "data": None}]}, "supplementary[0].data is required"),
        ({"supplementary": [{"category": "c", "data": "x", "label": 1}]}, "supplementary[0].label must be a string"),
        (
            {"supplementary": [{"category": "c", "data": "x", "priority": "urgent"}]},
            "supplementary[0].priority must be one of high, medium and low",
        ),
        (
            {"supplementary": [{"category": "c", "data": "x", "priority": ""}]},
            "supplementary[0].priority must be one of high, medium and low",
        ),
        (
            {"supplementary": [{"category": "c", "data": "x"}] * 1001},
            "supplementary must be an array of at most 1000 blocks",
        ),
        ({"json": "true"}, "json must be a boolean"),
        ({"max_tokens": "9"}, "max_tokens must be an integer"),
        ({"temperature": 2.1}, "temperature must be a number between 0 and 2"),
        ({"temperature": "0"}, "temperature must be a number between 0 and 2"),
        ({"extraction": True}, "extraction must be an object"),
        ({"extraction": {}}, "extraction.source is required"),
        ({"extraction": {**EXTRACTION, "source": ""}}, "extraction.source is required"),
        ({"extraction": {**EXTRACTION, "source": 4812}}, "extraction.source must be a string"),
        (
            {"extraction": {**EXTRACTION, "source": "s" * 501}},
            "extraction.source must be a string of at most 500 characters",
        ),
        (
            {"extraction": {"source": "s"}},
            "extraction.categories array is required and must not be empty",
        ),
        (
            {"extraction": {"source": "s", "categories": []}},
            "extraction.categories array is required and must not be empty",
        ),
        (
            {"extraction": {"source": "s", "categories": "contact"}},
            "extraction.categories array is required and must not be empty",
        ),
        (
            {"extraction": {"source": "s", "categories": ["a", ""]}},
            "extraction.categories[1] must be a string of 1 to 100 characters, not all blank",
        ),
        (
            {"extraction": {"source": "s", "categories": [" "]}},
            "extraction.categories[0] must be a string of 1 to 100 characters, not all blank",
        ),
        (
            {"extraction": {"source": "s", "categories": ["a" * 101]}},
            "extraction.categories[0] must be a string of 1 to 100 characters, not all blank",
        ),
        (
            {"extraction": {"source": "s", "categories": ["a", 7]}},
            "extraction.categories[1] must be a string of 1 to 100 characters, not all blank",
        ),
        (
            {"extraction": {"source": "s", "categories": ["a"] * 101}},
            "extraction.categories must be an array of at most 100 categories",
        ),
        ({"extraction": {**EXTRACTION, "persist": "no"}}, "extraction.persist must be a boolean"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(fields: dict[str, Any], sentence: str):
    assert refused(**fields) == sentence


@pytest.mark.parametrize(
    "fields",
    [
        {"supplementary": None, "extraction": None, "json": None, "max_tokens": None, "temperature": None},
        {"supplementary": [], "json": False},
        {"model": 7, "stream": "yes"},
    ],
)
def test_what_is_left_out_or_ignored_changes_nothing(fields: dict[str, Any]):
    assert read(**fields) == read()


def test_the_limits_can_be_reached():
    assert len(read(messages=HI * 10_000).chat.messages) == 10_001
    block = {"category": "c", "data": "x"}
    assert system(supplementary=[block] * 1000).count("### c") == 1000
    extraction = {"source": "s" * 500, "categories": [f"{i:0100}" for i in range(100)], "persist": False}
    assert read(extraction=extraction).extraction == Extraction("s" * 500, tuple(extraction["categories"]), False)


def test_an_empty_text_is_a_message_without_one():
    assert read(messages=[{"role": "user", "content": ""}]).chat.messages[1] == Message("user")


def test_categories_may_be_any_text_and_count_once():
    named = ['"quoted"', "a\nb", "contact", '"quoted"', "{}"]
    extraction = read(extraction={"source": "s", "categories": named}).extraction
    assert extraction is not None
    assert extraction.categories == ('"quoted"', "a\nb", "contact", "{}")


def test_a_section_is_titled_by_its_label_or_else_its_category():
    blocks = [
        {"category": "pricing", "data": "a"},
        {"category": "customer", "label": "Account", "data": "b"},
        {"category": "notes", "label": "", "data": "c", "priority": None},
    ]
    assert system(supplementary=blocks).endswith("### pricing\na\n\n### Account\nb\n\n### notes\nc")


def test_the_ceiling_is_none_at_0_and_less():
    assert read(max_tokens=0).chat.sampling == read(max_tokens=-1).chat.sampling == Sampling()
    assert read(max_tokens=5.0).chat.sampling == Sampling(max_tokens=5)


def test_a_number_too_long_to_be_read_reaches_the_model_digit_by_digit():
    body = content(supplementary=[{"category": "c", "data": "x"}, {"category": "d", "data": {"account": 7}}])
    text = parse(body.replace(b'"account": 7', b'"account":12345678901234567890123')).chat.messages[0].text
    assert '### c\nx\n\n### d\n{\n  "account": 12345678901234567890123\n}' in text


def test_a_body_that_was_masked_is_read_again_without_what_goes_to_no_model():
    masked = content(extraction={"source": "[EMAIL_abcdefgh]" * 99, "categories": ["[NAME_abcdefgh]" * 9]})
    assert parse_chat(masked) == read().chat
