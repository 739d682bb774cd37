"""The one way in which the engine turns a request down: a status and a sentence, in Ollama's words."""

from appliance.errors import EngineError


class Refused(EngineError):
    """The request is answered with `status` and the body `{"error": message}`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def context_exceeded(prompt_tokens: int, limit: int) -> Refused:
    """The refusal of a prompt that leaves no room for an answer: llama.cpp's own error, inside Ollama's (recorded)."""
    return Refused(
        400,
        '{"error":{"code":400,"message":"request ('
        f'{prompt_tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it",'
        f'"type":"exceed_context_size_error","n_prompt_tokens":{prompt_tokens},"n_ctx":{limit}}}}}',
    )
