"""The embedded engine: one small GGUF model behind Ollama's own HTTP API, for machines that have no Ollama.

One request passes `guard` (may this page ask?), `requests` and `options` (what is asked), `residence` (is the
model in memory?), `fitting` (does the conversation fit?), `llama` and `runner` (llama.cpp, in a child process
that `child` starts), and `answers` or `listing` (Ollama's JSON). `server` joins them and `main` runs them.

It knows nothing of the gateway, and the gateway sees one more Ollama machine.
"""
