"""Writes one answer's call for a machine of this installation, in the dialect that the machine speaks. Pure.

Which machine it is was decided before. What a model cannot do is refused here, before anything is sent.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from appliance.cluster.machine import Machine, Model
from appliance.dialects.chat import Chat, DialectError, ToolChoice
from appliance.dialects.ollama.body import MAX_PREDICT, Prepared, Target, needs, offers, prepare, seed_of
from appliance.dialects.ollama.forced import forced
from appliance.dialects.openai.upstream import written
from appliance.dialects.reminders import folded
from appliance.dialects.upstream import Outgoing
from appliance.errors import BadRequest

_PARAMS = {"tools": "tools", "vision": "messages"}
"""The request's field that asks for what a model cannot do."""


@dataclass(frozen=True, slots=True)
class OneAnswer:
    """One answer of a call, by a model of this name. `choice` is its number, `seed` that of a call for several answers
    whose caller set none, and `again` says that it is the second try of a structured answer, whose format then binds.
    """

    chat: Chat
    model: str
    choice: int = 0
    seed: int | None = None
    again: bool = False


def local_body(
    answer: OneAnswer, machine: Machine, model: Model, context: int, *, new_id: Callable[[], str]
) -> Prepared | Outgoing:
    """The body for this model on this machine, with what reads the answer: `Prepared` goes to the lane of Ollama,
    `Outgoing` to that of compatible servers.

    `context` is the model's there, in tokens, 0 where unknown. `new_id` makes the ids of tool calls.

    Raises BadRequest: what the caller has to change.
    """
    _check(answer, model)
    try:
        if machine.kind == "ollama":
            target = Target(answer.model, model.capabilities, context or None)
            return prepare(
                answer.chat, target, new_id=new_id, choice=answer.choice, seed=answer.seed, again=answer.again
            )
        chat = _alone(answer, context)
        # By the name that the server lists: it knows no other, not even with `:latest` left out.
        return written(chat, model=model.name, new_id=new_id, compatible=True, first=answer.choice)
    except DialectError as error:
        raise BadRequest(error.message, param=error.param) from None


def _check(answer: OneAnswer, model: Model) -> None:
    for missing in sorted(needs(answer.chat) - model.capabilities):
        raise BadRequest(
            f"The model {answer.model!r} of this installation does not support {missing}.",
            advice="Leave it out, or ask the administrator for a model that does.",
            param=_PARAMS[missing],
        )


def _alone(answer: OneAnswer, context: int) -> Chat:
    """The chat for this one answer, as `ollama.body.prepare` has it: with a format or with tools, never both, since a
    format binds every word of an answer; and with no tool that may not be called."""
    chat = answer.chat
    demanded, offered = forced(chat), offers(chat)
    binds = chat.format is not None and not demanded and (answer.again or not offered)
    limit = chat.sampling.max_tokens
    sampling = replace(
        chat.sampling,
        seed=seed_of(chat, answer.choice, answer.seed),
        # vLLM refuses a ceiling that goes beyond the context, which ends the answer anyway.
        max_tokens=limit if limit is not None and limit < (context or MAX_PREDICT) else None,
    )
    return replace(
        chat,
        messages=folded(chat),
        reminders=False,
        sampling=sampling,
        choices=1,
        format=chat.format if binds else None,
        tools=() if binds else demanded.tools if demanded else offered,
        # The one tool that is named is the only one told of: llama.cpp takes no name, and would leave it open.
        tool_choice=ToolChoice("required") if demanded else ToolChoice(),
    )
