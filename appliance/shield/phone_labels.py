"""Whether a word or sign beside a number says that it is a telephone's, or that it is not.

Must not know how numbers are written. Source: shield.md ("Detection").
"""

import re

from appliance.shield import phone_words
from appliance.shield.context import words_before

_WORDS = dict.fromkeys(phone_words.OTHER, False) | dict.fromkeys(phone_words.PHONE | phone_words.REQUESTS, True)
_SIGN = re.compile(rf"(?:(?<![\w.])([TMFtmf]) ?:|([{phone_words.SIGNS}])[ :]{{0,3}}) ?\(?\Z")
_SIGN_LONGEST = 7
_FIELD_AFTER = re.compile(r"(?:x[0-9]{1,6})?[ \-(,]{0,3}([^\W\d_]+)\)?\.?[ ]*(?=\Z|[\r\n,;|/)\\<\"'])")


def label(text: str, start: int) -> tuple[str, bool]:
    """The word or sign before a number that says that it is a telephone's, empty if there is none; and whether the
    nearest one says that it is not."""
    for word in words_before(text, start):
        if word in _WORDS:
            return (word, False) if _WORDS[word] else ("", True)
    sign = _SIGN.search(text, max(0, start - _SIGN_LONGEST), start)
    return (sign[1] or sign[2], False) if sign else ("", False)


def field_after(text: str, stop: int) -> str:
    """The word for a telephone that ends the field of a number; empty if there is none."""
    after = _FIELD_AFTER.match(text, stop)
    word = after[1].lower() if after else ""
    return word if word in phone_words.AFTER else ""
