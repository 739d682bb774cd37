import typing

from appliance.admin import wire
from appliance.errors import AdminError


def test_every_error_is_an_admin_error_with_a_code_of_its_own():
    kinds = [AdminError, wire.InvalidInput, wire.UnknownSubject, wire.DaemonDown]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(issubclass(kind, AdminError) for kind in kinds)


def test_the_scopes_are_those_of_the_gateways_routes():
    # gateway.md, "Routes": the column "Scope".
    assert set(wire.SCOPES) == {"engine", "proofs", "knowledge", "metrics"} == set(typing.get_args(wire.Scope))


def test_the_roles_are_those_that_model_set_takes():
    # operations.md, "Commands": `set full|fast|local|embedding NAME`.
    assert wire.ROLES == ("full", "fast", "local", "embedding")
