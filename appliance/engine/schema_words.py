"""The words of one JSON schema: read, checked and merged, before any of them becomes grammar. Pure.

It must not know how a grammar is written. What a grammar cannot hold is `Inexpressible`, which names the word and its
place; what has no effect on which values are valid is left out. Source: JSON Schema, draft 2020-12, and the older
words that schemas in the wild still use.
"""

import math
from collections.abc import Mapping
from typing import cast
from urllib.parse import unquote

from appliance.engine import digits
from appliance.engine.json_values import Spend, same

Schema = Mapping[str, object]

MAX_COUNT = 1_000_000
"""Characters or items that a bound may count: more than the longest answer has."""
MAX_REFERENCE = 1000
"""Characters of a reference; it names a few members of the schema, one inside the other."""
MAX_INDEX_DIGITS = 9
"""Digits of a place in a list that a reference names: Python reads no number of thousands of them."""

MAX_HOPS = 32
"""References and parts that lead to one another; more of them go round in a circle."""

CONSTRAINTS = frozenset(
    {
        "$ref", "allOf", "anyOf", "oneOf", "type", "enum", "const", "properties", "required", "additionalProperties",
        "items", "prefixItems", "minItems", "maxItems", "minLength", "maxLength", "format",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    }
)  # fmt: skip
"""The words that a grammar can hold."""

INEXPRESSIBLE = frozenset(
    {
        "not", "if", "pattern", "multipleOf", "uniqueItems", "contains", "minProperties", "maxProperties",
        "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
        "additionalItems", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
    }
)  # fmt: skip
"""The other words that decide which values are valid. `unevaluatedProperties` is not among them: no grammar writes a
member that the schema does not list."""

_VOID: Mapping[str, object] = {"uniqueItems": False, "minProperties": 0, "additionalItems": True}
"""Values with which such a word says nothing."""

_OCTET = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9]{2} | [1-9] [0-9] | [0-9])'
_DAY_28 = '"0" [1-9] | "1" [0-9] | "2" [0-8]'
_LONG_MONTH = f'("0" [13578] | "10" | "12") "-" ({_DAY_28} | "29" | "3" [01])'
_SHORT_MONTH = f'("0" [469] | "11") "-" ({_DAY_28} | "29" | "30")'
_DATE = f'[0-9]{{4}} "-" ({_LONG_MONTH} | {_SHORT_MONTH} | "02" "-" ({_DAY_28}))'
_CLOCK = '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]'
_TIME = f'{_CLOCK} ":" [0-5] [0-9] ("." [0-9]{{1,9}})? ("Z" | [+-] {_CLOCK})'
_LABEL = '[a-z0-9]{1,20} ("-" [a-z0-9]{1,20}){0,2}'
_HOST = f'{_LABEL} ("." {_LABEL}){{0,2}}'
_ATOM = "[A-Za-z0-9_+-]{1,20}"
_FORMS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f'{_DATE} "T" {_TIME}',
    "uuid": '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}',
    "email": f'{_ATOM} ("." {_ATOM}){{0,2}} "@" {_HOST}',
    "hostname": _HOST,
    "ipv4": f'{_OCTET} ("." {_OCTET}){{3}}',
    "uri": f'("http" "s"? | "ftp" | "file") "://" {_HOST} ("/" [A-Za-z0-9._~-]{{0,40}}){{0,6}} '
    '("?" [A-Za-z0-9._~=&-]{1,60})?',
}
"""The formats of strings that a grammar can hold, without the quotation marks."""
_OTHER_FORMS = frozenset(
    {
        "duration", "ipv6", "idn-email", "idn-hostname", "uri-reference", "uri-template", "iri", "iri-reference",
        "json-pointer", "relative-json-pointer", "regex",
    }
)  # fmt: skip
"""The standard's other formats. A word that is in neither set is nobody's constraint."""


class Inexpressible(Exception):
    """A schema, or a part of one, that no grammar of ours can hold. The text names the place and the word."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place} {why}")


def checked(schema: object, place: str) -> Schema:
    """The words of `schema` that constrain. Raises Inexpressible for those that a grammar cannot hold."""
    if schema is False:
        raise Inexpressible(place, "allows no value")
    if not isinstance(schema, dict):
        raise Inexpressible(place, "is not a schema")
    words = cast("dict[str, object]", schema)
    for word in words:
        if word in INEXPRESSIBLE and not (word in _VOID and words[word] == _VOID[word]):
            raise Inexpressible(place, f'uses "{word}", which the engine cannot enforce')
    return {word: value for word, value in words.items() if word in CONSTRAINTS}


def resolve(document: object, reference: object, place: str) -> object:
    """What a `$ref` inside the document means: a JSON pointer (RFC 6901) after a `#`."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise Inexpressible(place, "refers to something outside of the schema")
    if len(reference) > MAX_REFERENCE:
        raise Inexpressible(place, f'has a "$ref" of more than {MAX_REFERENCE} characters')
    found = document
    for step in reference.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = cast("dict[str, object]", found)[key]
        elif isinstance(found, list) and _is_index(key) and int(key) < len(cast("list[object]", found)):
            found = cast("list[object]", found)[int(key)]
        else:
            raise Inexpressible(place, f'refers to "{reference}", which is not there')
    return found


def _is_index(key: str) -> bool:
    return key.isdecimal() and len(key) <= MAX_INDEX_DIGITS


def merged(words: Schema, document: object, place: str, spend: Spend, hops: int = MAX_HOPS) -> Schema:
    """One schema that asks for what `words` and all parts of their `allOf` ask for."""
    if not hops:
        raise Inexpressible(place, "refers to itself")
    parts: list[Schema] = [{word: value for word, value in words.items() if word != "allOf"}]
    for at, each in enumerate(schemas(words, "allOf", place)):
        parts.append(_part(each, document, f"{place}/allOf/{at}", spend, hops))
    whole: dict[str, object] = {}
    for part in parts:
        spend(1 + len(part))
        for word, value in part.items():
            whole[word] = _both(word, whole, part, place, spend) if word in whole else value
    listed = set(members(whole, place))
    for part in parts:
        if part.get("additionalProperties", True) is not True and set(members(part, place)) != listed:
            raise Inexpressible(place, 'limits "additionalProperties" in one part of an allOf')
    return whole


def _both(word: str, whole: Schema, part: Schema, place: str, spend: Spend) -> object:
    """What two parts of an `allOf` say together with a word that is in both."""
    if word == "properties":
        return _joined(members(whole, place), members(part, place), spend)
    if word == "required":
        together = dict.fromkeys([*names(whole, word, place), *names(part, word, place)])
        spend(len(together))
        return list(together)
    if not same(whole[word], part[word], spend):
        raise Inexpressible(place, f'sets "{word}" twice in an allOf')
    return part[word]


def _part(schema: object, document: object, place: str, spend: Spend, hops: int) -> Schema:
    """The words of a part of an `allOf`, with what its `$ref` and its own `allOf` add."""
    spend(1)
    if schema is True:
        return {}
    words = checked(schema, place)
    spend(len(words))
    if "$ref" in words:
        others = {word: value for word, value in words.items() if word != "$ref"}
        words = {"allOf": [resolve(document, words["$ref"], place), others]}
    return merged(words, document, place, spend, hops - 1) if "allOf" in words else words


def _joined(first: Mapping[str, object], second: Mapping[str, object], spend: Spend) -> dict[str, object]:
    spend(len(first) + len(second))
    both = {
        name: {"allOf": [first[name], schema]}
        for name, schema in second.items()
        if name in first and not same(first[name], schema, spend)
    }
    return {**first, **second, **both}


def members(words: Schema, place: str) -> dict[str, object]:
    value = words.get("properties", {})
    if not isinstance(value, dict):
        raise _wrong(place, "properties", "an object")
    return cast("dict[str, object]", value)


def array(words: Schema, word: str, place: str) -> list[object]:
    value = words.get(word, [])
    if not isinstance(value, list):
        raise _wrong(place, word, "an array")
    return cast("list[object]", value)


def schemas(words: Schema, word: str, place: str) -> list[object]:
    """The alternatives or parts at `word`, of which there must be one at least."""
    value = array(words, word, place)
    if not value:
        raise _wrong(place, word, "an array that is not empty")
    return value


def names(words: Schema, word: str, place: str) -> list[str]:
    value = array(words, word, place)
    if not all(isinstance(name, str) for name in value):
        raise _wrong(place, word, "an array of strings")
    return cast("list[str]", value)


def count(words: Schema, word: str, place: str) -> int | None:
    value = words.get(word)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise _wrong(place, word, "a whole number")
    if value > MAX_COUNT:
        raise Inexpressible(place, f'sets "{word}" to more than {MAX_COUNT}')
    return int(value)


def number(words: Schema, word: str, place: str) -> int | float | None:
    value = words.get(word)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(place, word, "a number")
    return value


def check_counts(least: int, most: int | None, place: str) -> None:
    if most is not None and least > most:
        raise Inexpressible(place, "allows no value")


def string_form(words: Schema, place: str) -> str:
    """The grammar of a string's `format`, or an empty string where there is none to hold."""
    form = words.get("format")
    if isinstance(form, str) and form in _OTHER_FORMS:
        raise Inexpressible(place, f'uses the format "{form}", which the engine cannot enforce')
    return _FORMS.get(form, "") if isinstance(form, str) else ""


def bounds(words: Schema, place: str, *, whole: bool) -> tuple[int | None, int | None]:
    """The bounds of a number, as whole numbers that are included; `None` where there is none.

    Those of decimals can only be held if they are whole and included already.
    """
    low = [_bound(words, "minimum", place, whole), _bound(words, "exclusiveMinimum", place, whole)]
    high = [_bound(words, "maximum", place, whole), _bound(words, "exclusiveMaximum", place, whole)]
    least = max((bound for bound in low if bound is not None), default=None)
    most = min((bound for bound in high if bound is not None), default=None)
    if least is not None and most is not None and least > most:
        raise Inexpressible(place, "allows no number")
    if (least or 0) > digits.LARGEST or (most or 0) < -digits.LARGEST:
        raise Inexpressible(place, "allows only numbers of more than 16 digits")
    return (
        None if least is not None and least < -digits.LARGEST else least,
        None if most is not None and most > digits.LARGEST else most,
    )


def _bound(words: Schema, word: str, place: str, whole: bool) -> int | None:
    value = number(words, word, place)
    if value is None:
        return None
    if not whole and (word.startswith("exclusive") or value != int(value)):
        raise Inexpressible(place, f'sets "{word}" of a decimal number to {value}, which the engine cannot enforce')
    match word:
        case "minimum":
            return math.ceil(value)
        case "maximum":
            return math.floor(value)
        case "exclusiveMinimum":
            return math.floor(value) + 1
        case _:
            return math.ceil(value) - 1


def _wrong(place: str, word: str, wanted: str) -> Inexpressible:
    return Inexpressible(place, f'has a "{word}" that is not {wanted}')
