"""The bundled chat template, rendered by llama.cpp itself. Source: recordings 14, 16 and 24 for the turns."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from appliance.engine.models import load_model
from appliance.engine.requests import Message
from appliance.engine.runner import Runner, RunnerSettings
from appliance.engine.tools import Tool, ToolCall

WEATHER = Tool("get_weather", "Get the weather", {"type": "object", "properties": {"city": {"type": "string"}}})
QUESTION = Message("user", "What is the weather in Paris?")
CALL = Message("assistant", "", (ToolCall("get_weather", {"city": "Paris"}),))
RESULT = Message("tool", "18 degrees", tool_name="get_weather")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner(needs_llama: None) -> AsyncIterator[Runner]:
    runner = Runner(load_model(None), RunnerSettings(threads=1, slots=1, context=256, verbose=False))
    await runner.start()
    yield runner
    await runner.stop()


async def rendered(runner: Runner, messages: list[Message], *tools: Tool) -> str:
    return (await runner.render(messages, tools)).text


@pytest.mark.asyncio(loop_scope="module")
class TestTemplate:
    async def test_without_tools_it_is_plain_chatml(self, runner: Runner):
        messages = [Message("system", "S"), Message("user", "Hi"), Message("assistant", "Ho"), Message("martian", "?")]
        assert await rendered(runner, messages) == (
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n"
            "<|im_start|>martian\n?<|im_end|>\n<|im_start|>assistant\n"
        )

    async def test_tools_stand_as_json_before_the_last_question(self, runner: Runner):
        text = await rendered(runner, [Message("user", "Hi"), Message("assistant", "Ho"), QUESTION], WEATHER)
        before, _, after = text.rpartition("<tools>\n")
        assert before.startswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n")
        assert after.startswith(
            '{"type": "function", "function": {"name": "get_weather", "description": "Get the weather", '
            '"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}\n</tools>\n'
        )
        assert text.endswith("<|im_start|>user\nWhat is the weather in Paris?<|im_end|>\n<|im_start|>assistant\n")

    async def test_the_examples_have_tools_of_their_own(self, runner: Runner):
        text = await rendered(runner, [QUESTION], WEATHER)
        examples = text[: text.rindex("<tools>")]
        assert "get_weather" not in examples
        assert examples.count("<tool_call>\n{") == 3  # how to write one, and two that were written

    async def test_a_call_and_its_result_as_the_last_words(self, runner: Runner):
        assert await rendered(runner, [QUESTION, CALL, RESULT], WEATHER) == (
            "<|im_start|>user\nWhat is the weather in Paris?<|im_end|>\n<|im_start|>assistant\n<tool_call>\n"
            '{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>\n'
            "<|im_start|>user\n<tool_response>\n18 degrees\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
        )

    async def test_an_earlier_result_is_worded_otherwise(self, runner: Runner):
        told = Message("assistant", "It is 18 degrees.")
        text = await rendered(runner, [QUESTION, CALL, RESULT, told, Message("user", "And in Rome?")], WEATHER)
        assert "<|im_start|>user\nResult: 18 degrees<|im_end|>\n<|im_start|>assistant\nIt is 18" in text
        assert "tool_response" not in text

    async def test_text_and_several_calls_in_one_turn(self, runner: Runner):
        calls = (ToolCall('say "hi"', {"a": ["é\n"]}), ToolCall("g", {}))
        text = await rendered(runner, [Message("user", "?"), Message("assistant", "Both.", calls)])
        assert (
            '<|im_start|>assistant\nBoth.\n<tool_call>\n{"name": "say \\"hi\\"", "arguments": {"a": ["é\\n"]}}\n'
            '</tool_call>\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call><|im_end|>\n'
        ) in text

    async def test_a_conversation_without_a_question(self, runner: Runner):
        text = await rendered(runner, [Message("system", "S")], WEATHER)
        assert "get_weather" in text
        assert text.endswith("<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n")
