"""The public routes, each with what answers it; nothing else of the gateway is reachable from the network."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.routing import Route, Router
from starlette.types import ASGIApp

from appliance.gateway.calling import Calling
from appliance.gateway.chat_completions import ENDPOINT as CHAT_COMPLETIONS
from appliance.gateway.complete import ENDPOINT as COMPLETE
from appliance.gateway.edge import Edge
from appliance.gateway.extracted_data import PATH as EXTRACTED_DATA
from appliance.gateway.extracted_data import ExtractedData
from appliance.gateway.health import Health
from appliance.gateway.messages import COUNTING, CountTokens
from appliance.gateway.messages import ENDPOINT as MESSAGES
from appliance.gateway.metrics import MetricsPage
from appliance.gateway.models import Models
from appliance.gateway.proofs import Proofs
from appliance.ids import Ids


@dataclass(frozen=True, slots=True)
class Families:
    """The route families, built by app.py."""

    chat_completions: Calling
    messages: Calling
    count_tokens: CountTokens
    complete: Calling
    models: Models
    proofs: Proofs
    extracted_data: ExtractedData
    health: Health
    metrics: MetricsPage


def build(families: Families, ids: Ids, failed: Callable[[str], None]) -> ASGIApp:
    """The gateway as one ASGI application; `failed` is told the code of every error that a client is told."""
    get, get_and_delete = ["GET"], ["GET", "DELETE"]
    routes = [
        Route(CHAT_COMPLETIONS, families.chat_completions, methods=["POST"]),
        Route(MESSAGES, families.messages, methods=["POST"]),
        Route(COUNTING, families.count_tokens, methods=["POST"]),
        Route(COMPLETE, families.complete, methods=["POST"]),
        Route("/v1/models", families.models.list, methods=get),
        Route("/v1/models/{id:path}", families.models.one, methods=get),
        Route("/v1/proofs", families.proofs.list, methods=get),
        Route("/v1/proofs/{id}", families.proofs.one, methods=get),
        Route(EXTRACTED_DATA, families.extracted_data.many, methods=get_and_delete),
        Route(f"{EXTRACTED_DATA}/{{id}}", families.extracted_data.one, methods=get_and_delete),
        Route("/.well-known/synapse/keys.json", families.proofs.keys, methods=get),
        Route("/healthz", families.health.live, methods=get),
        Route("/readyz", families.health.ready, methods=get),
        Route("/metrics", families.metrics.show, methods=get),
    ]
    router = Router(routes, redirect_slashes=False)
    return Edge(router, ids, [route.path for route in routes if "{" not in route.path], failed)
