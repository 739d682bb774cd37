"""The path of one call: address, task, policy, routing, and the pipeline that walks it."""
