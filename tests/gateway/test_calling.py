import threading

import orjson
import pytest

from appliance.dialects.chat import DialectError
from appliance.errors import BadRequest
from appliance.gateway.calling import LARGE_BODY_BYTES, MANY_PATTERNS, parsed


async def test_what_a_dialect_cannot_say_is_a_bad_request_that_names_it():
    def refuse(_: bytes) -> int:
        raise DialectError("`x` must be a string.", "x")

    with pytest.raises(BadRequest, match="`x` must be a string") as refused:
        await parsed(refuse, b"{}")
    assert refused.value.param == "x"


@pytest.mark.parametrize("content", [b" " * LARGE_BODY_BYTES, orjson.dumps([{"pattern": "x"}] * MANY_PATTERNS)])
async def test_a_body_that_takes_long_is_read_beside_the_others(content: bytes):
    assert await parsed(lambda _: threading.get_ident(), content) != threading.get_ident()


@pytest.mark.parametrize("content", [b"{}", b" " * (LARGE_BODY_BYTES - 1)])
async def test_another_is_read_at_once(content: bytes):
    assert await parsed(lambda _: threading.get_ident(), content) == threading.get_ident()
