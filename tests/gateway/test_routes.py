from pathlib import Path

from starlette.routing import Router

from tests.box import Box


def routes(gateway: Box) -> set[str]:
    router = gateway.app.gateway._router  # type: ignore[attr-defined]  the list of routes has no other door
    assert isinstance(router, Router)
    return {route.path for route in router.routes}  # type: ignore[attr-defined]  all are Route


async def test_nothing_is_public_but_what_the_contract_names(gateway: Box):
    """Source: gateway.md, "Routes"."""
    contract = {
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/ai/complete",
        "/v1/models",
        "/v1/models/{id:path}",
        "/v1/proofs",
        "/v1/proofs/{id}",
        "/v1/ai/extracted-data",
        "/v1/ai/extracted-data/{id}",
        "/.well-known/synapse/keys.json",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    assert routes(gateway) == contract


async def test_the_admin_api_is_not_on_the_network(gateway: Box):
    for path in ("/admin/v1/status", "/admin/v1/keys", "/admin"):
        assert (await gateway.http.get(path)).status_code == 404


async def test_every_route_is_documented(gateway: Box):
    page = (Path(__file__).parents[2] / "docs/gateway.md").read_text()
    for path in routes(gateway):
        assert path.replace(":path", "") in page
