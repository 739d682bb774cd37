"""Ages of 90 and over: the number alone, so that "years old" stays readable. Younger ages are not masked.

Source: shield.md ("Detection"), HIPAA Safe Harbor (45 CFR 164.514(b)(2)(i)(C): all ages over 89).
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding
from appliance.shield.med_context import before, nearest

_AGE = r"(?:9\d|1[0-2]\d)"
_NUMBER = re.compile(rf"(?<![\w.,/-])(?<!\d )({_AGE})(?![\d/]|[.,]\d)")
_AFTER = re.compile(
    r"[ -]{0,2}(?:ans\b|y/?o\b|y\.o\b|yrs?[ -]old\b|year[s']?[ -]olds?\b|years? of age\b|jährige?[nrs]?\b|"
    r"jahre?n? alt\b|jahre\b|j\.|años\b|"
    r"anni\b|anos\b|jaar\b|jarige?\b|jarig\b|lata?\b(?!/)|letni\w{0,3}\b|letnia\b|yo[mf]\b|y[mf]\b)",
    re.IGNORECASE,
)
"""Years of a person; "100 years" alone is any time."""

_BEFORE = re.compile(
    r"(?<!\w)(?:aged?|âgée? de|agée? de|âge|age|alter|edad|età|eta|idade|leeftijd|wiek|im alter von|turned|"
    r"turns|a aged of)"
    r"[ ]{0,2}[:=]?[ ]{0,2}[\"']?[ ]{0,2}$",
    re.IGNORECASE,
)
_A_DURATION = re.compile(
    r"(?<!\w)(?:depuis|il y a|pendant|since|for|ago|seit|vor|desde|hace|da|per|sinds|há)[ ]$", re.IGNORECASE
)


def find(text: str) -> Iterator[Finding]:
    """The numbers from 90 to 129 that are somebody's age; linear in the text's length."""
    for number in _NUMBER.finditer(text):
        lead = before(text, number.start(), 24)
        if word := nearest(_BEFORE, lead):
            if not _is_measure(text, number.end()):
                yield Finding(*number.span(1), "AGE", "90 years or more", word)
        elif (word_after := _AFTER.match(text, number.end())) and not _A_DURATION.search(lead):
            yield Finding(*number.span(1), "AGE", "90 years or more", word_after[0].strip(" -").lower())


_MEASURE = re.compile(
    r"[ ]?(?:days?|jours?|mois|months?|weeks?|semaines?|%|mg|cm|kg|tage?|monate?|d[ií]as?|mes(?:es)?)\b", re.IGNORECASE
)


def _is_measure(text: str, end: int) -> bool:
    return bool(_MEASURE.match(text, end))
