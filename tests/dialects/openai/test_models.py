"""The discovery surface. Source: model-addressing.md ("Discover addresses with GET /v1/models")."""

import json

from appliance.dialects.openai import models

CREATED = 1_790_000_000


def test_the_list_of_the_seed():
    listed = models.entries(created=CREATED, full_model="gpt-4o", agents=["demo-cfo"])
    assert json.loads(models.list_body(listed)) == {
        "object": "list",
        "data": [
            {"id": "pulse-auto", "object": "model", "created": 1790000000, "owned_by": "pulse-gateway"},
            {"id": "pulse-sensitive", "object": "model", "created": 1790000000, "owned_by": "pulse-gateway"},
            {"id": "pulse-agent", "object": "model", "created": 1790000000, "owned_by": "pulse-gateway"},
            {"id": "gpt-4o", "object": "model", "created": 1790000000, "owned_by": "pulse-gateway"},
            {"id": "agent:demo-cfo", "object": "model", "created": 1790000000, "owned_by": "pulse-agents"},
        ],
    }


def test_agents_keep_their_order():
    """ "oldest agent first": the order is the caller's."""
    listed = models.entries(created=CREATED, full_model=None, agents=["zoe", "adam"])
    assert [model.id for model in listed] == ["pulse-auto", "pulse-sensitive", "pulse-agent", "agent:zoe", "agent:adam"]


def test_one_object():
    (*_, full) = models.entries(created=CREATED, full_model="smollm2:latest")
    assert json.loads(models.model_body(full)) == {
        "id": "smollm2:latest",
        "object": "model",
        "created": 1790000000,
        "owned_by": "pulse-gateway",
    }
