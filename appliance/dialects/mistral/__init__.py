"""Mistral's Chat Completions API, which is spoken to and never served. Source: the Mistral API reference."""
