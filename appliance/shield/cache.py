"""What was found in texts that were seen before, by a keyed hash of each: no text is kept.

A conversation that grows is sent whole with every turn, and only its new turn has to be read. Bounded; the ones not
used for longest go first. Safe for several threads. Source: shield.md ("Cost").
"""

import hashlib
import threading
from collections import OrderedDict

from appliance.shield.finding import Finding

MAX_TEXTS = 50_000
MAX_FINDINGS = 100_000
"""Together some 30 MB."""


class FindingsCache:
    """`key` is random and of this process, so that the hashes in memory are of no use to anybody."""

    def __init__(self, key: bytes, *, max_texts: int = MAX_TEXTS, max_findings: int = MAX_FINDINGS) -> None:
        self._key = key
        self._max_texts = max_texts
        self._max_findings = max_findings
        self._kept: OrderedDict[bytes, tuple[Finding, ...]] = OrderedDict()
        self._findings = 0
        self._lock = threading.Lock()

    def hash(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(errors="surrogatepass"), key=self._key, digest_size=16).digest()

    def get(self, text_hash: bytes) -> tuple[Finding, ...] | None:
        with self._lock:
            found = self._kept.get(text_hash)
            if found is not None:
                self._kept.move_to_end(text_hash)
            return found

    def put(self, text_hash: bytes, findings: tuple[Finding, ...]) -> None:
        with self._lock:
            self._findings += len(findings) - len(self._kept.pop(text_hash, ()))
            self._kept[text_hash] = findings
            while len(self._kept) > self._max_texts or self._findings > self._max_findings:
                self._findings -= len(self._kept.popitem(last=False)[1])
