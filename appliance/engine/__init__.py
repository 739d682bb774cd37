"""The embedded engine: small GGUF models behind Ollama's own HTTP API, for machines that have no Ollama.

One request for text passes `guard` (may this page ask?), `requests`, `options` and `formats` (what is asked), `shelf`
and `residence` (is the model there, and in memory?), `fitting` with `floors` (does the conversation fit?), `turns`
(whose turn is it?), `llama` and `runner` (llama.cpp, in a child process that `child` starts), `calls` (is it a call
of a tool?), and `writing` with `answers` (Ollama's JSON). `chats`, `generates` and `embeds` tell it in this order, one
for each kind of request; `server` joins them and `main` runs them.

It knows nothing of the gateway, and the gateway sees one more Ollama machine.
"""
