"""The child process that holds llama.cpp. `runner` starts this very file, so it imports nothing of ours.

It reads one line of JSON on stdin (`Setup`), serves llama.cpp on a Unix socket, answers one line of JSON on stdout,
and lives until stdin ends. So it ends with its parent, whatever killed that, and takes the socket's directory along.
It must not open a TCP port, and the key must not stand in its arguments.
"""

import importlib
import json
import os
import shutil
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BATCH_TOKENS = 64
"""Tokens of a prompt evaluated in one go. A call that is cancelled works on until its batch ends: about 0.3 s on one
slow core, and smaller batches cost throughput."""
SPARE_HTTP_THREADS = 4
"""Threads beside the one per slot, for tokenizing while all slots are busy."""
CONTEXT_CHECKPOINTS = 4
"""Copies of its state per slot that a model with a sliding window may keep; the default of 32 takes gigabytes."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the parent says on stdin. `template` replaces the model's own unless it is empty.

    The path `socket` ends in `.sock`, by which llama.cpp tells it from a host name. Its directory is ours alone.
    """

    model: str
    template: str
    socket: str
    key: str
    threads: int
    slots: int
    context: int
    """Tokens per slot."""
    verbose: bool
    embedding: bool = False
    """Whether it is to make embeddings instead of text, and then how: `pooling` is llama.cpp's number."""
    pooling: int = 0

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends us in its own time
    reply = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever llama.cpp prints is noise, not an answer
    setup = Setup(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_parent, args=(Path(setup.socket).parent,), daemon=True).start()
    try:
        server = _serve(setup)
    except RuntimeError as error:
        os.write(reply, json.dumps({"error": str(error)}).encode() + b"\n")
        sys.exit(1)
    os.write(reply, b'{"ready": true}\n')
    os.close(reply)
    threading.Event().wait()
    del server


def _serve(setup: Setup) -> object:
    """Loads the model and starts llama.cpp's HTTP server. Raises RuntimeError, as llama.cpp does."""
    llama: Any = importlib.import_module("xllamacpp")  # without type information of its own
    params = llama.CommonParams()
    params.model.path = setup.model
    params.chat_template = setup.template
    params.hostnames = [setup.socket]
    params.api_keys = [setup.key]
    params.n_parallel = setup.slots
    params.n_ctx = setup.slots * setup.context
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    if setup.embedding:
        params.embedding = True
        params.pooling_type = llama.llama_pooling_type(setup.pooling)
        params.n_batch = params.n_ubatch = setup.context  # a text has to be in one batch as a whole
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = setup.threads
    params.n_threads_http = setup.slots + SPARE_HTTP_THREADS
    params.ctx_shift = False  # it forgets the start of a conversation silently
    params.fit_params = False  # else llama.cpp may choose another context than the one we report
    params.cache_ram_mib = 0  # each slot keeps its last conversation; a further cache would grow to gigabytes
    params.n_ctx_checkpoints = CONTEXT_CHECKPOINTS
    params.prefill_assistant = False  # Ollama starts a new turn after an assistant's message
    params.enable_reasoning = 0  # the engine declares no thinking, so no template shall ask for any
    params.ui = False
    params.cors_origins = ""
    params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.verbosity = 3 if setup.verbose else 0
    return llama.Server(params)


def _end_with_parent(directory: Path) -> None:
    """Waits for the end of stdin, which comes when the parent closes it or dies."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
