"""What the leak matrices share: a value of each category, providers that say the tokens that they got, and one call.

Of each value in it a call asserts that the provider got a token where the value stood, that no byte of what it received
is the value in any encoding, and that the caller reads the value in the answer.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from aiohttp import web

from appliance.shield.categories import MEDICAL
from tests.box import Box
from tests.calls.outside import KINDS, TOKEN, Double, answer_text, received, spellings
from tests.upstreams import anthropic as anthropic_upstream
from tests.upstreams import openai as openai_upstream

VALUES: dict[str, tuple[str, str]] = {
    "EMAIL": ("jane.roe@example.org", "Write to {}."),
    "PHONE": ("+33 6 12 34 56 78", "Call {} now."),
    "CREDIT_CARD": ("4111 1111 1111 1111", "Card {} please."),
    "IBAN": ("FR76 3000 6000 0112 3456 7890 189", "IBAN {}, thanks."),
    "SSN": ("219-09-9998", "SSN {} here."),
    "IP_ADDRESS": ("203.0.113.77", "From {} today."),
    "MAC_ADDRESS": ("00:1A:2B:3C:4D:5E", "Adapter {} seen."),
    "NAME": ("Jean Dupuis", "Patient : {}, stable."),
    "DATE": ("12/03/1985", "Seen on {} again."),
    "AGE": ("97", "A {}-year-old patient."),
    "ZIP": ("75002", "12 rue de la Paix, {} Paris."),
    "URL": ("https://portal.example.org/p/77", "See {} first."),
    "MRN": ("MRN-5669767", "MRN: {} filed."),
    "NIR": ("1 85 05 78 006 084 91", "NIR {} noted."),
    "NHS_NUMBER": ("943 476 5919", "NHS number {} noted."),
    "VIN": ("1HGCM82633A004352", "VIN {} noted."),
}


def saying(categories: Iterable[str]) -> str:
    """A line with a value for each category."""
    return "\n".join(sentence.format(value) for value, sentence in map(VALUES.__getitem__, categories))


def matrix(positions: Iterable[str], kind: str, *switches: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Positions, and the categories to put there in one call: all of them in each, and each of them alone in one.

    Provider and switches decide in which, so that a category is alone in another position to each of them.
    """
    names = list(positions)
    turn = sum(2**number for number, switch in enumerate(switches) if switch) * len(KINDS) + KINDS.index(kind)
    for name in names:
        yield name, MEDICAL
    for number, category in enumerate(MEDICAL):
        yield names[(number + turn) % len(names)], (category,)


def nested(text: str) -> str:
    """A document in a string of a document."""
    return orjson.dumps({"rows": [{"note": orjson.dumps({"said": text}).decode()}]}).decode()


def tokens_of(body: bytes) -> str:
    return " ".join(dict.fromkeys(TOKEN.findall(body.decode())))


async def say_tokens_openai(request: web.Request) -> web.StreamResponse:
    said = tokens_of(await request.read())
    return await openai_upstream.answers(*(said[i : i + 3] for i in range(0, len(said), 3)))(request)


async def say_tokens_anthropic(request: web.Request, body: Any) -> web.StreamResponse:
    said = tokens_of(orjson.dumps(body))
    return await anthropic_upstream.answers(*(said[i : i + 3] for i in range(0, len(said), 3)))(request, body)


def listen(double: Double) -> None:
    """From now on the double says the tokens that it gets, three characters at a time."""
    if isinstance(double, openai_upstream.OpenAIDouble):
        double.default = say_tokens_openai
        double.received.clear()
    else:
        double.default = say_tokens_anthropic
        double.received.clear()
        double.headers.clear()


def written(value: str) -> set[bytes]:
    """What may not arrive. Two digits stand in lengths and ports as well: with the word behind them they do not."""
    return spellings(value) if len(value) > 2 else {f"{value}-year".encode()}


async def masked_and_restored(
    gateway: Box, double: Double, path: str, body: dict[str, Any], categories: Iterable[str], where: str
) -> None:
    """One call with the values of these categories in one position, to one provider."""
    listen(double)
    answer = await gateway.http.post(path, content=orjson.dumps(body))
    assert answer.status_code == 200, (where, answer.text)
    got = received(double)
    said = answer_text(answer)
    for category in categories:
        value = VALUES[category][0]
        assert re.search(rf"\[{category}_".encode(), got), (where, f"no token of {category} arrived")
        for form in written(value):
            assert form not in got, (where, form)
        assert value in said, (where, said)
