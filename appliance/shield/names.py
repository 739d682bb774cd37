"""Names of people: after a title or a label, or known to the lexicon; and those of an administrator's own list.

Must not know tokens. Source: shield.md ("Detection"), synapse.md ("PII shield").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from appliance.shield.eponyms import belongs_to
from appliance.shield.finding import Finding
from appliance.shield.known_names import Known, parts_of
from appliance.shield.lexicon import fold, lexicon
from appliance.shield.name_cues import Cues, is_listed
from appliance.shield.name_rules import BARE_INITIAL, Named, names_in
from appliance.shield.name_words import Word, runs, words_of

_GOES_ON = re.compile(r"[ ][^\W\d_]{2}|[.?!)]|['’]s")
"""After `John D` in a sentence."""

MIN_RUN = 3
"""Characters of the shortest name."""


class Names:
    """`added` are an administrator's names, found whole in any case and with or without accents; `ignored` are words
    that are never a name, alone or as a part of one."""

    def __init__(self, added: Sequence[str] = (), ignored: Sequence[str] = ()) -> None:
        shipped = lexicon()
        never = frozenset(fold(word) for name in ignored for word in name.replace("-", " ").split())
        # As the small words and labels of forms, which no name begins or goes on with.
        self._lexicon = replace(shipped, clinical=shipped.clinical | never) if never else shipped
        self._added = Known.whole(added, "added by an administrator") if added else None
        self._cues = Cues(self._lexicon)

    def find(self, text: str) -> Iterable[Finding]:
        """The names of one text by itself; linear in its length."""
        found = [*self._in_runs(text), *self._cues.find(text)]
        if self._added is not None:
            found += self._added.find(text)
        return found

    def known(self, names: Iterable[str]) -> Callable[[str], Iterable[Finding]]:
        """Finds each part of these names wherever it stands, as a given name alone or a surname further on."""
        parts = {part for name in names for part in parts_of(name, self._lexicon)}
        finder = Known.parts(parts, self._lexicon)

        def find(text: str) -> Iterator[Finding]:
            for each in finder.find(text):
                if not belongs_to(text, each.start, each.end, self._lexicon):
                    yield each

        return find

    def _in_runs(self, text: str) -> Iterator[Finding]:
        for run in runs(text):
            start, end = run.span()
            if end - start < MIN_RUN or (run[0].isalpha() and not self._cues.may_announce(text, start)):
                # One word is a name only where something says so.
                continue
            words = words_of(text, start, end, self._lexicon)
            yield from self._cues.announced(text, words)
            for named in names_in(words, self._lexicon):
                if found := self._checked(text, words, named):
                    yield found

    def _checked(self, text: str, words: list[Word], named: Named) -> Finding | None:
        """The name, unless it is that of a disease, a place, or of an author in a list of literature."""
        first, last, rule, context = named
        end = words[last - 1].end
        if rule == "title":
            return Finding(words[first].begin, end, "NAME", rule, context)
        start = words[first].start
        listed = (rule == "initial and surname" and is_listed(text, start, end)) or (
            rule == BARE_INITIAL and not _GOES_ON.match(text, end)
        )
        if listed or self._is_eponym(words[first:last]) or belongs_to(text, start, end, self._lexicon):
            return None
        return Finding(start, end, "NAME", rule, context)

    def _is_eponym(self, words: list[Word]) -> bool:
        """`Mallory Weiss`, as `Mallory-Weiss`."""
        return "-".join(word.folded for word in words) in self._lexicon.eponyms
