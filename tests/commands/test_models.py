from appliance.admin.client import Client
from appliance.commands import models
from tests.admin.played import Daemon


def whys(lines: tuple[str, ...]) -> dict[str, str]:
    return {line.split(maxsplit=2)[0]: line.split(maxsplit=2)[2] for line in lines[1:5]}


async def test_nothing_is_set(client: Client):
    outcome = await models.show_all(client)
    assert whys(outcome.lines) == {
        "full": "not set: the largest that the machines have",
        "fast": "not set: as full",
        "local": "not set: as full",
        "embedding": "not set",
    }
    assert "127.0.0.1:11434" in outcome.lines[-1]
    assert outcome.notes == ()


async def test_set_and_unset_show_what_came_of_it(client: Client):
    outcome = await models.choose(client, "fast", "qwen3:4b")
    assert whys(outcome.lines)["fast"] == "set, but no healthy machine has it"
    assert outcome.notes == (
        "Calls for the fast model are refused until a machine has it: synapse model pull qwen3:4b, or"
        " synapse model unset fast.",
    )
    outcome = await models.choose(client, "fast", "smollm2")
    assert whys(outcome.lines)["fast"] == "set"
    assert outcome.notes == ()
    assert [one["configured"] for one in outcome.document["roles"]] == [None, "smollm2", None, None]
    outcome = await models.unset(client, "fast")
    assert whys(outcome.lines)["fast"] == "not set: as full"


async def test_there_is_nothing_to_choose_from(client: Client, listening: Daemon):
    listening.default_model = None
    outcome = await models.show_all(client)
    assert whys(outcome.lines)["full"] == "not set, and no healthy machine has a model"
    assert whys(outcome.lines)["local"] == "not set, and no healthy machine has a model"
