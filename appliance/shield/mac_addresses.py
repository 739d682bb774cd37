"""Finds MAC addresses: six pairs of hexadecimal digits, or three groups of four; never a part of a longer fingerprint.

Source: shield.md ("Detection"), IEEE 802 ("EUI-48").
"""

import re
from collections.abc import Iterator

from appliance.shield.context import word_before
from appliance.shield.finding import Finding

# Both are looked for from their first separator, since letters that may be digits stand everywhere.
_PAIRS = re.compile(
    r"[:\-](?:(?<=(?<!\w)[0-9A-Fa-f]{2}[:\-])|(?<=\\[nrt][0-9A-Fa-f]{2}[:\-]))[0-9A-Fa-f]{2}([:\-])(?:[0-9A-Fa-f]{2}\1){3}[0-9A-Fa-f]{2}"
    r"(?!\w|[:\-][0-9A-Fa-f])"
)
_FOURS = re.compile(r"\.(?<=(?<![\w.*])[0-9A-Fa-f]{4}\.)[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?!\w|\.[0-9A-Fa-f])")
_LONGER = re.compile(r"(?<!\w)(?:[0-9A-Fa-f]{2}[:\-]|[0-9A-Fa-f]{4}\.)")
_WORDS = frozenset({"mac", "macs", "ether", "ethernet", "hwaddr", "wifi", "wlan", "bluetooth", "physical", "lladdr"})


def find(text: str) -> Iterator[Finding]:
    for pattern, before in ((_PAIRS, 2), (_FOURS, 4)):
        for found in pattern.finditer(text):
            start, value = found.start() - before, text[found.start() - before : found.end()]
            if value[before] != found[0][-before - 1] or _LONGER.match(text, max(0, start - before - 1), start):
                continue
            # Numbers and times are written like this too.
            word = "" if any(each.isalpha() for each in value) else word_before(text, start, _WORDS)
            if word or ":" in value or any(each.isalpha() for each in value):
                yield Finding(start, found.end(), "MAC_ADDRESS", _RULES[before], word)


_RULES = {2: "six pairs of hexadecimal digits", 4: "three groups of four hexadecimal digits"}
