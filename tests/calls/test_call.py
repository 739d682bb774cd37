from datetime import UTC, datetime
from typing import Any, cast

import pytest

from appliance.calls.call import Call
from appliance.dialects.chat import Chat


@pytest.mark.parametrize(("compressed", "expected"), [(None, 5), (3, 3), (0, 0)])
def test_what_was_received_is_the_body_or_what_it_was_compressed_to(compressed: int | None, expected: int):
    now = datetime.now(UTC)
    call = Call(cast("Any", None), "/v1/messages", "", False, Chat(()), b"12345", "", now, compressed=compressed)
    assert (call.body_bytes, call.received_bytes) == (5, expected)
