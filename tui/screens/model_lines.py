"""How models look: the roles, what each machine has, and what is on its way. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from rich.text import Text

from appliance.admin.client import looks, pull_wire, wire
from tui.look import STYLES, Tone, short_moment, state, tone
from tui.widgets.table import Column, Row, fitted

COLUMNS = (Column("MODEL", 22), Column("MACHINE", 16), Column("STATE", 11), Column("USED FOR, OR HOW FAR"))

_ROLE, _MODEL = 9, 30
"""Columns of the terminal, so that the reason fits beside them in one of 80."""


_BROKEN_OFF = "It broke off when the daemon ended."

_AGAIN = "Press p again: what has come is not fetched twice."


def roles(found: wire.ModelList) -> Text:
    """A line for each role: its model, and why that one; then what is refused meanwhile."""
    text = Text.assemble((f"{fitted('ROLE', _ROLE)}  {fitted('MODEL', _MODEL)}  WHY", STYLES["dim"]))
    for one in found.roles:
        said, how = because(one)
        model = fitted(looks.printable(one.effective or looks.ABSENT), _MODEL)
        text.append(f"\n{fitted(one.role, _ROLE)}  ", STYLES["plain"]).append(model, STYLES["strong"])
        text.append(f"  {said}", STYLES[how])
    for one in missing(found):
        said = f"Calls for {one.role} are refused until a machine has {one.configured}: p gets it, u unsets it."
        text.append(f"\n{looks.printable(said)}", STYLES["bad"])
    return text


def because(one: wire.RoleModel) -> tuple[str, Tone]:
    """Why a role has its model, or none, with a glyph for whether it can answer."""
    if one.effective is None:
        return ("– not set" if one.role == "embedding" else "– not set: no machine has a model"), "dim"
    if not one.available:
        why = "set" if one.configured else f"as {one.follows}" if one.follows else "not set"
        return f"✗ {why}: no healthy machine has it", "bad"
    if one.configured:
        return "✓ set", "good"
    return (f"✓ as {one.follows}" if one.follows else "✓ not set: the largest there is"), "good"


def missing(found: wire.ModelList) -> list[wire.RoleModel]:
    """Roles whose model was set, and is nowhere."""
    return [one for one in found.roles if one.configured and not one.available]


def names(found: wire.ModelList) -> dict[str, list[wire.Machine]]:
    """Every model with the machines that have it."""
    having: dict[str, list[wire.Machine]] = {}
    for machine in found.machines:
        for model in machine.models:
            having.setdefault(plain(model), []).append(machine)
    return dict(sorted(having.items()))


def plain(model: str) -> str:
    """`name` and `name:latest` are one model (cluster.md, "Choosing a machine")."""
    return model.removesuffix(":latest")


def rows(found: wire.ModelList, pulls: Iterable[pull_wire.Pull]) -> list[Row]:
    """What is on its way first, then what is there, then what was pulled."""
    told = list(pulls)
    running = [pull_row(pull) for pull in told if pull.state == "running"]
    ended = [pull_row(pull) for pull in told if pull.state != "running"]
    return [*running, *_model_rows(found), *ended]


def pull_row(pull: pull_wire.Pull) -> Row:
    return _row(pull.id, (pull.name, pull.node, state(pull.state), _how(pull)), tone(pull.state))


def broken_off(pull: pull_wire.Pull) -> pull_wire.Pull:
    """How it stands after its daemon has ended."""
    return replace(pull, state="failed", problem=_BROKEN_OFF, advice=_AGAIN)


def far(pull: pull_wire.Pull) -> str:
    """`42 %  2.1 GB of 5.2 GB`; "" while no size is known."""
    if not pull.total:
        return ""
    return f"{pull.completed * 100 // pull.total} %  {looks.size(pull.completed)} of {looks.size(pull.total)}"


def model_details(found: wire.ModelList, machine: wire.Machine, model: str) -> list[str]:
    """Everything about one model on one machine; "" for a machine without any."""
    return [
        f"Model     {model or 'none yet: p gets one'}",
        f"Used for  {_used_for(found, model) or 'no role: a call gets it only by its name'}",
        f"Machine   {machine.name}",
        f"State     {state(_state(machine))}",
        *((f"Why       {machine.why}",) if machine.why else ()),
        f"Trust     {machine.trust}",
        f"Address   {machine.url}",
        f"Engine    {machine.engine or looks.ABSENT}",
    ]


def pull_details(pull: pull_wire.Pull) -> list[str]:
    return [
        f"Model     {pull.name}",
        f"Machine   {pull.node}",
        f"State     {state(pull.state)}",
        f"Far       {far(pull) or looks.ABSENT}",
        f"Says      {pull.status or looks.ABSENT}",
        f"Began     {looks.moment(pull.started)}",
        f"Ended     {looks.moment(pull.ended)}",
        f"Id        {pull.id}",
        *(("", pull.problem, pull.advice) if pull.problem else ()),
    ]


def row_id(machine: wire.Machine, model: str) -> str:
    return f"{machine.id}/{model}"


def _model_rows(found: wire.ModelList) -> Iterable[Row]:
    for machine in found.machines:
        for model in machine.models or ("",):
            how = machine.why or (_used_for(found, model) if model else "no model yet: p gets one")
            cells = (model or looks.ABSENT, machine.name, state(_state(machine)), how)
            yield _row(row_id(machine, model), cells, tone(_state(machine)))


def _row(row: str, cells: tuple[str, ...], how: Tone) -> Row:
    return Row(row, tuple(looks.printable(cell) for cell in cells), ("strong", "plain", how))


def _state(machine: wire.Machine) -> str:
    return "ready" if machine.healthy else "not ready"


def _used_for(found: wire.ModelList, model: str) -> str:
    return ", ".join(one.role for one in found.roles if one.effective and plain(one.effective) == plain(model))


def _how(pull: pull_wire.Pull) -> str:
    match pull.state:
        case "running":
            return "  ".join(said for said in (far(pull), pull.status) if said) or "it begins"
        case "failed":
            return f"{pull.problem} {pull.advice}"
        case "done":
            return f"{looks.size(pull.total)}, {short_moment(pull.ended)}" if pull.total else short_moment(pull.ended)
        case "cancelled":
            return far(pull) or short_moment(pull.ended)
