from pathlib import Path

from appliance.admin.policy_wire import NewProvider
from tests.box import Box, box
from tests.upstreams.ollama import ollama_double


async def test_live_and_ready_need_no_key(gateway: Box):
    gateway.http.headers.pop("authorization")
    assert (await gateway.http.get("/healthz")).json() == {"status": "ok"}
    ready = await gateway.http.get("/readyz")
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "checks": {"daemon": "ok", "lane": "ok", "storage": "ok"}},
    )


async def test_a_machine_without_a_model_is_not_ready(tmp_path: Path):
    async with ollama_double(models=[]) as empty, box(tmp_path / "state", empty.url) as gateway:
        ready = await gateway.http.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["checks"]["lane"] == "no machine has a model that answers chats"
        assert (await gateway.http.get("/healthz")).status_code == 200


async def test_a_machine_that_has_not_the_configured_model_is_not_ready(gateway: Box):
    await gateway.admin.set_model("full", "absent")
    ready = await gateway.http.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["checks"]["lane"] == "no machine that is reachable has the full model 'absent'"


async def test_a_machine_that_is_not_there_is_not_ready(tmp_path: Path):
    async with box(tmp_path / "state", "http://127.0.0.1:1") as gateway:
        ready = await gateway.http.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["checks"]["lane"] == "no machine that runs models is reachable"


async def test_the_lane_is_the_one_that_calls_go_to(tmp_path: Path):
    # gateway.md, "Routes": "able to answer on the lane that calls go to". An external provider is not asked for it.
    async with box(tmp_path / "state", "http://127.0.0.1:1") as gateway:
        await gateway.admin.put_provider(NewProvider("openai", "openai", key="sk-1", full="gpt-4o"))
        assert (await gateway.http.get("/readyz")).status_code == 503
        await gateway.admin.set_active("openai")
        assert (await gateway.http.get("/readyz")).json()["checks"]["lane"] == "ok"
        await gateway.admin.remove_provider("openai")
        ready = await gateway.http.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["lane"]) == (
            503,
            "the active provider openai is not configured",
        )


async def test_the_storage_is_asked_by_writing_to_it(gateway: Box):
    log = gateway.state_dir / "synapse.db-wal"
    before = log.stat().st_size
    assert (await gateway.http.get("/readyz")).status_code == 200
    assert log.stat().st_size > before


async def test_a_daemon_that_stops_is_not_ready(gateway: Box):
    await gateway.app.drain.finish(0)
    ready = await gateway.http.get("/readyz")
    assert (ready.status_code, ready.json()["checks"]["daemon"]) == (503, "it is stopping")
