"""Which words are names of people, and which only look like them: what is known without any text.

The names come from `data/names.txt` (scripts/gen-lexicon), the clinical words from `data/clinical.txt`, kept by hand.
Must not know how a text is read. Source: shield.md ("Detection").
"""

import unicodedata
from dataclasses import dataclass
from functools import cache

from appliance.shield.word_lists import sections

_LETTERS = str.maketrans(
    {
        "ß": "ss",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
        "ð": "d",
        "þ": "th",
        "’": "'",
        "º": "o",
        "ª": "a",
    }
)


def _without_accents() -> dict[int, str]:
    """What the letters of Latin scripts are without their accents, so that folding is one pass over a word."""
    plain: dict[int, str] = dict(_LETTERS)
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        letter = chr(code).lower()
        base = unicodedata.normalize("NFD", letter)[0]
        if len(letter) == 1 and base != letter and base.isascii():
            plain.setdefault(ord(letter), base)
    return plain | dict.fromkeys(range(0x300, 0x370), "")


_FOLDED = _without_accents()


def fold(word: str) -> str:
    """The word in lower case without accents, as the lexicon has it."""
    word = word.lower()
    return word if word.isascii() else word.translate(_FOLDED)


PARTICLES = sections("cues.txt")["particles"]
"""The small words inside names. None is a name by itself."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Sets of folded words. `given` and `surnames` overlap; a name that is also a word is in `words` as well."""

    given: frozenset[str]
    surnames: frozenset[str]
    frequent: frozenset[str]
    """Surnames so frequent that they are names even where they are words."""
    words: frozenset[str]
    """Ordinary and clinical words."""
    words_first: frozenset[str]
    """Words that people are called, but that are words more often."""
    clinical: frozenset[str]
    """Clinical and small words, and the labels of forms: no name goes on with one of them."""
    institutions: frozenset[str]
    places: frozenset[str]
    eponyms: frozenset[str]
    heads: frozenset[str]
    """Words beside which a name is an eponym: disease, syndrome, score."""

    def is_given(self, word: str) -> bool:
        """A given name that is no word as well."""
        return (word in self.given and word not in self.words) or ("-" in word and self._is_double(word))

    def is_surname(self, word: str) -> bool:
        return (word in self.surnames and word not in self.words) or ("-" in word and self._any_surname(word))

    def _is_double(self, word: str) -> bool:
        """`jean-marc`, `marie-claire`."""
        return all(piece in self.given for piece in word.split("-"))

    def _any_surname(self, word: str) -> bool:
        """`lefevre-duval`; a double surname with one known half is one."""
        pieces = word.split("-")
        return any(piece in self.surnames and piece not in self.words for piece in pieces) and not any(
            piece in self.clinical for piece in pieces
        )

    def is_word(self, word: str) -> bool:
        """Anything that is no name: a word, the name of a place or of a body, an eponym."""
        return word in self.words or word in self.institutions or word in self.eponyms


@cache
def lexicon() -> Lexicon:
    """The lexicon, read once. About 0.1 s and 12 MB."""
    names, ours = sections("names.txt"), sections("clinical.txt")
    words_first, first_names = frozenset(ours["words first"]), ours["first names"]
    no_words = (first_names | ours["surnames first"]) - words_first
    clinical = frozenset(ours["clinical"])
    # The larger lists have a few small words and labels among the names.
    never = clinical | PARTICLES
    return Lexicon(
        given=frozenset(names["given"] | first_names | words_first) - never,
        surnames=frozenset(names["surnames"] | ours["surnames first"]) - never,
        frequent=frozenset(names["frequent surnames"]) - never,
        words=frozenset((names["words"] | clinical | words_first) - no_words),
        words_first=words_first,
        clinical=clinical,
        institutions=frozenset(ours["institutions"]),
        places=frozenset(names["places"]),
        eponyms=frozenset(ours["eponyms"]),
        heads=frozenset(ours["heads"]),
    )
