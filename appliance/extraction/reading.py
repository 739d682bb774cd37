"""What of a model's answer is believed: each fact is judged by itself, and stays only if the message says it.

Small models invent, and any model can be talked into it by the message. So a value has to stand in the message, and a
category among those that were asked for. Source: completions.md, "Automatic extraction".
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import orjson

from appliance.extraction.facts import MAX_FACTS, MAX_KEY, MAX_VALUE, Fact

MAX_PLACES = 1_000
"""Where a value is looked for in a message: whoever writes `a` a million times has not said `aa`."""


def facts_in(answer: str, message: str, categories: Sequence[str]) -> tuple[Fact, ...]:
    """The facts in the text of an answer that `message` bears out, at most MAX_FACTS; never raises.

    Of two with the same category and key the last counts, as it does between two messages: whoever corrects themselves
    says what is right last.
    """
    said = _Said(message)
    found: dict[tuple[str, str], Fact] = {}
    for given in _listed(answer):
        fact = _judged(given, said, categories)
        if fact is not None:
            found[fact.category, fact.key] = fact
    return tuple(found.values())[:MAX_FACTS]


def _listed(answer: str) -> list[dict[str, object]]:
    """The objects in `facts`; none where the answer has another shape. Of one that was cut off at its ceiling, those
    that are whole."""
    value = _loaded(answer)
    if value is None:  # some set words or a fence around it
        value = _loaded(answer[answer.find("{") : answer.rfind("}") + 1])
    if value is None:
        value = _loaded(answer[answer.find("{") : answer.rfind("}") + 1] + "]}")
    facts = cast("dict[str, object]", value).get("facts") if isinstance(value, dict) else None
    if not isinstance(facts, list):
        return []
    return [cast("dict[str, object]", one) for one in cast("list[object]", facts) if isinstance(one, dict)]


def _loaded(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _judged(given: dict[str, object], said: "_Said", categories: Sequence[str]) -> Fact | None:
    category, key = _category(given.get("category"), categories), _key(given.get("key"))
    value, confidence = _value(given.get("value"), said), _confidence(given.get("confidence"))
    if category is None or key is None or value is None or confidence is None:
        return None
    return Fact(category, key, value, confidence)


def _value(given: object, said: "_Said") -> str | None:
    value = given.strip() if isinstance(given, str) else ""
    if len(value) > MAX_VALUE:
        return None
    if said.holds(value):
        return value
    ended = value.rstrip(".,;:!?")  # the end of a sentence that the model has put there
    return ended if said.holds(ended) else None


def _confidence(given: object) -> float | None:
    """A number of JSON, which is never NaN or infinite; some models write it as a string."""
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        given = float(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return min(1.0, max(0.0, float(given)))


def _category(given: object, categories: Sequence[str]) -> str | None:
    """The spelling of the one who asked."""
    if not isinstance(given, str):
        return None
    if given in categories:
        return given
    wanted = given.strip().casefold()
    return next((one for one in categories if one.strip().casefold() == wanted), None)


def _key(given: object) -> str | None:
    """One spelling for all that a model may give, so that a fact is found again: `Call window`, `call-window`."""
    if not isinstance(given, str):
        return None
    key = re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", given)).lower().strip("_")
    return key if 1 <= len(key) <= MAX_KEY and _NAME.fullmatch(key) else None


_NAME = re.compile(r"\w+(?:\.\w+)*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class _Said:
    """A message, to be asked whether it holds a value but for spaces, case, accents and the digits of other scripts.

    A number may be written in groups or not: `0612345678` is in `06 12 34 56 78` and in `06.12.34.56.78`. A part of a
    word or of a number is not in it: nobody said `art` by `party`, `12` by `2012`, or `5` by `3,5`.
    """

    def __init__(self, message: str) -> None:
        self._message = message
        self._folding = _Folding()
        self._forms: tuple[str, str, str] | None = None

    def holds(self, value: str) -> bool:
        if self._forms is None:  # only once there is something to look for: a message can be long
            self._forms = _forms(self._message, self._folding)
        spaced, close, digits = _forms(value, self._folding)
        if _LONG_NUMBER.fullmatch(digits):
            return _stands_in(digits, self._forms[2])
        if close[:1].isdigit() or close[-1:].isdigit():
            # As it stands between spaces it may be a part of a number that is written in groups.
            return _stands_in(close, self._forms[1])
        return _stands_in(spaced, self._forms[0]) or _stands_in(close, self._forms[1])


class _Folding(dict[int, str]):
    """For `str.translate`, filled as characters are met: no accents, nothing invisible, ASCII digits and quotes."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            folded = str(digit)
        elif unicodedata.combining(char) or unicodedata.category(char) == "Cf":
            folded = ""
        else:
            folded = _ALIKE.get(char, char)
        self[code] = folded
        return folded


_ALIKE = {**dict.fromkeys("’‘ʼ`", "'"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
"""What keyboards and models set for one another."""

_SPACE_AT_A_DIGIT = re.compile(r"(?<=[0-9]) | (?=[0-9])")
_BETWEEN_DIGITS = re.compile(r"\(?(?<=[0-9(])[ .\-/()]{1,3}(?=[0-9])")
_LONG_NUMBER = re.compile(r"\+?[0-9]{6,}")
"""One that people write in groups, however they part them."""


def _forms(text: str, folding: _Folding) -> tuple[str, str, str]:
    """The text as it is compared: with single spaces, without those beside digits, and with nothing between digits that
    only parts them."""
    # Decomposed again behind the folding of case, which composes some letters.
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    spaced = " ".join(folded.translate(folding).split())
    digits = _BETWEEN_DIGITS.sub("", spaced.replace("(", " ").replace(")", " "))
    return spaced, _SPACE_AT_A_DIGIT.sub("", spaced), _SPACE_AT_A_DIGIT.sub("", digits)


def _stands_in(wanted: str, text: str) -> bool:
    return bool(wanted) and any(
        not _joined(text[at - 1 : at], wanted[0])
        and not _joined(wanted[-1], text[at + len(wanted) : at + len(wanted) + 1])
        and not _in_number(text, at, at + len(wanted))
        for at in islice(_places(wanted, text), MAX_PLACES)
    )


def _places(wanted: str, text: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _in_number(text: str, start: int, end: int) -> bool:
    """Whether a number goes on beyond what stands there: behind a sign of fractions and groups, or before it; or begins
    with a minus."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if text[start].isdigit() and (before[-1:] == "-" or (before[-1:] in _PARTS and before[:1].isdigit())):
        return True
    return text[end - 1].isdigit() and after[:1] in _PARTS and after[1:].isdigit()


_PARTS = frozenset(".,:/-")


def _joined(left: str, right: str) -> bool:
    """Whether a word or a number goes on from one character to the next; either may be missing.

    Scripts without capitals are let be: most of them set words, or their endings, side by side without a space.
    """
    return (left.islower() and right.islower()) or (left.isdigit() and right.isdigit())
