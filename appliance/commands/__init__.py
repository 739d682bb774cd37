"""What each command of `synapse` does: one module a family, each command one function that gives an `Outcome`.

Nothing here parses arguments, prints or ends the process: that is `appliance.cli`.
"""
