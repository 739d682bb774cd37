import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.commands import keys
from tests.admin.ledgers import fill
from tests.admin.played import Daemon


async def test_create_shows_the_secret_on_a_line_of_its_own(client: Client):
    outcome = await keys.create(client, wire.NewKey("laptop", ceiling_milli=12_500, requests_per_minute=60))
    secret = outcome.document["secret"]
    assert f"  key  {secret}" in outcome.lines
    assert "\n".join(outcome.lines).count(secret) == 1
    assert outcome.lines[1] == "It may: engine, 12.5 questions a month, 60 requests a minute."


@pytest.mark.usefixtures("terminal")
async def test_list_fits_a_terminal_with_whole_ids(client: Client):
    made = [
        await client.create_key(
            wire.NewKey(
                "n" * 64, scopes=("engine", "proofs", "knowledge"), read_only=True, expires="2027-01-31T00:00:00Z"
            )
        ),
        await client.create_key(wire.NewKey("b")),
    ]
    outcome = await keys.show_all(client)
    assert [line.split()[0] for line in outcome.lines] == ["ID", *(one.key.id for one in made)]
    assert all(len(line) <= 80 for line in outcome.lines)
    assert outcome.lines[2].endswith("active")
    assert outcome.notes == ()


async def test_list_says_how_much_of_a_ceiling_is_used(client: Client, listening: Daemon):
    await fill(listening)
    await client.create_key(wire.NewKey("limited", ceiling_milli=12_500))
    lines = (await keys.show_all(client)).lines
    assert "0 of 12.5 questions a month" in lines[-1]
    assert [one["used_milli"] for one in (await keys.show_all(client)).document["keys"]] == [4250, 250, 0]


async def test_list_hides_the_revoked_from_people_only(client: Client):
    for name in ("a", "b", "c"):
        await client.create_key(wire.NewKey(name))
    await client.revoke_key("a")
    await client.revoke_key("c")
    outcome = await keys.show_all(client)
    assert [line.split()[1] for line in outcome.lines] == ["NAME", "b"]
    assert outcome.notes == ("Revoked keys are not shown (2); --json lists all.",)
    assert [one["state"] for one in outcome.document["keys"]] == ["revoked", "active", "revoked"]


@pytest.mark.parametrize(
    ("expires", "shown"),
    [("2027-02-01T00:00:00Z", "to 2027-01-31"), ("2027-02-01T00:00:01Z", "to 2027-02-01")],
)
async def test_list_shows_the_last_day_of_a_key(client: Client, expires: str, shown: str):
    await client.create_key(wire.NewKey("a", expires=expires))
    assert (await keys.show_all(client)).lines[1].endswith(shown)


async def test_an_empty_list_says_so(client: Client):
    outcome = await keys.show_all(client)
    assert outcome.lines == ("There is no key yet.",)
    assert outcome.document == {"keys": ()}


async def test_revoke_names_the_key(client: Client):
    made = await client.create_key(wire.NewKey("laptop"))
    outcome = await keys.revoke(client, "laptop")
    assert outcome.lines == (f"Key laptop ({made.key.id}) is revoked: the next request with it is refused.",)
    assert outcome.document["state"] == "revoked"
