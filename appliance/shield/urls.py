"""Web addresses: with a scheme, or beginning with `www.`. Must not judge what an address leads to.

Source: shield.md ("Detection"), HIPAA Safe Harbor (45 CFR 164.514(b)(2)(i)(N)); RFC 3986.
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding

MAX_ADDRESS = 2_048
"""Characters, about what browsers take; the rest of a longer one is found as it goes on."""

_ADDRESS = re.compile(
    rf"(?<![\w@])(?:(?:https?|ftps?|sftp)://|www\d?\.(?=[\w-]))[^\s<>\"'`{{}}|\\^\[\]]{{1,{MAX_ADDRESS}}}",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?*_…»”’"


def find(text: str) -> Iterator[Finding]:
    """Every address, without the punctuation of the sentence around it; linear in the text's length."""
    if "://" not in text and "www" not in text.lower():
        return
    for match in _ADDRESS.finditer(text):
        end = match.end()
        while end > match.start() and (text[end - 1] in _TRAILING or _closes_the_sentence(text, match.start(), end)):
            end -= 1
        if end > match.start() + len("www."):
            yield Finding(match.start(), end, "URL", "web address", match[0].partition(":")[0].lower()[:5])


def _closes_the_sentence(text: str, start: int, end: int) -> bool:
    """A closing bracket that nothing opened in the address."""
    return text[end - 1] == ")" and "(" not in text[start:end]
