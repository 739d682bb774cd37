"""Whether a name is that of a disease, a test, a hospital or a street: clinical content and places, not people.

Must not know how names are found. Source: shield.md ("Detection": eponyms and clinical words are not names).
"""

import re

from appliance.shield.lexicon import PARTICLES, Lexicon, fold

REACH = 40
"""Characters on each side that are looked at."""

_WORD = re.compile(r"[^\W\d_]+")
_NEXT_WORD = re.compile(r"(?:['’]s)?(?:[ \t]{1,2}|-)([^\W\d_]+)")
_APART = re.compile(r"[.;:!?\n\r|,]")
"""What ends a phrase: a word beyond it says nothing about the name."""

_DOTTED = re.compile(r"(?:\b(?:av|bd|ave|st|ste|c|ctra|str|avda|mt|hosp|sd)|\bC/) ?\.? ?$", re.IGNORECASE)


def belongs_to(text: str, start: int, end: int, lexicon: Lexicon) -> str:
    """The word beside `text[start:end]` that makes it an eponym or the name of a place; empty if there is none."""
    after = _NEXT_WORD.match(text, end, end + REACH)
    if after and ((word := fold(after[1])) in lexicon.heads or word in lexicon.institutions):
        return word
    before = text[max(0, start - REACH) : start]
    if found := _DOTTED.search(before):
        return fold(found[0].strip(" ."))
    phrase = _APART.split(before)[-1]
    for word in map(fold, reversed(_WORD.findall(phrase))):
        if word in lexicon.heads or word in lexicon.institutions:
            return word
        if word not in PARTICLES:
            return ""
    return ""
