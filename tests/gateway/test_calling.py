import time

import orjson
import pytest

from appliance.dialects.chat import DialectError
from appliance.errors import BadRequest
from appliance.gateway.calling import LARGE_BODY_BYTES, parsed


async def test_what_a_dialect_cannot_say_is_a_bad_request_that_names_it():
    def refuse(_: bytes) -> int:
        raise DialectError("`x` must be a string.", "x")

    with pytest.raises(BadRequest, match="`x` must be a string") as refused:
        await parsed(refuse, b"{}")
    assert refused.value.param == "x"


@pytest.mark.parametrize("content", [b" " * LARGE_BODY_BYTES, orjson.dumps([{"pattern": "x"}] * 10)])
async def test_a_body_that_takes_long_is_read_beside_the_others(content: bytes):
    from asyncio import create_task, sleep

    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await sleep(0)
            longest = max(longest, time.perf_counter() - began)

    beating = create_task(beat())
    await sleep(0)
    await parsed(lambda _: time.sleep(0.3), content)
    beating.cancel()
    assert longest < 0.25
