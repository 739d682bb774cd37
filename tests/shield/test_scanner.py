import asyncio
import threading
from collections.abc import Sequence

import pytest

from appliance.shield.cache import FindingsCache
from appliance.shield.detect import Detector
from appliance.shield.finding import Finding
from appliance.shield.scanner import LONG_TEXT, OVERLAP, WINDOW, Scanner

MAIL = "jane@example.org"


class CountingDetector(Detector):
    """Remembers what it was given to read, and in which thread."""

    def __init__(self) -> None:
        super().__init__("standard")
        self.read: list[str] = []
        self.threads: set[int] = set()

    def find(self, text: str) -> tuple[Finding, ...]:
        self.read.append(text)
        self.threads.add(threading.get_ident())
        return super().find(text)


@pytest.fixture
def detector() -> CountingDetector:
    return CountingDetector()


@pytest.fixture
def scanner(detector: CountingDetector) -> Scanner:
    return Scanner(detector, FindingsCache(b"key"))


def values(texts: Sequence[str], findings: Sequence[Sequence[Finding]]) -> list[list[str]]:
    return [[text[each.start : each.end] for each in found] for text, found in zip(texts, findings, strict=True)]


async def test_each_text_has_its_own_findings(scanner: Scanner):
    texts = [f"a {MAIL}", "nothing", "", f"{MAIL}, b@example.org"]
    assert values(texts, await scanner.scan(texts)) == [[MAIL], [], [], [MAIL, "b@example.org"]]


async def test_a_growing_conversation_costs_its_new_turn(scanner: Scanner, detector: CountingDetector):
    turns = [f"turn {n}: {n}@example.org" for n in range(20)]
    for n in range(20):
        found = await scanner.scan(turns[: n + 1])
        assert values(turns[: n + 1], found) == [[f"{i}@example.org"] for i in range(n + 1)]
    assert detector.read == turns


async def test_long_texts_leave_the_event_loop_free(scanner: Scanner, detector: CountingDetector):
    await scanner.scan(["a" * (LONG_TEXT // 2)] * 2)
    assert detector.threads == {threading.get_ident()}
    detector.threads.clear()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await scanner.scan([f"{MAIL} " * (LONG_TEXT // 8)])
    ticking.cancel()
    assert threading.get_ident() not in detector.threads
    assert ticks > 10


@pytest.mark.parametrize("shift", range(-len(MAIL) - 1, 3))
async def test_a_value_on_the_edge_of_a_window_is_found_whole_and_once(scanner: Scanner, shift: int):
    text = "x " * ((WINDOW + shift) // 2) + f" {MAIL} " + "y " * WINDOW + MAIL
    assert values([text], await scanner.scan([text])) == [[MAIL, MAIL]]


async def test_windows_give_what_the_whole_gives(scanner: Scanner, detector: CountingDetector):
    text = "".join(f"{n} write to {n}@example.org, call +33 6 12 34 56 {n % 100:02}; " for n in range(9800))
    assert len(text) > 2 * WINDOW
    (found,) = await scanner.scan([text])
    assert max(map(len, detector.read)) <= WINDOW + 2 * OVERLAP
    assert found == Detector("standard").find(text)


async def test_a_label_is_read_as_if_it_stood_before_the_text(scanner: Scanner):
    texts = ["4455667", "4455668", "", MAIL]
    found = await scanner.scan(texts, ["home tel", "", "tel", "e mail"])
    assert values(texts, found) == [["4455667"], [], [], [MAIL]]


async def test_what_stands_in_the_label_alone_is_not_found(scanner: Scanner):
    assert await scanner.scan(["x"], [MAIL]) == [()]
