import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.commands import names


async def test_workspaces(client: Client):
    made = await names.create_workspace(client, "legal")
    assert made.lines == (f"Workspace legal ({made.document['id']}) is made.",)
    found = await names.show_workspaces(client)
    assert [line.split()[1] for line in found.lines] == ["NAME", "default", "legal"]
    assert [one["name"] for one in found.document["workspaces"]] == ["default", "legal"]


async def test_users(client: Client):
    made = await names.create_user(client, "zoe")
    assert made.lines == (f"User zoe ({made.document['id']}) is made.",)
    found = await names.show_users(client)
    assert [line.split()[1] for line in found.lines] == ["NAME", "admin", "zoe"]
    assert [one["name"] for one in found.document["users"]] == ["admin", "zoe"]


async def test_an_allowance(client: Client):
    given = await names.set_allowance(client, "default", 12_500)
    text = " ".join(given.lines)
    assert text == ("Workspace default has 12.5 questions a month, from the next call on; 0 of this month's are used.")
    assert given.notes == ('It counts where app_mode is "cloud"; here it is "local".',)
    listed = await names.show_workspaces(client)
    assert listed.lines[1].split()[-2:] == ["0", "12.5"]
    taken = await names.set_allowance(client, "default", None)
    assert "no allowance any more" in taken.lines[0]
    assert (await names.show_workspaces(client)).lines[1].split()[-1] == "–"


async def test_erasing_a_user(client: Client):
    user = (await names.create_user(client, "zoe")).document["id"]
    erased = await names.erase_user(client, "zoe")
    assert erased.lines[0].startswith("The user is erased")
    assert user in " ".join(erased.lines)
    assert (erased.document["keys"], erased.document["facts"]) == (0, 0)
    assert "extracted" not in " ".join(erased.lines)
    assert [one["name"] for one in (await names.show_users(client)).document["users"]] == ["admin", user]


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "The fact that they had extracted is deleted."), (3, "3 facts that they had extracted are deleted.")],
)
async def test_erasing_a_user_with_facts(client: Client, monkeypatch: pytest.MonkeyPatch, count: int, said: str):
    async def erased(_: Client, name: str) -> wire.ErasedUser:
        return wire.ErasedUser(wire.Named("usr_1", name, "2026-11-29T12:00:00.000Z"), 1, count)

    monkeypatch.setattr(Client, "erase_user", erased)
    assert f"Their key is revoked. {said} Certificates" in " ".join((await names.erase_user(client, "zoe")).lines)
