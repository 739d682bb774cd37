"""What an administrator can change about providers: jobs for the database that also write the audit row.

As in `changes`. A key is sealed the moment it is here, and is in no row of the audit table and no message.
"""

import difflib
import re
import sqlite3
from typing import cast

from appliance.admin import policy_wire as wire
from appliance.admin import provider_url, seen
from appliance.admin.changes import MODEL_CHARACTERS, Change
from appliance.admin.seen import Subject
from appliance.admin.wire import InvalidInput, UnknownSubject, encode
from appliance.calls.policy import LOCAL_PROVIDER
from appliance.store import allow_lists, live_settings, providers
from appliance.store.providers import ProviderRow
from appliance.store.sealing import Sealer
from appliance.times import from_ms, rfc3339, to_ms

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
"""It goes into headers, into certificates and after a slash: so these characters and no others."""

KEY = re.compile(r"[!-~]{1,4096}")
"""What an HTTP header can carry as one word. The longest keys in use are tokens of about 2,000 characters."""

_ACTIONS = "provider.*"


def put_provider(conn: sqlite3.Connection, change: Change, sealer: Sealer, new: wire.NewProvider) -> wire.PutProvider:
    """Add a provider, or change the one of this name. What changes nothing is not recorded.

    Of a provider that stays of the same kind at the same URL, what is not given is kept; any other is a new one
    under an old name, so that nothing is kept, and no key goes to a server that it was not given for.

    Raises:
        Conflict: it is not any more what was looked at, here and below.
        InvalidInput: a name, URL, model or key that is none, or a key that is missing.
    """
    seen.check(conn, new.seen, _subject(new.name))
    _check_name(new.name, new.kind)
    old = providers.by_name(conn, new.name)
    given_url = old.base_url if old is not None and new.base_url is None and old.kind == new.kind else new.base_url
    base_url = provider_url.checked(new.kind, given_url)
    kept = old if old is not None and (old.kind, old.base_url) == (new.kind, base_url) else None
    row = ProviderRow(
        name=new.name,
        kind=new.kind,
        base_url=base_url,
        full=_model(new.full) or (kept.full if kept else None),
        fast=_model(new.fast) or (kept.fast if kept else None),
        created_ms=kept.created_ms if kept else to_ms(change.at),
        sealed=_sealed(sealer, new, old, kept),
    )
    before, after = shape(old) if old else None, shape(row)
    if before != after or new.key is not None:
        providers.put(conn, row)
        recorded = encode(after) | {"new_key": new.key is not None}
        change.record(conn, "provider.put", row.name, encode(before) if before else None, recorded)
    return wire.PutProvider(after, before, new_key=new.key is not None)


def remove_provider(conn: sqlite3.Connection, change: Change, old: wire.OldProvider) -> wire.RemovedProvider:
    """Forget a provider and its key. Lists and the active provider keep the name: calls are refused, not moved.

    Raises `UnknownSubject` where there is no such provider, and `Conflict`.
    """
    name = old.name
    seen.check(conn, old.seen, _subject(name))
    row = find(conn, name)
    lists = allow_lists.all_lists(conn)
    listed = allow_lists.naming(conn, name)
    providers.remove(conn, name)
    left = {other.name for other in providers.list_all(conn) if other.full} | {LOCAL_PROVIDER}
    change.record(conn, "provider.remove", name, encode(shape(row)), None)
    return wire.RemovedProvider(
        shape(row),
        active=live_settings.get(conn, live_settings.ACTIVE_PROVIDER) == name,
        listed=tuple(workspace.name for workspace in listed),
        refused=tuple(workspace.name for workspace in listed if left.isdisjoint(lists[workspace.n])),
    )


def revision(conn: sqlite3.Connection) -> int:
    """Of all providers, so that one that comes has been seen to be missing."""
    return seen.revision(conn, Subject("a provider", _ACTIONS))


def _subject(name: str) -> Subject:
    return Subject(f"the provider {name}", _ACTIONS, (name,))


def find(conn: sqlite3.Connection, name: str) -> ProviderRow:
    """Raises `UnknownSubject`, with the nearest name there is."""
    row = providers.by_name(conn, name)
    if row is None:
        raise unknown(name, [known.name for known in providers.list_all(conn)])
    return row


def unknown(name: str, known: list[str]) -> UnknownSubject:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    return UnknownSubject(
        f'There is no provider "{name}".', advice=f"{hint}synapse provider list shows them, provider add makes one."
    )


def shape(row: ProviderRow) -> wire.Provider:
    return wire.Provider(
        name=row.name,
        kind=cast(wire.ProviderKind, row.kind),
        base_url=row.base_url,
        full=row.full,
        fast=row.fast,
        created=rfc3339(from_ms(row.created_ms)),
        configured=row.full is not None,
    )


def _check_name(name: str, kind: wire.ProviderKind) -> None:
    if not NAME.fullmatch(name):
        raise InvalidInput(
            "That is no provider's name.",
            advice="It has 1 to 32 of the characters a-z, 0-9, dot, dash and underscore, and begins with a letter or"
            " a digit.",
        )
    if name == LOCAL_PROVIDER:
        raise InvalidInput(
            f"{LOCAL_PROVIDER} is this installation's own machines, and no external provider can be called so.",
            advice="Choose another name; machines are named in local.ollama (docs/settings.md).",
        )
    if name in wire.PROVIDER_KINDS and name != kind:
        raise InvalidInput(
            f"A provider called {name} would be taken for {name} itself, but its kind is {kind}.",
            advice="Choose another name, such as that of its owner.",
        )


def _model(name: str | None) -> str | None:
    if name is not None and (not 1 <= len(name) <= MODEL_CHARACTERS or not name.isprintable() or name != name.strip()):
        raise InvalidInput("That is no model's name.", advice="Give it as the provider's own list of models has it.")
    return name


def _sealed(sealer: Sealer, new: wire.NewProvider, old: ProviderRow | None, kept: ProviderRow | None) -> bytes:
    if new.key is not None:
        if not KEY.fullmatch(new.key):
            raise InvalidInput(
                "The key holds a space, a control character or another that no key has, or nothing at all.",
                advice="Copy it again from the provider's page: one line, nothing around it.",
            )
        return providers.seal_key(sealer, new.name, new.key)
    if kept is not None:
        return kept.sealed
    if old is not None:
        raise InvalidInput(
            f"With another kind or URL the key must be given again: the one that is kept was given for {old.base_url}.",
            advice="Add --key-stdin.",
        )
    raise InvalidInput("A new provider needs its key.", advice="Add --key-stdin, and pipe the key in.")
