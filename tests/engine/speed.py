"""Measures what the engine takes of this machine: time to start, tokens and texts a second, memory.

.venv/bin/python -m tests.engine.speed [--threads N]
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.engine.live import Engine, start_engine

LONG = "The quick brown fox jumps over the lazy dog. " * 150
TEXTS = [
    f"Text number {number} is about the weather, the office, and what there was for lunch." for number in range(96)
]
NANO = 1e9


def chat_speed(engine: Engine) -> tuple[float, float]:
    """Tokens a second of a long prompt and of an answer."""
    reading = engine.chat(LONG, options={"num_predict": 1}).json
    writing = engine.chat("Tell me a long story.", options={"num_predict": 200, "temperature": 0, "seed": 1}).json
    return (
        reading["prompt_eval_count"] / reading["prompt_eval_duration"] * NANO,
        writing["eval_count"] / writing["eval_duration"] * NANO,
    )


def embedding_speed(engine: Engine) -> float:
    """Texts of some 17 tokens a second."""
    engine.send("POST", "/api/embed", {"model": "all-minilm", "input": "to load it"})
    began = time.monotonic()
    engine.send("POST", "/api/embed", {"model": "all-minilm", "input": TEXTS})
    return len(TEXTS) / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    with tempfile.TemporaryDirectory() as state:
        began = time.monotonic()
        engine = start_engine(state=state, threads=threads)
        try:
            print(f"ready after                {time.monotonic() - began:6.2f} s")
            engine.send("GET", "/api/tags")
            print(f"embedding model made after {time.monotonic() - began:6.2f} s")
            reading, writing = chat_speed(engine)
            print(f"prompt                     {reading:6.0f} tokens/s")
            print(f"answer                     {writing:6.0f} tokens/s")
            print(f"embeddings                 {embedding_speed(engine):6.0f} texts/s")
            for model in engine.loaded():
                print(f"memory of {model['name']:17}{model['size'] / 1e6:6.0f} MB")
            print(
                f"embedding model on disk    {sum(p.stat().st_size for p in Path(state).glob('*.gguf')) / 1e6:6.0f} MB"
            )
        finally:
            engine.end()


if __name__ == "__main__":
    main()
