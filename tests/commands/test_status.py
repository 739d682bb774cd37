from dataclasses import replace

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.commands import status
from tests.admin.played import MACHINE, NOW, Daemon

CALL = wire.Call(
    at="2026-11-29T18:57:03.120Z",
    proof_id="prf_1",
    workspace="default",
    task="simple",
    model="smollm2",
    node="127.0.0.1:11434",
    ending="complete",
    total_ms=1_234,
    prompt_tokens=23,
    completion_tokens=40,
)


async def test_lanes_machines_mode_keys_and_last_calls(client: Client, listening: Daemon):
    # operations.md, "Commands": `synapse status`: lanes, nodes, mode, keys, last calls.
    listening.activity.calls, listening.activity.running = (
        [CALL, replace(CALL, model=None, node=None, ending="refused")],
        1,
    )
    await client.create_key(wire.NewKey("a"))
    outcome = await status.show(client, NOW)
    assert outcome.lines == (
        "Synapse 0.1.0, up 3 h 12 min",
        "gateway   http://192.168.1.5:8787/v1",
        "mode      local, shield standard, active provider ollama",
        "lanes     ollama ready: full model smollm2:latest, 1 healthy",
        "keys      1 active, 0 expired, 0 revoked",
        "calls     1 in flight",
        "",
        "MACHINE          ENGINE       TRUST     STATE    MODELS, OR WHY NOT",
        "127.0.0.1:11434  ollama 0.32  loopback  healthy  smollm2:latest",
        "",
        "LAST CALLS         WORKSPACE  MODEL    MACHINE          TOKENS  TIME   ENDING",
        "2026-11-29 18:57Z  default    smollm2  127.0.0.1:11434  23+40   1.2 s  complete",
        "2026-11-29 18:57Z  default    –        –                23+40   1.2 s  refused",
    )
    assert all(len(line) <= 80 for line in outcome.lines)
    assert outcome.document["calls_in_flight"] == 1


async def test_a_fresh_installation_without_a_model(client: Client, listening: Daemon):
    listening.machines.machines = [replace(MACHINE, healthy=False, why="does not answer")]
    listening.default_model, listening.lane_problem = None, "no machine that runs models is reachable"
    lines = (await status.show(client, NOW)).lines
    assert "lanes     ollama not ready: no machine that runs models is reachable" in lines
    assert lines[-1].endswith("unused  does not answer")


def test_a_lane_outside_has_no_machines():
    lane = wire.Lane("openai", local=False, ready=True, machines=0, model="gpt-4o")
    other = wire.Lane("rack", local=False, ready=False, machines=0, why="it has no full model")
    summary = status._summary(
        wire.Status(
            version="1",
            pid=1,
            started="2026-11-29T18:00:00.000Z",
            app_mode="cloud",
            base_url="u",
            shield_mode="off",
            active_provider="openai",
            lanes=(lane, other),
            machines=(),
            keys=wire.KeyCount(0, 0, 0),
            calls_in_flight=0,
            last_calls=(),
        ),
        NOW,
    )
    assert "lanes     openai ready: full model gpt-4o, rack not ready: it has no full model" in summary
