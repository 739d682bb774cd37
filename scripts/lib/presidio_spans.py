"""Presidio's half of the shield's benchmark, run in an environment of its own that has Presidio and nothing of ours.

Reads one JSON object {"timed": {name: text}, "scored": [text, …]} from standard input; writes {"seconds": {name: s},
"spans": [[[start, end, category], …], …]}. Pattern recognisers only, each by itself: no language model.
"""

import json
import sys
import time

import tldextract
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer,
    EmailRecognizer,
    IbanRecognizer,
    IpRecognizer,
    MacAddressRecognizer,
    PhoneRecognizer,
    UsSsnRecognizer,
)

REPEATS = 3

# It would ask the network for the list of domain suffixes; this is the one that it brings along.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())

RECOGNIZERS = {
    "EMAIL": EmailRecognizer(),
    "PHONE": PhoneRecognizer(),
    "CREDIT_CARD": CreditCardRecognizer(),
    "IBAN": IbanRecognizer(),
    "SSN": UsSsnRecognizer(),
    "IP_ADDRESS": IpRecognizer(),
    "MAC_ADDRESS": MacAddressRecognizer(),
}


def spans(text: str) -> list[list[object]]:
    return [
        [found.start, found.end, category]
        for category, recognizer in RECOGNIZERS.items()
        for found in recognizer.analyze(text, recognizer.supported_entities, None)
    ]


def seconds(text: str) -> float:
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        spans(text)
        took.append(time.perf_counter() - began)
    return min(took)


def main() -> None:
    asked = json.load(sys.stdin)
    spans("warm up: jane@example.org, +33 6 12 34 56 78")
    timed = {name: seconds(text) for name, text in asked["timed"].items()}
    json.dump({"seconds": timed, "spans": [spans(text) for text in asked["scored"]]}, sys.stdout)


if __name__ == "__main__":
    main()
