"""What may leave unread in a body of the Anthropic dialect, and does not.

Each body goes the whole way out: read, masked, forwarded. Sources: shield.md ("What is scanned"); gateway.md
("Sensitive data that is not text"); the types of PyPI `anthropic` 2.14.0.
"""

import base64
import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from appliance.calls.call import Call
from appliance.calls.live_shield import LiveShield
from appliance.calls.outbound import Outbound
from appliance.dialects.anthropic import request
from appliance.dialects.anthropic.upstream import forwarded
from appliance.dialects.chat import Chat
from appliance.errors import UnscannableContent
from appliance.shield.categories import Mode
from tests.calls.outside import spellings

MAIL = "jane.roe@example.org"
IBAN = "FR7630006000011234567890189"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYdsEqQ=="
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\xa5" * 80).decode()
HI = {"role": "user", "content": "Hi"}
MODES: tuple[Mode, ...] = ("standard", "medical")
Json = dict[str, Any]


def end_user(name: str) -> str:
    return f"<{len(name)}>"


def outbound(body: str, shield: LiveShield) -> Outbound:
    request.parse(body.encode())  # what is refused leaves nowhere
    call = Call(cast("Any", None), "/v1/messages", "m", False, Chat(()), body.encode(), "", datetime.now(UTC), 0)
    return Outbound(call, shield.now, end_user)


async def leaving(body: object, mode: Mode = "standard") -> tuple[str, Outbound]:
    """What a provider of this dialect would get."""
    shield = LiveShield(b"k" * 32, country="FR", random=bytes)
    await shield.use(mode)
    one = outbound(body if isinstance(body, str) else json.dumps(body), shield)
    await one.scan()
    masked, _ = await one.leaving()

    def foreign(thought: str, _: str) -> bool:
        return one.is_personal(thought)

    outgoing = forwarded(masked, model="claude-y", given={}, end_user=end_user, is_foreign=foreign, new_id=lambda: "t")
    return outgoing.body.decode(), one


def call(**fields: object) -> Json:
    return {"max_tokens": 5, "messages": [HI], **fields}


def user(*blocks: object) -> Json:
    return call(messages=[{"role": "user", "content": [*blocks]}])


def assistant(*blocks: object) -> Json:
    return call(messages=[HI, {"role": "assistant", "content": [*blocks]}])


def tool_use(**fields: object) -> Json:
    return {"type": "tool_use", "id": "t1", "name": "f", "input": {}, **fields}


def document(**fields: object) -> Json:
    return {"type": "document", "source": {"type": "text", "data": "x"}, **fields}


POSITIONS: dict[str, Any] = {
    "name of a model": lambda value: call(model=value),
    "metadata beside the user": lambda value: call(metadata={"user_id": "u", "mail": value}),
    "metadata deeper": lambda value: call(metadata={"user_id": {"mail": value}}),
    "metadata that is a list": lambda value: call(metadata=[{"user_id": value}, value]),
    "metadata that is text": lambda value: call(metadata=json.dumps({"user_id": value, "mail": value})),
    "name of a member of the metadata": lambda value: call(metadata={value: 1}),
    "who asks, elsewhere": lambda value: call(user=value, session_id=value, diagnostics={"device_id": value}),
    "stop sequence": lambda value: call(stop_sequences=["END", value]),
    "container": lambda value: call(container=value),
    "skills of a container": lambda value: call(container={"id": "c", "skills": [{"skill_id": value}]}),
    "context management": lambda value: call(context_management={"edits": [{"type": value, "keep": value}]}),
    "tier": lambda value: call(service_tier=value),
    "unknown member": lambda value: call(tomorrow={"deep": [[value]]}),
    "name of an unknown member": lambda value: call(**{value: 1}),
    "cache mark": lambda value: call(cache_control={"type": value, "ttl": value}),
    "cache mark of a block": lambda value: user({"type": "text", "text": "x", "cache_control": {"type": value}}),
    "name of a tool": lambda value: call(tools=[{"name": value, "input_schema": {}}]),
    "kind of a tool": lambda value: call(tools=[{"type": value, "name": "x"}]),
    "place of a search": lambda value: call(
        tools=[{"type": "web_search_20250305", "name": "web_search", "user_location": {"city": value}}]
    ),
    "domains of a search": lambda value: call(
        tools=[{"type": "web_search_20250305", "name": "web_search", "allowed_domains": [value]}]
    ),
    "schema": lambda value: call(
        tools=[{"name": "f", "input_schema": {"properties": {value: {"enum": [value], "default": value}}}}]
    ),
    "example": lambda value: call(tools=[{"name": "f", "input_schema": {}, "input_examples": [{"a": value}]}]),
    "schema of the answer": lambda value: call(
        output_config={"format": {"type": "json_schema", "schema": {"title": value, "const": value}}}
    ),
    "block of accounts": lambda value: call(system=[{"type": "text", "text": f"x-anthropic-billing-header: {value}"}]),
    "title of a document": lambda value: user(document(title=value)),
    "context of a document": lambda value: user(document(context=value)),
    "kind of a document": lambda value: user(document(source={"type": "text", "media_type": value, "data": "x"})),
    "id of a file": lambda value: user(document(source={"type": "file", "file_id": value})),
    "source of a search result": lambda value: user({"type": "search_result", "source": value, "content": []}),
    "title of a search result": lambda value: user({"type": "search_result", "title": value, "content": []}),
    "kind of a block": lambda value: user({"type": value}),
    "unknown block": lambda value: user({"type": "strange", "deep": {"x": [value]}}),
    "unknown member of a block": lambda value: user({"type": "text", "text": "x", "note": value}),
    "name of a member of a block": lambda value: user({"type": "text", "text": "x", value: 1}),
    "unknown member of a turn": lambda value: call(messages=[{**HI, "name": value, "metadata": {"user_id": value}}]),
    "reference to a tool": lambda value: user(
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": value}]}
    ),
    "id of a result": lambda value: user({"type": "tool_result", "tool_use_id": value, "content": "x"}),
    "id of a call": lambda value: assistant(tool_use(id=value)),
    "name of a call": lambda value: assistant(tool_use(name=value)),
    "caller of a call": lambda value: assistant(tool_use(caller={"type": "direct", "tool_id": value})),
    "input of a call": lambda value: assistant(tool_use(input={"type": value, "role": value, "data": value})),
    "name in the input": lambda value: assistant(tool_use(input={value: 1})),
    "document in the input": lambda value: assistant(tool_use(input={"a": json.dumps({"b": [value]})})),
    "input of a call of the provider": lambda value: assistant(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": value}}
    ),
    "result of the provider": lambda value: assistant(
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": value, "title": value}]}
    ),
    "citation": lambda value: assistant(
        {"type": "text", "text": "x", "citations": [{"cited_text": value, "document_title": value}]}
    ),
    "thought that is not signed": lambda value: assistant({"type": "thinking", "thinking": value, "signature": ""}),
    "thought with half a signature": lambda value: assistant(
        {"type": "thinking", "thinking": value, "signature": "c2ln"}
    ),
    "signature": lambda value: assistant({"type": "thinking", "thinking": "x", "signature": f"{value} {SIGNATURE}"}),
    "unknown member of a thought": lambda value: assistant(
        {"type": "thinking", "thinking": "x", "signature": SIGNATURE, "note": value}
    ),
    "encrypted thought": lambda value: assistant({"type": "redacted_thinking", "data": value}),
    "thought of a result": lambda value: user(
        {"type": "tool_result", "tool_use_id": "t", "content": [], "x": [{"type": "thinking", "thinking": value,
            "signature": SIGNATURE}]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [MAIL, IBAN])
@pytest.mark.parametrize("position", POSITIONS)
async def test_no_value_leaves(position: str, value: str, mode: Mode):
    sent, _ = await leaving(POSITIONS[position](value), mode)
    for form in spellings(value):
        assert form.decode() not in sent, sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "content",
    [
        f'[{{"type":"text","text":"{MAIL}","type":"thinking","thinking":"x","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"thinking","thinking":"{MAIL}","thinking":"x","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"thinking","thinking":"x","signature":"{MAIL}","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"text","text":"{MAIL}"}}],"content":[{{"type":"text","text":"x"}}]',
        f'"{MAIL}","content":[{{"type":"thinking","thinking":"x","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"tool_use","id":"t","name":"f","input":{{"a":"{MAIL}"}},"input":{{}}}}]',
    ],
)
async def test_a_member_that_comes_twice_smuggles_nothing_out(content: str, mode: Mode):
    turn = f'{{"role":"assistant","content":{content}}}'
    hi = json.dumps(HI)
    for messages in (f"[{hi},{turn}]", f'[{turn}],"messages":[{hi}]', f'[{hi},{{"x":[{turn}],"x":1,"role":"user"}}]'):
        sent, _ = await leaving(f'{{"max_tokens":5,"messages":{messages}}}', mode)
        assert MAIL not in sent


@pytest.mark.parametrize("mode", MODES)
async def test_who_asks_twice_is_told_once_and_hidden(mode: Mode):
    for twice in (
        f'"metadata":{{"user_id":"{MAIL}"}},"metadata":{{"user_id":"x"}}',
        f'"metadata":{{"user_id":"{MAIL}","user_id":"x"}}',
        f'"metadata":{{"user_id":"{MAIL}"}},"metadata":[]',
        f'"metadata":{{"user\\u005fid":"{MAIL}"}}',
        f'"model":"{MAIL}","model":"x"',
    ):
        sent, _ = await leaving(f'{{"max_tokens":5,"messages":[{json.dumps(HI)}],{twice}}}', mode)
        assert MAIL not in sent


class TestInputs:
    """What a tool is given is a document of its own: its numbers, its names and its labels are read."""

    @pytest.mark.parametrize(
        ("given", "value", "category"),
        [
            ({"phone": 33612345678}, "33612345678", "PHONE"),
            ({"home_tel": "4455667"}, "4455667", "PHONE"),
            ({"patient": {"mrn": 8472913}}, "8472913", "MRN"),
            ({"MRN": ["8472913"]}, "8472913", "MRN"),
            ({"rows": json.dumps([{"mrn": 8472913}])}, "8472913", "MRN"),
        ],
    )
    async def test_a_members_name_is_a_label(self, given: object, value: str, category: str):
        examples = call(tools=[{"name": "f", "input_schema": {}, "input_examples": [given]}])
        for body in (assistant(tool_use(input=given)), examples):
            sent, _ = await leaving(body, "medical")
            assert value not in sent
            assert f"[{category}_" in sent

    async def test_settings_are_no_numbers_of_anybody(self):
        sent, _ = await leaving(call(max_tokens=33612345678, thinking={"type": "enabled", "budget_tokens": 8472913}))
        assert json.loads(sent)["max_tokens"] == 33612345678
        assert json.loads(sent)["thinking"]["budget_tokens"] == 8472913

    async def test_a_name_that_the_call_tells_is_masked_where_it_names_a_member(self):
        said = {"role": "user", "content": "Patient : Jean Dupuis, stable. Mme Dupuis aussi."}
        given = {"Dupuis": 1, "jean_dupuis": {"Dupuis": []}, "Jean Dupuis": 2}
        body = call(messages=[said, {"role": "assistant", "content": [tool_use(input=given)]}])
        assert "dupuis" not in (await leaving(body, "medical"))[0].lower()


class TestThoughts:
    @staticmethod
    def body(thought: str) -> str:
        said = json.dumps({"role": "user", "content": f"Write to {MAIL}."})
        text = '{"type":"text","text":"Done."}'
        turn = f'{{"role":"assistant","content":[{thought},{text}]}}'
        return f'{{"max_tokens":5,"messages":[{said},{turn},{json.dumps(HI)}]}}'

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        "thought",
        [
            f'{{"type":"thinking","thinking":"She is {MAIL}.","signature":"{SIGNATURE}"}}',
            f'{{"type":"\\u0074hinking","th\\u0069nking":"She is {MAIL}.","signature":"{SIGNATURE}"}}',
            f'{{"type":"thinking","thinking":"She is jane.roe\\u0040example.org.","signature":"{SIGNATURE}"}}',
        ],
    )
    async def test_one_that_knows_what_is_masked_is_dropped(self, thought: str, mode: Mode):
        sent, _ = await leaving(self.body(thought), mode)
        assert [block["type"] for block in json.loads(sent)["messages"][1]["content"]] == ["text"]
        assert "jane.roe" not in sent

    async def test_one_of_its_provider_goes_back_byte_for_byte(self):
        first, _ = await leaving(self.body('{"type":"text","text":"x"}'))
        token = json.loads(first)["messages"][0]["content"].removeprefix("Write to ").removesuffix(".")
        assert token.startswith("[EMAIL_")
        thought = f'{{ "signature":"{SIGNATURE}" , "thinking":"She is {token}\\u00e9.","type":"thinking"}}'
        sent, _ = await leaving(self.body(thought))
        assert thought in sent


VIN = "jyLmD7AC364pHN1Aa"
RANDOM = f"EqgfCioIARgBQxZeeKy3dl1pkiMOYds+{VIN}+ro3xrP/M/M+OL30Jvvq=="
"""In the mode `medical` any other text of these letters has a vehicle and a name in it."""
ID, SERVER_ID = "toolu_01D7FLrfh4GYq7yT1ULFeyMV", "srvtoolu_01WYG3ziw53XMcoyKL4XcZmE"
HEX_ID = "chatcmpl-tool-5feb7b8f3af3b6de14fa0c9f550ed994"

OPAQUE: dict[str, Any] = {
    "encrypted result": lambda text: assistant(
        {"type": "web_search_tool_result", "tool_use_id": SERVER_ID, "content": [{"encrypted_content": text}]}
    ),
    "encrypted place": lambda text: assistant(
        {"type": "text", "text": "x", "citations": [{"cited_text": "y", "encrypted_index": text}]}
    ),
    "encrypted output": lambda text: assistant(
        {"type": "code_execution_tool_result", "tool_use_id": SERVER_ID, "content": {"encrypted_stdout": text}}
    ),
    "signature": lambda text: assistant({"type": "thinking", "thinking": "x", "signature": text}),
    "encrypted thought": lambda text: assistant({"type": "redacted_thinking", "data": text}),
}


class TestOpaque:
    """What the provider made goes back byte for byte, unless a value stands in it that chance does not write."""

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("position", OPAQUE)
    async def test_what_it_encrypted_goes_back_as_it_was(self, position: str, mode: Mode):
        body = OPAQUE[position](RANDOM)
        sent, _ = await leaving(body, mode)
        assert json.loads(sent)["messages"] == body["messages"]

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("value", [IBAN, "+33612345678", "4539578763621486"])
    @pytest.mark.parametrize("position", OPAQUE)
    async def test_a_value_in_its_place_does_not(self, position: str, value: str, mode: Mode):
        for text in (value, f"EqgfCioIARgBQxZeeKy3dl1pkiMOYds/{value}/aGVs", f"x {RANDOM} {value}"):
            sent, _ = await leaving(OPAQUE[position](text), mode)
            assert value not in sent

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("given", [ID, HEX_ID])
    async def test_ids_of_calls_go_back_as_they_were(self, given: str, mode: Mode):
        calls = [tool_use(id=given), {"type": "server_tool_use", "id": SERVER_ID, "name": "web_search", "input": {}}]
        result = {"type": "tool_result", "tool_use_id": given, "content": "x"}
        turns = [HI, {"role": "assistant", "content": calls}, {"role": "user", "content": [result]}]
        sent, _ = await leaving(call(messages=turns), mode)
        assert json.loads(sent)["messages"] == turns

    @pytest.mark.parametrize(
        ("given", "value"),
        [
            (f"toolu_{MAIL}", "jane.roe"),
            (f"toolu_01-{IBAN}", IBAN),
            ("call_+33612345678", "33612345678"),
            (VIN, VIN),
        ],
    )
    async def test_a_value_in_an_id_does_not(self, given: str, value: str):
        sent, _ = await leaving(assistant(tool_use(id=given)), "medical")
        assert value not in sent

    async def test_what_looks_random_is_read_like_any_text_elsewhere(self):
        sent, _ = await leaving(assistant({"type": "text", "text": RANDOM}), "medical")
        assert VIN not in sent


class TestFiles:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        "block",
        [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAA"}},
            document(source={"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}),
            {"type": "text", "text": PNG},
            {"type": "text", "text": f"data:image/png;base64,{PNG}"},
            {"type": "tool_result", "tool_use_id": "t", "content": json.dumps({"shot": PNG})},
            {"type": "strange", "source": {"type": "base64", "data": base64.b64encode(MAIL.encode()).decode()}},
        ],
    )
    async def test_what_cannot_be_read_is_noticed_and_stays_as_it_is(self, block: Json, mode: Mode):
        body = json.dumps(user(block))
        sent, one = await leaving(body, mode)
        assert one.unscannable
        assert json.loads(sent)["messages"] == json.loads(body)["messages"]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (f"data:text/plain;base64,SGk= is what {MAIL} sent", MAIL),
            (f"data:{MAIL};base64,{PNG}", MAIL),
            ("data:;base64,Call +33612345678", "33612345678"),
        ],
    )
    async def test_words_beside_it_are_read_all_the_same(self, text: str, value: str):
        # Where the administrator lets files out, this call goes.
        sent, one = await leaving(user({"type": "text", "text": text}))
        assert one.unscannable
        assert value not in sent

    @pytest.mark.parametrize(
        ("data", "mode"), [("0612345678", "standard"), (IBAN, "standard"), ("Jean Dupuis", "medical")]
    )
    async def test_words_in_the_place_of_it_are_read(self, data: str, mode: Mode):
        sent, _ = await leaving(
            user(document(source={"type": "base64", "media_type": "text/plain", "data": data})), mode
        )
        assert data not in sent


async def test_what_is_hidden_too_deep_is_refused():
    deep = json.dumps([MAIL])
    for _ in range(18):
        deep = json.dumps([deep])
    for body in (user({"type": "text", "text": deep}), assistant(tool_use(input={"a": deep}))):
        with pytest.raises(UnscannableContent):
            await leaving(body)
