"""What happened to one call, and how certificate and ledger row tell it. Holds hashes and counts, never text."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from appliance.calls.call import Call, Ending
from appliance.calls.costs import Costs, model_class
from appliance.calls.entries import ENTRIES
from appliance.calls.policy import LOCAL_PROVIDER, ShieldMode
from appliance.calls.routing import Decision
from appliance.cluster.machine import Machine
from appliance.dialects.answer_text import InOrder
from appliance.dialects.chat import Event, Finish, TextDelta, Usage
from appliance.errors import UpstreamFailed
from appliance.metering.questions import Rates, counted
from appliance.proofs import certificate as proof
from appliance.proofs.certificate import Certificate, Egress, Intent, Node, Pii, Response, Routing, Sent
from appliance.shield.categories import Category
from appliance.store.ledger import LedgerRow
from appliance.times import to_ms


class Hash(Protocol):
    """A digest that is still being fed."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


FREE = Costs(0, 0)
"""The costs of a call that reached nobody."""


@dataclass(slots=True)
class Course:
    """Filled in as the call goes on. Moments are on the monotonic clock, in seconds.

    `provider` is who was asked last, as the outside is told; `machine` is None where that is nobody of ours. `pii` is
    what was masked before the call left, None while it has not, and `masked` how many values of each category.
    `lost` is what answers have cost that were thrown away: a try that did not give what was asked for.
    `received` counts the pieces of content that came from who was asked last, `forwarded` says whether any text went on
    to the caller, `given` counts answers that went on whole and were then not what was asked for, and `finishes` are
    the ends of answers, which alone bring the model's own counts. `sent` is the hash of the newest body for each
    answer. `context_cut`: a machine has left text out. `estimate` is of the prompt's tokens. `queued`: seconds that the
    call has waited for a machine. `left_building`: some attempt went to a provider outside, whoever was asked later.
    """

    started: float
    shield_mode: ShieldMode
    decision: Decision | None = None
    machine: Machine | None = None
    provider: str = LOCAL_PROVIDER
    model: str = ""
    pii: Pii | None = None
    masked: Mapping[Category, int] = field(default_factory=dict[Category, int])
    attempts: int = 0
    sent: dict[int, str] = field(default_factory=dict[int, str])
    first_token: float | None = None
    received: int = 0
    forwarded: bool = False
    given: int = 0
    finishes: list[Finish] = field(default_factory=list[Finish])
    lost: list[Usage] = field(default_factory=list[Usage])
    context_cut: bool = False
    estimate: int = 0
    queued: float = 0.0
    left_building: bool = False
    text: Hash = field(default_factory=hashlib.sha256)
    order: InOrder = field(default_factory=InOrder)

    @property
    def task(self) -> str:
        return self.decision.task if self.decision else ""

    @property
    def tier(self) -> str:
        return self.decision.tier if self.decision else ""

    @property
    def pii_masked(self) -> int:
        """Distinct values that were masked."""
        return self.pii.count if self.pii else 0

    @property
    def egress_sha256(self) -> str:
        """Of the body that was sent; of several answers' bodies, of their hashes in order, a line each."""
        hashes = [self.sent[choice] for choice in sorted(self.sent)]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    @property
    def usage(self) -> Usage | None:
        """Of the whole call: all answers have read the same prompt, which counts once."""
        if not self.finishes:
            return None
        return Usage(
            max(finish.usage.prompt_tokens for finish in self.finishes),
            sum(finish.usage.completion_tokens for finish in self.finishes),
        )

    @property
    def text_sha256(self) -> str | None:
        """Of the answer's text so far; None where there is neither a text nor an end."""
        if not self.forwarded and not self.finishes:
            return None
        return self.text.hexdigest()

    def sending(self, machine: Machine, model: str, body: bytes, *, choice: int = 0) -> None:
        """An attempt begins: `body` goes to `machine`."""
        self._asked(LOCAL_PROVIDER, machine, model, None, {})
        self.sent[choice] = hashlib.sha256(body).hexdigest()

    def sending_out(self, provider: str, model: str, body: bytes, pii: Pii, masked: Mapping[Category, int]) -> None:
        """An attempt begins that leaves the building: `body`, in which `pii` was masked, goes to `provider`."""
        self.left_building = True
        self._asked(provider, None, model, pii, masked)
        self.sent = {0: hashlib.sha256(body).hexdigest()}

    def waited(self, seconds: float) -> None:
        """There is a machine. Answers that are asked for together wait together."""
        self.queued = max(self.queued, seconds)

    def spent(self, usage: Usage) -> None:
        """An answer came to its end and is thrown away. The end of the one that follows counts it too."""
        self.lost.append(usage)

    def goes_elsewhere(self) -> None:
        """Nothing of what came so far goes on, and who is asked next begins anew."""
        self.received, self.first_token = 0, None

    def _asked(
        self, provider: str, machine: Machine | None, model: str, pii: Pii | None, masked: Mapping[Category, int]
    ) -> None:
        self.attempts += 1
        self.provider, self.machine, self.model = provider, machine, model
        self.pii, self.masked = pii, masked

    def content(self, now: float) -> None:
        """A piece of content came from the machine."""
        self.received += 1
        if self.first_token is None:
            self.first_token = now

    def passed_on(self, event: Event) -> None:
        """An event goes on to the caller."""
        if isinstance(event, TextDelta):
            self.forwarded = True
        elif isinstance(event, Finish):
            self.finishes.append(event)
        self._hash(self.order.feed(event))

    def broke_off(self) -> None:
        """No more events come: text that waited for its turn is counted too."""
        self._hash(self.order.rest())

    def _hash(self, pieces: tuple[str, ...]) -> None:
        for piece in pieces:
            self.text.update(piece.encode())


def ending_of(answer: Iterable[Event], course: Course) -> Ending:
    """How a call with these events ended. Raises UpstreamFailed where no answer has an end, which must not look like
    success."""
    reasons = {event.reason for event in answer if isinstance(event, Finish)}
    if not reasons:
        raise UpstreamFailed("The answer ended before it was done.", advice="Try again.")
    if course.context_cut:
        return "context_cut"
    if "content_filter" in reasons:
        return "refused"
    return "length" if "length" in reasons else "complete"


def certificate(
    course: Course,
    intent: Intent,
    intent_index: int,
    *,
    completed: datetime,
    ending: Ending,
    status: int | None,
    response_sha256: str,
) -> Certificate:
    """The certificate of an ended call. An answer without a word has the hash of no text; an error has none."""
    decision, usage = course.decision, course.usage
    return Certificate(
        intent=intent,
        intent_index=intent_index,
        completed=completed,
        egress=Egress(course.pii or Pii(course.shield_mode), _sent(course)),
        response=Response(ending, response_sha256, status, course.text_sha256),
        routing=Routing(decision.task, decision.tier, decision.reason) if decision else None,
        usage=proof.Usage(usage.prompt_tokens, usage.completion_tokens) if usage else None,
    )


def ledger_row(
    course: Course,
    call: Call,
    proof_id: str,
    ending: Ending,
    *,
    total_seconds: float,
    rates: Rates,
    costs: Costs = FREE,
) -> LedgerRow:
    """The ledger's row. Of a call without a model's own count, the pieces of content stand for its tokens."""
    decision, machine = course.decision, course.machine
    used = tokens_used(course)
    return LedgerRow(
        at_ms=to_ms(call.received),
        proof_id=proof_id,
        workspace_n=call.caller.workspace_n,
        key_n=call.caller.key_n,
        user_n=call.caller.user_n,
        dialect=ENTRIES[call.endpoint].dialect,
        address=call.model,
        ending=ending,
        total_ms=round(total_seconds * 1000),
        task=decision.task if decision else None,
        tier=decision.tier if decision else None,
        provider=course.provider if course.attempts else None,
        model=course.model if course.attempts else None,
        node=machine.id if machine else None,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        questions_milli=_questions(course, call, ending, rates, used.completion_tokens),
        cost_micro=costs.own,
        full_cost_micro=costs.full,
        queue_ms=round(course.queued * 1000),
        first_token_ms=round((course.first_token - course.started) * 1000) if course.first_token else None,
        masked=course.pii_masked,
        left_building=int(course.left_building),
    )


def _sent(course: Course) -> Sent | None:
    if not course.attempts:
        return None
    machine = course.machine
    node = Node(machine.id, machine.name, machine.engine or "unknown", machine.trust) if machine else None
    return Sent(course.provider, course.model, course.egress_sha256, course.attempts, node)


def tokens_used(course: Course) -> Usage:
    """What a call has used: what models said, else what is known of it without their word."""
    said = course.usage
    if said is None:
        begun = course.estimate if course.received else 0
        return Usage(sum(lost.prompt_tokens for lost in course.lost) or begun, course.received)
    return said if said.prompt_tokens else replace(said, prompt_tokens=course.estimate)


def _questions(course: Course, call: Call, ending: Ending, rates: Rates, completion_tokens: int) -> int:
    """Thousandths; of a call that reached nobody none."""
    if course.decision is None or not course.attempts:
        return 0
    given = course.given
    if call.stream or ending == "refused":  # of others nothing was given before all of it was there
        given += sum(finish.reason != "content_filter" for finish in course.finishes)
    answers = counted(ending, asked=call.chat.choices, given=given, begun=completion_tokens > 0)
    return rates.milli(model_class(course.decision.choice.provider, course.model), answers)
