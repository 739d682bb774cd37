"""What is told of a policy, word by word. Source of the rules: routing.md ("Settings that decide", "Choice"),
gateway.md ("Sensitive data that is not text")."""

from typing import Any

import pytest

from appliance.admin.policy_view import describe
from appliance.calls.policy import LocalModels, Policy, Provider

OPENAI = Provider("openai", "openai", "gpt-4o", "gpt-4o-mini", local=False)
MISTRAL = Provider("mistral", "mistral", "large", "small", local=False)
RACK = Provider("rack", "openai-compatible", "qwen3", None, local=False)
HALF = Provider("half", "openai", None, None, local=False)
PRICES = {("openai", "gpt-4o-mini"): 750_000, ("mistral", "small"): 400_000}


def policy(**settings: Any) -> Policy:
    known = {provider.name: provider for provider in (OPENAI, MISTRAL, RACK, HALF)}
    return Policy(**{"providers": known, "local": LocalModels(full="llama3.1", fast="smollm2"), **settings})


def told(**settings: Any) -> list[str]:
    return list(describe(policy(**settings), "default", PRICES).explained)


SENSITIVE = (
    "Sensitive calls (pulse-sensitive, +sensitive) go to this installation's own machines and nowhere else; with none"
    " that can answer they are refused (503)."
)


def read_first(names: str, mode: str = "standard") -> str:
    return (
        f"Text that would leave to {names} is read by the shield ({mode}) first. A call in which it finds personal data"
        " goes to this installation's own machines instead, as it is; an agent's call leaves with a token in the place"
        " of each value, which is put back into the answer."
    )


def test_nothing_set():
    assert told() == [
        "Full calls (long ones, JSON, code, agents) go to ollama/llama3.1.",
        "Fast calls (short ones) go to ollama/smollm2.",
        "Nothing leaves: calls are answered by this installation's own machines, with their text as it is.",
        SENSITIVE,
    ]


def test_an_external_provider_is_active():
    assert told(active="openai") == [
        "Full calls (long ones, JSON, code, agents) go to openai/gpt-4o.",
        "Fast calls (short ones) go to openai/gpt-4o-mini.",
        read_first("openai"),
        SENSITIVE,
        "Pictures and files, which cannot be scanned, are refused (422) towards openai.",
    ]


def test_a_list_of_several_without_ollama():
    assert told(allow=("openai", "mistral", "rack")) == [
        "Full calls (long ones, JSON, code, agents) go to openai/gpt-4o, then to mistral/large, then to rack/qwen3 as"
        " each fails.",
        # The cheapest distinct fast model first.
        "Fast calls (short ones) go to mistral/small, then to openai/gpt-4o-mini, then to rack/qwen3 as each fails.",
        read_first("openai, mistral and rack"),
        "Sensitive calls (pulse-sensitive, +sensitive) go to this installation's own machines, listed or not, and"
        " nowhere else; with none that can answer they are refused (503).",
        "Pictures and files, which cannot be scanned, are refused (422) towards openai, mistral and rack.",
    ]


def test_a_list_of_several_with_ollama():
    assert told(allow=("openai", "ollama")) == [
        "Full calls (long ones, JSON, code, agents) go to openai/gpt-4o, then to ollama/llama3.1 as each fails.",
        # synapse.md, "Metering": local models cost zero.
        "Fast calls (short ones) go to ollama/smollm2, then to openai/gpt-4o-mini as each fails.",
        read_first("openai"),
        SENSITIVE,
        "Pictures and files, which cannot be scanned, are refused (422) towards openai.",
    ]


def test_a_listed_provider_that_is_not_configured_is_passed_over():
    said = describe(policy(allow=("gone", "half", "openai")), "default", PRICES)
    assert said.skipped == ("gone", "half")
    assert said.full == ("openai/gpt-4o",)
    assert said.explained[2:4] == (
        "gone is named but not configured, so that no call goes there: synapse provider add gone.",
        "half is named but has no full model, so that no call goes there: give it one with provider add.",
    )


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        (
            {"allow": ("gone",)},
            "Every call but a sensitive one is refused (403 provider_not_allowed): the allow-list names nobody who can"
            " answer.",
        ),
        (
            {"active": "gone"},
            "Every call but a sensitive one is refused (403 provider_not_allowed): the active provider names nobody who"
            " can answer.",
        ),
        (
            {"allow": ("gone",), "app_mode": "cloud"},
            "Every call is refused (403 provider_not_allowed): the allow-list names nobody who can answer.",
        ),
    ],
)
def test_nobody_can_answer(settings: dict[str, Any], first: str):
    said = describe(policy(**settings), "default", PRICES)
    assert (said.full, said.fast, said.skipped) == ((), (), ("gone",))
    assert said.explained[0] == first
    assert said.explained[2] == "Nothing leaves."
    assert not any("Pictures" in sentence for sentence in said.explained)


def test_in_the_cloud_without_a_local_lane_everything_leaves_masked():
    assert told(app_mode="cloud", active="openai", shield_mode="medical") == [
        "Full calls (long ones, JSON, code, agents) go to openai/gpt-4o.",
        "Fast calls (short ones) go to openai/gpt-4o-mini.",
        "Text leaves to openai. Where the shield (medical) finds personal data, it leaves with a token in the place of"
        " each value, which is put back into the answer.",
        "Sensitive calls (pulse-sensitive, +sensitive) go where the others go: there is no local lane.",
        "Pictures and files, which cannot be scanned, are refused (422) towards openai.",
    ]


def test_in_the_cloud_with_ollama_first_there_is_a_local_lane():
    # routing.md: "A local lane exists when APP_MODE=local, or the active provider is ollama".
    said = told(app_mode="cloud", allow=("ollama", "openai"))
    assert read_first("openai") in said
    assert SENSITIVE in said


@pytest.mark.parametrize(
    ("settings", "last"),
    [
        ({"unscannable": "allow"}, "Pictures and files may leave to openai, and nobody has looked into them."),
        ({"shield_mode": "off"}, "Pictures and files may leave to openai, and nobody has looked into them."),
    ],
)
def test_pictures_that_may_leave(settings: dict[str, Any], last: str):
    assert told(active="openai", **settings)[-1] == last


def test_a_shield_that_is_off_is_told_as_what_it_is():
    said = told(active="openai", shield_mode="off")
    assert "The text of calls leaves to openai as it is: the shield is off, and nothing is masked." in said


def test_the_bare_facts_go_along():
    said = describe(policy(allow=("openai", "gone"), unscannable="allow", active="mistral"), "legal", PRICES)
    assert (said.workspace, said.app_mode, said.shield_mode) == ("legal", "local", "standard")
    assert (said.active, said.allow, said.skipped) == ("mistral", ("openai", "gone"), ("gone",))
    assert (said.unscannable, said.sensitive_on_open) == ("allow", "refuse")
    assert (said.full, said.fast) == (("openai/gpt-4o",), ("openai/gpt-4o-mini",))


def test_before_any_model_is_there():
    said = describe(Policy(), "default", {})
    assert (said.full, said.fast) == (("ollama",), ("ollama",))
