"""Names that the words around them announce: the label of a form, "named", a member of the family, a patient's row.

Must not know other texts. Source: shield.md ("Detection": label).
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from appliance.shield.finding import Finding
from appliance.shield.lexicon import PARTICLES, Lexicon, fold
from appliance.shield.name_rules import titled_end
from appliance.shield.name_words import CAPITAL, RARE_TITLES, RUN, TITLES, Kind, Word, is_title, words_of
from appliance.shield.word_lists import sections

REACH = 40
"""Characters before a colon that can be its label."""

_CUES = sections("cues.txt")
_NAMES = _CUES["name labels"]
"""Labels of nothing but names."""

_OF_ANYTHING = _CUES["labels of anything"]
"""Labels of names of anything: a program, a file, a drug."""

_PEOPLE = _CUES["people"]
"""Labels of people, and of other things besides: what follows has to look like a name."""

_KIN = _CUES["kin"]
_NAMED = _CUES["named"]
_CALLED = _CUES["called"]
"""Before a name of anything: what follows has to look like that of a person."""

_BY = _CUES["by"]
"""Before a surname that the lexicon lacks and a given name: "généré par Bobin Jacques"."""

_ROLES = _CUES["roles"]

_NAME_LABEL = _NAMES | _OF_ANYTHING | _PEOPLE | PARTICLES | _CUES["beside name labels"]
"""The words that a label of a person's name is made of; "trade name" is not."""

_COLON = re.compile(r"[:=]")
_LABEL = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_AFTER_LABEL = re.compile(r"[\"'*_]{0,3}[ \t]{0,4}(?:\n[ \t]{0,4})?[\"'*_]{0,3}")
_BEFORE_COLON = re.compile(r"[\"'*_ \t]{0,4}$")
_NOT_A_LABEL = re.compile(r"[\n.;:=|{}<>,]")
_LIST = re.compile(r"[ \t]{0,2}(?:,|;|\bet\b|\by\b|\band\b|\bund\b)[ \t]{0,2}\n?")
_NAME_IS = re.compile(r"\b(?:name is|name['’]s|nom est|nombre es|nome e|nome è|naam is|name ist)$", re.IGNORECASE)
_VERBS = _CUES["verbs"]
_PAIR = re.compile(
    r"(?<!\w)(?:Drs|DRS|Docteurs|Prs|Profs|MM|Mmes|Mlles|Messieurs|Mesdames)\b\.?[ ]"
    rf"{CAPITAL}[^\n.;:]{{1,30}}[ ](?:et|and|und|y|en|e)[ ]$"
)
"""A title of several people and the first of them: "Drs Dupont et …"."""

_AND = frozenset({"et", "and", "und", "y", "en", "e"})
_SMALL_TITLES = TITLES - RARE_TITLES
_BEFORE_ONE = _KIN | _ROLES | _CALLED | _NAMED | _SMALL_TITLES | _VERBS | _AND
_SEX_CELL = re.compile(r"[ \t]{0,3}\|[ \t]{0,3}[HFMW][ \t]{0,3}\|")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)(\.?),?[ ]{1,2}$")
_DEGREE = re.compile(r"(?:med|dent|vet|hab)\. $")
"""After a German title, as in "Dr. med. Meier"."""

_SMALL = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]+)?(?:[ ][^\W\d_]{2,}){0,3}")
_INITIAL = re.compile(rf"{CAPITAL}\.(?:-?{CAPITAL}\.)?[ ]{{0,2}}{CAPITAL}[^\W\d_]+")

_SMALL_CUE = re.compile(
    r"(?<![^\W_])(?:(my name is |named |je m['’]appelle |me llamo |mi chiamo |ich heiße |ik heet )|(?:dr|mrs?|"
    r"ms|mme|mlle|prof)\.? |"
    r"(?:docteur|doctor|madame|monsieur|herr|frau|señora?|sra?|dra)\.? )(?=[^\W\d_])",
    re.IGNORECASE,
)
"""Before a name that may be written in small letters."""

_NEXT_IN_LIST = re.compile(rf",\s{{1,2}}{CAPITAL}\.")
_IN_LIST_BEFORE = re.compile(rf"{CAPITAL}[^\W\d_]+,\s{{1,2}}$")

MAX_LISTED = 40
"""Names after one label."""


class Cues:
    """Finds the names after a label, and those beside a word that announces them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def find(self, text: str) -> Iterator[Finding]:
        for colon in _COLON.finditer(text):
            yield from self._labelled(text, colon.start())
        for cue in _SMALL_CUE.finditer(text):
            if value := self._small(text, cue.end(), titled=cue[1] is None):
                yield Finding(*value, "NAME", "announced by a word", cue[0].strip(" .").lower())

    def may_announce(self, text: str, start: int) -> bool:
        """A quick look whether anything beside one word may say that it is a name."""
        lead = _DEGREE.sub("", text[max(0, start - REACH) : start])
        return lead.endswith(" ") and fold(lead.rstrip(" ,.").rpartition(" ")[2]) in _BEFORE_ONE

    def announced(self, text: str, words: list[Word]) -> Iterator[Finding]:
        """The name that a run begins with, where what is around it says so."""
        lead = _DEGREE.sub("", text[max(0, words[0].start - REACH) : words[0].start])
        before = _WORD_BEFORE.search(lead)
        cue = fold(before[1]) if before else ""
        ends_a_sentence = before is not None and before[2] and cue not in _SMALL_TITLES
        last = 0 if ends_a_sentence or is_title(words, 0) else self._announced_end(words, cue, lead)
        if last:
            yield Finding(words[0].start, words[last - 1].end, "NAME", "announced by a word", cue)
        elif _SEX_CELL.match(text, words[-1].end):
            first = next((at for at, word in enumerate(words) if word.kind is not Kind.STOP), len(words))
            if len(words) - first > 1:
                yield Finding(words[first].start, words[-1].end, "NAME", "patient row", "sex")

    def _announced_end(self, words: list[Word], cue: str, lead: str) -> int:
        """How many words are the name that `cue`, the word before them, announces."""
        if cue in _SMALL_TITLES or (cue in _AND and _PAIR.search(lead)):
            return titled_end(words, 0, self._lexicon)
        if cue in _NAMED or (cue in _VERBS and _NAME_IS.search(lead.rstrip())):
            return self._end(words, sure=cue in _NAMED)
        if cue in _KIN or cue in _ROLES or cue in _CALLED:
            return self._end(words, sure=False)
        return len(words) if cue in _BY and [word.kind for word in words] == [Kind.UNKNOWN, Kind.GIVEN] else 0

    def _labelled(self, text: str, colon: int) -> Iterator[Finding]:
        label, strength = self._label(text, colon)
        at = after.end() if (after := _AFTER_LABEL.match(text, colon + 1)) else colon + 1
        listed = bool(_INITIAL.match(text, at)) and strength is None
        if strength is None and not listed:
            return
        for _ in range(MAX_LISTED):
            found = self._value(text, at, sure=strength == "name", listed=listed)
            if found is None:
                return
            yield Finding(*found, "NAME", "label", label)
            following = _LIST.match(text, found[1])
            if not following:
                return
            at = following.end()

    def _label(self, text: str, colon: int) -> tuple[str, str | None]:
        """The label before a colon, and what it announces."""
        line = _NOT_A_LABEL.split(_BEFORE_COLON.sub("", text[max(0, colon - REACH) : colon]))[-1]
        words = [fold(word) for word in _LABEL.findall(line)]
        if not words:
            return "", None
        last = words[-1]
        # What stands further before is the value of another label, as in "Nom : DUPONT Prénom : Jean".
        own = list(takewhile(_NAME_LABEL.__contains__, reversed(words)))
        if not _NAMES.isdisjoint(own) or not (_OF_ANYTHING.isdisjoint(own) or _PEOPLE.isdisjoint(own)):
            return last, "name"
        if last in _OF_ANYTHING:
            return last, "name" if len(words) > 1 and _NAME_LABEL.issuperset(words) else "person"
        return last, "person" if last in _PEOPLE or words[0] in _PEOPLE else None

    def _value(self, text: str, at: int, *, sure: bool, listed: bool) -> tuple[int, int] | None:
        run = RUN.match(text, at)
        if run is None:
            return self._small(text, at)
        words = words_of(text, run.start(), run.end(), self._lexicon)
        first = 0
        while first < len(words) and is_title(words, first):
            first += 1
        last = self._end(words[first:], sure=sure, listed=listed) + first
        return (words[first].start, words[last - 1].end) if last > first else None

    def _end(self, words: list[Word], *, sure: bool, listed: bool = False) -> int:
        """How many words are the name; not `sure`, it has to look like one."""
        if not words or (words[0].kind in (Kind.STOP, Kind.WORD, Kind.PLACE) and not sure):
            return 0
        last = titled_end(words, 0, self._lexicon, sure=sure)
        kinds = [word.kind for word in words[:last]]
        if Kind.INITIAL in kinds:
            return last if len(kinds) > 1 and (listed or sure or kinds[0] is Kind.INITIAL) else 0
        if sure or listed:
            return last
        known = Kind.GIVEN in kinds or kinds[:1] == [Kind.SURNAME]
        return last if known or (len(kinds) > 1 and Kind.SURNAME in kinds) else 0

    def _small(self, text: str, at: int, *, titled: bool = False) -> tuple[int, int] | None:
        """`theodore roux` in small letters: only names that the lexicon knows; one is enough after a title."""
        match = _SMALL.match(text, at)
        if match is None:
            return None
        end, known = at, 0
        for word in _LABEL.finditer(text, at, match.end()):
            folded = fold(word[0])
            if folded in self._lexicon.clinical:
                break
            surname = (known and folded in self._lexicon.surnames) or (titled and self._lexicon.is_surname(folded))
            if not (surname or self._lexicon.is_given(folded)):
                break
            end, known = word.end(), known + 1
        return (at, end) if known > 1 or (known and titled) else None


def is_listed(text: str, start: int, end: int) -> bool:
    """Whether a name with an initial is one of several between commas: authors, where no label says otherwise."""
    return bool(_NEXT_IN_LIST.match(text, end) or _IN_LIST_BEFORE.search(text[max(0, start - REACH) : start]))
