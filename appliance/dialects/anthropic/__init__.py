"""Anthropic's Messages API: `body` writes a call, `stream` reads the answer, `errors` reads what went wrong.

Must not know keys, connections or retries: those are the lane's. Source: dialects.md §1.2; the types of the official
SDK (PyPI `anthropic` 2.14.0); where they are silent, the error texts of the API as people have reported them.
"""
