"""What is typed about a provider: when it can be done, and when it is another provider under an old name."""

from typing import Any

import pytest

from appliance.admin.policy_wire import Provider
from tui.screens import provider_form

RACK = Provider("rack", "openai-compatible", "https://rack.example.com/v1", "qwen3", None, "2026-11-29", True)
SAME = {"kind": RACK.kind, "base_url": RACK.base_url, "key": "", "full": "qwen3", "fast": ""}


def test_a_form_begins_with_what_is_and_without_the_key():
    assert {field.name: field.value for field in provider_form.fields(RACK)} == SAME


@pytest.mark.parametrize(
    ("typed", "then"),
    [
        ({}, None),
        ({"key": "sk-2", "full": "qwen4"}, None),
        ({"base_url": "https://rack.example.com/v1/"}, None),
        ({"base_url": "https://other.example.com/v1"}, "Then  openai-compatible at https://other.example.com/v1"),
        ({"kind": "mistral"}, "Then  mistral at https://rack.example.com/v1"),
        ({"kind": "openai", "base_url": ""}, "Then  openai at the address of openai itself"),
    ],
)
def test_another_kind_or_url_is_another_place(typed: dict[str, str], then: str | None):
    lines = provider_form.elsewhere(RACK, {**SAME, **typed})
    if then is None:
        assert lines == ()
    else:
        assert lines[:2] == ("Now   openai-compatible at https://rack.example.com/v1", then)


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({}, ""),
        ({"kind": "openai"}, "type a key"),
        ({"kind": "openai", "key": "sk-2"}, ""),
        ({"base_url": "", "key": "sk-2"}, "give its URL"),
    ],
)
def test_no_key_goes_where_it_was_not_given_for(typed: dict[str, str], wrong: str):
    told = provider_form.wrong_change(RACK, {**SAME, **typed})
    assert (wrong in told) if wrong else told == ""


def test_what_is_saved_has_the_name_of_the_chosen_one_and_keeps_the_key_where_none_is_typed():
    saved: Any = provider_form.changed(RACK, SAME)
    assert (saved.name, saved.key, saved.base_url, saved.full) == ("rack", None, RACK.base_url, "qwen3")
