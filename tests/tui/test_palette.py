from tui import palette


def test_it_finds_the_actions_of_the_page_and_every_page():
    pressed: list[str] = []
    gone: list[str] = []
    found = {command.title: command for command in palette.commands("keys", pressed.append, gone.append)}
    found["New key (n)"].callback()
    found["Go to Ledger (6)"].callback()
    assert (pressed, gone) == (["create"], ["ledger"])
    assert "Pull (p)" not in found
    assert found["Revoke (X)"].help == "Refuse the chosen key from the next request on."
