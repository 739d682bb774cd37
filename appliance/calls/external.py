"""Runs a call at an external provider: its body masked on the way out, its answer restored on the way back.

Which provider and model it is was decided before, and so was that the text may leave. Source: architecture.md, rule 1;
routing.md ("Choice"); gateway.md ("Sensitive data that is not text").
"""

import hmac
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

from appliance.calls.call import Call
from appliance.calls.entries import ENTRIES, Dialect
from appliance.calls.offload import offloaded
from appliance.calls.outbound import Outbound
from appliance.calls.policy import Policy, local_lane_exists
from appliance.calls.record import Course
from appliance.calls.restoring import restored
from appliance.calls.routing import Candidate
from appliance.calls.signed_thoughts import SignedThoughts
from appliance.dialects.anthropic import body as anthropic
from appliance.dialects.anthropic import upstream as anthropic_upstream
from appliance.dialects.chat import DialectError, Event
from appliance.dialects.mistral import upstream as mistral
from appliance.dialects.openai import upstream as openai
from appliance.dialects.upstream import Outgoing
from appliance.errors import BadRequest, ConfigError, ProviderNotAllowed, StateError, UnscannableContent
from appliance.lanes.endpoint import Endpoint, Kind, endpoint
from appliance.lanes.external import ExternalLane
from appliance.proofs.certificate import Pii
from appliance.store import providers
from appliance.store.sealing import Sealer

_log = logging.getLogger(__name__)

SPOKEN: Mapping[str, Dialect] = {"openai": "openai", "openai-compatible": "openai", "anthropic": "anthropic"}
"""The dialect of each kind of provider, where calls can come in it too."""

END_USER_CHARACTERS = 32
"""Of the keyed hash that stands for the name of an end user: 128 bits."""


@dataclass(slots=True)
class Endpoints:
    """Where each provider is and the key that it takes, by the provider's name; replaced whole at every change."""

    by_name: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint], repr=False)


def opened_endpoints(conn: sqlite3.Connection, sealer: Sealer) -> dict[str, Endpoint]:
    """Where the stored providers are. One whose key does not open any more is left out: it cannot be called."""
    found: dict[str, Endpoint] = {}
    for row in providers.list_all(conn):
        try:
            provider = providers.opened(row, sealer)
            found[row.name] = endpoint(cast("Kind", row.kind), row.name, row.base_url, provider.key)
        except (StateError, ConfigError) as error:
            _log.error("The provider %s cannot be called: %s", row.name, error)
    return found


@dataclass(frozen=True, slots=True)
class ExternalLanes:
    """What a run is made of. `end_user_key` hides the names of end users from providers."""

    lane: ExternalLane
    endpoints: Endpoints
    end_user_key: bytes = field(repr=False)
    thoughts: SignedThoughts
    monotonic: Callable[[], float]
    new_call_id: Callable[[], str]

    def end_user(self, name: str) -> str:
        """What a provider is told instead of the name of an end user: always the same for one."""
        return hmac.digest(self.end_user_key, name.encode(errors="replace"), "sha256").hex()[:END_USER_CHARACTERS]


class ExternalRun:
    """One call at one provider. `outbound` has been scanned where the shield is on."""

    def __init__(
        self, parts: ExternalLanes, call: Call, candidate: Candidate, course: Course, policy: Policy, outbound: Outbound
    ) -> None:
        self._parts = parts
        self._call = call
        self._provider = candidate.provider
        self._model = candidate.model or ""
        self._course = course
        self._entry = ENTRIES[call.endpoint]
        self._same = SPOKEN.get(self._provider.kind) == self._entry.dialect
        self._policy = policy
        self._outbound = outbound

    async def events(self) -> AsyncGenerator[Event, None]:
        """The events of all answers that the call asks for.

        Raises:
            AttemptFailed: the provider gave no answer; another may, where it says so.
            CallError: the call cannot go to this provider, whatever it says.
        """
        where = self._parts.endpoints.by_name.get(self._provider.name)
        if where is None:  # removed a moment ago
            raise ProviderNotAllowed(f"The provider {self._provider.name} was removed.", advice="Try again.")
        body, masked = await self._outbound.leaving()
        self._check_scannable()
        outgoing = await offloaded(self._call, lambda: self._outgoing(body, where.base_url))
        course = self._course
        pii = Pii(self._policy.shield_mode, masked.vault.count, masked.vault.categories)
        events = self._parts.lane.chat(
            where,
            outgoing,
            elapsed=self._parts.monotonic() - course.started,
            sending=lambda: course.sending_out(
                self._provider.label, self._model, outgoing.body, pii, masked.vault.counts
            ),
        )
        # A structured answer is JSON, in which a value has to be escaped.
        depth = 0 if self._call.chat.format is None else 1
        # What its provider may sign has to come back to it as it was.
        signed = self._same and self._entry.dialect == "anthropic"
        if signed:
            events = self._parts.thoughts.noted(where.base_url, events)
        restoring = restored(self._counted(events), masked.vault, depth=depth, thoughts=not signed)
        async with aclosing(restoring) as answer:
            async for event in answer:
                yield event

    async def _counted(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            async for event in events:
                self._course.content(self._parts.monotonic())
                yield event

    def _check_scannable(self) -> None:
        if self._policy.shield_mode == "off" or self._policy.unscannable == "allow":
            return
        if self._outbound.unscannable:
            allow = "have the administrator allow it: `synapse policy unscannable allow`."
            stays = local_lane_exists(self._policy)
            raise UnscannableContent(
                "Pictures and files cannot be scanned for personal data, and this call would take some out of the"
                " building.",
                advice=f"Ask `pulse-sensitive`, which stays inside, or {allow}"
                if stays
                else f"Leave them out, or {allow}",
                param="messages",
            )

    def _outgoing(self, body: str, address: str) -> Outgoing:
        """The attempt in the provider's dialect: the caller's own body where it is the same."""
        try:
            return self._own(body, address) if self._same else self._translated(body)
        except DialectError as error:
            raise BadRequest(error.message, param=error.param) from None

    def _own(self, body: str, address: str) -> Outgoing:
        model, end_user, new_id = self._model, self._parts.end_user, self._parts.new_call_id
        if self._entry.dialect == "openai":
            return openai.forwarded(body, model=model, end_user=end_user, new_id=new_id)

        def is_foreign(thought: str, signature: str) -> bool:
            """Whether it knows somebody, and not from this provider, which has seen what it says."""
            return self._outbound.is_personal(thought) and not self._parts.thoughts.knows(address, thought, signature)

        return anthropic_upstream.forwarded(
            body,
            model=model,
            given=self._call.headers,
            end_user=end_user,
            is_foreign=is_foreign,
            new_id=new_id,
        )

    def _translated(self, body: str) -> Outgoing:
        chat, model, new_id = self._entry.chat(body.encode()), self._model, self._parts.new_call_id
        match self._provider.kind:
            case "anthropic":
                return anthropic.written(chat, model=model, new_id=new_id)
            case "mistral":
                return mistral.written(chat, model=model, new_id=new_id)
            case kind:
                return openai.written(chat, model=model, new_id=new_id, compatible=kind == "openai-compatible")
