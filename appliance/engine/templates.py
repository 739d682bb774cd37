"""The chat template of the bundled model, which teaches it to call tools. Pure text.

Without tools it is plain ChatML, as Ollama's smollm2 has it; the template inside the file adds a system prompt that
nobody asked for, and ignores tools. With tools it is Qwen's and Hermes' way to write them, and around it what so
small a model needs (measured, see docs/engine.md):

- Worked examples, with tools of their own, of two calls and of two questions that need none.
- They and the tools stand right before the last question: further up, the model answers from the conversation instead
  of calling.
- Earlier results read `Result: …` and not `<tool_response>`, which the model would otherwise write in place of
  `<tool_call>`, since both begin alike. The last one, which is to be told, is wrapped as usual.
- When a result is there to be told, examples and tools are left out: with them the model calls again and again.
"""

_INTRODUCTION = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
_INSTRUCTION = """</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""

_EXAMPLE_TOOLS = """\
{"type": "function", "function": {"name": "get_population", \
"description": "Get the number of people who live in a country", "parameters": {"type": "object", \
"properties": {"country": {"type": "string"}}, "required": ["country"]}}}
{"type": "function", "function": {"name": "create_reminder", "description": "Create a reminder", \
"parameters": {"type": "object", "properties": {"text": {"type": "string"}, "hour": {"type": "integer"}}, \
"required": ["text", "hour"]}}}
"""
_EXAMPLES = (
    (
        "How many people live in Brazil?",
        '<tool_call>\n{"name": "get_population", "arguments": {"country": "Brazil"}}\n</tool_call>',
    ),
    ("Hi there!", "Hello! How can I help you?"),
    (
        "Remind me at 9 to water the plants.",
        '<tool_call>\n{"name": "create_reminder", "arguments": {"text": "water the plants", "hour": 9}}\n</tool_call>',
    ),
    ("Why do leaves fall in autumn?", "Trees let their leaves fall to save water in winter."),
)
_TOOLS = r"{% for tool in tools %}{{ tool | tojson }}{{ '\n' }}{% endfor %}"


def _turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


BUNDLED_TEMPLATE = (
    # Where the last question stands: what is before it has been dealt with.
    "{%- set last = namespace(question=0) %}"
    "{%- for message in messages %}{% if message.role == 'user' %}{% set last.question = loop.index0 %}{% endif %}"
    "{% endfor %}"
    "{%- for message in messages %}"
    "{%- if tools and messages[-1].role != 'tool' and loop.index0 == last.question %}"
    + _turn("system", _INTRODUCTION + _EXAMPLE_TOOLS + _INSTRUCTION)
    + "".join(_turn("user", question) + _turn("assistant", answer) for question, answer in _EXAMPLES)
    + _turn("system", _INTRODUCTION + _TOOLS + _INSTRUCTION)
    + "{% endif %}"
    "{%- if message.role == 'tool' %}"
    r"{{ '<|im_start|>user\n' }}"
    "{% if loop.index0 < last.question %}{{ 'Result: ' + message.content }}"
    r"{% else %}{{ '<tool_response>\n' + message.content + '\n</tool_response>' }}{% endif %}"
    r"{{ '<|im_end|>\n' }}"
    "{% elif message.tool_calls %}"
    r"{{ '<|im_start|>assistant\n' }}"
    r"{% if message.content %}{{ message.content + '\n' }}{% endif %}"
    "{% for call in message.tool_calls %}"
    r"""{{ '<tool_call>\n{"name": ' + (call.function.name | tojson) + ', "arguments": ' }}"""
    r"{{ (call.function.arguments | tojson) + '}\n</tool_call>' }}{{ '' if loop.last else '\n' }}"
    "{% endfor %}"
    r"{{ '<|im_end|>\n' }}"
    r"{% else %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}"
    r"{% endfor %}{{ '<|im_start|>assistant\n' }}"
)

BUNDLED_SHOWN_TEMPLATE = (
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n"
)
"""The template for requests without tools in Ollama's language, for people who read `/api/show`."""
