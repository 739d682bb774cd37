"""A third party's check, PyPI `pii-leak-benchmark`: it captures what leaves, and looks for its values in any disguise.

Its values are valid by their standards: documentation domains, cards of the issuers' test lists, and Social Security
numbers of areas that are never given out, which shield.md masks where they are written with separators.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from pii_leak_benchmark.http_profile import make_fixture

from appliance.shield.categories import Mode
from tests.e2e.installation import free_port
from tests.shield.proxy import shield_proxy


@pytest.mark.parametrize("mode", ["standard", "medical"])
async def test_streamed_nothing_leaks_and_all_is_restored(mode: Mode, tmp_path: Path):
    port, out = free_port(), tmp_path / "report.json"
    async with shield_proxy(f"http://127.0.0.1:{port}/v1", mode) as proxy:
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-c",
                "import sys; from pii_leak_benchmark.cli import main; sys.exit(main())",
                "selfcheck",
            ),
            *("--target-base-url", proxy.url, "--capture-port", str(port), "--no-credentials", "--json-out", str(out)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, said.decode()
    assert b"CLEAN" in said
    report = json.loads(out.read_text())
    assert report["checks"]["configured_upstream_boundary"]["correlated_requests"] > 0
    assert report["checks"]["response_fidelity"]["passed"]


@pytest.fixture
async def echo() -> AsyncIterator[tuple[str, list[bytes]]]:
    """An upstream that says again what it was told, whole, and what it received."""
    received: list[bytes] = []

    async def answer(request: web.Request) -> web.Response:
        received.append(await request.read())
        said = json.loads(received[-1])["messages"][-1]["content"]
        return web.json_response({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", received
    await runner.cleanup()


@pytest.mark.parametrize("mode", ["standard", "medical"])
async def test_whole_nothing_leaks_and_all_is_restored(mode: Mode, echo: tuple[str, list[bytes]]):
    upstream, received = echo
    async with shield_proxy(upstream, mode) as proxy, aiohttp.ClientSession() as session:
        for _ in range(50):
            values = make_fixture()
            said = f"contact {values['EMAIL']}, SSN {values['SSN']}, card {values['CREDIT_CARD']}"
            body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": said}]}
            async with session.post(f"{proxy.url}/chat/completions", json=body) as answer:
                restored = (await answer.json())["choices"][0]["message"]["content"]
            assert restored == said
            left = received[-1].decode()
            for value in values.values():
                assert value not in left
                assert value.replace("-", "") not in left
