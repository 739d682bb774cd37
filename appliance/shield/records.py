"""Numbers of records, stays, accounts and plans: by their label, by a prefix that says it, or in a patient's row.

Must not know other identifiers. Source: shield.md ("Detection"), HIPAA Safe Harbor (45 CFR 164.514(b)(2)(i)(H) to (J)).
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding
from appliance.shield.med_context import before, numbers, words_in
from appliance.shield.word_lists import sections

LABEL_REACH = 48
"""Characters: "numéro d'identifiant d'hospitalisation est" has 41."""

MAX_ROW = 500
"""Characters of a patient's row."""

_LABELS = sections("records.txt")
_ACRONYMS = _LABELS["acronyms"]
"""Labels that need nothing beside them."""

_RECORDS = _LABELS["records"]
"""What a number can be that of. They stand in any sentence, so that a word for a number is needed too."""

_PLANS = _LABELS["plans"]
"""What a coded number follows at once: "her insurance is HPN-987654"."""

_NUMBERS = _LABELS["numbers"]
_COMPOUNDS = _LABELS["compounds"]
"""The same in one word."""

_LINKS = _LABELS["links"]
_PHRASE = re.compile(r"[;,(|<>{}\n]|(?<![nN])\.\s|\.$")
_HEAD = re.compile(r"#?[A-Za-z0-9]{0,10}(?:[-/_][A-Za-z0-9]{1,10}){0,3}[-/_]?$")
_TAIL = re.compile(r"[A-Za-z0-9]{0,24}(?:[-/_.][A-Za-z0-9]{1,16}){0,5}")
_MORE_DIGITS = re.compile(r"(?: \d{1,8}){1,3}(?=[ ]{0,2}(?:\.?$|\.\s))", re.MULTILINE)
_DATE = re.compile(r"#?\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|(?:19|20)\d\d|\d{4}-\d\d-\d\d\w*")
_MEASURE = re.compile(
    r" ?(?:mg|g|kg|ml|l|mm|cm|%|€|\$|eur|euros?|ans|years?|patients|h|°)\b|[.,]\d|%|:\d", re.IGNORECASE
)
_PREFIX = re.compile(r"(?:MRN|IPP|NDA|NHC|NH|PAT|HOSP|PID|mrn|nhc|ipp)(?=[-/]?(?:[A-Za-z]{1,4}-)?\d{4})")
_SEX = re.compile(r"\|[ \t]{0,3}[HFMWhfmw][ \t]{0,3}\|")
_BIRTH = re.compile(r"(?<!\d)\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d\d)(?!\d)")
_CELL = re.compile(r"(?<![\d.,/:-])[A-Z]{0,3}\d{6,14}(?![\d/-]|[.,]\d)")


def find(text: str) -> Iterator[Finding]:
    """Linear in the text's length."""
    done = 0
    for number in numbers(text):
        if number.start() < done:
            continue
        start, end = _value(text, number.start(), done)
        done = end
        if found := _record(text, start, end):
            yield found
    if "|" in text:
        yield from _in_rows(text)


def _value(text: str, digit: int, done: int) -> tuple[int, int]:
    """The whole of the word that has its first digit at `digit`: `#JCL12345`, `2024-00157`."""
    head = _HEAD.search(before(text, digit, min(40, digit - done)))
    tail = _TAIL.match(text, digit)
    return digit - (len(head[0]) if head else 0), tail.end() if tail else digit + 1


def _record(text: str, start: int, end: int) -> Finding | None:
    value = text[start:end]
    if prefix := _PREFIX.match(value.lstrip("#")):
        return Finding(start, end, "MRN", "prefix", prefix[0].lower())
    if len(value) < 4 or _DATE.fullmatch(value) or value.endswith(("st", "nd", "rd", "th")):
        return None
    lead = before(text, start, LABEL_REACH)
    label = _label(lead, value)
    if not label or _MEASURE.match(text, end):
        return None
    if label in _ACRONYMS and lead.rstrip().endswith(":") and (more := _MORE_DIGITS.match(text, end)):
        end = more.end()
    return Finding(start, end, "MRN", "label", label)


def _label(lead: str, value: str) -> str:
    """The word before a value that says whose number it is; empty if none does."""
    phrase = _PHRASE.split(lead)[-1]
    words = words_in(phrase)[-6:]
    if not words:
        return ""
    marked = phrase.rstrip().endswith((":", "#", "=", '"', "°", "º")) or value.startswith("#")
    numbered = marked or not _NUMBERS.isdisjoint(words)
    while len(words) > 1 and (words[-1] in _LINKS or words[-1] in _NUMBERS):
        words.pop()
    last = words[-1]
    if last in _ACRONYMS or last in _COMPOUNDS or (last == "ip" and marked and value.isdigit() and len(value) > 7):
        return last
    digits = sum(map(str.isdigit, value))
    if last in _PLANS and digits > 2 and (numbered or not value.isdigit()):
        return last
    if (last in _RECORDS or last in _PLANS) and numbered and digits > 2:
        return last
    # A number so long is nothing else, and a phone number would begin with 0 or +.
    return last if last in _RECORDS and digits > 7 and value[0] != "0" and value.isdigit() else ""


def _in_rows(text: str) -> Iterator[Finding]:
    """`Name | F | 25/10/1980 | 9857598456 | 1029485403`: what stands beside sex and date of birth is the patient's."""
    start = 0
    for line in text.splitlines(keepends=True):
        if len(line) <= MAX_ROW and "|" in line and (sex := _SEX.search(line)) and _BIRTH.search(line, sex.end() - 1):
            for cell in _CELL.finditer(line, sex.end()):
                if cell[0][0] != "0":
                    yield Finding(start + cell.start(), start + cell.end(), "MRN", "patient row", "sex and birth date")
        start += len(line)
