import json
from datetime import UTC, datetime
from typing import Any, cast

import orjson
import pytest

from appliance.calls.call import Call
from appliance.calls.live_shield import LiveShield
from appliance.calls.outbound import Outbound
from appliance.dialects.chat import Chat
from appliance.errors import UnscannableContent
from appliance.shield.restore import restore

SAID = '{"model": "m",  "messages":[{"role":"user","content":"to jane@example.org"}], "x": 1.0}'


async def outbound(body: str, mode: Any = "standard") -> Outbound:
    shield = LiveShield(b"k" * 32, country="FR", random=bytes)
    await shield.use(mode)
    call = Call(
        cast("Any", None), "/v1/chat/completions", "m", False, Chat(()), body.encode(), "", datetime.now(UTC), 0
    )
    return Outbound(call, shield.now, lambda name: f"<{len(name)}>")


async def test_only_the_value_changes():
    one = await outbound(SAID)
    assert await one.scan()
    body, masked = await one.leaving()
    (token,) = {word for word in orjson.loads(body)["messages"][0]["content"].split() if word.startswith("[")}
    assert body == SAID.replace("jane@example.org", token)
    assert (masked.vault.count, masked.vault.categories) == (1, ("EMAIL",))
    assert restore(f"<{token}>", masked.vault) == "<jane@example.org>"


@pytest.mark.parametrize(
    ("arguments", "value", "category"),
    [
        ({"phone": 33612345678}, "33612345678", "PHONE"),
        ({"home_tel": "4455667"}, "4455667", "PHONE"),
        ({"patient": {"mrn": 8472913}}, "8472913", "MRN"),
        ({"MRN": ["8472913"]}, "8472913", "MRN"),
    ],
)
async def test_in_the_arguments_of_a_call_a_members_name_is_a_label(arguments: object, value: str, category: str):
    function = {"name": "look", "arguments": json.dumps(arguments)}
    body = {"messages": [{"role": "assistant", "tool_calls": [{"function": function}]}], "seed": 8472913}
    one = await outbound(json.dumps(body), "medical")
    assert await one.scan()
    leaving, masked = await one.leaving()
    assert masked.vault.categories == (category,)
    seen = json.loads(leaving)["messages"][0]["tool_calls"][0]["function"]["arguments"]
    assert value not in seen
    assert restore(seen, masked.vault).count(value) == 1
    assert json.loads(leaving)["seed"] == 8472913


async def test_a_body_without_personal_values_leaves_as_it_came():
    one = await outbound(SAID.replace("jane@example.org", "nobody"))
    assert not await one.scan()
    body, masked = await one.leaving()
    assert (body, masked.vault.count) == (SAID.replace("jane@example.org", "nobody"), 0)


async def test_with_the_shield_off_it_is_not_scanned_and_leaves_as_it_came():
    body, masked = await (await outbound(SAID, "off")).leaving()
    assert (body, masked.vault.count) == (SAID, 0)


async def test_who_asks_is_replaced_and_makes_no_call_sensitive():
    for mode in ("standard", "off"):
        one = await outbound('{"messages":[],"metadata":{"customer_id":"jane@example.org","a":"b"}}', mode)
        if mode == "standard":
            assert not await one.scan()
        body, _ = await one.leaving()
        assert body == '{"messages":[],"metadata":{"customer_id":"<16>","a":"b"}}'


@pytest.mark.parametrize(
    "body",
    [
        '{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}',
        '{"messages":[{"images":["iVBORw0KGgo%s"]}]}' % ("A" * 80),
        '{"messages":[{"content":"data:application/pdf;base64,AAAA"}],"messages":[]}',
        '{"files":[{"file_data":"data:application/pdf;base64,AAAA"}]}',
    ],
)
async def test_what_cannot_be_read_is_noticed_wherever_it_stands_and_stays_as_it_is(body: str):
    one = await outbound(body)
    assert not await one.scan()
    assert one.unscannable
    assert (await one.leaving())[0] == body


async def test_text_in_the_place_of_a_picture_is_read():
    one = await outbound('{"messages":[{"content":[{"image_url":{"url":"data:text/plain,jane@example.org"}}]}]}')
    assert await one.scan()
    assert not one.unscannable
    assert "jane@example.org" not in (await one.leaving())[0]


async def test_what_is_hidden_too_deep_is_refused():
    deep = json.dumps(["jane@example.org"])
    for _ in range(18):
        deep = json.dumps([deep])
    one = await outbound('{"messages":[{"content":' + json.dumps(deep) + "}]}")
    with pytest.raises(UnscannableContent):
        await one.scan()
