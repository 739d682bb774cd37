"""Postal codes where an address stands around them: a street, a city, a state, a label.

Must not know streets or cities by name beyond those of the lexicon. Source: shield.md ("Detection"), HIPAA Safe
Harbor (45 CFR 164.514(b)(2)(i)(B)); Royal Mail for the shape of British codes.
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding
from appliance.shield.lexicon import fold, lexicon
from appliance.shield.med_context import before, nearest, numbers
from appliance.shield.word_lists import sections

STREET_REACH = 80
"""Characters between a street and the code of its city."""

_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|PR|RI|"
    "SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|AA|AE|AP"
)
_AREAS = sections("records.txt")["british areas"]
_CODE = re.compile(
    r"(?P<five>\d{5}(?:-\d{4})?|\d\d[ ]\d{3})(?![\w/-]|[.,:]\d)|(?P<dutch>[1-9]\d{3} ?[A-Z]{2})(?![\w/-])|"
    r"(?P<dashed>\d{4}-\d{3}|\d\d-\d{3})(?![\w/-]|[.,]\d)|(?P<four>[1-9]\d{3})(?![\w/-]|[.,:]\d)"
)
_STATE = re.compile(rf"(?<![^\W_])({_STATES}),?[ ]{{1,2}}$")
_BRITISH = re.compile(r"(?<![\w-])([A-Z]{1,2})\d[A-Z\d]?[ ]\d[ABD-HJLNP-UW-Z]{2}(?![\w-])")
_LABEL = re.compile(
    r"(?<!\w)(?:c\.?p\.?|code postal|codes postaux|zip(?:[ -]?code)?|post(?:al)?[ -]?codes?|postleitzahl|plz|"
    r"c[óo]digo postal|cap|"
    r"codice postale|cep|kod pocztowy)(?!\w)[ ]{0,2}(?:is|est|ist|es|:|=)?[ ]{0,2}[\"']?[ ]{0,2}$",
    re.IGNORECASE,
)
_CITY = re.compile(r"(?:[ ]{1,3}|,[ ]|[ ]?\n)((?:[LD]['’])?[^\W\d_]{2,}(?:[-' ][^\W\d_]{2,}){0,2})")
_IN = re.compile(r"(?:(?<!\w)(?:dans le|à|in|en|a|near|près de),?|[\w.],?)[ ]$", re.IGNORECASE)
_COUNTRY = re.compile(r"(?<![^\W_])(?:F|D|B|L|CH|A|I|E|FR|DE|BE|LU|AT|IT|ES|NL|PT|PL)-$")
_GLUED = re.compile(r"[\w/.+-]$|\d $")
"""Before digits that are the end of something longer."""

_NO_UNIT = re.compile(
    r"[ ]?(?:mg|ml|g|kg|µg|ui|iu|mm|cm|%|€|\$|euros?|patients|ans|fois|cells|leuc|plaq)\b|%", re.IGNORECASE
)
_STREET = re.compile(
    r"(?<!\w)(?:rue|avenue|av|ave|bd|boulevard|all[ée]e|impasse|chemin|place|quai|cours|route|square|passage|"
    r"faubourg|villa|"
    r"r[ée]sidence|street|st|road|rd|lane|drive|court|way|calle|c/|avda|avenida|carrer|paseo|plaza|carretera|"
    r"via|viale|piazza|corso|"
    r"largo|rua|travessa|praça|estrada|ul|ulica|aleja|plac|bp|cedex|cs)(?!\w)|\w{2,}(?:stra(?:ß|ss)e|str\.|weg|"
    r"platz|allee|gasse|"
    r"straat|laan|plein|gracht|kade|weg)(?!\w)|(?<!\w)(?:C/|domicilio|adresse|address|anschrift|adres|"
    r"indirizzo|morada|domicile|habite)",
    re.IGNORECASE,
)


def find(text: str) -> Iterator[Finding]:
    """Linear in the text's length."""
    for match in _BRITISH.finditer(text):
        if match[1] in _AREAS:
            yield Finding(*match.span(), "ZIP", "British postcode")
    done = 0
    for number in numbers(text):
        if number.start() < done or number.end() - number.start() not in (2, 4, 5):
            continue
        match = _CODE.match(text, number.start())
        if match and (why := _why(text, match)):
            done = match.end()
            yield Finding(*match.span(), "ZIP", *why)


def _why(text: str, match: re.Match[str]) -> tuple[str, str] | None:
    """What makes the digits a postal code, and the word that says so; None if nothing does."""
    start, end = match.span()
    lead = before(text, start)
    if country := _COUNTRY.search(lead):
        start -= len(country[0])
    elif _GLUED.search(lead):
        return None
    if label := nearest(_LABEL, lead):
        return "label", label
    if match["five"] and (state := _STATE.search(lead)):
        return "after a state", state[1]
    return _in_an_address(text, match, end)


def _in_an_address(text: str, match: re.Match[str], end: int) -> tuple[str, str] | None:
    """The street before the code, or a city that the lexicon knows after it."""
    city = _CITY.match(text, end)
    named = city is not None and city[1][0].isupper()
    known = city is not None and named and _is_place(city[1])
    if not known and not match["five"] and not match["dashed"]:
        return None
    street = nearest(_STREET, before(text, match.start(), STREET_REACH))
    # Four digits are a year as often: both are asked for.
    if known and (street or not match["four"]):
        return ("before a city", street or fold(city[1])) if city else None
    if not street or _NO_UNIT.match(text, end):
        return None
    return ("after a street", street) if named or _IN.search(before(text, match.start())) else None


def _is_place(city: str) -> bool:
    places = lexicon().places
    return any(fold(name) in places for name in (city, city.replace(" ", "-"), city.partition(" ")[0]))
