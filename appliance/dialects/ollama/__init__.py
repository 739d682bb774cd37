"""Ollama's native `/api/chat`: `body` writes the call, `lines` reads the answer, `errors` reads what went wrong.

Must not know machines, connections or statuses: those are the lane's. Source: dialects.md §2, the source of Ollama
0.33 and answers recorded from Ollama 0.32.15.
"""
