"""The one walker over a call's text. Sources: architecture.md, rule 2; routing.md ("Auto-classify")."""

import json

from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import Chat, Format, Image, Message, Sampling, Text, Tool, ToolCall
from appliance.dialects.leaves import Leaf, definition, leaves


def test_every_text_of_the_caller_in_order():
    chat = Chat(
        (
            Message("system", (Text("be terse"),)),
            Message("user", (Text("what is "), Image(b"\x89PNG", "image/png"), Text("this"), Text(""))),
            Message("assistant", (Text("a cat"),), (ToolCall("c1", "look", '{"at": "it"}'),), reasoning="Hm."),
            Message("tool", (Text("a dog"),), tool_call_id="c1", tool_name="look"),
        ),
        Sampling(stop=("END",)),
        tools=(Tool("look", "Looks at é.", {"type": "object", "properties": {}}), Tool("wait")),
        format=Format({"description": "secret"}),
    )
    assert list(leaves(chat)) == [
        Leaf("system", "be terse"),
        Leaf("user", "what is "),
        Leaf("user", "this"),
        Leaf("assistant", "Hm."),
        Leaf("assistant", "a cat"),
        Leaf("assistant", '{"at": "it"}'),
        Leaf("tool", "a dog"),
        Leaf(
            "definition",
            '{"type":"function","function":{"name":"look","description":"Looks at é.",'
            '"parameters":{"type":"object","properties":{}}}}',
        ),
        Leaf("definition", '{"type":"function","function":{"name":"wait"}}'),
    ]


def test_what_the_caller_left_out_stays_out():
    assert definition(Tool("f", "", {})) == {
        "type": "function",
        "function": {"name": "f", "description": "", "parameters": {}},
    }


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()))
def test_a_definition_is_compact_json(parameters: dict[str, object]):
    """routing.md counts "each tool as compact JSON", in Unicode code points."""
    tool = Tool("f", None, parameters)
    (leaf,) = leaves(Chat((), tools=(tool,)))
    assert leaf.text == json.dumps(definition(tool), ensure_ascii=False, separators=(",", ":"))
