import pytest
from starlette.requests import Request

from appliance.admin import http, wire


def asked(body: bytes = b"", query: bytes = b"") -> Request:
    pieces = [body[:3], body[3:]]

    async def receive() -> dict[str, object]:
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    return Request({"type": "http", "method": "POST", "headers": [], "query_string": query, "path": "/"}, receive)


async def test_a_body_becomes_the_shape_that_is_asked_for() -> None:
    assert await http.body_as(wire.NewName, asked(b'{"name":"lab"}')) == wire.NewName("lab")


async def test_what_is_not_json_is_told_apart_from_what_is_too_large() -> None:
    with pytest.raises(wire.InvalidInput, match="not JSON"):
        await http.body_as(wire.NewName, asked(b"{nam"))
    with pytest.raises(http.BodyTooLarge, match="larger than 8 bytes"):
        await http.body_as(wire.NewName, asked(b'{"name":"lab"}'), 8)


@pytest.mark.parametrize("text", ["", "-1", "1.0", "٣", "1" * 17, str(2**53)])
def test_a_number_is_whole_ascii_and_within_what_json_carries(text: str) -> None:
    with pytest.raises(wire.InvalidInput, match="before must be a whole number"):
        http.number(asked(query=f"before={text}".encode()), "before")


def test_a_number_that_is_left_out_is_none() -> None:
    assert http.number(asked(query=b"before=7"), "before") == 7
    assert http.number(asked(), "before") is None


def test_nothing_of_an_answer_is_kept_by_anybody() -> None:
    assert http.answer(wire.NewName("lab")).headers["cache-control"] == "no-store"
