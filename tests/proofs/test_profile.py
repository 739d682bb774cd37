import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from appliance.errors import ProofError
from appliance.proofs.certificate import Certificate, Intent, intent_payload, payload
from appliance.proofs.profile import check_certificate, check_intent

ORIGIN = "office-1/synapse"

# "Absent things are absent": the members of the two examples that other certificates do without.
OPTIONAL = {"address.cortex", "grounding", "grounding[0].page", "usage"}


def members(value: object, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every member and item below `value`: its path, the container, and the key or index in it."""
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        name = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
        yield name, value, key
        yield from members(inner, name)


def at(value: Any, path: str) -> tuple[Any, Any]:
    return next((container, key) for name, container, key in members(value) if name == path)


@pytest.fixture(params=["external", "local"])
def whole(
    request: pytest.FixtureRequest, certificate: Certificate, local_certificate: Certificate
) -> dict[str, object]:
    return payload(certificate if request.param == "external" else local_certificate, origin=ORIGIN, index=413)


def test_every_mandatory_member_is_missed_by_name(whole: dict[str, object]) -> None:
    check_certificate(whole)
    for path, _, key in list(members(whole)):
        if isinstance(key, int) or path in OPTIONAL:
            continue
        changed = copy.deepcopy(whole)
        container, key = at(changed, path)
        del container[key]
        with pytest.raises(ProofError) as caught:
            check_certificate(changed)
        assert caught.value.message == f"{path} is missing."


def test_optional_members_may_be_missing(whole: dict[str, object]) -> None:
    for path in OPTIONAL & {path for path, _, _ in members(whole)}:
        changed = copy.deepcopy(whole)
        container, key = at(changed, path)
        del container[key]
        check_certificate(changed)


def refused_everywhere(whole: dict[str, object], wrong: object, *, where: Callable[[str, object], bool]) -> None:
    for path, container, key in list(members(whole)):
        if where(path, container[key]):
            changed = copy.deepcopy(whole)
            container, key = at(changed, path)
            container[key] = copy.deepcopy(wrong)
            with pytest.raises(ProofError):
                check_certificate(changed)


@pytest.mark.parametrize("wrong", [None, 1.5, [1], {"a": 1}, 7, True, "text"])
def test_every_member_has_a_type(whole: dict[str, object], wrong: object) -> None:
    refused_everywhere(whole, wrong, where=lambda _, value: type(value) is not type(wrong))


def test_only_the_model_may_be_an_empty_text(whole: dict[str, object]) -> None:
    refused_everywhere(whole, "", where=lambda path, value: isinstance(value, str) and path != "request.model")


def test_no_number_is_negative(whole: dict[str, object]) -> None:
    refused_everywhere(whole, -1, where=lambda _, value: type(value) is int)


def test_further_members_are_let_through_everywhere(whole: dict[str, object]) -> None:
    containers = [container for _, container, _ in members(whole) if isinstance(container, dict)]
    for container in containers:
        container["later"] = {"any": [None, 1]}
    check_certificate(whole)


def set_(path: str, value: object) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        *parents, name = path.split(".")
        for parent in parents:
            content = content[parent]
        content[name] = value

    return change


def refused(content: Any) -> None:
    content["egress"] = {"attempts": 0, "pii": {"mode": "standard", "count": 0, "categories": []}}
    content["response"] = {"ending": "refused", "sha256": "0" * 64, "status": 403}
    del content["usage"], content["routing"], content["grounding"]


def then(*changes: Callable[[Any], None]) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for one in changes:
            one(content)

    return change


def recover(content: Any) -> None:
    for name in ("routing", "grounding", "usage"):
        del content[name]
    content["egress"] = {"pii": {"mode": "standard", "count": 0, "categories": []}}
    content["recovered"] = True
    content["response"] = {"ending": "failed"}


@pytest.mark.parametrize(
    "change",
    [
        refused,
        then(refused, set_("routing", {"taskType": "complex", "tier": "full", "reason": "r"})),
        recover,
        set_("request.model", ""),
        set_("address", {"kind": "agent", "agent": "cfo", "knowledge": False, "memory": False}),
        set_("response", {"ending": "cancelled", "sha256": "0" * 64}),
        set_("response", {"ending": "failed", "sha256": "0" * 64, "status": 502}),
        set_("response", {"ending": "refused", "sha256": "0" * 64, "status": 200, "textSha256": "0" * 64}),
    ],
)
def test_endings_that_say_less(certificate: Certificate, change: Callable[[Any], None]) -> None:
    content = payload(certificate, origin=ORIGIN, index=413)
    change(content)
    check_certificate(content)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_("v", 2), "v is not 1"),
        (set_("id", "prf_ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "id is not a certificate id"),
        (set_("id", "prf_" + "a" * 25), "id is not a certificate id"),
        (set_("log.intent", 413), "log.intent does not come before"),
        (set_("address", {"kind": "debate"}), "address.kind is not auto or agent"),
        (set_("address", {"kind": "agent"}), "address.agent is missing"),
        (set_("address.cortex", False), "address.cortex is there and is not true"),
        (set_("address.knowledge", True), "address.knowledge is there and is not false"),
        (set_("address.memory", True), "address.memory is there and is not false"),
        (set_("routing.tier", "slow"), "routing.tier is not fast or full or local"),
        (set_("egress.pii.mode", "strict"), "egress.pii.mode is not"),
        (set_("egress.pii.count", 1), "egress.pii.categories does not go with the count"),
        (set_("egress.pii.categories", []), "egress.pii.categories does not go with the count"),
        (set_("egress.local", True), "egress.local does not go with the provider"),
        (set_("egress.provider", "ollama"), "egress.local does not go with the provider"),
        (set_("egress.node", {}), "egress.node must be absent"),
        (set_("egress.attempts", 0), "egress.provider must be absent: nothing was sent"),
        (set_("response.ending", "stopped"), "response.ending is not complete or"),
        (set_("response.status", 99), "response.status is out of range"),
        (set_("response.status", 600), "response.status is out of range"),
        (set_("response", {"ending": "failed", "sha256": "0" * 64}), "response.status is missing"),
        (set_("response", {"ending": "length", "sha256": "0" * 64, "status": 200}), "response.textSha256 is missing"),
        (then(refused, set_("response.ending", "complete")), "response.ending says that a model answered"),
        (then(refused, set_("response.textSha256", "x")), "response.textSha256 is not"),
        (then(refused, set_("egress.local", True)), "egress.local must be absent"),
        (set_("grounding", []), "grounding is there and is empty"),
        (set_("grounding", None), "grounding is not a list"),
        (set_("recovered", True), "response.ending is not failed"),
        (set_("recovered", False), "recovered is there and is not true"),
        (then(recover, set_("egress", {})), "egress.pii is missing"),
        (then(recover, set_("egress", {"attempts": 1})), "egress.attempts must be absent: of a recovered call"),
        (then(recover, set_("routing", {})), "routing must be absent: of a recovered call"),
    ],
)
def test_members_go_together(certificate: Certificate, change: Callable[[Any], None], says: str) -> None:
    content = payload(certificate, origin=ORIGIN, index=413)
    change(content)
    with pytest.raises(ProofError) as caught:
        check_certificate(content)
    assert caught.value.message.startswith(says)


def test_a_local_call_names_a_known_trust(local_certificate: Certificate) -> None:
    content: Any = payload(local_certificate, origin=ORIGIN, index=413)
    content["egress"]["node"]["trust"] = "friend"
    with pytest.raises(ProofError, match=r"egress\.node\.trust is not loopback or pinned or open"):
        check_certificate(content)


def test_an_intent_is_checked_alike(intent: Intent) -> None:
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    check_intent(opening)
    for path, _, key in list(members(opening)):
        if path in OPTIONAL:
            continue
        changed = copy.deepcopy(opening)
        container, key = at(changed, path)
        del container[key]
        with pytest.raises(ProofError) as caught:
            check_intent(changed)
        assert caught.value.message == f"{path} is missing."


def test_an_intent_is_no_certificate(intent: Intent) -> None:
    with pytest.raises(ProofError, match=r"log\.intent is missing"):
        check_certificate(intent_payload(intent, origin=ORIGIN, index=412))
