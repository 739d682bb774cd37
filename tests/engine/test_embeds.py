"""Embeddings over a runner that plays its part. Source: recordings 48 to 55, and Ollama 0.32."""

import json
import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.engine.embeds import BATCH, Embeds, cut, nine_digits, shortened
from appliance.engine.refusal import Refused
from tests.engine.played import CONTEXT, Desk, make_desk, opened


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = await make_desk(tmp_path)
    async with opened(desk, Embeds(desk.shelf, desk.clock).handle):
        yield desk


@pytest.fixture
async def older(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = await make_desk(tmp_path)
    async with opened(desk, Embeds(desk.shelf, desk.clock).handle_older):
        yield desk


async def body(desk: Desk, **fields: object) -> dict[str, object]:
    status, text = await desk.send(**{"model": "vectors"} | fields)
    assert status == 200, text
    return json.loads(text)


async def test_a_text(desk: Desk):
    answer = await body(desk, input="one two")
    assert list(answer) == ["model", "embeddings", "total_duration", "load_duration", "prompt_eval_count"]
    assert (answer["model"], answer["embeddings"], answer["prompt_eval_count"]) == ("vectors", [[0.6, 0.8, 0.0]], 2)
    assert desk.embedder.embedded == [[[3, 3]]]
    assert not desk.runner.alive


async def test_texts_go_in_small_groups_and_keep_their_order(desk: Desk):
    answer = await body(desk, input=[f"{'x' * number} y" for number in range(1, 2 * BATCH + 2)])
    assert [len(group) for group in desk.embedder.embedded] == [BATCH, BATCH, 1]
    assert [tokens[0] for group in desk.embedder.embedded for tokens in group] == list(range(1, 2 * BATCH + 2))
    assert len(answer["embeddings"]) == 2 * BATCH + 1
    assert answer["prompt_eval_count"] == 4 * BATCH + 2


async def test_fewer_dimensions_are_of_length_one_again(desk: Desk):
    answer = await body(desk, input="one", dimensions=1)
    assert answer["embeddings"] == [[1.0]]
    for dimensions in (0, -1, 3, 1000):
        assert (await body(desk, input="one", dimensions=dimensions))["embeddings"] == [[0.6, 0.8, 0.0]]


@pytest.mark.parametrize("given", [[], "", None])
async def test_nothing_to_embed_loads_the_model(desk: Desk, given: object):
    assert await body(desk, input=given) == {"model": "vectors", "embeddings": []}  # recording 54
    assert desk.embedder.alive


async def test_a_text_that_does_not_fit(desk: Desk):
    long = "word " * (CONTEXT + 1)
    status, text = await desk.send(model="vectors", input=["a", long], truncate=False)
    assert (status, text) == (400, "the input length exceeds the context length")  # recording 51
    assert (await body(desk, input=long))["prompt_eval_count"] == CONTEXT  # recording 52
    assert (await body(desk, input=long, options={"num_ctx": 10}))["prompt_eval_count"] == 10


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"model": "nope"}, 404, "model 'nope' not found"),
        ({"model": "tiny"}, 501, "This server does not support embeddings. Start it with `--embeddings`"),
        ({"input": 3}, 400, "invalid input type"),
        ({"options": {"num_ctx": "x"}}, 500, 'option "num_ctx" must be of type integer'),
    ],
)
async def test_refusals_load_nothing(desk: Desk, fields: dict[str, object], status: int, sentence: str):
    assert await desk.send(**{"model": "vectors", "input": "a"} | fields) == (status, sentence)
    assert not desk.runner.alive
    assert not desk.embedder.alive


async def test_keep_alive(desk: Desk):
    await body(desk, input="a", keep_alive="30s")
    assert desk.embedding.residence.seconds_left == pytest.approx(30, abs=5)


async def test_the_older_way(older: Desk):
    assert await body(older, prompt="one") == {"embedding": [0.6, 0.8, 0.0]}
    assert await body(older, prompt="") == {"embedding": []}
    assert await older.send(model="nope", prompt="a") == (404, 'model "nope" not found, try pulling it first')
    status, text = await older.send(model="vectors", prompt="word " * (CONTEXT + 1))
    assert (status, text) == (400, "the input length exceeds the context length")


def test_shortened():
    assert shortened([3.0, 4.0, 12.0], 2) == [0.6, 0.8]
    assert math.hypot(*shortened([0.1] * 384, 64)) == pytest.approx(1)
    assert shortened([0.0, 0.0, 1.0], 2) == [0.0, 0.0]


def test_nine_digits_tell_32_bit_floats_apart():
    assert nine_digits(-0.034475866705179214) == -0.0344758667
    assert nine_digits(1.1818959e-33) == 1.1818959e-33


@pytest.mark.parametrize(
    ("tokens", "bare", "limit", "expected"),
    [
        ([101, 1, 2, 3, 102], [1, 2, 3], 4, [101, 1, 2, 102]),
        ([1, 2, 3, 102], [1, 2, 3], 3, [1, 2, 102]),
        ([9, 1, 2, 3], [1, 2, 3], 3, [9, 1, 2]),
        ([1, 2, 3], [1, 2, 3], 2, [1, 2]),
    ],
)
def test_what_stands_around_a_text_stays(tokens: list[int], bare: list[int], limit: int, expected: list[int]):
    assert cut(tokens, bare, limit) == expected


def test_no_room_for_a_text():
    with pytest.raises(Refused, match="exceeds the context length"):
        cut([101, 1, 2, 102], [1, 2], 2)
