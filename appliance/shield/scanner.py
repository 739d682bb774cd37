"""Scans all texts of a call: what was seen before comes from a cache, and long texts leave the event loop free.

One scanner serves one mode and one set of lists; for others make another, whose cache is empty.
Source: shield.md ("Cost").
"""

import asyncio
from collections.abc import Iterator, Sequence

from appliance.shield.cache import FindingsCache
from appliance.shield.detect import Detector
from appliance.shield.finding import Finding

LONG_TEXT = 64 * 1024
"""Characters of a call's texts together from which they are read in a thread: some 10 ms."""

WINDOW = 256 * 1024
"""Characters read in one go: a thread that searches holds the others up, by some milliseconds for as much as this."""

OVERLAP = 2048
"""Characters before and after a window that are read with it: longer than any value with what is said beside it."""


class Scanner:
    def __init__(self, detector: Detector, cache: FindingsCache) -> None:
        self._detector = detector
        self._cache = cache

    async def scan(self, texts: Sequence[str], labels: Sequence[str] = ()) -> list[tuple[Finding, ...]]:
        """What is personal in each of the texts of one call, in order and apart.

        `labels`, one for each text or none at all, say what a text is where that stands outside of it, such as the
        name of a member that has it as its value; "" where nothing does.
        """
        if sum(map(len, texts)) <= LONG_TEXT:
            return self._scan(texts, labels)
        return await asyncio.to_thread(self._scan, texts, labels)

    def _scan(self, texts: Sequence[str], labels: Sequence[str]) -> list[tuple[Finding, ...]]:
        known = zip(texts, labels or [""] * len(texts), strict=True)
        return self._detector.spread(texts, [self._labelled(text, label) for text, label in known])

    def _labelled(self, text: str, label: str) -> tuple[Finding, ...]:
        """As if the label stood before the text."""
        if not label or not text:
            return self._found(text)
        before = f"{label}: "
        moved = len(before)
        return tuple(
            each._replace(start=max(0, each.start - moved), end=each.end - moved)
            for each in self._found(before + text)
            if each.end > moved
        )

    def _found(self, text: str) -> tuple[Finding, ...]:
        text_hash = self._cache.hash(text)
        found = self._cache.get(text_hash)
        if found is None:
            found = tuple(_in_windows(self._detector, text))
            self._cache.put(text_hash, found)
        return found


def _in_windows(detector: Detector, text: str) -> Iterator[Finding]:
    if len(text) <= WINDOW:
        yield from detector.find(text)
        return
    end = 0  # of the last finding, which can reach into the next window
    for begin in range(0, len(text), WINDOW):
        offset = max(0, begin - OVERLAP)
        for each in detector.find(text[offset : begin + WINDOW + OVERLAP]):
            finding = each._replace(start=each.start + offset, end=each.end + offset)
            if begin <= finding.start < begin + WINDOW and finding.start >= end:
                end = finding.end
                yield finding
