"""Forwarding a body. Sources: architecture.md, rule 1; dialects.md §1.2 ("To real Anthropic", `anthropic-beta`);
gateway.md ("Sensitive data that is not text")."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.anthropic.upstream import forwarded, headers
from appliance.dialects.chat import OwnBlock, OwnDelta
from appliance.dialects.upstream import Outgoing

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYdsEqQ=="
CHANGED = ("model", "stream", "metadata")
SECRET = "jane"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
Json = dict[str, Any]


def hidden(name: str) -> str:
    return f"hash-{len(name)}"


def is_foreign(thought: str, signature: str) -> bool:
    return SECRET in thought and signature != ""


def forward(body: str, given: Mapping[str, str] | None = None) -> Outgoing:
    return forwarded(
        body, model="claude-y", given=given or {}, end_user=hidden, is_foreign=is_foreign, new_id=lambda: "toolu_ours"
    )


def sent(body: str) -> str:
    return forward(body).body.decode()


def turn(content: str) -> str:
    return f'{{"messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":{content}}}]}}'


def sent_turns(content: str) -> str:
    """What is sent of the messages of such a body."""
    after = sent(turn(content))
    assert after.startswith('{"messages":[{"role":"user","content":"hi"}')
    return after.removeprefix('{"messages":[{"role":"user","content":"hi"}').removesuffix(
        '],"model":"claude-y","stream":true}'
    )


def test_the_caller_s_own_body():
    rest = (
        '"system":[{"type":"text","text":"\\u0041\\/","cache_control":{"type":"ephemeral"}}],\n"top_p": 1.0, "new":1E2'
    )
    outgoing = forward(f'{{ "model":"pulse-auto", {rest} , "stream" : false , "max_tokens":5}}\n')
    assert outgoing.body.decode() == f'{{ "model":"claude-y", {rest} , "stream" : true , "max_tokens":5}}\n'
    assert outgoing.path == "/v1/messages"
    assert outgoing.headers == {"anthropic-version": "2023-06-01"}


@given(
    st.lists(st.tuples(TEXT.filter(lambda name: name not in (*CHANGED, "messages")), VALUE), max_size=5),
    st.dictionaries(st.sampled_from(CHANGED[:2]), VALUE),
    st.none() | st.lists(VALUE, max_size=3),
    st.data(),
)
def test_every_byte_outside_of_the_changed_members_is_the_caller_s(
    others: list[tuple[str, Any]], own: Json, messages: list[Any] | None, data: st.DataObject
):
    indent = data.draw(st.sampled_from([None, 1]))
    escaped = data.draw(st.booleans())

    def literal(value: Any) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=escaped)

    pieces = [(f"{literal(name)} : ", literal(value)) for name, value in others]
    pieces += [] if messages is None else [('"messages": ', literal(messages))]
    pieces += [(f"{literal(name)}:", literal(value)) for name, value in own.items()]
    order = data.draw(st.permutations(pieces))
    new = {'"model":': '"claude-y"', '"stream":': "true"}
    body = ", ".join(name + value for name, value in order)
    expected = ", ".join(name + new.get(name, value) for name, value in order)
    added = ",".join(name + value for name, value in new.items() if name[1:-2] not in own)
    joint = "," if added and order else ""
    assert sent("{" + body + " }") == "{" + expected + joint + added + " }"


class TestWhoAsks:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ('{ "user_id" : "jane" , "x":1.0 }', '{ "user_id" : "hash-4" , "x":1.0 }'),
            ('{"user_id":null}', '{"user_id":null}'),
            ('{"user_id":{"device_id":"d"}}', '{"user_id":"hash-17"}'),
            ('{"topic":"\\u0062"}', '{"topic":"\\u0062"}'),
            ("null", "null"),
        ],
    )
    def test_they_are_hidden_and_nothing_else_changes(self, before: str, after: str):
        assert f'"metadata": {after},' in sent(f'{{"metadata": {before},"model":"m"}}')

    @pytest.mark.parametrize(
        "body",
        [
            '{"metadata":{"user_id":"jane","user_id":"x"}}',
            '{"metadata":{"user\\u005fid":"jane"}}',
            '{"met\\u0061data":{"user_id":"jane"}}',
            '{"metadata":{"user_id":"jane"},"metadata":{}}',
            '{"metadata":{"user_id":"jane"},"metadata":null}',
            '{"metadata":{"user_id":["jane"]}}',
        ],
    )
    def test_a_name_that_comes_twice_or_is_spelled_otherwise_hides_nothing_less(self, body: str):
        assert SECRET not in sent(body)


def thought(said: str = "Hm.", signature: str | None = SIGNATURE) -> str:
    signed = "" if signature is None else f',"signature":{json.dumps(signature)}'
    return f'{{ "type":"thinking","thinking":{json.dumps(said)}{signed} }}'


SAID = '{"type":"text" , "text":"\\u00e9"}'
ENCRYPTED = f'{{"type":"redacted_thinking","data":"{SIGNATURE}"}}'


class TestThoughts:
    """dialects.md §1.2: thinking blocks byte-exact with their signature; unsigned or foreign ones are dropped."""

    @pytest.mark.parametrize(
        "content",
        [
            f"[{thought()} , {SAID}]",
            f"[ {thought()}, {thought('Of [EMAIL_k3j2h4m5].')},{ENCRYPTED} ]",
            f"[{ENCRYPTED}]",
            '[{"type":"text","text":"\\"thinking\\""}]',
            '[{"type":"tool_use","id":"t","name":"f","input":{"type":"thinking","thinking":"of jane"}}]',
            '[{"type":"tool_result","content":[{"type":"thinking","thinking":"of jane"}]}]',
            '"thinking"',
            "[]",
        ],
    )
    def test_what_is_its_provider_s_goes_byte_for_byte(self, content: str):
        assert sent_turns(content) == f',{{"role":"assistant","content":{content}}}'

    @pytest.mark.parametrize(
        "gone",
        [
            thought(signature=None),
            thought(signature=""),
            thought(f"Of {SECRET}."),
            '{"type":"thinking","thinking":"x","signature":null}',
            '{"type":"thinking"}',
            # Of several members the last one counts, and a letter may be escaped.
            f'{{"signature":"{SIGNATURE}","type":"thinking","thinking":"x","signature":""}}',
            f'{{"type":"\\u0074hinking","\\u0074hinkin\\u0067":"Of jane.","signature":"{SIGNATURE}"}}',
            f'{{"type":"thin\\u006Bing","thinkin\\u0067":"Of jane.","signature":"{SIGNATURE}"}}',
            '{"type":"th\\u0069nking","thinking":"x"}',
        ],
    )
    def test_what_is_not_is_dropped_and_the_blocks_beside_it_stay_as_they_were(self, gone: str):
        assert sent_turns(f"[ {gone} , {SAID},{thought()}]") == (
            f',{{"role":"assistant","content":[{SAID},{thought()}]}}'
        )
        assert sent_turns(f"[{SAID},{gone}]") == f',{{"role":"assistant","content":[{SAID}]}}'

    @pytest.mark.parametrize(
        "content", [f"[{thought(signature='')}]", f"[{thought(SECRET)},{thought(signature=None)}]"]
    )
    def test_a_turn_that_had_nothing_else_is_dropped(self, content: str):
        assert sent_turns(content) == ""

    def test_other_members_of_a_turn_and_other_turns_stay_as_they_were(self):
        first, last = '{ "content" : "x", "role":"user" }', '{"role":"user","content":[{"type":"text","text":"y"}]}'
        changed = f'{{ "new":1.0 , "content" : [{thought(signature="")},{SAID}] , "role":"assistant"}}'
        after = sent(f'{{"max_tokens":5, "messages" : [ {first} , {changed} ,{last} ], "x":[1]}}')
        kept = f'{{ "new":1.0 , "content" : [{SAID}] , "role":"assistant"}}'
        assert after == (
            f'{{"max_tokens":5, "messages" : [{first},{kept},{last}], "x":[1],"model":"claude-y","stream":true}}'
        )

    @pytest.mark.parametrize("where", ["first", "last"])
    def test_a_member_that_comes_twice_hides_no_thought(self, where: str):
        foreign, other = f"[{thought(f'Of {SECRET}.')},{SAID}]", f"[{SAID}]"
        one, two = (foreign, other) if where == "first" else (other, foreign)
        messages = (f'"messages":[{{"role":"assistant","content":{content}}}]' for content in (one, two))
        assert SECRET not in sent(f"{{{','.join(messages)}}}")
        if where == "last":
            assert SECRET not in sent(turn(f'{one},"content":{two}'))


BLOCKS = st.one_of(
    st.builds(
        lambda said, signed: {"type": "thinking", "thinking": said, **signed},
        st.sampled_from(["Hm.", "of jane", "", 5, None]),
        st.sampled_from([{"signature": SIGNATURE}, {"signature": ""}, {"signature": None}, {}]),
    ),
    st.just({"type": "redacted_thinking", "data": SIGNATURE}),
    TEXT.map(lambda said: {"type": "text", "text": said}),
    st.just({"type": "tool_use", "id": "t", "name": "f", "input": {"thinking": "jane", "type": "thinking"}}),
    st.dictionaries(st.sampled_from(["type", "thinking", "text"]), TEXT | st.just("thinking")),
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": TEXT | st.lists(BLOCKS, max_size=4)},
        optional={"thinking": TEXT},
    ),
    max_size=4,
)


def stays(block: Json) -> bool:
    if block.get("type") != "thinking":
        return True
    said = block.get("thinking")
    return bool(block.get("signature")) and not (isinstance(said, str) and SECRET in said)


@given(TURNS, st.dictionaries(TEXT, VALUE, max_size=2), st.sampled_from([None, 1]), st.booleans())
def test_nothing_else_changes_in_any_conversation(turns: list[Json], others: Json, indent: int | None, escaped: bool):
    body = {**others, "messages": turns, "model": "m", "stream": False}
    expected: list[Json] = []
    for one in turns:
        content = one["content"]
        kept = [block for block in content if stays(block)] if isinstance(content, list) else content
        if kept or not content:
            expected.append({**one, "content": kept})
    after = sent(json.dumps(body, indent=indent, ensure_ascii=escaped))
    assert json.loads(after) == {**body, "messages": expected, "model": "claude-y", "stream": True}
    if expected == turns:
        changed = {**body, "model": "claude-y", "stream": True}
        assert after == json.dumps(changed, indent=indent, ensure_ascii=escaped)


class TestHeaders:
    @pytest.mark.parametrize(
        ("given", "version"),
        [
            (None, "2023-06-01"),
            ("2023-06-01", "2023-06-01"),
            ("2026-10-21", "2026-10-21"),
            ("", "2023-06-01"),
            ("latest", "2023-06-01"),
            ("2023-06-01,2026-10-21", "2023-06-01"),
            ("2023-06-01\n", "2023-06-01"),
            ("jane@example.org", "2023-06-01"),
        ],
    )
    def test_the_version_is_the_caller_s_if_it_is_one(self, given: str | None, version: str):
        assert headers({} if given is None else {"anthropic-version": given}) == {"anthropic-version": version}

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("interleaved-thinking-2025-05-14", "interleaved-thinking-2025-05-14"),
            ("claude-code-20250219, effort-2025-11-24", "claude-code-20250219,effort-2025-11-24"),
            ("prompt-caching-scope-2026-01-05,\tpdfs-2024-09-25 ,", "prompt-caching-scope-2026-01-05,pdfs-2024-09-25"),
            ("mcp-client-2025-11-20,effort-2025-11-24,files-api-2025-04-14", "effort-2025-11-24"),
        ],
    )
    def test_of_the_betas_those_that_change_a_body_or_an_answer(self, given: str, kept: str):
        assert headers({"anthropic-beta": given})["anthropic-beta"] == kept

    @pytest.mark.parametrize(
        "given",
        [
            "",
            ", ,",
            # They name an account, reach files, or let the provider call others (the names are the official client's).
            "oauth-2025-04-20",
            "files-api-2025-04-14",
            "mcp-client-2025-04-04",
            "mcp-client-2026-09-15",
            "skills-2025-10-02",
            "code-execution-2025-05-22",
            "computer-use-2025-11-24",
            "user-profiles-2026-03-24",
            "jane@example.org",
            "effort-jane",
            "effort-2025-11-24x",
            "xeffort-2025-11-24",
            "effort-2025-1124",
            "effort-06 12 34 56 78",
            "EFFORT-2025-11-24",
        ],
    )
    def test_no_others(self, given: str):
        assert headers({"anthropic-beta": given}) == {"anthropic-version": "2023-06-01"}

    @pytest.mark.parametrize("given", [{"authorization": "Bearer x"}, {"x-api-key": "x"}, {"x-custom": "jane"}])
    def test_nothing_else_of_the_request_goes_on(self, given: dict[str, str]):
        assert forward("{}", given).headers == {"anthropic-version": "2023-06-01"}

    @pytest.mark.parametrize(
        "path", sorted(RECORDINGS.glob("claude-*-POST_v1_messages.json")) or [None], ids=lambda p: p and p.stem
    )
    def test_a_harness_gets_what_it_asks_for(self, path: Path | None):
        if path is None:
            pytest.skip("the recordings of real clients are not on this machine")
        asked = {name.lower(): value for name, value in json.loads(path.read_text())["headers"]}
        kept = headers(asked)
        assert kept["anthropic-version"] == asked["anthropic-version"]
        assert kept["anthropic-beta"].split(",") == [one.strip() for one in asked["anthropic-beta"].split(",")]


def test_the_answer_is_read_with_all_that_only_this_dialect_says():
    outgoing = forward("{}")
    reader = outgoing.reader()
    assert isinstance(reader, Reader)
    usage = {"input_tokens": 1, "output_tokens": 1}
    started: Json = {"type": "message_start", "message": {"usage": usage}}
    block = {"type": "thinking", "thinking": "", "signature": ""}
    signed = {"type": "signature_delta", "signature": SIGNATURE}
    events: list[Json] = [
        started,
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": signed},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "x"}},
        {"type": "content_block_stop", "index": 1},
    ]
    read = [found for one in events for found in reader.read(one["type"], orjson.dumps(one).decode())]
    assert [json.loads(one.json) for one in read if isinstance(one, OwnDelta)] == [signed]
    assert [json.loads(one.json) for one in read if isinstance(one, OwnBlock)] == [events[4]["content_block"]]
    assert outgoing.refusal(401, b"").kind == "key"
