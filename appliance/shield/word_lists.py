"""Reads the lists of words that the rules go by, which are package data. Must not know what a list is for."""

from collections.abc import Mapping
from importlib import resources


def sections(file: str) -> Mapping[str, frozenset[str]]:
    """The sections of `data/<file>`: a line `[name]`, then words between spaces; lines with `#` are comments."""
    text = (resources.files("appliance.shield") / "data" / file).read_text("utf-8")
    words: dict[str, set[str]] = {}
    section: set[str] = set()
    # One string for each word, since half of the given names are surnames too.
    pool: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("["):
            section = words.setdefault(line[1:-1], set())
        elif not line.startswith("#"):
            section.update(pool.setdefault(word, word) for word in line.split())
    return {name: frozenset(of) for name, of in words.items()}
