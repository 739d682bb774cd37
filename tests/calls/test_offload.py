import threading
from datetime import UTC, datetime
from typing import Any, cast

from appliance.calls.call import Call
from appliance.calls.offload import LARGE_BODY_BYTES, offloaded
from appliance.dialects.chat import Chat, Message, Tool

CHAT = Chat((Message("user"),))


def call(body_bytes: int, chat: Chat = CHAT) -> Call:
    body = b"x" * body_bytes
    return Call(cast("Any", None), "/v1/chat/completions", "", False, chat, body, "", datetime.now(UTC), len(body))


async def test_only_a_large_body_and_one_with_tools_leave_the_event_loop():
    here = threading.get_ident()
    assert await offloaded(call(LARGE_BODY_BYTES - 1), threading.get_ident) == here
    assert await offloaded(call(LARGE_BODY_BYTES), threading.get_ident) != here
    assert await offloaded(call(1, Chat((), tools=(Tool("f"),))), threading.get_ident) != here
