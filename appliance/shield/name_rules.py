"""What makes a run of capitalised words a name: a title before it, or words that the lexicon knows.

Must not know labels, or other texts. Source: shield.md ("Detection").
"""

from collections.abc import Iterator
from typing import NamedTuple

from appliance.shield.lexicon import Lexicon
from appliance.shield.name_words import CIVIL_TITLES, Kind, Word, is_title
from appliance.shield.word_lists import sections

MAX_NAME = 6
"""Words in one name."""

MAX_AFTER_GIVEN = 3
"""Surnames after the given names: two, in Spain and Portugal, and one more beside a particle."""

_GIVEN = (Kind.GIVEN, Kind.WORD_GIVEN)
_SURNAMES = (Kind.SURNAME, Kind.WORD_SURNAME, Kind.WORD_GIVEN)
_IN_A_NAME = (Kind.GIVEN, Kind.WORD_GIVEN, Kind.SURNAME, Kind.WORD_SURNAME, Kind.UNKNOWN, Kind.INITIAL, Kind.PARTICLE)


BARE_INITIAL = "given name and initial"
"""The rule for `John D` without a dot, which is an author in a list of literature: what follows decides."""

ANNOUNCING = sections("cues.txt")["announcing"] | sections("cues.txt")["kin"]
"""Words before a name that is addressed or spoken of."""


class Named(NamedTuple):
    """Words `first` to before `last` of a run are a name."""

    first: int
    last: int
    rule: str
    context: str = ""


def names_in(words: list[Word], lexicon: Lexicon) -> Iterator[Named]:
    """The names in one run, apart from each other."""
    at = 0
    while at < len(words):
        if is_title(words, at):
            found = _titled(words, at, lexicon)
        elif words[at].folded in ANNOUNCING:
            found = _announced(words, at, lexicon)
        else:
            found = _bare(words, at, lexicon)
        if found is None:
            at += 1
        else:
            yield found._replace(first=_with_particles(words, found.first))
            at = found.last


def _with_particles(words: list[Word], first: int) -> int:
    """`DE LUCA Roberta`: a particle in capitals before a surname in capitals is the beginning of it."""
    while first and words[first - 1].kind is Kind.PARTICLE and words[first - 1].capitals and words[first].capitals:
        first -= 1
    return first


def _titled(words: list[Word], at: int, lexicon: Lexicon) -> Named | None:
    first = at + 1
    while first < len(words) and is_title(words, first):
        first += 1
    last = titled_end(words, first, lexicon)
    return Named(first, last, "title", words[first - 1].text) if last > first else None


def _announced(words: list[Word], at: int, lexicon: Lexicon) -> Named | None:
    """`Patient J. PETIT`, `Hi Abraham`: what follows has to be a name without doubt."""
    first = at + 1
    if first == len(words) or not _joined(words, first):
        return None
    kind = words[first].kind
    surely = kind in (Kind.GIVEN, Kind.SURNAME) or (
        kind is Kind.INITIAL
        and words[first].dotted
        and first + 1 < len(words)
        and words[first + 1].kind is not Kind.STOP
    )
    last = titled_end(words, first, lexicon) if surely else first
    return Named(first, last, "announced by a word", words[at].text) if last > first else None


def titled_end(words: list[Word], first: int, lexicon: Lexicon, *, sure: bool = False) -> int:
    """Where the name ends that begins at `first`, as after a title; `first` itself if there is none.

    `sure` is a name whatever it looks like, as in the field of a form.
    """
    last, complete = first, False
    while last < min(len(words), first + MAX_NAME):
        word = words[last]
        if last > first and not _joined(words, last):
            break
        if not (
            _goes_on(words, first, last, lexicon, sure=sure) if complete else _begins(words, last, lexicon, sure=sure)
        ):
            break
        complete = complete or word.kind not in (Kind.INITIAL, Kind.PARTICLE)
        last += 1
    while last > first and words[last - 1].kind is Kind.PARTICLE:
        last -= 1
    return last


def _begins(words: list[Word], at: int, lexicon: Lexicon, *, sure: bool) -> bool:
    """A title is followed by almost any word: people are called Petit, White and Klein."""
    word = words[at]
    after_particles = at > 0 and words[at - 1].kind is Kind.PARTICLE and words[at - 1].particled
    if word.kind is Kind.WORD and not sure and not after_particles:
        if word.particled and at and words[at - 1].folded in CIVIL_TITLES:
            # "Mme de la Tour": words that are no surname by themselves.
            return True
        return word.folded in lexicon.surnames or word.folded in lexicon.given or word.folded in lexicon.eponyms
    if word.kind is Kind.STOP:
        return at + 1 < len(words) and words[at + 1].kind in (Kind.SURNAME, Kind.GIVEN) and not word.capitals
    return True


def _goes_on(words: list[Word], first: int, at: int, lexicon: Lexicon, *, sure: bool) -> bool:
    word, before = words[at], words[at - 1]
    if word.kind in _IN_A_NAME:
        return True
    if word.kind is Kind.PLACE:
        return sure or before.kind in _GIVEN
    if word.kind is Kind.STOP:
        # "Pablo March López"
        return (
            before.kind is Kind.GIVEN
            and at + 1 < len(words)
            and words[at + 1].kind is Kind.SURNAME
            and not word.capitals
        )
    particle = before.kind is Kind.PARTICLE or (word.particled and before.kind in (*_GIVEN, Kind.SURNAME))
    # "Dr José Miguel Carreira": nearly every surname is a word of some language.
    may_be_surname = word.folded not in lexicon.institutions and at - first <= MAX_AFTER_GIVEN
    return particle or sure or (may_be_surname and before.kind in (*_GIVEN, Kind.INITIAL))


def _caps_differ(before: Word, word: Word) -> bool:
    """`Alexis GROS`: a surname in capitals after a given name in small letters."""
    return word.capitals and not before.capitals


def _bare(words: list[Word], at: int, lexicon: Lexicon) -> Named | None:
    """A name that begins at `at` and that the lexicon vouches for."""
    kind = words[at].kind
    if kind in _GIVEN:
        return _given_first(words, at, lexicon)
    if kind is Kind.INITIAL:
        return _initial_first(words, at)
    if kind is Kind.SURNAME or (
        words[at].capitals and kind in (Kind.UNKNOWN, Kind.PARTICLE, Kind.WORD_SURNAME, Kind.WORD)
    ):
        return _surname_first(words, at)
    return None


def _given_first(words: list[Word], at: int, lexicon: Lexicon) -> Named | None:
    last = at + 1
    while last < len(words) and words[last].kind in (Kind.GIVEN, Kind.INITIAL) and _joined(words, last):
        last += 1
    givens = last
    while (
        last < len(words)
        and last - givens < MAX_AFTER_GIVEN
        and _joined(words, last)
        and _may_be_surname(words, last, at)
    ):
        last += 1
    while last > at and words[last - 1].kind is Kind.PARTICLE:
        last -= 1
    final = words[last - 1]
    if last - at == 2 and final.kind is Kind.INITIAL and not final.dotted and last == len(words):
        return Named(at, last, BARE_INITIAL) if words[at].kind is Kind.GIVEN else None
    return Named(at, last, "given name and surname") if _vouched(words, at, last, lexicon) else None


def _joined(words: list[Word], at: int) -> bool:
    """Whether the word belongs to the same phrase as the one before: no full stop is between them."""
    before = words[at - 1]
    return (not before.dotted or before.kind is Kind.INITIAL) and not is_title(words, at)


def _may_be_surname(words: list[Word], at: int, first: int) -> bool:
    word, before = words[at], words[at - 1]
    if word.start - word.begin == 2 and word.kind is not Kind.SURNAME:
        # After "y" or "d'", as in "Ramón y Cajal".
        return False
    if word.kind is Kind.UNKNOWN:
        # "Burnett AK" is an author, and "RENIN ALDOSTERONE RATIO" a line in capitals.
        alone = len(words) == 2 or not before.capitals
        return not word.capitals or (alone and len(word.text) > 3)
    if word.kind in (Kind.SURNAME, Kind.PARTICLE, Kind.GIVEN):
        return True
    if word.kind in (Kind.WORD_SURNAME, Kind.WORD_GIVEN):
        return at - first == 1 or before.kind in (*_GIVEN, Kind.INITIAL, Kind.SURNAME)
    return word.kind is Kind.WORD and before.kind is Kind.GIVEN and _caps_differ(before, word)


def _vouched(words: list[Word], first: int, last: int, lexicon: Lexicon) -> bool:
    name = words[first:last]
    if len(name) < 2:
        return False
    if name[0].kind is Kind.WORD_GIVEN:
        return _weak_vouched(name, lexicon)
    final = name[-1]
    return final.kind is not Kind.INITIAL or final.dotted or len(name) > 2


def _weak_vouched(name: list[Word], lexicon: Lexicon) -> bool:
    """`Mark Brown`, not `Page Setup`: a word that is a given name needs a surname that is surely one."""
    second = name[1]
    if second.kind in (Kind.SURNAME, Kind.GIVEN):
        return True
    if second.kind is Kind.INITIAL:
        return second.dotted
    return second.kind in (Kind.WORD_SURNAME, Kind.WORD_GIVEN) and second.folded in lexicon.frequent


def _initial_first(words: list[Word], at: int) -> Named | None:
    """`G. Pinson`, `P.E. JILLIOT`; and any surname where several are listed like this."""
    last = at
    while last < len(words) and words[last].kind is Kind.INITIAL and words[last].dotted:
        last += 1
    if last == at or last - at > 3 or last == len(words):
        return None
    surname = words[last]
    sure = surname.kind in (Kind.SURNAME, Kind.GIVEN) or (
        surname.kind is Kind.UNKNOWN and (surname.capitals or _listed(words, last + 1))
    )
    if not sure:
        return None
    last += 1
    while last < len(words) and words[last].kind is Kind.SURNAME and _joined(words, last) and last - at < MAX_NAME:
        last += 1
    return Named(at, last, "initial and surname")


def _listed(words: list[Word], at: int) -> bool:
    """Whether another name with an initial follows at once, or stood before."""
    follows = at + 1 < len(words) and words[at].kind is Kind.INITIAL and words[at].dotted
    return follows or any(word.kind is Kind.INITIAL and word.dotted for word in words[: max(0, at - 2)])


def _surname_first(words: list[Word], at: int) -> Named | None:
    """`LEROY Jean-Claude`, `Smith Paul`."""
    last = at + 1
    while (
        last < len(words)
        and last - at < MAX_AFTER_GIVEN
        and words[last].capitals
        and words[last].kind is not Kind.GIVEN
    ):
        if words[last].kind not in (Kind.SURNAME, Kind.UNKNOWN, Kind.WORD_SURNAME) or not _joined(words, last):
            return None
        last += 1
    if last >= len(words) or words[last].kind not in _GIVEN or not _joined(words, last):
        return None
    surname, given = words[last - 1], words[last]
    if given.kind is Kind.WORD_GIVEN and (given.capitals or not surname.capitals):
        return None
    if surname.kind is not Kind.SURNAME and given.capitals:
        return None
    # "Smith Paul Jones" is read from its given name on.
    if not surname.capitals and last + 1 < len(words) and words[last + 1].kind in (*_SURNAMES, Kind.UNKNOWN):
        return None
    last += 1
    while last < len(words) and words[last].kind is Kind.GIVEN and _joined(words, last) and not words[last].capitals:
        last += 1
    return Named(at, last, "surname and given name")
