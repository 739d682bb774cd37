"""The table of machines, which `synapse status` and `synapse model list` share."""

from collections.abc import Sequence

from appliance.admin import looks, wire
from appliance.commands import text


def show(machines: Sequence[wire.Machine]) -> tuple[str, ...]:
    """One line a machine; for one that is not used, why."""
    if not machines:
        return ("There is no machine: set local.ollama (docs/settings.md).",)
    rows = [
        (
            machine.name,
            machine.engine or looks.ABSENT,
            machine.trust,
            "healthy" if machine.healthy else "unused",
            (", ".join(machine.models) or "no models") if machine.healthy else (machine.why or looks.ABSENT),
        )
        for machine in machines
    ]
    return text.table(("MACHINE", "ENGINE", "TRUST", "STATE", "MODELS, OR WHY NOT"), rows, whole=(3,))
