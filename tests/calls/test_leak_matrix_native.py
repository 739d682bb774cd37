"""Every category in every position of a body of `POST /v1/ai/complete` to every provider: nothing leaks and all is
restored.

Generated; `leaks` says what is put where, and what each call asserts. Beside it what goes to no provider at all, and
numbers.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from appliance.shield.categories import MEDICAL
from tests.calls.leaks import VALUES, listen, masked_and_restored, matrix, nested, saying, written
from tests.calls.outside import KINDS, TOKEN, last_body, outside, received

COMPLETE = "/v1/ai/complete"
HI: Any = {"role": "user", "content": "Hi"}

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more cells than the endpoint takes requests in a minute."""
    monkeypatch.setattr("appliance.metering.rate_limits._WINDOW_MS", 0)


def block(**fields: Any) -> dict[str, Any]:
    return {"supplementary": [{"category": "customer", "data": "x"}, {"category": "customer", "data": "x", **fields}]}


def turn(role: str, said: str) -> dict[str, Any]:
    return {"messages": [HI, {"role": role, "content": said}, HI]}


POSITIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "system prompt": lambda said: {"systemPrompt": said},
    "user": lambda said: turn("user", said),
    "assistant": lambda said: turn("assistant", said),
    "system turn": lambda said: turn("system", said),
    "label": lambda said: block(label=said),
    "category": lambda said: block(category=said),
    "data": lambda said: block(data=said),
    "value in data": lambda said: block(data={"rows": [{"said": said}]}),
    "name in data": lambda said: block(data={said: 1}),
    "list as data": lambda said: block(data=["x", said]),
    "JSON in data": lambda said: block(data={"said": nested(said)}),
    "JSON as data": lambda said: block(data=nested(said)),
}


def body(fields: dict[str, Any]) -> dict[str, Any]:
    return {"systemPrompt": "Be brief.", "messages": [HI], **fields}


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_leaks_and_all_is_restored(tmp_path: Path, kind: str):
    # In the mode `local` a call with personal data stays in the building.
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for position, categories in matrix(POSITIONS, kind):
            asked = body(POSITIONS[position](saying(categories)))
            where = f"{categories} in {position} to {kind}"
            await masked_and_restored(gateway, double, COMPLETE, asked, categories, where)


UNSENT: dict[str, Callable[[str], dict[str, Any]]] = {
    "source": lambda said: {"extraction": {"source": said, "categories": ["contact"]}},
    "model": lambda said: {"model": said},
    "user": lambda said: {"user": said},
    "unknown field": lambda said: {"notes": [{"said": said}]},
    "unknown field of a block": lambda said: block(said=said),
    "unknown field of a message": lambda said: {"messages": [{**HI, "name": said}]},
}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_is_no_part_of_the_prompt_goes_to_nobody(tmp_path: Path, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for position, categories in matrix(UNSENT, kind):
            listen(double)
            asked = body(UNSENT[position](saying(categories)))
            answer = await gateway.http.post(COMPLETE, content=orjson.dumps(asked))
            where = f"{categories} in {position} to {kind}"
            assert answer.status_code == 200, (where, answer.text)
            got = received(double)
            assert not TOKEN.search(got.decode()), where
            for form in set[bytes]().union(*(written(VALUES[category][0]) for category in categories)):
                assert form not in got, (where, form)


EXTRACTED: dict[str, Callable[[str], dict[str, Any]]] = {
    "message": lambda said: {"messages": [{"role": "user", "content": said}]},
    "category": lambda said: {"extraction": {"source": "s", "categories": ["contact", said]}},
}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("position", EXTRACTED)
async def test_an_extraction_asks_with_what_it_holds_masked(tmp_path: Path, position: str, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for category in MEDICAL:
            value, sentence = VALUES[category]
            listen(double)
            extraction = {"extraction": {"source": "s", "categories": ["contact"]}}
            asked = body({**extraction, **EXTRACTED[position](sentence.format(value))})
            answer = await gateway.http.post(COMPLETE, content=orjson.dumps(asked))
            where = f"{category} in {position} to {kind}"
            assert answer.status_code == 200, (where, answer.text)
            extracting = orjson.dumps(last_body(double))
            assert b"You pull facts out of a message" in extracting, where
            assert f"[{category}_".encode() in extracting, where
            for form in written(value):
                assert form not in received(double), (where, form)


NUMBERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "value in data": lambda said: block(data={"phone": said}),
    "deep in data": lambda said: block(data={"phone": [{"value": said}]}),
    "JSON in data": lambda said: block(data=orjson.dumps({"phone": said}).decode()),
    "unknown field": lambda said: {"phone": said},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("position", NUMBERS)
async def test_a_number_is_read_wherever_it_stands_and_however_it_is_written(tmp_path: Path, position: str, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for number in (33612345678, -33612345678, 33612345678.0):
            answer = await gateway.http.post(COMPLETE, content=orjson.dumps(body(NUMBERS[position](number))))
            assert answer.status_code == 200, answer.text
        assert b"33612345678" not in received(double)
        assert (b"[PHONE_" in received(double)) == (position != "unknown field")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_card_as_data_is_a_number_too(tmp_path: Path, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        listen(double)
        answer = await gateway.http.post(COMPLETE, content=orjson.dumps(body(block(data=4111111111111111))))
        assert answer.status_code == 200, answer.text
        assert b"4111111111111111" not in received(double)
        assert "4111111111111111" in answer.json()["content"]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_value_is_its_name_in_the_data_says(tmp_path: Path, kind: str):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for data in ({"patient": {"lastName": "Dupuis"}}, [{"patientLastName": "Dupuis"}]):
            listen(double)
            answer = await gateway.http.post(COMPLETE, content=orjson.dumps(body(block(data=data))))
            assert answer.status_code == 200, answer.text
            assert b"Dupuis" not in received(double)
            assert "Dupuis" in answer.json()["content"]
