"""Measures how often the bundled model calls the right tool, over the fixed list of `tool_prompts.json`.

    .venv/bin/python -m tests.engine.tool_success [--temperature T] [--seeds N] [--show]

The tools and prompts of the list are none of those that the template was made with. It prints one table:

- called: the prompt asks for a tool, and the answer calls the right one;
- with the right arguments: every expected value is there (texts are compared without case, and may hold more);
- left alone: the prompt needs no tool, and the answer calls none;
- result told: after a tool's result the answer is text that says it, and no further call;
- called again: a second question in the same conversation calls the right tool with the right arguments.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engine.live import Engine, start_engine

PROMPTS: dict[str, Any] = json.loads(Path(__file__).with_name("tool_prompts.json").read_text("utf-8"))
MOST_TOKENS = 120


@dataclass
class Tally:
    """How many of how many, and what went wrong."""

    good: int = 0
    all: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, good: bool, what: str) -> bool:
        self.good += good
        self.all += 1
        if not good:
            self.wrong.append(what)
        return good


def tools_of(names: list[str]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, **PROMPTS["tools"][name]}} for name in names]


def exchange(step: dict[str, Any]) -> list[dict[str, Any]]:
    """A question, the call that answers it and its result."""
    call = {"function": {"name": step["call"], "arguments": step["arguments"]}}
    return [
        {"role": "user", "content": step["ask"]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": step["call"], "content": step["result"]},
    ]


def has(arguments: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(
        value in str(arguments.get(name)).lower() if isinstance(value, str) else arguments.get(name) == value
        for name, value in expected.items()
    )


def first_call(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    calls = message.get("tool_calls") or [{"function": {"name": "", "arguments": {}}}]
    return calls[0]["function"]["name"], calls[0]["function"]["arguments"]


def measure(engine: Engine, temperature: float, seed: int, tallies: dict[str, Tally]) -> None:
    def answer(messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
        options = {"temperature": temperature, "seed": seed, "num_predict": MOST_TOKENS}
        return engine.chat(messages=messages, tools=tools_of(tools), options=options).json["message"]

    for step in PROMPTS["calls"]:
        message = answer([{"role": "user", "content": step["ask"]}], step["tools"])
        name, arguments = first_call(message)
        what = f"{step['ask']} -> {message}"
        if tallies["called"].count(name == step["call"], what):
            tallies["with the right arguments"].count(has(arguments, step["arguments"]), what)
    for step in PROMPTS["quiet"]:
        message = answer([{"role": "user", "content": step["ask"]}], step["tools"])
        tallies["left alone"].count("tool_calls" not in message, f"{step['ask']} -> {message}")
    for step in PROMPTS["told"]:
        message = answer(exchange(step), step["tools"])
        told = "tool_calls" not in message and all(fact in message["content"] for fact in step["says"])
        tallies["result told"].count(told, f"{step['ask']} -> {message}")
    for step in PROMPTS["again"]:
        before = [*exchange(step["before"]), {"role": "assistant", "content": step["before"]["answer"]}]
        message = answer([*before, {"role": "user", "content": step["ask"]}], step["tools"])
        name, arguments = first_call(message)
        good = name == step["call"] and has(arguments, step["arguments"])
        tallies["called again"].count(good, f"{step['ask']} -> {message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=1, help="how often the list is gone through, with another seed")
    parser.add_argument("--show", action="store_true", help="say what went wrong")
    given = parser.parse_args()
    kinds = ("called", "with the right arguments", "left alone", "result told", "called again")
    tallies = {kind: Tally() for kind in kinds}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        engine = start_engine(slots=1, state=state)
        try:
            for seed in range(1, given.seeds + 1):
                measure(engine, given.temperature, seed, tallies)
        finally:
            engine.end()
    print(f"temperature {given.temperature:g}, {given.seeds} seed(s), {time.monotonic() - began:.0f} s")
    for kind, tally in tallies.items():
        print(f"{kind:26} {tally.good:4} of {tally.all:4}  {100 * tally.good / max(tally.all, 1):5.1f} %")
        for wrong in tally.wrong if given.show else ():
            print(f"    {wrong}")


if __name__ == "__main__":
    main()
