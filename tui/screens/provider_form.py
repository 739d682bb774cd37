"""What is typed about a provider, and what of it can be done. A part of the page Providers.

A key goes nowhere that it was not given for: another kind or URL is a change to be confirmed, with a key of its own.
"""

from collections.abc import Sequence
from typing import cast

from appliance.admin.client import looks, policy_wire
from tui.widgets.form import Field, Given

NEEDS_URL = "An openai-compatible provider has no address of its own: give its URL."


def fields(one: policy_wire.Provider) -> tuple[Field, ...]:
    """As it is now. Its key is known to nobody."""
    return (
        Field("kind", "Kind", value=one.kind, choices=policy_wire.PROVIDER_KINDS),
        Field("base_url", "URL", "empty: the kind's own; with /v1 but for anthropic", value=one.base_url),
        Field("key", "Key", "empty: the key it has", secret=True),
        Field("full", "Full model", "for difficult calls; empty: as it is", value=one.full or ""),
        Field("fast", "Fast model", "for short calls; empty: as it is", value=one.fast or ""),
    )


def wrong_new(given: Given, there: Sequence[str]) -> str:
    if not given["name"]:
        return "Give it a name, such as openai."
    if given["name"] in there:
        return f"There is a provider {given['name']} already: esc, choose it, and press c to change it."
    if given["kind"] == "openai-compatible" and not given["base_url"]:
        return NEEDS_URL
    return "" if given["key"] else "A new provider needs its key."


def wrong_change(one: policy_wire.Provider, given: Given) -> str:
    if given["kind"] == "openai-compatible" and not given["base_url"]:
        return NEEDS_URL
    if elsewhere(one, given) and not given["key"]:
        return f"With another kind or URL type a key: the one it has was given for {one.base_url}."
    return ""


def added(given: Given) -> policy_wire.NewProvider:
    return policy_wire.NewProvider(
        name=given["name"],
        kind=cast("policy_wire.ProviderKind", given["kind"]),
        base_url=given["base_url"] or None,
        key=given["key"] or None,
        full=given["full"] or None,
        fast=given["fast"] or None,
    )


def changed(one: policy_wire.Provider, given: Given) -> policy_wire.NewProvider:
    """Where it goes somewhere else, nothing of before is kept, so that its models are given with it."""
    return added({**given, "name": one.name})


def elsewhere(one: policy_wire.Provider, given: Given) -> tuple[str, ...]:
    """What it is and where, now and then, in lines; nothing where that stays."""
    url = given["base_url"].rstrip("/")
    if (given["kind"], url) == (one.kind, one.base_url):
        return ()
    where = url or f"the address of {given['kind']} itself"
    return (
        f"Now   {one.kind} at {one.base_url}",
        f"Then  {given['kind']} at {where}",
        "",
        f"The key that you typed goes there, and so do calls. Its models: {given['full'] or looks.ABSENT}.",
    )
