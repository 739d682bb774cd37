"""How many facts the embedded engine finds in 20 fixed messages, through `POST /v1/ai/complete`.

What is counted are values: one is found where a fact of the right category has it, but for spaces and case. A fact that
states none of them is counted as wrong, though its value stands in the message, since others are dropped.
"""

import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from scripts.benchmarks.results import percentile, report
from tests.e2e.installation import Engine, Installation

CATEGORIES = ("contact", "preferences", "order")

MESSAGES: Sequence[tuple[str, dict[str, tuple[str, ...]]]] = (
    ("My phone number is 06 12 34 56 78.", {"contact": ("06 12 34 56 78",)}),
    ("You can reach me at marie.lambert@example.org.", {"contact": ("marie.lambert@example.org",)}),
    ("I am Marie Lambert.", {"contact": ("Marie Lambert",)}),
    (
        "Hi, I am Marie Lambert, please call me on 06 12 34 56 78 after 5pm.",
        {"contact": ("Marie Lambert", "06 12 34 56 78"), "preferences": ("after 5pm",)},
    ),
    ("Please write to me in French.", {"preferences": ("French",)}),
    ("I ordered 12 chairs on Monday, order number A-4711.", {"order": ("A-4711",)}),
    ("Good morning! How are you?", {}),
    ("What are your opening hours?", {}),
    ("My new address is 12 rue de la Paix, Paris.", {"contact": ("12 rue de la Paix, Paris",)}),
    ("I prefer to be called in the morning.", {"preferences": ("in the morning",)}),
    ("Order B-0815 has not arrived yet.", {"order": ("B-0815",)}),
    ("Sorry, my number is not 06 11 11 11 11 but 06 22 22 22 22.", {"contact": ("06 22 22 22 22",)}),
    ("Thanks a lot, that was very helpful.", {}),
    ("My name is Jean Dupont and my email is jean@example.net.", {"contact": ("Jean Dupont", "jean@example.net")}),
    ("I only want vegetarian meals.", {"preferences": ("vegetarian",)}),
    ("Please send the invoice to billing@example.com.", {"contact": ("billing@example.com",)}),
    ("We need three more desks, see order C-2024.", {"order": ("C-2024",)}),
    ("Is it possible to pay by card?", {}),
    ("Call my assistant Anna at +44 20 7946 0958.", {"contact": ("Anna", "+44 20 7946 0958")}),
    ("I would like the blue one, not the red one.", {"preferences": ("blue",)}),
)


def plain(text: str) -> str:
    return "".join(text.split()).lower()


def ask(made: Installation, said: str) -> Any:
    body = {
        "systemPrompt": "Answer in one short sentence.",
        "messages": [{"role": "user", "content": said}],
        "extraction": {"source": "bench", "categories": CATEGORIES, "persist": False},
        "temperature": 0,
        "max_tokens": 40,
    }
    request = urllib.request.Request(f"{made.base}/v1/ai/complete", orjson.dumps(body), made.headers)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return orjson.loads(answer.read())


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    engine = Engine(folder / "engine")
    made = Installation(folder / "state", engine.url)
    made.start()
    wanted = found = wrong = silent = silent_right = 0
    took: list[float] = []
    try:
        for said, facts in MESSAGES:
            began = time.monotonic()
            extracted = ask(made, said)["extracted"]
            took.append((time.monotonic() - began) * 1000)
            got = [(fact["category"], plain(fact["value"])) for fact in extracted]
            right = {(category, plain(value)) for category, values in facts.items() for value in values}
            wanted += len(right)
            found += sum(any(category == one and value in other for one, other in got) for category, value in right)
            wrong += sum(not any(category == one and value in other for one, value in right) for category, other in got)
            silent += not facts
            silent_right += not facts and not extracted
            print(f"{said}  ->  {extracted}")
    finally:
        made.stop()
        engine.stop()
    figures: dict[str, float] = {
        "messages": len(MESSAGES),
        "facts that are in them": wanted,
        "of those found, with the right category": found,
        "facts that state something else": wrong,
        "messages without a fact": silent,
        "of those left alone": silent_right,
        "a call with its extraction, median": percentile(took, 0.5),
    }
    report("extraction", figures, unit=dict.fromkeys(list(figures)[:-1], ""))


if __name__ == "__main__":
    main()
