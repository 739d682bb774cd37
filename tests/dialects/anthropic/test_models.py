"""The list of models in Anthropic's shape.

Sources: dialects.md §1.2; the types of PyPI `anthropic` 2.14.0, whose client pages as its `SyncPage` says.
"""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from anthropic.types import ModelInfo
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from appliance.dialects.anthropic import models
from appliance.dialects.chat import DialectError
from appliance.dialects.openai.models import Model, entries

CREATED = 1_790_000_000
FIVE = [Model(name, CREATED, "pulse-gateway") for name in "abcde"]


class Page(BaseModel):
    """As the client declares it, with every field required."""

    data: list[ModelInfo]
    has_more: bool
    first_id: str | None
    last_id: str | None


def page(listed: list[Model], **asked: Any) -> Page:
    return Page.model_validate_json(models.list_body(listed, **asked))


def ids(listed: list[Model], **asked: Any) -> str:
    return "".join(model.id for model in page(listed, **asked).data)


def entry(name: str) -> dict[str, object]:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-09-21T14:13:20Z",
        "lifecycle": "active",
    }


def test_the_list():
    listed = entries(created=CREATED, full_model="gpt-4o", agents=["demo-cfo"])
    names = ["pulse-auto", "pulse-sensitive", "pulse-agent", "gpt-4o", "agent:demo-cfo"]
    assert json.loads(models.list_body(listed)) == {
        "data": [entry(name) for name in names],
        "has_more": False,
        "first_id": "pulse-auto",
        "last_id": "agent:demo-cfo",
    }


def test_one():
    (*_, full) = entries(created=CREATED, full_model="hf.co/x/smollm2:latest")
    body = models.model_body(full)
    assert json.loads(body) == entry("hf.co/x/smollm2:latest")
    read = ModelInfo.model_validate_json(body, strict=True)
    assert read.created_at == datetime.fromtimestamp(CREATED, UTC)


class TestPages:
    def test_all_by_themselves(self):
        assert ids(FIVE) == "abcde"

    def test_none(self):
        assert json.loads(models.list_body([])) == {"data": [], "has_more": False, "first_id": None, "last_id": None}

    @pytest.mark.parametrize(
        ("asked", "shown", "more"),
        [
            ({"limit": 2}, "ab", True),
            ({"limit": 5}, "abcde", False),
            ({"limit": 1000}, "abcde", False),
            ({"limit": 2, "after": "b"}, "cd", True),
            ({"limit": 2, "after": "c"}, "de", False),
            ({"limit": 2, "after": "e"}, "", False),
            # The nearest ones before, in the order of the list; more are further ahead.
            ({"limit": 2, "before": "e"}, "cd", True),
            ({"limit": 2, "before": "c"}, "ab", False),
            ({"limit": 2, "before": "a"}, "", False),
            ({"limit": 9, "before": "d"}, "abc", False),
        ],
    )
    def test_of_a_size_behind_or_before_a_model(self, asked: dict[str, Any], shown: str, more: bool):
        assert ids(FIVE, **asked) == shown
        read = page(FIVE, **asked)
        assert read.has_more is more
        assert (read.first_id or "", read.last_id or "") == (shown[:1], shown[-1:])

    def test_twenty_by_themselves(self):
        """The API's own default."""
        many = [Model(f"m{i}", CREATED, "pulse-gateway") for i in range(21)]
        assert (len(page(many).data), page(many).has_more) == (20, True)

    @pytest.mark.parametrize(("param", "asked"), [("after_id", {"after": "x"}), ("before_id", {"before": "x"})])
    def test_an_id_that_is_none_is_refused_by_name(self, param: str, asked: dict[str, Any]):
        with pytest.raises(DialectError) as refused:
            models.list_body(FIVE, **asked)
        assert refused.value.param == param
        assert f"`{param}`" in refused.value.message

    @given(st.integers(0, 12), st.integers(1, 13), st.booleans())
    def test_a_client_that_pages_sees_every_model_once(self, count: int, limit: int, backwards: bool):
        """The client goes on from the last id, or from the first where it began with `before_id`."""
        listed = [Model(f"m{i}", CREATED, "pulse-gateway") for i in range(count)]
        seen: list[str] = []
        asked: dict[str, Any] = {}
        if backwards and listed:
            asked, seen = {"before": listed[-1].id}, [listed[-1].id]
        for _ in range(count + 1):
            read = page(listed, limit=limit, **asked)
            shown = [model.id for model in read.data]
            seen = [*shown, *seen] if backwards else [*seen, *shown]
            if not read.has_more:
                break
            asked = {"before": read.first_id} if backwards else {"after": read.last_id}
        assert seen == [model.id for model in listed]
