"""Synapse: an on-premise gateway to language models.

The path of one call, which the packages follow:

    HTTP request → authenticate → parse dialect → address → [ground | agent] → shield: scan + mask
                 → route: task, tier, provider, model → machine → answer → restore → meter + certify → HTTP response

`gateway` is the HTTP edge, `dialects` the wire forms, `calls` the path itself, `lanes` those who can answer,
`cluster` the machines, `metering` what it counts, `proofs` the evidence, `store` the one SQLite file, `admin` the
socket that the command line and the console speak to, and `engine` the small model for a machine without Ollama.
"""

DISTRIBUTION = "synapse-appliance"
"""The installed package's name, of which the version is asked."""
