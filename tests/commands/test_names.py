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
