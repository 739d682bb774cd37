"""The body of `POST /v1/ai/complete`: the gateway's own dialect, which is served and never spoken."""
