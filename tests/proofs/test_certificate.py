import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import ProofError
from appliance.proofs import canonical
from appliance.proofs.certificate import (
    Certificate,
    Egress,
    Gateway,
    Intent,
    Node,
    Passage,
    Pii,
    Request,
    Response,
    Routing,
    Sent,
    Usage,
    intent_payload,
    payload,
    recovered,
    timestamp,
)
from appliance.proofs.profile import Ending, ShieldMode, Tier, Trust, check_certificate, check_intent

ORIGIN = "office-1/synapse"
DIGEST = sha256(b"").hexdigest()


def test_the_fields_of_the_design(certificate: Certificate, request_body: bytes, answer_text: str) -> None:
    """The example of the design, "One certificate", member by member."""
    assert payload(certificate, origin=ORIGIN, index=413) == {
        "v": 1,
        "id": "prf_abcdefghijklmnopqrstuvwxyz",
        "workspace": "ws_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "key": "key_bbbbbbbbbbbbbbbbbbbbbbbbbb",
        "gateway": {"version": "0.3.1", "shieldRules": "2026-11-01", "policy": sha256(b"policy").hexdigest()},
        "log": {"origin": "office-1/synapse", "index": 413, "intent": 412},
        "time": {"received": "2026-11-29T18:57:03.120Z", "completed": "2026-11-29T18:57:05.007Z"},
        "request": {
            "endpoint": "/v1/chat/completions",
            "model": "pulse-auto+cortex",
            "sha256": sha256(request_body).hexdigest(),
            "bytes": len(request_body),
            "stream": False,
        },
        "address": {"kind": "auto", "cortex": True},
        "routing": {
            "taskType": "complex",
            "tier": "full",
            "reason": "task=complex -> configured model (openai/gpt-4o)",
        },
        "egress": {
            "provider": "openai",
            "model": "gpt-4o",
            "local": False,
            "sha256": sha256(b"masked body").hexdigest(),
            "attempts": 1,
            "pii": {"mode": "standard", "count": 3, "categories": ["EMAIL", "IBAN"]},
        },
        "response": {
            "sha256": sha256(b"delivered").hexdigest(),
            "textSha256": sha256(answer_text.encode()).hexdigest(),
            "status": 200,
            "ending": "complete",
        },
        "grounding": [
            {"source": "bail « Martin ».pdf", "chunkId": "chunk-1", "page": 4, "sha256": sha256(b"passage").hexdigest()}
        ],
        "usage": {"promptTokens": 812, "completionTokens": 233},
    }


def test_a_local_call_names_its_node(local_certificate: Certificate) -> None:
    """The design: `ollama` for every call that stayed local, with `egress.node`; nothing is masked."""
    said: Any = payload(local_certificate, origin=ORIGIN, index=413)
    assert said["egress"] == {
        "provider": "ollama",
        "model": "smollm2",
        "local": True,
        "sha256": sha256(b"body").hexdigest(),
        "attempts": 1,
        "node": {"id": "node-1", "name": "accueil", "engine": "ollama", "trust": "loopback"},
        "pii": {"mode": "standard", "count": 0, "categories": []},
    }


def test_what_is_absent_is_absent(certificate: Certificate) -> None:
    refused = replace(
        certificate,
        egress=Egress(Pii("standard")),
        response=Response("refused", DIGEST, 503),
        routing=None,
        grounding=(),
        usage=None,
    )
    said = payload(refused, origin=ORIGIN, index=413)
    assert not {"routing", "grounding", "usage", "recovered"} & set(said)
    assert said["egress"] == {"attempts": 0, "pii": {"mode": "standard", "count": 0, "categories": []}}
    assert said["response"] == {"ending": "refused", "sha256": DIGEST, "status": 503}
    left = replace(refused, response=Response("cancelled", DIGEST, None))
    assert payload(left, origin=ORIGIN, index=413)["response"] == {"ending": "cancelled", "sha256": DIGEST}
    check_certificate(payload(left, origin=ORIGIN, index=413))
    assert b"null" not in canonical.encode(said)


def test_an_intent_says_what_is_known_before(intent: Intent, certificate: Certificate) -> None:
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    check_intent(opening)
    closed = payload(certificate, origin=ORIGIN, index=413)
    assert set(opening) == {"v", "id", "workspace", "key", "gateway", "log", "time", "request", "address", "egress"}
    assert opening["log"] == {"origin": ORIGIN, "index": 412}
    assert opening["time"] == {"received": "2026-11-29T18:57:03.120Z"}
    assert opening["egress"] == {"pii": {"mode": "standard", "count": 0, "categories": []}}
    for name in set(opening) - {"log", "time", "egress"}:
        assert closed[name] == opening[name]


def test_a_recovered_certificate_adds_nothing_to_its_intent(intent: Intent) -> None:
    """The intent is read back from its signed bytes at the next start."""
    opening = canonical.decode(canonical.encode(intent_payload(intent, origin=ORIGIN, index=412)))
    before = json.dumps(opening)
    closed = recovered(opening, index=500, completed=datetime(2026, 11, 30, 7, 0, tzinfo=UTC))
    check_certificate(closed)
    assert json.dumps(opening) == before
    assert closed == {
        **opening,
        "log": {"origin": ORIGIN, "index": 500, "intent": 412},
        "time": {"received": "2026-11-29T18:57:03.120Z", "completed": "2026-11-30T07:00:00.000Z"},
        "recovered": True,
        "response": {"ending": "failed"},
    }


def test_recovery_needs_an_intent(intent: Intent) -> None:
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    del opening["address"]
    with pytest.raises(ProofError, match="address is missing"):
        recovered(opening, index=500, completed=datetime(2026, 11, 30, tzinfo=UTC))


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC), "2026-11-29T18:57:03.120Z"),
        (datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC), "2026-11-29T18:57:03.000Z"),
        (datetime(2026, 11, 29, 18, 57, 3, 999_999, tzinfo=UTC), "2026-11-29T18:57:03.999Z"),
        (datetime(2026, 11, 29, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2026-11-28T23:30:00.000Z"),
    ],
)
def test_timestamp(moment: datetime, expected: str) -> None:
    assert timestamp(moment) == expected


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ProofError, match="needs a time zone"):
        timestamp(datetime(2026, 11, 29))  # noqa: DTZ001  # the naive time is the case


digests = st.binary(max_size=8).map(lambda data: sha256(data).hexdigest())
names = st.text(st.characters(exclude_characters="\x7f", exclude_categories=["Cs"]), min_size=1, max_size=20)
counts = st.integers(0, canonical.MAX_INTEGER)
moments = st.datetimes(timezones=st.just(UTC))
intents = st.builds(
    Intent,
    id=st.from_regex(r"prf_[a-z2-7]{26}", fullmatch=True),
    workspace=names,
    key=names,
    gateway=st.builds(Gateway, names, names, digests),
    received=moments,
    request=st.builds(Request, names, st.just("") | names, digests, counts, st.booleans()),
    address=st.sampled_from(
        [{"kind": "auto"}, {"kind": "auto", "cortex": True}, {"kind": "agent", "agent": "cfo", "memory": False}]
    ),
    pii=st.builds(Pii, st.sampled_from(["standard", "medical", "off"])),
)
piis = st.lists(names, unique=True, max_size=3).flatmap(
    lambda kinds: st.builds(
        Pii,
        st.sampled_from(get_args(ShieldMode)),
        st.integers(len(kinds), 50) if kinds else st.just(0),
        st.just(tuple(kinds)),
    )
)
nodes = st.builds(Node, names, names, names, st.sampled_from(get_args(Trust)))
attempts = st.integers(1, 5)
sent = st.builds(Sent, names.filter(lambda name: name != "ollama"), names, digests, attempts) | st.builds(
    Sent, st.just("ollama"), names, digests, attempts, nodes
)
certificates = st.builds(
    Certificate,
    intent=intents,
    intent_index=st.integers(0, 999),
    completed=moments,
    egress=st.builds(Egress, piis, sent),
    response=st.builds(Response, st.sampled_from(get_args(Ending)), digests, st.integers(100, 599), digests),
    routing=st.builds(Routing, names, st.sampled_from(get_args(Tier)), names),
    grounding=st.lists(st.builds(Passage, names, names, digests, st.none() | counts), max_size=3).map(tuple),
    usage=st.none() | st.builds(Usage, counts, counts),
)


@given(certificates)
@settings(deadline=None)
def test_whatever_the_types_can_say_is_a_valid_payload(certificate: Certificate) -> None:
    said = payload(certificate, origin=ORIGIN, index=1000)
    check_certificate(said)
    assert canonical.decode(canonical.encode(said)) == said
