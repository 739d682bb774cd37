import asyncio

from textual.widgets import TextArea

from appliance.admin import wire
from appliance.admin.client import Client
from tests.admin.played import Daemon
from tests.tui.seats import Seat
from tests.waiting import until
from tui.screens.shield import MOST_CHARACTERS, marked_text


def box(seat: Seat) -> TextArea:
    return seat.console.screen.query_one(TextArea)


async def test_medical_mode_takes_its_name_typed(seat: Seat, client: Client, daemon: Daemon):
    await seat.press("3")
    await seat.sees("Mode standard (as the settings file says). Masks EMAIL, PHONE")
    await seat.press("m")
    await seat.sees("What is to be masked?", "▸ standard", "medical", "off")
    await seat.press("down", "enter")
    await seat.sees("Set the shield to medical?", 'Type "medical" to do it:')
    await seat.type("medicine")
    await seat.press("enter")
    await seat.sees("✗ That is another word. Nothing was changed.")
    assert not (await client.shield()).set
    await seat.press("escape", "m", "down", "enter")
    await seat.type("medical")
    await seat.press("enter")
    await seat.sees("✓ The shield is set to medical.")
    assert (await client.shield()).set
    (change, *_) = (await client.changes()).changes
    assert (change.action, change.before, change.after) == ("shield.set", '"standard"', '"medical"')


async def test_enter_alone_changes_nothing(seat: Seat, client: Client):
    await seat.press("3", "m", "down", "down", "enter")
    await seat.sees("Set the shield to off?", "nothing is masked: text leaves as it is")
    await seat.press("enter")
    await seat.sees("t try a text")
    assert not (await client.shield()).set


async def test_the_second_of_two_consoles_is_told_and_overwrites_nothing(seat: Seat, client: Client):
    await seat.press("3")
    await seat.sees("Mode standard")
    await seat.press("m", "down", "enter")
    await seat.sees("Now      standard", "Then     medical")
    await client.set_shield_mode("off")
    await seat.type("medical")
    await seat.press("enter")
    await seat.sees("✗", "has changed the shield's mode meanwhile (shield.set", "Look at it as it is now")
    assert [(one.before, one.after) for one in (await client.changes()).changes if one.action == "shield.set"] == [
        ('"standard"', '"off"')
    ]


async def test_a_text_is_shown_with_what_would_be_masked_and_why(seat: Seat, daemon: Daemon):
    await seat.press("3", "t")
    await seat.type("my secret 123")
    await seat.sees("my secret[EMAIL] 123", "VALUE", "▸ secret", "EMAIL", "a word; near “my”")
    assert daemon.shield.tested[-1] == "my secret 123"  # digits are text in the box, and no pages
    await seat.press("escape", "c")
    await seat.sees("c clear")
    assert "secret" not in seat.text()


async def test_what_was_in_the_box_does_not_come_back(seat: Seat):
    await seat.press("3", "t")
    await seat.type("my secret")
    await seat.sees("my secret[EMAIL]")
    await seat.press("escape", "c", "t", "ctrl+z", "ctrl+y")
    assert box(seat).text == ""
    await seat.type("my secret")
    await seat.press(*["backspace"] * 9, "ctrl+z")
    assert box(seat).text == ""
    assert "secret" not in seat.text()


async def test_leaving_the_page_empties_the_box_and_a_dialog_does_not(seat: Seat):
    await seat.press("3", "t")
    await seat.type("my secret")
    await seat.sees("my secret[EMAIL]")
    await seat.press("escape", "question_mark")
    await seat.sees("Shield: keys")
    await seat.press("escape", "3")
    await seat.sees("my secret[EMAIL]")
    await seat.press("1")
    await seat.sees("Today (UTC)")
    await seat.press("3", "t", "ctrl+z")
    assert box(seat).text == ""
    assert "secret" not in seat.text()


async def test_a_text_is_looked_at_once_typing_rests(seat: Seat, daemon: Daemon):
    await seat.press("3", "t")
    text = "a long text with a secret in it"
    await seat.type(text)
    await seat.sees("secret[EMAIL]")
    assert daemon.shield.tested[-1] == text
    assert len(daemon.shield.tested) < len(text) / 2


async def test_what_comes_too_late_is_not_shown(seat: Seat, daemon: Daemon):
    go = daemon.shield.waits = asyncio.Event()
    await seat.press("3", "t")
    await seat.type("my secret")
    await until(lambda: daemon.shield.tested == ["my secret"])
    await seat.press("escape", "c")
    go.set()
    await seat.press("t")
    await seat.type("hello")
    await seat.sees("Nothing is found.")
    assert "secret" not in seat.text()


async def test_a_text_that_is_too_long_is_not_looked_at_and_says_why(seat: Seat, daemon: Daemon):
    await seat.press("3")
    await seat.sees("Mode standard")
    longest = "x" * (MOST_CHARACTERS - 6) + "secret"
    box(seat).load_text(longest)
    await seat.sees("EMAIL", "a word")
    box(seat).load_text(longest + "s")
    await seat.sees("! This text has 20,001 characters, and the box looks at 20,000 at most.", "shield test FILE")
    assert "a word" not in seat.text()
    assert daemon.shield.tested == [longest]


async def test_nothing_found_is_said(seat: Seat):
    await seat.press("3", "t")
    await seat.type("hello")
    await seat.sees("Nothing is found.")


def test_marks_stand_where_the_values_stand():
    # Code points count, not bytes or columns; a tab is four columns, as on the screen.
    text = "é\t日本 a@b.c\nx\x1b[31m a@b.c"
    first, second = text.index("a@b.c"), text.rindex("a@b.c")
    found = [wire.ShieldFinding(at, at + 5, "EMAIL", "[EMAIL_x]", "address", "") for at in (first, second)]
    assert marked_text(text, found).plain == "é   日本 a@b.c[EMAIL]\nx\\x1b[31m a@b.c[EMAIL]"


def test_a_line_break_at_either_side_of_a_mark_stays():
    found = [wire.ShieldFinding(2, 7, "EMAIL", "[EMAIL_x]", "address", "")]
    assert marked_text("x\na@b.c\ny\n", found).plain == "x\na@b.c[EMAIL]\ny\n"
