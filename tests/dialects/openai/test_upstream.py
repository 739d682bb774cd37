"""Sources: architecture.md, rule 1; gateway.md ("Sensitive data that is not text"); the OpenAI API reference."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import Chat, Message, Text, TextDelta
from appliance.dialects.openai.stream import Reader
from appliance.dialects.openai.upstream import forwarded, written
from appliance.dialects.upstream import Outgoing

CHANGED = ("model", "stream", "stream_options", "user", "safety_identifier", "prompt_cache_key", "metadata")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def hidden(name: str) -> str:
    return f"hash-{len(name)}"


def forward(body: str, model: str = "gpt-4o") -> Outgoing:
    return forwarded(body, model=model, end_user=hidden, new_id=lambda: "call_ours")


def test_the_caller_s_own_body():
    messages = '"messages" : [{"role":"user","content":"\\u0041\\/"}],\n"temperature": 1.0, "new":1E2'
    body = f'{{ "model":"pulse-auto", {messages} }}'
    outgoing = forward(body)
    assert outgoing.body.decode() == (
        f'{{ "model":"gpt-4o", {messages},"stream":true,"stream_options":{{"include_usage":true}} }}'
    )
    assert (outgoing.path, outgoing.headers) == ("/chat/completions", {})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"include_obfuscation" : false}', '{"include_obfuscation" : false,"include_usage":true}'),
        ('{"include_usage":false, "x": 1.0}', '{"include_usage":true, "x": 1.0}'),
        ("{ }", '{"include_usage":true }'),
        ("null", '{"include_usage":true}'),
    ],
)
def test_other_options_of_the_stream_stay(before: str, after: str):
    sent = forward(f'{{"stream_options": {before},"stream" : false,"model":"m"}}').body.decode()
    assert sent == f'{{"stream_options": {after},"stream" : true,"model":"gpt-4o"}}'


@given(
    st.lists(st.tuples(TEXT.filter(lambda name: name not in CHANGED), VALUE), max_size=5),
    st.dictionaries(st.sampled_from(CHANGED[:3]), VALUE),
    st.data(),
)
def test_every_byte_outside_of_the_changed_members_is_the_caller_s(
    others: list[tuple[str, Any]], own: dict[str, Any], data: st.DataObject
):
    indent = data.draw(st.sampled_from([None, 1]))
    pieces = [f"{json.dumps(name)} : {json.dumps(value, indent=indent)}" for name, value in others]
    changed = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in own.items()]
    order = data.draw(st.permutations([*pieces, *changed]))
    sent = forward("{" + ", ".join(order) + " }").body.decode()
    at = 0
    for piece in order:
        if piece in pieces:
            at = sent.index(piece, at) + len(piece)
    values = orjson.loads(sent)
    assert (values["model"], values["stream"]) == ("gpt-4o", True)
    options = own.get("stream_options")
    assert values["stream_options"] == {**(options if isinstance(options, dict) else {}), "include_usage": True}
    added = [name for name in CHANGED[:3] if name not in own]
    assert [name for name, _ in json.loads(sent, object_pairs_hook=lambda found: found)] == [
        json.loads(one.split(":")[0]) if one not in pieces else others[pieces.index(one)][0] for one in order
    ] + added


@pytest.mark.parametrize("name", ["user", "safety_identifier", "prompt_cache_key"])
@pytest.mark.parametrize(
    ("value", "sent"),
    [('"jane"', '"hash-4"'), ("null", "null"), ('""', '"hash-0"'), ("12345", '"hash-5"'), ('{"id":1}', '"hash-8"')],
)
def test_end_users_are_hidden(name: str, value: str, sent: str):
    assert f'"{name}": {sent},' in forward(f'{{"{name}": {value},"model":"m"}}').body.decode()


def test_an_end_user_in_the_metadata_is_hidden_and_the_rest_of_it_stays():
    sent = forward('{"metadata": { "a" : "b", "user_id" : "jane" },"model":"m"}').body.decode()
    assert '"metadata": { "a" : "b", "user_id" : "hash-4" },' in sent
    untouched = '"metadata": { "a" : "\\u0062" },'
    assert untouched in forward(f'{{{untouched}"model":"m"}}').body.decode()


@pytest.mark.parametrize(
    "body",
    [
        '{"user":"jane","user":null}',
        '{"\\u0075ser":"jane"}',
        '{"user":null,"user":"jane"}',
        '{"metadata":{"user_id":"jane"},"metadata":{}}',
        '{"metadata":{"user_id":"jane"},"metadata":null}',
        '{"metadata":{"user_id":"jane","user\\u005fid":"x"}}',
    ],
)
def test_a_name_that_comes_twice_or_is_spelled_otherwise_hides_nothing_less(body: str):
    assert "jane" not in forward(body).body.decode()


@pytest.mark.parametrize(
    ("wish", "choices"), [("", 1), ('"n":2,', 2), ('"n":null,', 1), ('"n":"2",', 1), ('"n":1000000000,', 128)]
)
def test_the_reader_expects_as_many_answers_as_were_asked_for(wish: str, choices: int):
    reader = forward(f'{{{wish}"model":"m"}}').reader()
    assert isinstance(reader, Reader)
    for index in range(choices):
        assert not reader.ended
        reader.read("", f'{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}')
    assert reader.ended


def test_one_call_where_the_caller_wants_no_more():
    reader = forward('{"parallel_tool_calls":false}').reader()
    call = '{"id":"%s","function":{"name":"%s","arguments":"{}"}}'
    calls = ",".join(call % (name, name) for name in "ab")
    events = list(
        reader.read("", f'{{"choices":[{{"delta":{{"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}]}}')
    )
    assert len(events) == 1


def test_a_chat_of_another_dialect():
    chat = Chat((Message("user", (Text("é"),)),), choices=2)
    outgoing = written(chat, model="gpt-4o", new_id=lambda: "call_ours")
    assert orjson.loads(outgoing.body)["messages"] == [{"role": "user", "content": "é"}]
    assert orjson.loads(outgoing.body)["n"] == 2
    assert outgoing.refusal(401, b"").kind == "key"


def test_one_of_several_answers_has_the_number_that_it_has_in_its_call():
    reader = written(Chat(()), model="m", new_id=lambda: "call_ours", first=2).reader()
    (text,) = reader.read("", '{"choices":[{"index":0,"delta":{"content":"a"}}]}')
    assert text == TextDelta("a", choice=2)
