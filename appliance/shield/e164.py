"""A phone number as E.164, however it is written: `+33 6 12…`, `0033 6…`, `+33 (0)6…` and, at home, `06 12…` are one.

Enough for telling whether two numbers are the same; must not judge whether one exists. Sources: ITU-T E.164, RFC 3966
(`;ext=`), and the national numbering plans as the ITU publishes them.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class _Plan(NamedTuple):
    """`lengths`: digits of a national number without its trunk prefix, fewest and most; `trunk`: what is dialled before
    it at home only, empty where nothing is, or where it belongs to the number."""

    code: str
    trunk: str
    lengths: tuple[int, int]


_PLANS: Mapping[str, _Plan] = {
    "FR": _Plan("33", "0", (9, 9)),
    "BE": _Plan("32", "0", (8, 9)),
    "CH": _Plan("41", "0", (9, 9)),
    "LU": _Plan("352", "", (5, 11)),
    "DE": _Plan("49", "0", (6, 12)),
    "AT": _Plan("43", "0", (6, 13)),
    "ES": _Plan("34", "", (9, 9)),
    "PT": _Plan("351", "", (9, 9)),
    "IT": _Plan("39", "", (6, 11)),
    "NL": _Plan("31", "0", (9, 9)),
    "GB": _Plan("44", "0", (9, 10)),
    "IE": _Plan("353", "0", (7, 9)),
    "PL": _Plan("48", "", (9, 9)),
    "US": _Plan("1", "", (10, 10)),
    "CA": _Plan("1", "", (10, 10)),
}
_BY_CODE = {plan.code: plan for plan in _PLANS.values()}
_LONGEST_CODE = 3

_EXTENSION = re.compile(
    r"(?:;ext=|(?<![a-z])(?:extension|ext|poste|durchwahl|interno|int|wew|toestel|anexo|ramal|x)\.?|#)"
    r"[ .:]{0,3}([0-9]{1,7})\s{0,3}\Z"
)
_NOT_DIGITS = re.compile(r"[^0-9]+")
_TRUNK_IN_BRACKETS = re.compile(r"\(\s?0\s?\)")


def e164(value: str, country: str) -> str:
    """`+` and digits, `;ext=` and digits where there is an extension; of a number that is not understood, its digits.

    `value` has plain digits and lower-case letters; `country` (ISO 3166, two letters) is where it is at home.
    """
    extension = _EXTENSION.search(value)
    number = value[: extension.start()] if extension else value
    return _main(number, country) + (f";ext={extension[1]}" if extension else "")


def _main(number: str, country: str) -> str:
    digits = _NOT_DIGITS.sub("", number)
    before_digits = number[: len(number) - len(number.lstrip("+( \t"))]
    home = _PLANS.get(country)
    if "+" in before_digits:
        return _abroad(number, digits)
    if digits.startswith("00"):
        return _abroad(number, digits[2:])
    if home is not None and home.code == "1" and digits.startswith("011"):
        return _abroad(number, digits[3:])
    return digits if home is None else _at_home(digits, home)


def _abroad(number: str, digits: str) -> str:
    """What follows `+`. A trunk prefix that was left in, in brackets or not, goes: no number of its plan begins so."""
    plan = next((_BY_CODE[digits[:n]] for n in range(1, _LONGEST_CODE + 1) if digits[:n] in _BY_CODE), None)
    if plan is None:
        return "+" + digits
    national = digits[len(plan.code) :]
    if plan.trunk or (plan.code != "39" and _TRUNK_IN_BRACKETS.search(number)):
        national = national.removeprefix("0")
    return f"+{plan.code}{national}"


def _at_home(digits: str, home: _Plan) -> str:
    national = digits
    if home.trunk:
        if not digits.startswith(home.trunk):
            return digits
        national = digits.removeprefix(home.trunk)
    elif home.code == "1" and len(digits) == home.lengths[1] + 1:
        national = digits.removeprefix("1")
    fewest, most = home.lengths
    return f"+{home.code}{national}" if fewest <= len(national) <= most else digits
