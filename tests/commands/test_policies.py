import pytest

from appliance.admin.client import Client
from appliance.admin.policy_wire import NewProvider
from appliance.commands import policies

OPENAI = NewProvider("openai", "openai", key="sk-1", full="gpt-4o", fast="gpt-4o-mini")


@pytest.mark.usefixtures("listening")
async def test_nothing_set(client: Client):
    outcome = await policies.show(client, None)
    assert outcome.lines == (
        "Policy of workspace default",
        "allow-list         none: the active provider answers",
        "active provider    ollama",
        "full calls         ollama/smollm2",
        "fast calls         ollama/smollm2",
        "mode               local, shield standard",
        "unscannable        refuse",
        "sensitive-on-open  refuse",
        "",
        "Full calls (long ones, JSON, code, agents) go to ollama/smollm2.",
        "Fast calls (short ones) go to ollama/smollm2.",
        "Nothing leaves: calls are answered by this installation's own machines, with",
        "their text as it is.",
        "Sensitive calls (pulse-sensitive, +sensitive) go to this installation's own",
        "machines and nowhere else; with none that can answer they are refused (503).",
    )
    assert outcome.document["allow"] is None
    assert outcome.notes == ()


async def test_every_change_shows_the_policy_that_it_makes(client: Client):
    await client.put_provider(OPENAI)
    await client.create_workspace("legal")
    active = await policies.active(client, "openai")
    assert (active.lines[2], active.notes) == ("active provider    openai", ())
    listed = await policies.allow(client, ("openai", "ollama"), "legal")
    assert listed.lines[:5] == (
        "Policy of workspace legal",
        "allow-list         openai, ollama",
        "active provider    openai (where no list is)",
        "full calls         openai/gpt-4o, then ollama/smollm2",
        "fast calls         openai/gpt-4o-mini, then ollama/smollm2",
    )
    assert (await policies.show(client, "legal")).lines == listed.lines
    assert (await policies.unscannable(client, "allow")).document["unscannable"] == "allow"
    open_ones = await policies.sensitive_on_open(client, "allow")
    assert (open_ones.document["sensitive_on_open"], open_ones.notes) == ("allow", ())
    cleared = await policies.clear(client, "legal")
    assert cleared.lines[1] == "allow-list         none: the active provider answers"


async def test_nobody_who_can_answer_is_refused_on_the_first_lines(client: Client):
    await client.put_provider(OPENAI)
    await client.set_active("openai")
    await client.remove_provider("openai")
    lines = (await policies.show(client, None)).lines
    assert lines[3:5] == ("full calls         refused", "fast calls         refused")


async def test_an_active_provider_that_a_list_goes_before_is_told(client: Client):
    await client.put_provider(OPENAI)
    await client.set_allow_list(("ollama",))
    assert (await policies.active(client, "openai")).notes == (
        "Workspace default has an allow-list, which goes before the active provider.",
    )


async def test_no_line_is_wider_than_a_terminal(client: Client):
    for name in ("one", "two", "three"):
        await client.put_provider(NewProvider(f"provider-{name}", "openai", key="sk-1", full="gpt-4o"))
    await client.set_allow_list(("provider-one", "provider-two", "provider-three"))
    lines = (await policies.show(client, None)).lines
    assert all(len(line) <= 80 for line in lines[9:])
