"""Reads what an OpenAI body wants of its answer: its form, how it is sampled, how many there shall be.

Source: dialects.md §1.1.
"""

from typing import cast, get_args

from appliance.dialects.chat import DialectError, Effort, Format, Sampling
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.schema_checks import schema_error

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
"""Ollama reads integer options into Go's `int`."""

MAX_CHOICES = 8
"""Each choice is a whole run of the model."""

MAX_TOP_LOGPROBS = 20

_EFFORTS: tuple[Effort, ...] = get_args(Effort)

_FORMATS = "one of text, json_object and json_schema"


def choices(fields: Fields) -> int:
    """How many answers are wanted."""
    return fields.integer("n", 1, MAX_CHOICES) or 1


def effort(fields: Fields) -> Effort | None:
    """`reasoning_effort`, or the same inside `reasoning`, as the Responses API and others write it."""
    flat, nested = _effort(fields, "reasoning_effort"), None
    reasoning = fields.nested("reasoning")
    if reasoning is not None:
        nested = _effort(reasoning, "effort")
    return flat or nested


def _effort(fields: Fields, name: str) -> Effort | None:
    value = fields.text(name)
    if value is None:
        return None
    for known in _EFFORTS:
        if value == known:
            return known
    raise wrong_type(fields.param(name), f"one of {', '.join(_EFFORTS)}")


def response_format(fields: Fields) -> Format | None:
    """The form of a structured answer; None for plain text."""
    wanted = fields.nested("response_format")
    kind = wanted.text("type") if wanted is not None else "text"
    if wanted is None or kind == "text":
        return None
    if kind == "json_object":
        # Not OpenAI's, but of servers that clients speak to in the same way: the schema beside the type.
        return _format(wanted) if isinstance(wanted.get("schema"), dict) else Format()
    if kind == "json_schema":
        described = as_fields(wanted.get("json_schema"), wanted.param("json_schema"))
        # A name alone is any JSON; without one this is a schema in the wrong place, which must not be lost.
        return Format() if "name" in described.values and described.get("schema") is None else _format(described)
    raise wrong_type(wanted.param("type"), _FORMATS)


def _format(fields: Fields) -> Format:
    schema = as_fields(fields.get("schema"), fields.param("schema"))
    wrong = schema_error(schema.values)
    if wrong:
        raise DialectError(f"`{schema.path}` {wrong}.", schema.path)
    return Format(schema.values)


def sampling(fields: Fields) -> Sampling:
    """How to sample the answer."""
    return Sampling(
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        frequency_penalty=fields.number("frequency_penalty", -2, 2),
        presence_penalty=fields.number("presence_penalty", -2, 2),
        seed=fields.integer("seed", MIN_INT, MAX_INT),
        stop=_stop(fields),
        max_tokens=_max_tokens(fields),
        top_logprobs=_top_logprobs(fields),
    )


def _stop(fields: Fields) -> tuple[str, ...]:
    value = fields.get("stop")
    if value is None:
        return ()
    sequences = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [one for one in sequences if isinstance(one, str)]
    if len(texts) != len(sequences):
        raise wrong_type(fields.param("stop"), "a string or a list of strings")
    # An empty sequence stops nothing, but some servers would find it everywhere.
    return tuple(text for text in texts if text)


def _max_tokens(fields: Fields) -> int | None:
    old = fields.integer("max_tokens", MIN_INT, MAX_INT)
    new = fields.integer("max_completion_tokens", MIN_INT, MAX_INT)
    return next((limit for limit in (new, old) if limit is not None and limit > 0), None)


def _top_logprobs(fields: Fields) -> int | None:
    """How many alternatives are wanted beside each token's own chance; None where no chances are."""
    wanted, top = fields.flag("logprobs"), fields.integer("top_logprobs", 0, MAX_TOP_LOGPROBS) or 0
    if top and not wanted:
        raise DialectError("`top_logprobs` needs `logprobs` to be true.", "top_logprobs")
    return top if wanted else None
