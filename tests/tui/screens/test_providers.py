from dataclasses import replace

import pytest

from appliance.admin.client import Client
from appliance.admin.policy_wire import NewProvider, ProviderCheck
from tests.admin.played import Daemon
from tests.tui.seats import Seat, seated

RACK = NewProvider("rack", "openai-compatible", "https://rack.example.com/v1", "sk-very-secret", "qwen3", None)
OPENAI = NewProvider("openai", "openai", None, "sk-2", "gpt-4o", "gpt-4o-mini")


async def test_a_provider_is_added_tested_and_its_key_never_seen(seat: Seat, client: Client, daemon: Daemon):
    await seat.press("4")
    await seat.sees("No provider outside: every call stays here. Press n to add one.")
    await seat.press("n", "enter")
    await seat.type("openai")
    await seat.press("enter", "enter")
    await seat.type("sk-hidden")
    assert "sk-hidden" not in seat.text()
    await seat.press("enter")
    await seat.type("gpt-4o")
    await seat.press("enter", "enter")
    await seat.sees("✓ Provider openai is added. Press t to test it.", "● ready", "gpt-4o")
    (made,) = (await client.providers()).providers
    assert (made.name, made.kind, made.full, made.fast) == ("openai", "openai", "gpt-4o", None)
    await seat.press("t")
    await seat.sees("✓ openai answers.")
    assert daemon.checker.asked[0].key == "sk-hidden"
    daemon.checker.answer = ProviderCheck(False, "It refuses the key.", "Give it a new one.")
    await seat.press("t")
    await seat.sees("✗ openai: It refuses the key. Give it a new one.")


async def test_one_of_no_known_address_needs_it(seat: Seat, client: Client):
    await seat.press("4", "n", "left", "enter")
    await seat.type("rack")
    await seat.press("ctrl+s")
    await seat.sees("‹ openai-compatible ›", "give its URL")
    await seat.press("escape")
    assert (await client.providers()).providers == ()


async def test_a_new_one_needs_a_key_and_a_name_of_its_own(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await seat.press("4")
    await seat.sees("rack")
    await seat.press("n", "enter", "n", "ctrl+s")
    await seat.sees("✗ A new provider needs its key.")
    await seat.press("backspace")
    await seat.type("rack")
    await seat.press("ctrl+s")
    await seat.reads("✗ There is a provider rack already: esc, choose it, and press c to change it.")
    await seat.press("escape")
    assert [(one.name, one.kind) for one in (await client.providers()).providers] == [("rack", "openai-compatible")]


async def test_a_new_key_for_a_provider_changes_nothing_else(seat: Seat, client: Client, daemon: Daemon):
    await client.put_provider(RACK)
    (before,) = (await client.providers()).providers
    await seat.press("4")
    await seat.sees("rack", "c change")
    await seat.press("c")
    await seat.sees("Change the provider rack", "‹ openai-compatible ›", RACK.base_url or "", "empty: the key it has")
    await seat.press("enter", "enter")
    await seat.type("sk-newer")
    await seat.press("ctrl+s")
    await seat.sees("✓ Provider rack is changed. Press t to test it.")
    assert (await client.providers()).providers == (before,)
    await seat.press("t")
    await seat.sees("✓ rack answers.")
    assert (daemon.checker.asked[0].key, daemon.checker.asked[0].base_url) == ("sk-newer", RACK.base_url)


async def test_another_place_needs_a_key_and_is_asked_for_with_now_and_then(seat: Seat, client: Client):
    await client.put_provider(RACK)
    (before,) = (await client.providers()).providers
    await seat.press("4")
    await seat.sees("rack")
    await seat.press("c", "enter", "ctrl+u")
    await seat.type("https://other.example.com/v1")
    await seat.press("ctrl+s")
    await seat.reads("With another kind or URL type a key: the one it has was given for https://rack.example.com/v1.")
    assert "--key" not in seat.text()
    await seat.press("enter")
    await seat.type("sk-other")
    await seat.press("ctrl+s")
    await seat.sees("Now   openai-compatible at https://rack", "Then  openai-compatible at https://other")
    await seat.press("enter")
    await seat.sees("Change the provider rack", "https://other.example.com/v1")
    assert (await client.providers()).providers == (before,)
    await seat.press("ctrl+s")
    await seat.sees("Then  openai-compatible at https://other")
    await seat.press("y")
    await seat.sees("✓ Provider rack is changed.")
    (after,) = (await client.providers()).providers
    assert (after.base_url, after.full) == ("https://other.example.com/v1", "qwen3")


async def test_what_the_daemon_refuses_leaves_the_form_as_it_is(seat: Seat, client: Client):
    await seat.press("4", "n", "enter")
    await seat.type("Bad Name")
    await seat.press("enter", "enter")
    await seat.type("sk-typed")
    await seat.press("ctrl+s")
    await seat.sees("✗ That is no provider's name.", "Bad Name", "••••••••")
    await seat.press("up", "up", "ctrl+u")
    await seat.type("openai")
    await seat.press("ctrl+s")
    await seat.sees("✓ Provider openai is added.")


async def test_an_allow_list_is_ranked_and_says_what_may_leave(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await client.put_provider(OPENAI)
    await seat.press("4")
    await seat.sees("rack", "Allow-list       no list: the active provider, ollama")
    await seat.press("l")
    await seat.sees("Whom calls of default may reach, best first", "↑ ↓ move   space in or out   u up   d down")
    await seat.press("down", "space", "down", "space")  # openai and rack go in; each chosen line keeps the cursor
    await seat.sees("● 1.", "● 2.")
    await seat.press("u")
    await seat.press("enter")
    await seat.sees("Write this allow-list?", "Calls may leave the building to:")
    assert (await client.policy()).allow is None
    await seat.press("y")
    await seat.sees("✓ The allow-list of default is written.")
    allow = (await client.policy()).allow
    assert allow is not None
    await seat.sees(f"Allow-list       {' → '.join(allow)}")
    assert len(allow) == 2


async def test_the_second_of_two_consoles_is_told_and_overwrites_nothing(seat: Seat, client: Client):
    await client.put_provider(RACK)
    async with seated(client) as other:
        for one in (seat, other):
            await one.press("4")
            await one.sees("rack")
            await one.press("l")
            await one.sees("best first")
        await seat.press("space", "enter", "y")
        await seat.sees("✓ The allow-list of default is written.")
        (first,) = (await client.policy()).allow or ()
        await other.press("down", "space", "enter", "y")
        await other.sees("✗", "has changed the policy meanwhile (policy.allow", "Look at it as it is now")
        await other.sees(f"Allow-list       {first}")
    assert (await client.policy()).allow == (first,)


async def test_an_emptied_list_is_taken_away(seat: Seat, client: Client):
    await client.set_allow_list(("ollama",))
    await seat.press("4")
    await seat.sees("Allow-list       ollama")
    await seat.press("l", "space", "enter")
    await seat.sees("Then       no list: calls go to ollama")
    await seat.press("y")
    await seat.sees("Allow-list       no list")
    assert (await client.policy()).allow is None


@pytest.mark.parametrize(
    ("key", "question", "name"),
    [("U", "Let pictures and files leave?", "unscannable"), ("O", "machines without a key?", "sensitive_on_open")],
)
async def test_what_holds_for_all_is_asked_first(seat: Seat, client: Client, key: str, question: str, name: str):
    await seat.press("4")
    await seat.sees("Pictures, files  refuse")
    await seat.press(key)
    await seat.sees(question)
    await seat.press("enter")
    assert getattr(await client.policy(), name) == "refuse"
    await seat.press(key, "y")
    await seat.sees("✓")
    assert getattr(await client.policy(), name) == "allow"


async def test_the_active_provider_is_chosen_and_asked_for(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await seat.press("4")
    await seat.sees("rack")
    await seat.press("a", "down", "enter")
    await seat.sees("Send calls without an allow-list to rack?", "leaves the building")
    await seat.press("y")
    await seat.sees("no list: the active provider, rack", "rack/qwen3")
    assert (await client.policy()).active == "rack"


async def test_removing_takes_the_name_typed_and_tells_whose_calls_are_refused(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await client.set_allow_list(("rack",))
    await seat.press("4")
    await seat.sees("● ready")
    await seat.press("X")
    await seat.sees("Remove the provider rack?", "and its key are forgotten")
    await seat.type("rack")
    await seat.press("enter")
    await seat.sees("! Provider rack is removed. Calls are refused now in: default.", "✗ refused: nobody can answer")
    assert (await client.providers()).providers == ()


async def test_a_provider_that_is_another_by_now_is_not_removed(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await seat.press("4")
    await seat.sees("● ready")
    await seat.press("X")
    await seat.sees("rack (https://rack.example.com/v1) and its key are forgotten")
    await client.put_provider(replace(RACK, base_url="https://new.example.com/v1"))
    await seat.type("rack")
    await seat.press("enter")
    await seat.sees("✗", "has changed the provider rack meanwhile (provider.put", "● ready")
    assert [one.base_url for one in (await client.providers()).providers] == ["https://new.example.com/v1"]


async def test_a_provider_that_somebody_else_added_meanwhile_is_not_overwritten(seat: Seat, client: Client):
    await seat.press("4")
    await seat.sees("No provider outside")
    await seat.press("n")
    await seat.sees("Add a provider")
    await client.put_provider(OPENAI)
    await seat.press("enter")
    await seat.type("openai")
    await seat.press("enter", "enter")
    await seat.type("sk-mine")
    await seat.press("ctrl+s")
    await seat.sees("✗ There is a provider openai already")
    assert [one.full for one in (await client.providers()).providers] == ["gpt-4o"]


async def test_another_workspaces_list(seat: Seat, client: Client):
    await client.create_workspace("legal")
    await client.set_allow_list(("ollama",), "legal")
    await seat.press("4", "w", "down", "enter")
    await seat.sees("Calls of the workspace legal", "Allow-list       ollama")


async def test_details_and_the_policy_in_sentences(seat: Seat, client: Client):
    await client.put_provider(RACK)
    await seat.press("4")
    await seat.sees("rack")
    await seat.press("enter")
    await seat.sees("Provider rack", "https://rack.example.com/v1", "$0.10 read, $0.20 written, a million tokens")
    await seat.press("escape", "p")
    await seat.sees("Calls of the workspace default", "Nothing leaves: calls are answered by")
