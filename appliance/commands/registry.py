"""Every command by its name, and how it is called with what was typed.

The modules that do the work are imported inside, each only when its command is asked for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.commands.invocation import Invocation, online
from appliance.commands.machine_registry import MACHINE_COMMANDS
from appliance.commands.outcome import Outcome
from appliance.commands.upkeep_registry import UPKEEP_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from appliance.admin.client import Client
    from appliance.admin.ledger_wire import Which


def _serve(call: Invocation) -> Outcome:
    from appliance.daemon import run

    return Outcome(code=run(call.settings(), call.environ))


def _engine(call: Invocation) -> Outcome:
    from appliance.engine.main import EngineOptions, run

    typed = vars(call.typed)
    numbers = {name: typed[name] for name in ("host", "port", "threads", "slots", "context") if typed[name] is not None}
    paths = {name: Path(typed[name]) for name in ("model", "embedding_model") if typed[name] is not None}
    state = call.settings().state_dir if typed["state"] is None else Path(typed["state"])
    return Outcome(code=run(EngineOptions(state=state, **paths, **numbers)))


def _version(_: Invocation) -> Outcome:
    from appliance.commands import version

    return version.show()


def _proof_verify(call: Invocation) -> Outcome:
    from appliance.commands import proofs

    return proofs.verify(call.typed.files, call.typed.keys, lambda: call.settings().state_dir)


def _admin(call: Invocation) -> Outcome:
    import asyncio

    from appliance.commands import console

    return asyncio.run(console.run(call.settings().admin.socket, mouse=call.typed.mouse))


def _tls_ca(call: Invocation) -> Outcome:
    from appliance.commands import tls

    return tls.ca(call.settings())


def _tls_new_ca(call: Invocation) -> Outcome:
    from appliance.commands import tls

    return tls.new_ca(call.settings(), call.clock)


async def _status(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import status

    return await status.show(client, call.clock())


async def _key_create(client: "Client", call: Invocation) -> Outcome:
    from appliance.admin.wire import NewKey
    from appliance.commands import keys
    from appliance.times import rfc3339

    typed = call.typed
    new = NewKey(
        name=typed.name,
        user=typed.user,
        workspace=typed.workspace,
        scopes=tuple(typed.scope),
        read_only=typed.read_only,
        ceiling_milli=typed.ceiling,
        requests_per_minute=typed.rpm,
        expires=rfc3339(typed.expires) if typed.expires else None,
    )
    return await keys.create(client, new)


async def _key_list(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import keys

    return await keys.show_all(client)


async def _key_revoke(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import keys

    return await keys.revoke(client, call.typed.key)


async def _workspace_create(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.create_workspace(client, call.typed.name)


async def _workspace_allowance(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.set_allowance(client, call.typed.name, call.typed.questions)


async def _workspace_list(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.show_workspaces(client)


async def _user_create(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.create_user(client, call.typed.name)


async def _user_list(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.show_users(client)


async def _erase(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import names

    return await names.erase_user(client, call.typed.user)


async def _model_list(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import models

    return await models.show_all(client)


async def _model_pull(client: "Client", call: Invocation) -> Outcome:
    import sys

    from appliance.commands import pulling

    typed = call.typed
    if typed.cancel:
        return await pulling.cancel(client, typed.name, typed.node)
    meter = pulling.Meter(sys.stderr, pulling.columns_of(sys.stderr))
    return await pulling.pull(client, typed.name, typed.node, meter)


async def _model_set(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import models

    return await models.choose(client, call.typed.role, call.typed.name)


async def _model_unset(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import models

    return await models.unset(client, call.typed.role)


async def _shield_show(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import shield

    return await shield.show(client)


async def _shield_set(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import shield

    return await shield.choose(client, call.typed.mode)


async def _shield_test(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import shield

    return await shield.test(client, call.typed.file)


def _shield_scan(call: Invocation) -> Outcome:
    from appliance.commands import shield

    settings = call.settings().shield
    return shield.scan(shield.standard_input(), call.typed.mode or settings.mode, settings)


async def _provider_add(client: "Client", call: Invocation) -> Outcome:
    from appliance.admin.policy_wire import NewProvider
    from appliance.commands import providers

    typed = call.typed
    key = providers.read_key() if typed.key_stdin else None
    new = NewProvider(typed.name, typed.kind, typed.base_url, key, typed.full, typed.fast)
    return await providers.add(client, new)


async def _provider_list(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import providers

    return await providers.show_all(client)


async def _provider_test(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import providers

    return await providers.test(client, call.typed.name)


async def _provider_remove(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import providers

    return await providers.remove(client, call.typed.name)


async def _policy_show(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.show(client, call.typed.workspace)


async def _policy_allow(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.allow(client, tuple(call.typed.names), call.typed.workspace)


async def _policy_clear(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.clear(client, call.typed.workspace)


async def _policy_active(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.active(client, call.typed.name)


async def _policy_unscannable(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.unscannable(client, call.typed.value)


async def _policy_sensitive_on_open(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import policies

    return await policies.sensitive_on_open(client, call.typed.value)


async def _proof_list(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import proofs

    return await proofs.show_all(client, call.typed.limit, call.typed.before)


async def _proof_show(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import proofs

    return await proofs.show(client, call.typed.id)


async def _proof_keys(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import proofs

    return await proofs.keys(client)


def _which(call: Invocation) -> "Which":
    from appliance.admin.ledger_wire import Which
    from appliance.times import rfc3339

    typed = call.typed
    since, until = (None if at is None else rfc3339(at) for at in (typed.since, typed.until))
    of = (typed.workspace, typed.key, typed.model, typed.node, typed.task, typed.ending, typed.left)
    return Which(since, until, *of)


async def _ledger(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import ledger

    typed = call.typed
    if typed.by is not None:
        return await ledger.show_sums(client, _which(call), typed.by)
    return await ledger.show(client, _which(call), typed.limit, typed.before)


def _ledger_export(call: Invocation) -> Outcome:
    """The client lives as long as the stream is read."""
    import asyncio

    from appliance.admin.client import Client
    from appliance.commands import ledger

    def pieces() -> "Iterator[bytes]":
        with asyncio.Runner() as runner:
            client = Client(call.settings().admin.socket)
            runner.run(client.__aenter__())
            try:
                exported = ledger.export(client, _which(call))
                while (piece := runner.run(anext(exported, None))) is not None:
                    yield piece
            finally:
                runner.run(client.__aexit__(None, None, None))

    return Outcome(stream=pieces())


COMMANDS: Mapping[str, Callable[[Invocation], Outcome]] = {
    "serve": _serve,
    "engine": _engine,
    "admin": _admin,
    "version": _version,
    "proof verify": _proof_verify,
    "tls ca": _tls_ca,
    "tls new-ca": _tls_new_ca,
    "status": online(_status),
    "key create": online(_key_create),
    "key list": online(_key_list),
    "key revoke": online(_key_revoke),
    "workspace create": online(_workspace_create),
    "workspace list": online(_workspace_list),
    "workspace allowance": online(_workspace_allowance),
    "user create": online(_user_create),
    "user list": online(_user_list),
    "erase": online(_erase),
    "model list": online(_model_list),
    "model pull": online(_model_pull),
    "model set": online(_model_set),
    "model unset": online(_model_unset),
    "shield show": online(_shield_show),
    "shield set": online(_shield_set),
    "shield test": online(_shield_test),
    "shield scan": _shield_scan,
    "provider add": online(_provider_add),
    "provider list": online(_provider_list),
    "provider test": online(_provider_test),
    "provider remove": online(_provider_remove),
    "policy show": online(_policy_show),
    "policy allow": online(_policy_allow),
    "policy clear": online(_policy_clear),
    "policy active": online(_policy_active),
    "policy unscannable": online(_policy_unscannable),
    "policy sensitive-on-open": online(_policy_sensitive_on_open),
    "ledger": online(_ledger),
    "ledger export": _ledger_export,
    "proof list": online(_proof_list),
    "proof show": online(_proof_show),
    "proof keys": online(_proof_keys),
    **MACHINE_COMMANDS,
    **UPKEEP_COMMANDS,
}
