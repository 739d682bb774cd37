import pytest

from appliance.admin import event_wire
from appliance.admin.client import Client
from tests.tui.seats import Seat
from tests.waiting import until
from tui.screens.audit import in_short


async def test_who_has_changed_what_newest_first(seat: Seat, client: Client):
    await client.create_workspace("legal")
    await seat.press("9")
    await seat.sees("workspace.create      legal")
    first = seat.row_ids()
    await client.create_user("Rita")
    await seat.sees("Rita")
    assert seat.row_ids()[1:] == first
    await seat.press("home", "enter")
    await seat.sees("user.create by", "Before   –", '"name":"Rita"')


async def test_it_can_be_filtered(seat: Seat, client: Client):
    await client.create_workspace("legal")
    await client.create_user("Rita")
    await seat.press("9")
    await seat.sees("user.create")
    await seat.press("slash")
    await seat.type("legal")
    await seat.sees("workspace.create")
    assert len(seat.row_ids()) == 1


async def test_older_ones_come_when_the_end_is_near(seat: Seat, client: Client):
    for number in range(120):
        await client.create_workspace(f"w{number}")
    await seat.press("9")
    await seat.sees("w119")
    assert len(seat.row_ids()) == 100
    await seat.press("end")
    await until(lambda: len(seat.row_ids()) > 120)
    await seat.press("end")
    await seat.sees("default")


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, '{"name":"legal"}', "legal"),
        (None, '{"uses":3}', "subject"),
        ('{"name":"n8n","state":"active"}', '{"name":"n8n","state":"revoked"}', "n8n: state active → revoked"),
        ('"standard"', '"medical"', "standard → medical"),
        (None, '["openai","ollama"]', "– → openai, ollama"),
        ('["openai"]', None, "openai → –"),
        (None, None, "– → –"),
    ],
)
def test_what_is_different_in_a_few_words(before: str | None, after: str | None, shown: str):
    assert in_short(event_wire.Change(1, "", "rita", "x", "subject", before, after)) == shown
