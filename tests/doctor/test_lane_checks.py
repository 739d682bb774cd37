from dataclasses import replace
from typing import Any

import pytest

from appliance.admin.node_wire import NodeList
from appliance.admin.policy_wire import ProviderCheck, ProviderList
from appliance.admin.wire import ContextList, ModelList, RoleModel
from appliance.doctor import lane_checks as checks
from appliance.doctor.facts import DaemonFacts, MachineFacts
from appliance.doctor.finding import Finding
from tests.doctor.healthy import CONTEXT, DAEMON, DATABASE, MACHINE, MODELS, NODE, PROVIDER, STATUS
from tests.doctor.test_storage_checks import one


def daemon(*nodes: dict[str, Any], active: str = "ollama") -> DaemonFacts:
    listed = tuple(replace(NODE, **node) for node in nodes)
    return replace(DAEMON, nodes=NodeList(listed, "id", (), 0), status=replace(STATUS, active_provider=active))


def states(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.state) for finding in found]


class TestMachines:
    def test_each_says_how_it_is_known_and_what_for(self):
        one(checks.machines(daemon({})), "ok", "It answers (this machine), for full, fast.")
        one(checks.machines(daemon({"trust": "pinned"})), "ok", "its certificate is pinned")
        one(checks.machines(daemon({"trust": "open"})), "ok", "known by its address only")

    @pytest.mark.parametrize(
        ("node", "said", "advice"),
        [
            ({"state": "unhealthy", "why": "no connection"}, "It is not used: no connection.", "reachable"),
            (
                {"state": "unhealthy", "why": "another certificate is shown there"},
                "another certificate is shown there",
                "synapse node list",
            ),
            ({"state": "draining", "why": "it takes no more calls"}, "It takes no more calls.", "node resume box"),
            ({"state": "admitted", "why": None}, "It has not been asked yet.", "synapse node list"),
            ({"state": "candidate", "why": None}, "It wants to join.", "synapse node admit abcdefghijklmnop"),
            ({"state": "changed", "why": "its key is new"}, "another key than before. Its key is new.", "reject"),
            (
                {"state": "active", "why": "no call goes there: it has none of the models in use (x)", "roles": ()},
                "No call goes there: it has none of the models in use (x).",
                "synapse node list",
            ),
        ],
    )
    def test_why_one_is_not_used(self, node: dict[str, Any], said: str, advice: str):
        well, other = checks.machines(daemon({}, node | {"name": "box"}))
        assert well.state == "ok"
        assert other.check == "machine box"
        one([other], "warning", said, advice)

    def test_one_without_a_name(self):
        assert checks.machines(daemon({"name": ""}))[0].check == "machine abcdefghijklmnop"

    def test_what_was_rejected_or_put_out_is_not_shown(self):
        assert states(checks.machines(daemon({}, {"state": "rejected"}, {"state": "revoked"}))) == [
            ("machine 127.0.0.1:11434", "ok")
        ]

    @pytest.mark.parametrize("nodes", [(), ({"state": "unhealthy", "why": "x"},), ({"state": "candidate"},)])
    def test_where_none_answers(self, nodes: tuple[dict[str, Any], ...]):
        found = checks.machines(daemon(*nodes))
        one(found[:1], "failed", "No machine answers calls.", "ollama serve")
        found = checks.machines(daemon(*nodes, active="openai"))
        one(found[:1], "warning", "Those that may leave go to openai; sensitive ones are refused.", "ollama serve")


class TestListedMachines:
    def test_without_a_daemon_they_are_asked_themselves(self):
        one(checks.listed_machines([MACHINE]), "ok", "It answers (ollama 0.32; qwen3:8b).")

    def test_where_none_answers(self):
        broken = MachineFacts(MACHINE.url, "connection refused")
        found = checks.listed_machines([broken])
        assert states(found) == [("machines", "warning"), (f"machine {MACHINE.url}", "warning")]
        one(found[1:], "warning", "It is not used: connection refused.", "local.ollama")
        assert states(checks.listed_machines([])) == [("machines", "warning")]

    def test_one_without_models(self):
        one(checks.listed_machines([replace(MACHINE, models=())]), "warning", "has no models", "ollama pull")


class TestModels:
    def test_each_role_is_told(self):
        one(checks.models(MODELS, "ollama"), "ok", "full qwen3:8b, fast qwen3:8b.")

    def test_one_that_nobody_has(self):
        roles = (RoleModel("full", "qwen3:70b", "qwen3:70b", None, False), MODELS.roles[1])
        found = checks.models(ModelList(roles, ()), "ollama")
        one(
            found, "failed", "No healthy machine has qwen3:70b, which is set for full", "ollama pull qwen3:70b, or: syn"
        )

    @pytest.mark.parametrize(("active", "state"), [("ollama", "failed"), ("openai", "warning")])
    def test_none_at_all(self, active: str, state: str):
        roles = (RoleModel("full", None, None, None, False),)
        one(checks.models(ModelList(roles, ()), active), state, "No machine has a model", "ollama pull")


class TestContexts:
    def contexts(self, *tokens: int | None) -> ContextList:
        return ContextList(tuple(replace(CONTEXT, tokens=one) for one in tokens))

    @pytest.mark.parametrize(
        ("tokens", "said"),
        [
            ((32_768,), "32768 tokens."),
            ((8192,), "8192 tokens. Claude Code and other agents need 32768"),
            ((4096, 40_960), "4096 to 40960 tokens."),
            ((None, 8192), "8192 tokens."),
        ],
    )
    def test_well(self, tokens: tuple[int | None, ...], said: str):
        one(checks.contexts(self.contexts(*tokens)), "ok", said)

    def test_a_tiny_one(self):
        found = checks.contexts(self.contexts(8192, 2048))
        one(found, "warning", "qwen3:8b on 127.0.0.1:11434 takes 2048 tokens", "Set local.context")

    def test_a_model_that_was_made_for_no_more(self):
        found = checks.contexts(ContextList((replace(CONTEXT, tokens=512, longest=512),)))
        one(found, "warning", "512 tokens", "made for 512: choose another model")

    def test_where_it_is_not_known(self):
        assert checks.contexts(self.contexts(None)) == []
        assert checks.contexts(self.contexts()) == []


class TestProviders:
    ONE = ProviderList((PROVIDER,))

    def test_not_tried(self):
        one(checks.providers(self.ONE, {}, DATABASE), "ok", "it was not tried (synapse doctor --online does)")

    def test_tried(self):
        one(checks.providers(self.ONE, {"openai": ProviderCheck(True)}, DATABASE), "ok", "answered")

    def test_a_key_that_is_refused(self):
        check = ProviderCheck(False, "The key is refused.", "Give another.")
        one(checks.providers(self.ONE, {"openai": check}, DATABASE), "failed", "The key is refused.", "Give another.")
        check = ProviderCheck(False, "It does not answer.")
        one(
            checks.providers(self.ONE, {"openai": check}, DATABASE), "failed", "does not answer", "provider test openai"
        )

    def test_a_key_that_does_not_open(self):
        closed = replace(DATABASE, closed_providers=("openai",))
        one(checks.providers(self.ONE, {}, closed), "failed", "does not open with this key file", "provider add openai")
        one(checks.sealed_providers(closed), "failed", "does not open with this key file", "--key-stdin")

    def test_one_without_a_full_model(self):
        listed = ProviderList((replace(PROVIDER, configured=False, full=None),))
        one(checks.providers(listed, {}, DATABASE), "warning", "no full model", "--full MODEL")
