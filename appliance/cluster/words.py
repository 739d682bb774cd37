"""An id as eight words that people can read to each other, from the English list of BIP-39.

Eight words of 11 bits carry 88 bits of the id: too many to find a key whose words are another's. Two of them are not:
whoever asks for the last two alone shows the others to be compared.
"""

import re

from mnemonic import Mnemonic

from appliance.cluster.identity import id_bytes
from appliance.errors import ConfigError

COUNT = 8
_BITS = 11
_LIST: tuple[str, ...] = tuple(Mnemonic("english").wordlist)
_UNIQUE_LETTERS = 4
"""No two words of the list begin with the same four letters (BIP-39, "Wordlist")."""

_BY_START = {word[:_UNIQUE_LETTERS]: word for word in _LIST}


def words(node_id: str) -> tuple[str, ...]:
    """The first 88 bits of the id. Raises ValueError: it is not an id."""
    number = int.from_bytes(id_bytes(node_id)[: COUNT * _BITS // 8], "big")
    return tuple(_LIST[(number >> _BITS * place) % len(_LIST)] for place in reversed(range(COUNT)))


def parse(typed: str) -> tuple[str, ...]:
    """The eight words that somebody typed, in any case, with spaces or hyphens, each as short as four letters.

    Raises:
        ConfigError: not eight, or one is not in the list.
    """
    found = _read(typed)
    if len(found) != COUNT:
        raise ConfigError(
            f"These are {len(found)} words; a machine or a gateway has {COUNT}.",
            advice="Copy them all, in their order.",
        )
    for place, word in enumerate(found, 1):
        if word is None:
            raise ConfigError(f"Word {place} is not in the list.", advice="Look for a typing mistake in it.")
    return tuple(word for word in found if word)


def matches(node_id: str, typed: str) -> bool:
    """Whether somebody typed the eight words of this id, read as `parse` reads them."""
    return _read(typed) == list(words(node_id))


def last_two_match(node_id: str, typed: str) -> bool:
    """Whether somebody typed the last two of its words: what an administrator reads off the machine."""
    return _read(typed) == list(words(node_id)[-2:])


def _read(typed: str) -> list[str | None]:
    """One entry for each typed word, None where it is not in the list."""
    return [_full(part) for part in re.split(r"[\s-]+", typed.casefold()) if part]


def _full(typed: str) -> str | None:
    # A word of three letters is its own start, so that it never stands for a longer one.
    word = _BY_START.get(typed[:_UNIQUE_LETTERS])
    return word if word is not None and word.startswith(typed) else None
