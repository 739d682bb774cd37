from collections.abc import AsyncIterator

import aiohttp
import pytest

from appliance.admin.provider_checker import ProviderChecker
from appliance.errors import ConfigError
from appliance.lanes.external_connections import open_session
from appliance.store.providers import OpenProvider
from tests.upstreams.anthropic import KEY as ANTHROPIC_KEY
from tests.upstreams.anthropic import anthropic_double
from tests.upstreams.openai import openai_double


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as session:
        yield session


async def test_each_kind_is_asked_in_its_own_way(session: aiohttp.ClientSession):
    checker = ProviderChecker(session)
    async with openai_double(key="sk-x") as openai, anthropic_double() as anthropic:
        good = OpenProvider("ours", "openai", openai.url, "gpt-double", None, "sk-x")
        assert (await checker.check(good)).ok
        other = OpenProvider("theirs", "anthropic", anthropic.url, "claude-double", None, ANTHROPIC_KEY)
        assert (await checker.check(other)).ok


@pytest.mark.parametrize(
    ("url", "model", "key", "word"),
    [
        ("", "gpt-double", "sk-wrong", "key"),
        ("", "gpt-none", "sk-x", "model"),
        ("/v9", "gpt-double", "sk-x", "base URL"),
    ],
)
async def test_what_is_wrong_is_told_apart_with_what_to_do(
    session: aiohttp.ClientSession, url: str, model: str, key: str, word: str
):
    async with openai_double(key="sk-x", strict=True) as openai:
        found = await ProviderChecker(session).check(OpenProvider("ours", "openai", openai.url + url, model, None, key))
    assert not found.ok
    assert word in found.problem
    assert found.advice
    assert key not in f"{found.problem} {found.advice}"


async def test_an_address_that_is_none_is_said(session: aiohttp.ClientSession):
    with pytest.raises(ConfigError):
        await ProviderChecker(session).check(OpenProvider("ours", "openai", "nowhere", None, None, "k"))
