from datetime import UTC, datetime
from typing import Any, cast

import orjson

from appliance.calls.call import Call
from appliance.calls.live_shield import LiveShield
from appliance.calls.outbound import Outbound
from appliance.dialects.chat import Chat
from appliance.shield.restore import restore

SAID = '{"model": "m",  "messages":[{"role":"user","content":"to jane@example.org"}], "x": 1.0}'


async def outbound(body: str, mode: Any = "standard") -> Outbound:
    shield = LiveShield(b"k" * 32, country="FR", random=bytes)
    await shield.use(mode)
    call = Call(cast("Any", None), "/v1/chat/completions", "m", False, Chat(()), body.encode(), "", datetime.now(UTC))
    return Outbound(call, shield)


async def test_only_the_value_changes():
    one = await outbound(SAID)
    assert await one.scan()
    body, masked = await one.leaving()
    (token,) = {word for word in orjson.loads(body)["messages"][0]["content"].split() if word.startswith("[")}
    assert body == SAID.replace("jane@example.org", token)
    assert (masked.vault.count, masked.vault.categories) == (1, ("EMAIL",))
    assert restore(f"<{token}>", masked.vault) == "<jane@example.org>"


async def test_a_body_without_personal_values_leaves_as_it_came():
    one = await outbound(SAID.replace("jane@example.org", "nobody"))
    assert not await one.scan()
    body, masked = await one.leaving()
    assert (body, masked.vault.count) == (SAID.replace("jane@example.org", "nobody"), 0)


async def test_with_the_shield_off_it_is_not_scanned_and_leaves_as_it_came():
    body, masked = await (await outbound(SAID, "off")).leaving()
    assert (body, masked.vault.count) == (SAID, 0)
