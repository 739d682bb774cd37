import pytest

from appliance.calls.live_shield import LiveShield
from appliance.shield.categories import Mode
from appliance.shield.restore import restore

TEXTS = ["Mail jane@example.org.", "Patient : Zaphod Beeblebrox, né le 12/03/1961"]


def shield(key: bytes = b"k" * 32, **lists: tuple[str, ...]) -> LiveShield:
    return LiveShield(key, country="FR", random=bytes, **lists)


async def masked(one: LiveShield, mode: Mode) -> tuple[str, ...]:
    await one.use(mode)
    return one.now.mask(TEXTS, await one.now.scan(TEXTS)).texts


async def test_each_mode_masks_what_it_is_there_for():
    one = shield()
    assert await masked(one, "off") == tuple(TEXTS)
    standard = await masked(one, "standard")
    assert "jane@example.org" not in standard[0]
    assert standard[1] == TEXTS[1]
    medical = await masked(one, "medical")
    assert medical[0] == standard[0]
    assert "12/03" not in medical[1]
    assert await masked(one, "off") == tuple(TEXTS)


async def test_a_change_of_mode_is_not_answered_from_what_was_found_before():
    one = shield()
    await one.use("medical")
    assert (await one.now.scan(TEXTS))[1]
    await one.use("standard")
    assert (await one.now.scan(TEXTS))[1] == ()


async def test_the_administrators_lists_count():
    assert "Zaphod" not in (await masked(shield(names=("Zaphod",)), "medical"))[1]


@pytest.mark.parametrize("other", [b"k" * 32, b"x" * 32])
async def test_tokens_are_the_installations_own(other: bytes):
    first, second = await masked(shield(), "standard"), await masked(shield(other), "standard")
    assert (first == second) is (other == b"k" * 32)


async def test_the_vault_of_a_call_restores_its_answer():
    one = shield()
    await one.use("standard")
    call = one.now.mask(TEXTS, await one.now.scan(TEXTS))
    assert restore(call.texts[0], call.vault) == TEXTS[0]


async def test_what_was_taken_before_a_change_stays_as_it_was():
    one = shield()
    await one.use("standard")
    before = one.now
    await one.use("off")
    assert (before.mode, one.now.mode) == ("standard", "off")
    assert (await before.scan(TEXTS))[0]


@pytest.mark.parametrize("mode", ["standard", "medical"])
async def test_in_what_looks_random_only_values_with_a_form_of_their_own_are_found(mode: Mode):
    one = shield()
    await one.use(mode)
    number, mail = await one.now.scan_opaque(["Zee+jyLmD7AC364pHN1Aa+ro3", "aa/jane@example.org/bb"])
    assert number == ()
    assert [each.category for each in mail] == ["EMAIL"]


async def test_nothing_is_found_in_it_while_the_shield_is_off():
    assert await shield().now.scan_opaque(["jane@example.org"]) == [()]
