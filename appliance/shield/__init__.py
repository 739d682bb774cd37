"""The PII shield: finds personal values in text, masks them with tokens, and restores them in the answer.

The path of a text: `view` (the same text as a reader sees it, with a way back to its offsets), the rules (`emails`,
`phones`, …: each finds one kind of value), `overlap` (one finding a place), `detect` (these together, for a mode),
`tokens` and `vault` (a value's token, for one call), `mask` (a call's texts with tokens in place), and on the way back
`restore`. It imports nothing of ours, asks no model and no network, and is deterministic for one key.

Source: synapse.md ("PII shield"), shield.md.
"""
