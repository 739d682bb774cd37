import argparse

from appliance.arguments import parser
from appliance.commands.registry import COMMANDS


def leaves(of: argparse.ArgumentParser) -> list[str]:
    groups = [action for action in of._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        return [of.get_default("command")]
    return [name for group in groups for inner in group.choices.values() for name in leaves(inner)]


def test_every_command_that_can_be_typed_does_something():
    assert sorted(leaves(parser())) == sorted(COMMANDS)


def test_the_commands_of_the_design_are_there():
    # operations.md, "Commands", as far as this version goes.
    assert {
        "serve",
        "engine",
        "status",
        "version",
        *(f"key {verb}" for verb in ("create", "list", "revoke")),
        *(f"workspace {verb}" for verb in ("create", "list")),
        *(f"user {verb}" for verb in ("create", "list")),
        *(f"model {verb}" for verb in ("list", "set")),
        *(f"proof {verb}" for verb in ("list", "show", "keys", "verify")),
    } <= set(COMMANDS)
