"""The `options` of a request: their types, Ollama's defaults, and what happens to a wrong one.

Pure. Source: Ollama's documented options and the recorded answers to wrong ones. Options that Ollama takes but
that are fixed when the engine starts (`num_batch`, `num_gpu`, …) are checked and have no effect; unknown ones are
ignored, as Ollama ignores them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from appliance.engine.refusal import Refused

MAX_INT = 2**31 - 1
"""llama.cpp's whole numbers have 32 bits; a larger one means the same as the largest."""

_FLOATS = (
    "temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
_INTEGERS = (
    "num_ctx", "num_predict", "num_keep", "seed", "top_k", "repeat_last_n",
    "num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict",
)  # fmt: skip
_BOOLEANS = ("use_mmap",)
_TEXTS = ("stop",)


@dataclass(frozen=True, slots=True)
class Options:
    """How to sample, with Ollama's defaults. Token counts are `None` where the request does not say.

    `num_predict` is `MAX_INT` where it says that only the context shall end the answer (Ollama's -1).
    """

    num_ctx: int | None = None
    num_predict: int | None = None
    seed: int | None = None
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: tuple[str, ...] = ()


def parse_options(raw: Mapping[str, object], usual: Mapping[str, object] | None = None) -> Options:
    """Reads the JSON object `options`; `usual` is what holds where it says nothing, before Ollama's own defaults.

    Raises Refused (500, as recorded) for a value of the wrong type.
    """
    given = {**(usual or {}), **{name: value for name, value in raw.items() if value is not None}}
    floats = {name: _float(name, given[name]) for name in _FLOATS if name in given}
    integers = {name: _integer(name, given[name]) for name in _INTEGERS if name in given}
    texts = {name: _texts(name, given[name]) for name in _TEXTS if name in given}
    for name in _BOOLEANS:
        if name in given and not isinstance(given[name], bool):
            raise _wrong_type(name, "boolean")
    defaults = Options()
    return Options(
        num_ctx=_positive(integers.get("num_ctx")),
        num_predict=_ceiling(integers.get("num_predict")),
        seed=_not_negative(integers.get("seed")),
        temperature=floats.get("temperature", defaults.temperature),
        top_k=integers.get("top_k", defaults.top_k),
        top_p=floats.get("top_p", defaults.top_p),
        min_p=floats.get("min_p", defaults.min_p),
        typical_p=floats.get("typical_p", defaults.typical_p),
        repeat_penalty=floats.get("repeat_penalty", defaults.repeat_penalty),
        repeat_last_n=integers.get("repeat_last_n", defaults.repeat_last_n),
        presence_penalty=floats.get("presence_penalty", defaults.presence_penalty),
        frequency_penalty=floats.get("frequency_penalty", defaults.frequency_penalty),
        stop=texts.get("stop", ()),
    )


def _float(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(name, "float32")
    return float(value)


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(name, "integer")
    return max(-MAX_INT, min(int(value), MAX_INT))


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong_type(name, "array")
    items = cast("list[object]", value)
    if not all(isinstance(item, str) for item in items):
        raise Refused(500, f'option "{name}" must be of an array of strings')
    return tuple(cast("list[str]", items))


def _wrong_type(name: str, wanted: str) -> Refused:
    return Refused(500, f'option "{name}" must be of type {wanted}')


def _positive(value: int | None) -> int | None:
    return value if value is not None and value > 0 else None


def _ceiling(value: int | None) -> int | None:
    return MAX_INT if value is not None and value <= 0 else value


def _not_negative(value: int | None) -> int | None:
    return value if value is not None and value >= 0 else None
