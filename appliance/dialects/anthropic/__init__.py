"""Anthropic's Messages API, both ways.

As it is served: `request` reads a call (with `messages`, `blocks`, `wishes`), `answer`, `errors` and `models` write
what goes back, `structure` says what the strings of a body are. As it is spoken to a provider: `upstream` hands on a
body of this dialect, `body` writes a call of another (with `turns`, `tools`, `formats`), `stream` and `refusals` read
what comes.

Must not know keys, connections or retries. Source: dialects.md §1.2; the types of the official SDK (PyPI `anthropic`
2.14.0); where they are silent, the error texts of the API as people have reported them.
"""
