from appliance.admin import wire
from appliance.admin.shield_view import ShieldView
from appliance.calls.live_shield import LiveShield
from appliance.settings import Shield


async def view(mode: wire.ShieldMode) -> ShieldView:
    shield = LiveShield(b"k" * 32, country="FR", random=bytes)
    await shield.use(mode)
    return ShieldView(shield, Shield(names=("Zaphod",), ignore=("Rose", "Mai")))


async def test_what_is_in_force():
    shown = (await view("standard")).describe(chosen=True)
    assert (shown.mode, shown.set, shown.configured, shown.country) == ("standard", True, "standard", "FR")
    assert (shown.names, shown.ignored) == (1, 2)
    assert shown.categories[:2] == ("EMAIL", "PHONE")
    assert (await view("off")).describe(chosen=False).categories == ()


async def test_a_text_with_what_would_leave_and_why():
    text = "Write to jane@example.org or JANE@example.org."
    answer = await (await view("standard")).test(text)
    first, second = answer.findings
    assert text[first.start : first.end] == "jane@example.org"
    assert (first.category, first.token) == ("EMAIL", second.token)
    assert first.rule
    assert answer.masked == f"Write to {first.token} or {first.token}."


async def test_when_it_is_off_nothing_is_found():
    answer = await (await view("off")).test("jane@example.org")
    assert (answer.mode, answer.masked, answer.findings) == ("off", "jane@example.org", ())
