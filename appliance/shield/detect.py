"""Finds the personal values of a call's texts: all rules of a mode on a view of each, overlaps settled.

Names and labelled numbers of one text are looked for in the others too. Must not know tokens, or where texts come from.
Source: shield.md ("Detection").
"""

import re
from collections.abc import Callable, Sequence
from itertools import chain

from appliance.shield import (
    ages,
    cards,
    dates,
    emails,
    health_ids,
    ibans,
    ip_addresses,
    joined_words,
    mac_addresses,
    phones,
    records,
    ssns,
    urls,
    vins,
    zips,
)
from appliance.shield.categories import Mode
from appliance.shield.finding import Finding
from appliance.shield.joined_words import Rule
from appliance.shield.known_values import KnownValues
from appliance.shield.names import Names
from appliance.shield.overlap import settle
from appliance.shield.view import view_of

_SIX_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,5}+[0-9]){5}")
"""What every number that the rules know has somewhere in it, and most prose has not: it is looked for once."""


class Detector:
    """`country` (ISO 3166, two letters) is whose phone numbers are written without a prefix. `names` is needed in
    the mode `medical` alone, and builds the lexicon, which takes a moment."""

    def __init__(self, mode: Mode, *, country: str = "FR", names: Callable[[], Names] = Names) -> None:
        self._names = names() if mode == "medical" else None
        self._number_rules = _number_rules(mode, country)
        self._rules = _rules(mode, self._names)

    def find(self, text: str) -> tuple[Finding, ...]:
        """What is personal in one text by itself, in order and apart; linear in its length."""
        view = view_of(text)
        rules = self._rules + self._number_rules if _SIX_DIGITS.search(view.text) else self._rules
        alone = (finding for rule in rules for finding in rule(view.text))
        found = settle(chain(alone, joined_words.find(view.text, self._rules, self._number_rules)))
        if view.text is text:
            return tuple(found)
        return tuple(_placed(each, *view.original(each.start, each.end)) for each in found)

    def spread(self, texts: Sequence[str], findings: Sequence[Sequence[Finding]]) -> list[tuple[Finding, ...]]:
        """The same findings, each text's own, and wherever they stand in any of the texts: the names among them, and
        the numbers that only a word beside them gave away."""
        finders = [finder for finder in (self._values(texts, findings), self._people(texts, findings)) if finder]
        if not finders:
            return [tuple(each) for each in findings]
        return [
            tuple(settle([*found, *(each for finder in finders for each in finder(text))]))
            for text, found in zip(texts, findings, strict=True)
        ]

    def _values(self, texts: Sequence[str], findings: Sequence[Sequence[Finding]]) -> Rule | None:
        values = KnownValues()
        for text, found in zip(texts, findings, strict=True):
            values.add(text, found)
        return values.find if values else None

    def _people(self, texts: Sequence[str], findings: Sequence[Sequence[Finding]]) -> Rule | None:
        if self._names is None:
            return None
        return self._names.known(
            text[each.start : each.end]
            for text, found in zip(texts, findings, strict=True)
            for each in found
            if each.category == "NAME"
        )


def _placed(finding: Finding, start: int, end: int) -> Finding:
    return finding._replace(start=start, end=end)


def _number_rules(mode: Mode, country: str) -> tuple[Rule, ...]:
    """Those whose values have six digits at least, near each other."""
    return () if mode == "off" else (phones.rule(country), cards.find, ibans.find, ssns.find)


def _rules(mode: Mode, names: Names | None) -> tuple[Rule, ...]:
    if mode == "off":
        return ()
    standard: tuple[Rule, ...] = (emails.find, ip_addresses.find, mac_addresses.find)
    if names is None:
        return standard
    return (
        *standard,
        names.find,
        dates.find,
        ages.find,
        zips.find,
        urls.find,
        records.find,
        health_ids.find,
        vins.find,
    )
