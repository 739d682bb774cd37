"""Requests for embeddings. Source: recordings 48 to 55, Ollama 0.32 for what is no input."""

import json

import pytest

from appliance.engine.embed_requests import EmbedRequest, parse_embed, parse_embeddings
from appliance.engine.refusal import Refused


def embed(**fields: object) -> EmbedRequest:
    return parse_embed(json.dumps({"model": "m"} | fields).encode())


def test_what_is_not_said():
    assert embed() == EmbedRequest("m", (), truncate=True, dimensions=0, keep_alive=None, options={})
    assert parse_embeddings(b'{"model":"m"}') == EmbedRequest(
        "m", (), truncate=False, dimensions=0, keep_alive=None, options={}
    )


def test_what_is_said():
    request = embed(input="a", truncate=False, dimensions=64, keep_alive=5, options={"num_ctx": 9})
    assert request == EmbedRequest("m", ("a",), truncate=False, dimensions=64, keep_alive=5, options={"num_ctx": 9})


@pytest.mark.parametrize(
    ("given", "inputs"),
    [("a", ("a",)), ("", ()), (None, ()), ([], ()), (["a", "b"], ("a", "b")), (["", "a"], ("", "a"))],
)
def test_inputs(given: object, inputs: tuple[str, ...]):
    assert embed(input=given).inputs == inputs


@pytest.mark.parametrize("given", [3, True, {}, ["a", 1], [["a"]]])
def test_what_is_no_input(given: object):
    with pytest.raises(Refused, match=r"^invalid input type$") as caught:
        embed(input=given)
    assert caught.value.status == 400


def test_the_older_way():
    request = parse_embeddings(b'{"model":"m","prompt":"a","keep_alive":"1m"}')
    assert (request.inputs, request.keep_alive) == (("a",), 60)
    with pytest.raises(Refused, match=r"EmbeddingRequest\.prompt of type string"):
        parse_embeddings(b'{"model":"m","prompt":["a"]}')


@pytest.mark.parametrize("parse", [parse_embed, parse_embeddings])
def test_the_model_is_required(parse: object):
    assert callable(parse)
    with pytest.raises(Refused, match="model is required"):
        parse(b"{}")
