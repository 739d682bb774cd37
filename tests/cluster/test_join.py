import dataclasses
from typing import Any

import pytest

from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity
from appliance.cluster.join import Told, Transcript, check_claim, check_welcome, claim, ways_for, welcome
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.words import words
from tests.cluster.certificates import certificate_of, private

GATEWAY, NODE, STRANGER = Identity.create(), Identity.create(), Identity.create()
SECRET = bytes(range(20))
OWN_KEY, OTHER_KEY = ClusterKey(GATEWAY.id, SECRET), ClusterKey(STRANGER.id, SECRET)
OWN_WORDS, OTHER_WORDS = words(GATEWAY.id), words(STRANGER.id)

BY_KEY = Transcript(GATEWAY.certificate, NODE.certificate, b"\x01" * 32, b"\x02" * 32, "key")
BY_WORDS = dataclasses.replace(BY_KEY, way="words")

OTHERS: list[dict[str, Any]] = [
    {"gateway": STRANGER.certificate},
    {"node": STRANGER.certificate},
    {"gateway": certificate_of(private(GATEWAY))},
    {"node": certificate_of(private(NODE))},
    {"gateway_nonce": b"\x03" * 32},
    {"node_nonce": b"\x03" * 32},
    {"gateway_nonce": b"\x02" * 32, "node_nonce": b"\x01" * 32},
    {"way": "words"},
]


class TestWhoIsLetIn:
    @pytest.mark.parametrize(
        ("told", "ways"),
        [
            (Told(key=OWN_KEY), ("key", "words")),
            (Told(words=OWN_WORDS), ("words",)),
            (Told(claimed_by=GATEWAY.id), ("words",)),
            (Told(key=OWN_KEY, words=OTHER_WORDS), ("key", "words")),
            (Told(key=OTHER_KEY, words=OWN_WORDS), ("words",)),
            (Told(key=OWN_KEY, claimed_by=GATEWAY.id), ("key", "words")),
            (Told(key=OTHER_KEY, claimed_by=GATEWAY.id), ("words",)),
        ],
    )
    def test_the_gateway_that_it_was_told(self, told: Told, ways: tuple[str, ...]):
        assert ways_for(GATEWAY.id, told) == ways

    @pytest.mark.parametrize(
        ("told", "failure"),
        [
            (Told(), Failure.NOT_TOLD),
            (Told(key=OTHER_KEY), Failure.NOT_MY_GATEWAY),
            (Told(words=OTHER_WORDS), Failure.NOT_MY_GATEWAY),
            (Told(claimed_by=STRANGER.id), Failure.CLAIMED),
            (Told(key=OWN_KEY, words=OWN_WORDS, claimed_by=STRANGER.id), Failure.CLAIMED),
        ],
    )
    def test_and_nobody_else(self, told: Told, failure: Failure):
        with pytest.raises(JoinError) as caught:
            ways_for(GATEWAY.id, told)
        assert caught.value.failure is failure


class TestTheTranscript:
    @pytest.mark.parametrize("other", OTHERS)
    def test_is_another_when_anything_differs(self, other: dict[str, Any]):
        assert dataclasses.replace(BY_KEY, **other).digest() != BY_KEY.digest()

    def test_is_the_same_for_both(self):
        assert dataclasses.replace(BY_KEY).digest() == BY_KEY.digest()


class TestTheGatewayProvesItself:
    def test_by_its_key_and_the_cluster_key(self):
        check_claim(claim(GATEWAY, BY_KEY, SECRET), BY_KEY, SECRET)
        check_claim(claim(GATEWAY, BY_WORDS, None), BY_WORDS, None)

    @pytest.mark.parametrize("other", OTHERS)
    def test_in_this_join_only(self, other: dict[str, Any]):
        recorded = claim(GATEWAY, dataclasses.replace(BY_KEY, **other), SECRET)
        assert refused(check_claim, recorded, BY_KEY, SECRET) is Failure.NOT_PROVEN

    def test_not_by_the_cluster_key_alone(self):
        forged = claim(STRANGER, BY_KEY, SECRET)
        assert refused(check_claim, forged, BY_KEY, SECRET) is Failure.NOT_PROVEN

    @pytest.mark.parametrize("secret", [bytes(20), None])
    def test_not_without_the_cluster_key(self, secret: bytes | None):
        sent = claim(GATEWAY, BY_KEY, secret)
        assert refused(check_claim, sent, BY_KEY, SECRET) is Failure.NOT_PROVEN

    def test_not_with_a_proof_that_nobody_asked_for(self):
        sent = claim(GATEWAY, BY_WORDS, SECRET)
        assert refused(check_claim, sent, BY_WORDS, None) is Failure.NOT_PROVEN


class TestTheNodeProvesItself:
    def test_by_its_key_and_the_cluster_key(self):
        check_welcome(answer(NODE, BY_KEY, SECRET), BY_KEY, SECRET)
        check_welcome(answer(NODE, BY_WORDS, None), BY_WORDS, None)

    @pytest.mark.parametrize("other", OTHERS)
    def test_in_this_join_only(self, other: dict[str, Any]):
        recorded = answer(NODE, dataclasses.replace(BY_KEY, **other), SECRET)
        assert refused(check_welcome, recorded, BY_KEY, SECRET) is Failure.NODE_NOT_PROVEN

    @pytest.mark.parametrize("secret", [bytes(20), None])
    def test_not_without_the_cluster_key(self, secret: bytes | None):
        assert refused(check_welcome, answer(NODE, BY_KEY, secret), BY_KEY, SECRET) is Failure.NODE_NOT_PROVEN

    def test_not_with_another_key(self):
        assert refused(check_welcome, answer(STRANGER, BY_KEY, SECRET), BY_KEY, SECRET) is Failure.NODE_NOT_PROVEN

    def test_not_with_what_the_gateway_said(self):
        """A proof sent back, and a signature sent back, are of the other direction."""
        sent = claim(GATEWAY, BY_KEY, SECRET)
        good = answer(NODE, BY_KEY, SECRET)
        for reflected in (
            dataclasses.replace(good, proof=sent.proof),
            dataclasses.replace(good, signature=sent.signature),
        ):
            assert refused(check_welcome, reflected, BY_KEY, SECRET) is Failure.NODE_NOT_PROVEN


def answer(node: Identity, transcript: Transcript, secret: bytes | None) -> Any:
    return welcome(node, transcript, secret, name="one", port=11435, slots=None)


def refused(check: Any, *arguments: Any) -> Failure:
    with pytest.raises(JoinError) as caught:
        check(*arguments)
    return caught.value.failure
