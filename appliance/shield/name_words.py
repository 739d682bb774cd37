"""Reads the capitalised words of a text as the runs that a name may be in, and says what each word could be.

Must not know which runs are names. Source: shield.md ("Detection").
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from appliance.shield.lexicon import PARTICLES, Lexicon, fold
from appliance.shield.word_lists import sections

CAPITAL = "[" + "".join(chr(c) for c in range(0x41, 0x530) if unicodedata.category(chr(c)) in ("Lu", "Lt")) + "]"
_PARTICLE = (
    r"(?:(?:de|du|des|da|das|do|dos|di|del|della|dei|degli|van|von|vom|der|den|het|ter|ten|te|zu|zum|zur|la|las|le|"
    r"los|el|al|bin|ben|ibn|af|av|y)[ ]{1,2}|[dl]['’])"
)
_TOKEN = (
    rf"(?:{CAPITAL}\.-)?{CAPITAL}[^\W\d_]*+(?:(?:-|['’](?={CAPITAL}))[^\W\d_]++){{0,4}}+"
    # The dot of an initial or of a title, and the sign of "M.ª", María.
    r"(?:\.ª?)?"
)
_WITH_PARTICLES = rf"(?:{_PARTICLE}){{0,3}}{_TOKEN}"

_GAP = r"(?:[ \t]{0,3}|\+|%20)"
"""Between two words; the last two are those of a query in an address."""

MAX_WORDS = 12
"""In a run. A longer one is read in pieces: no name is so long, and an all-capital text is one run a line."""

RUN = re.compile(rf"(?<![\w'’&@.-])(?<!['’]\w){_TOKEN}(?:{_GAP}{_WITH_PARTICLES}){{0,{MAX_WORDS - 1}}}")
_IN_RUN = re.compile(rf"((?:{_PARTICLE}){{0,3}})({_TOKEN})")

_MIXED = re.compile(rf"(?!Mac|Mc|De|Di|La|Le|Du|Van|Fitz|O)[^\W\d_-]*(?!{CAPITAL})[^\W\d_]{CAPITAL}[^\W\d_-]*")
"""`IgA`, `PaCO`: a capital after a small letter makes an abbreviation, unless it begins like McDonald or DeLuca."""

_CUES = sections("cues.txt")
TITLES = _CUES["titles"]
"""Folded, without dots."""

RARE_TITLES = _CUES["rare titles"]
"""Titles that are something else as often: the word after has to look like a name."""


CIVIL_TITLES = frozenset({"m", "mr", "mrs", "ms", "mme", "mlle", "herr", "frau", "sr", "sra", "sig", "signora"})
"""Those of anybody. After one, a word with a particle is a name; after a doctor's, often where they work."""

_LONG_INITIALS = _CUES["long initials"]
"""Of Charles, Philippe, Thomas, with a dot."""


class Kind(Enum):
    """What a capitalised word can be, the likeliest first."""

    TITLE = "title"
    INITIAL = "initial"
    GIVEN = "given name"
    WORD_GIVEN = "given name or word"
    SURNAME = "surname"
    WORD_SURNAME = "surname or word"
    UNKNOWN = "unknown"
    PARTICLE = "particle"
    PLACE = "place"
    WORD = "word"
    STOP = "clinical or small word"


class Word(NamedTuple):
    """`start` to `end` are its letters, with the dot of an initial; `begin` is where its particles begin."""

    begin: int
    start: int
    end: int
    text: str
    folded: str
    kind: Kind
    dotted: bool

    @property
    def particled(self) -> bool:
        """Whether particles in small letters stand before it: "de la Tour"."""
        return self.begin < self.start

    @property
    def capitals(self) -> bool:
        return len(self.text) > 1 and self.text.isupper()


def runs(text: str) -> Iterator[re.Match[str]]:
    """Stretches of capitalised words, with the particles between them."""
    return RUN.finditer(text)


def words_of(text: str, start: int, end: int, lexicon: Lexicon) -> list[Word]:
    """The words of one run."""
    return [_word(match, lexicon) for match in _IN_RUN.finditer(text, start, end)]


def _word(match: re.Match[str], lexicon: Lexicon) -> Word:
    written = match[2]
    dotted = written.endswith(".")
    text = written.removesuffix(".")
    folded = sys.intern(fold(text))
    kind = _kind(text, folded, dotted, lexicon)
    end = match.end() if dotted and kind is Kind.INITIAL else match.end() - dotted
    return Word(match.start(), match.start(2), end, text, folded, kind, dotted)


def _kind(text: str, folded: str, dotted: bool, lexicon: Lexicon) -> Kind:
    if text in ("Mª", "M.ª"):
        return Kind.GIVEN
    if (
        len(text) == 1
        or _double_initial(text)
        or (dotted and (text in _LONG_INITIALS or (len(text) == 2 and text.isupper())))
    ):
        return Kind.INITIAL
    if folded in TITLES or (folded == "me" and not dotted):
        return Kind.TITLE
    if folded in PARTICLES:
        return Kind.PARTICLE
    if folded in lexicon.clinical or _MIXED.fullmatch(text):
        return Kind.STOP
    if len(text) == 2 and text.isupper():
        return Kind.UNKNOWN
    return _kind_of_name(folded, lexicon)


def _kind_of_name(folded: str, lexicon: Lexicon) -> Kind:
    if folded in lexicon.institutions and folded not in lexicon.frequent:
        return Kind.WORD
    if lexicon.is_given(folded):
        return Kind.GIVEN
    if folded in lexicon.institutions:
        return Kind.WORD
    if lexicon.is_surname(folded):
        return Kind.SURNAME
    if folded in lexicon.given and (folded in lexicon.words_first or folded in lexicon.frequent):
        return Kind.WORD_GIVEN
    if folded in lexicon.surnames:
        return Kind.WORD_SURNAME
    if lexicon.is_word(folded):
        return Kind.WORD
    return Kind.PLACE if folded in lexicon.places else Kind.UNKNOWN


def _double_initial(text: str) -> bool:
    """`P-A` and `J.-P`."""
    pieces = text.replace(".", "").split("-")
    return len(pieces) == 2 and len(pieces[0]) == 1 == len(pieces[1])


def is_title(words: list[Word], at: int) -> bool:
    """Whether the word at `at` is a title of the words after it, given what it may be instead."""
    word = words[at]
    if word.folded == "m":
        # "M." and "M" are initials too, after a title or another name.
        free = at == 0 or words[at - 1].kind in (Kind.STOP, Kind.WORD)
        follows = at + 1 < len(words) and ((word.dotted and words[at + 1].particled) or _like_a_name(words, at + 1))
        return free and follows
    if word.kind is not Kind.TITLE:
        return False
    return word.folded not in RARE_TITLES or at + 1 >= len(words) or _like_a_name(words, at + 1)


def _like_a_name(words: list[Word], at: int) -> bool:
    return words[at].kind not in (Kind.STOP, Kind.WORD, Kind.PLACE) or words[at].capitals
