"""`synapse status`: lanes, machines, mode, keys and the last calls."""

from datetime import datetime

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import machines, text
from appliance.commands.outcome import Outcome


async def show(client: Client, now: datetime) -> Outcome:
    found = await client.status()
    lines = (*_summary(found, now), "", *machines.show(found.machines), *_calls(found.last_calls))
    return Outcome(wire.encode(found), lines)


def _summary(found: wire.Status, now: datetime) -> tuple[str, ...]:
    started = datetime.fromisoformat(found.started)
    keys = found.keys
    return (
        f"Synapse {found.version}, up {looks.duration(started, now)}",
        f"gateway   {found.base_url}",
        f"mode      {found.app_mode}, shield {found.shield_mode}, active provider {found.active_provider}",
        f"lanes     {', '.join(_lane(lane) for lane in found.lanes)}",
        f"keys      {keys.active} active, {keys.expired} expired, {keys.revoked} revoked",
        f"calls     {found.calls_in_flight} in flight",
    )


def _lane(lane: wire.Lane) -> str:
    state = "ready" if lane.ready else "not ready"
    healthy = f", {lane.machines} healthy" if lane.local else ""
    detail = lane.why or f"full model {looks.printable(lane.model or looks.ABSENT)}{healthy}"
    return f"{lane.name} {state}: {detail}"


def _calls(calls: tuple[wire.Call, ...]) -> tuple[str, ...]:
    rows = [
        (
            looks.moment(call.at),
            call.workspace,
            call.model or looks.ABSENT,
            call.node or looks.ABSENT,
            f"{call.prompt_tokens}+{call.completion_tokens}",
            f"{call.total_ms / 1000:.1f} s",
            call.ending,
        )
        for call in calls
    ]
    headers = ("LAST CALLS", "WORKSPACE", "MODEL", "MACHINE", "TOKENS", "TIME", "ENDING")
    return ("", *text.table(headers, rows, whole=(0, 6))) if rows else ()
