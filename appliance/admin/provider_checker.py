"""Tries a provider for the admin API, on the connections that calls use."""

from typing import cast

import aiohttp

from appliance.admin.policy_wire import ProviderCheck
from appliance.lanes.endpoint import Kind, endpoint
from appliance.lanes.provider_check import check
from appliance.store.providers import OpenProvider


class ProviderChecker:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def check(self, provider: OpenProvider) -> ProviderCheck:
        """Raises ConfigError where the provider's URL or key is none."""
        kind = cast("Kind", provider.kind)
        where = endpoint(kind, provider.name, provider.base_url, provider.key)
        found = await check(self._session, where, kind, provider.full)
        return ProviderCheck(found.ok, "" if found.ok else found.message, found.advice)
