import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from appliance.calls.call import Call, Ending
from appliance.calls.costs import Costs
from appliance.calls.policy import Provider
from appliance.calls.record import Course, certificate, ledger_row, tokens_used
from appliance.calls.routing import Candidate, Decision
from appliance.cluster.machine import Machine
from appliance.dialects.chat import Chat, Finish, FinishReason, Message, TextDelta, Usage
from appliance.metering.questions import Rates
from appliance.proofs.certificate import Gateway, Intent, Pii, Request
from appliance.store.keys import Caller

NOW = datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC)
MACHINE = Machine("node", "box", "http://10.0.0.2:1", "open", "ollama/0.32.15", healthy=True, why="")
CALLER = Caller(
    2, "key_x", "k", 3, "ws_x", "w", 4, "usr_x", "u", frozenset({"engine"}), False, None, None, 0, None, None
)
CALL = Call(CALLER, "/v1/chat/completions", "gpt-4o", True, Chat((Message("user", "Hi"),)), b"{}", "0" * 64, NOW, 9)
INTENT = Intent(
    "prf_x",
    "ws_x",
    "key_x",
    Gateway("1", "none", "0" * 64),
    NOW,
    Request(CALL.endpoint, CALL.model, CALL.body_sha256, CALL.received_bytes, CALL.stream),
    {"kind": "auto"},
    Pii("standard"),
)


LANE = Provider("ollama", "ollama", "m", None, local=True)
OUTSIDE = Provider("openai", "openai", "large", "small", local=False)


def to(provider: Provider, model: str) -> Decision:
    return Decision("simple", "fast", (Candidate(provider, model),))


def answered() -> Course:
    course = Course(started=10.0, shield_mode="standard", decision=to(LANE, "m"))
    course.sending(MACHINE, "m", b"first")
    course.sending(MACHINE, "m", b"second")
    for text, now in (("Hel", 10.25), ("lo", 10.5)):
        course.content(now)
        course.passed_on(TextDelta(text))
    course.passed_on(Finish("stop", Usage(7, 2)))
    return course


def test_an_answered_call():
    course = answered()
    said = certificate(course, INTENT, 5, completed=NOW, ending="complete", status=200, response_sha256="f" * 64)
    assert said.egress.sent is not None
    assert (said.egress.sent.attempts, said.egress.sent.sha256) == (2, hashlib.sha256(b"second").hexdigest())
    assert said.response.text_sha256 == hashlib.sha256(b"Hello").hexdigest()
    row = ledger_row(course, CALL, "prf_x", "complete", total_seconds=1.5, rates=Rates())
    assert (row.first_token_ms, row.total_ms, row.completion_tokens, row.questions_milli) == (250, 1500, 2, 250)
    assert (row.workspace_n, row.key_n, row.user_n) == (3, 2, 4)
    assert (row.cost_micro, row.full_cost_micro) == (0, 0)


def test_what_was_masked_is_that_of_the_newest_attempt():
    course = Course(started=0.0, shield_mode="standard")
    course.sending_out("openai", "gpt-4o", b"body", Pii("standard", 3, ("EMAIL", "IBAN")), {"EMAIL": 2, "IBAN": 1})
    assert (course.pii_masked, course.masked) == (3, {"EMAIL": 2, "IBAN": 1})
    course.sending(MACHINE, "m", b"body")
    assert (course.pii_masked, course.masked) == (0, {})


@pytest.mark.parametrize("sent", [("out",), ("out", "in"), ("in", "out"), ("out", "in", "in"), ("in",), ()])
def test_a_call_has_left_where_any_attempt_went_outside(sent: tuple[str, ...]):
    course = Course(started=0.0, shield_mode="standard", decision=to(LANE, "m"))
    for where in sent:
        if where == "out":
            course.sending_out("openai", "large", b"body", Pii("standard"), {})
        else:
            course.sending(MACHINE, "m", b"body")
        course.goes_elsewhere()
    row = ledger_row(course, CALL, "prf_x", "failed", total_seconds=1, rates=Rates())
    assert row.left_building == int("out" in sent)
    assert row.provider == {"out": "openai", "in": "ollama", "": None}[sent[-1] if sent else ""]


def test_the_costs_are_those_that_were_found():
    row = ledger_row(answered(), CALL, "prf_x", "complete", total_seconds=1.5, rates=Rates(), costs=Costs(None, 12))
    assert (row.cost_micro, row.full_cost_micro) == (None, 12)


def test_an_answer_without_a_word_has_the_hash_of_no_text():
    course = Course(started=0.0, shield_mode="standard")
    course.sending(MACHINE, "m", b"body")
    course.passed_on(Finish("stop", Usage(7, 0)))
    said = certificate(course, INTENT, 5, completed=NOW, ending="complete", status=200, response_sha256="f" * 64)
    assert said.response.text_sha256 == hashlib.sha256(b"").hexdigest()


def test_a_call_that_reached_nobody_says_nothing_of_a_model():
    course = Course(started=0.0, shield_mode="medical")
    said = certificate(course, INTENT, 5, completed=NOW, ending="refused", status=503, response_sha256="f" * 64)
    assert (said.egress.sent, said.routing, said.usage, said.response.text_sha256) == (None, None, None, None)
    assert said.egress.pii.mode == "medical"
    row = ledger_row(course, CALL, "prf_x", "refused", total_seconds=0.001, rates=Rates())
    assert (row.provider, row.model, row.node, row.first_token_ms, row.questions_milli) == (None, None, None, None, 0)


@pytest.mark.parametrize(("model", "milli"), [("small", 1000), ("large", 4000)])
def test_an_answer_from_outside_counts_by_its_model_and_each_answer_counts(model: str, milli: int):
    course = Course(started=0.0, shield_mode="standard", decision=to(OUTSIDE, model))
    course.sending_out("openai", model, b"body", Pii("standard"), {})
    course.passed_on(Finish("stop", Usage(7, 2)))
    row = ledger_row(course, CALL, "prf_x", "complete", total_seconds=1, rates=Rates())
    assert row.questions_milli == milli
    three = replace(CALL, chat=replace(CALL.chat, choices=3))
    assert ledger_row(course, three, "prf_x", "complete", total_seconds=1, rates=Rates()).questions_milli == 3 * milli


def test_a_call_that_was_left_counts_the_pieces_that_came():
    course = Course(started=0.0, shield_mode="standard", decision=to(LANE, "m"))
    course.sending(MACHINE, "m", b"body")
    for _ in range(3):
        course.content(1.0)
    row = ledger_row(course, CALL, "prf_x", "cancelled", total_seconds=2, rates=Rates())
    assert (row.completion_tokens, row.questions_milli) == (3, 250)


@pytest.mark.parametrize(
    ("reasons", "ending", "stream", "milli"),
    [
        (["stop", "content_filter", "stop"], "refused", False, 2000),
        (["content_filter"], "refused", False, 0),
        (["stop", "stop"], "failed", True, 2000),
        (["stop", "stop"], "failed", False, 0),
        (["stop", "stop", "stop"], "complete", False, 3000),
    ],
)
def test_answers_that_were_given_count(reasons: list[FinishReason], ending: Ending, stream: bool, milli: int):
    course = Course(started=0.0, shield_mode="standard", decision=to(OUTSIDE, "small"))
    course.sending_out("openai", "small", b"body", Pii("standard"), {})
    for choice, reason in enumerate(reasons):
        course.passed_on(Finish(reason, Usage(7, 2), choice))
    call = replace(CALL, chat=replace(CALL.chat, choices=3), stream=stream)
    assert ledger_row(course, call, "prf_x", ending, total_seconds=1, rates=Rates()).questions_milli == milli


def test_what_came_from_who_was_asked_before_is_not_counted_for_who_is_asked_next():
    course = Course(started=0.0, shield_mode="standard", decision=to(LANE, "m"), estimate=9)
    course.sending(MACHINE, "m", b"body")
    course.content(1.0)
    course.goes_elsewhere()
    course.decision = to(OUTSIDE, "large")
    course.sending_out("openai", "large", b"body", Pii("standard"), {})
    row = ledger_row(course, CALL, "prf_x", "cancelled", total_seconds=2, rates=Rates())
    assert (row.questions_milli, row.prompt_tokens, row.completion_tokens, row.first_token_ms) == (0, 0, 0, None)


@pytest.mark.parametrize("finish", [None, Finish("stop", Usage(0, 3))])
def test_a_prompt_that_nobody_has_counted_is_estimated(finish: Finish | None):
    course = Course(started=0.0, shield_mode="standard", decision=to(OUTSIDE, "large"), estimate=25_000)
    course.sending_out("openai", "large", b"body", Pii("standard"), {})
    for _ in range(3):
        course.content(1.0)
    if finish is not None:
        course.passed_on(finish)
    assert tokens_used(course) == Usage(25_000, 3)
