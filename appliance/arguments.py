"""What can be typed after `synapse`: the parser, from which the help and docs/commands.md are made too.

Checks the form of what is typed and nothing else; imports nothing heavy.
Source of the commands and their options: operations.md, "Commands".
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from appliance import machine_arguments, upkeep_arguments
from appliance.admin import values
from appliance.parsing import Parser, Refused, command, common_options, group_of, read

DESCRIPTION = "An office's own gateway to language models: answers from its own machines, and certifies every call."


def parser() -> Parser:
    """The whole parser. A parsed command line has `command`, such as `key create`, `config`, `json` and the
    command's own arguments."""
    top = Parser(prog="synapse", description=DESCRIPTION, parents=[common_options()])
    top.set_defaults(config=None, json=False)
    top.epilog = "synapse version prints the version."
    commands = group_of(top)
    _serve_and_engine(commands)
    command(commands, "status", "Show lanes, machines, mode, keys and the last calls.")
    _key(group_of(command(commands, "key", "Make, list and revoke API keys.", leaf=False)))
    for kind in ("workspace", "user"):
        group = group_of(command(commands, kind, f"Make and list {kind}s.", leaf=False))
        command(group, f"{kind} create", f"Make a {kind}.").add_argument("name", metavar="NAME")
        command(group, f"{kind} list", f"List all {kind}s.")
        if kind == "workspace":
            _allowance(group)
    _shield(group_of(command(commands, "shield", "Say what the shield masks, and try it.", leaf=False)))
    _model(group_of(command(commands, "model", "Get models, and say which of them the local lane uses.", leaf=False)))
    _provider(group_of(command(commands, "provider", "Add, test and remove external providers.", leaf=False)))
    _policy(group_of(command(commands, "policy", "Say which providers calls may reach.", leaf=False)))
    _proof(group_of(command(commands, "proof", "List, fetch and verify certificates.", leaf=False)))
    _ledger(commands)
    machine_arguments.add_to(commands)
    _tls(group_of(command(commands, "tls", "Say what tools have to trust.", leaf=False)))
    upkeep_arguments.add_to(commands)
    erase = command(commands, "erase", "Erase a user: revoke their keys, forget what names them, delete their facts.")
    erase.add_argument("--user", metavar="U", required=True, help="whom, by name")
    command(commands, "version", "Print the version.")
    return top


def _tls(group: Any) -> None:
    command(group, "tls ca", "Write the certificate of the CA that the gateway's own certificate is from, in PEM.")
    command(group, "tls new-ca", "Forget that CA, so that the next start makes another. The daemon must be stopped.")


def _allowance(group: Any) -> None:
    allowance = command(group, "workspace allowance", "Say how many questions a workspace has in a calendar month.")
    allowance.add_argument("name", metavar="NAME", help="the workspace")
    how_many = allowance.add_mutually_exclusive_group(required=True)
    how_many.add_argument(
        "--questions",
        metavar="N",
        type=read(values.milli_questions),
        help="so many, such as 500 or 12.5 (app_mode cloud)",
    )
    how_many.add_argument("--unlimited", action="store_true", help="no allowance: count, and limit nothing")


def _serve_and_engine(commands: Any) -> None:
    command(commands, "serve", "Run the gateway until it is stopped (SIGTERM or Ctrl-C).")
    admin = command(commands, "admin", "Open the console in this terminal; over SSH: ssh -t HOST synapse admin.")
    admin.add_argument("--mouse", action="store_true", help="use the mouse too; text is then selected with Shift")
    engine = command(commands, "engine", "Serve a small model behind Ollama's API, for a machine without Ollama.")
    engine.add_argument("--host", metavar="H", help="the address to listen on (127.0.0.1)")
    engine.add_argument("--port", metavar="N", type=read(values.index), help="the port, 0 for any (11480)")
    engine.add_argument("--model", metavar="PATH", help="a GGUF file (the model that comes with Synapse)")
    engine.add_argument(
        "--embedding-model", metavar="PATH", help="a GGUF file for embeddings (the model that comes with Synapse)"
    )
    engine.add_argument(
        "--state", metavar="DIR", help="where the model for embeddings is kept once prepared (the state directory)"
    )
    engine.add_argument("--threads", metavar="N", type=read(values.count), help="threads that compute (1)")
    engine.add_argument("--slots", metavar="N", type=read(values.count), help="calls at the same time (4)")
    engine.add_argument("--context", metavar="N", type=read(values.count), help="tokens of each call's context (4096)")


def _key(group: Any) -> None:
    create = command(group, "key create", "Make an API key and show it, this once.")
    create.add_argument("--name", metavar="N", required=True, help="what to call it")
    create.add_argument("--user", metavar="U", help="whose key it is (admin)")
    create.add_argument("--workspace", metavar="W", help="the workspace that it works for (default)")
    create.add_argument(
        "--scope",
        metavar="S",
        action="append",
        default=[],
        help="what it may be used for: engine, proofs, knowledge, metrics; may be given again (engine)",
    )
    create.add_argument("--read-only", action="store_true", help="it may call models and read, and delete nothing")
    create.add_argument(
        "--ceiling",
        metavar="Q",
        type=read(values.milli_questions),
        help="questions in a calendar month, such as 12.5",
    )
    create.add_argument("--rpm", metavar="R", type=read(values.count), help="requests in a minute")
    create.add_argument(
        "--expires",
        metavar="D",
        type=read(_expiry),
        help="its last day (2027-01-31, UTC), or how long from now (90d)",
    )
    command(group, "key list", "List all keys, revoked ones too.")
    revoke = command(group, "key revoke", "Revoke a key, from the next request on.")
    revoke.add_argument("key", metavar="KEY", help="its id or its name")


def _model(group: Any) -> None:
    roles = ("full", "fast", "local", "embedding")
    command(group, "model list", "Show each role's model, and what the machines have.")
    pull = command(group, "model pull", "Let a machine fetch a model, and watch. Run again, it watches on.")
    pull.add_argument("name", metavar="NAME", help="the model, as Ollama's library names it, such as qwen3:8b")
    pull.add_argument("--node", metavar="NODE", help="the machine, by its id or its name (the only one with Ollama)")
    pull.add_argument("--cancel", action="store_true", help="end the pull that runs, instead")
    choose = command(group, "model set", "Give a role its model, from the next call on.")
    choose.add_argument("role", choices=roles, metavar="|".join(roles), help="the role")
    choose.add_argument("name", metavar="NAME", help="a model as the machines name it, such as llama3.2:3b")
    unset = command(group, "model unset", "Let a role fall back again, from the next call on.")
    unset.add_argument("role", choices=roles, metavar="|".join(roles), help="the role")


def _shield(group: Any) -> None:
    modes = ("standard", "medical", "off")
    command(group, "shield show", "Show the mode in force and what it masks.")
    choose = command(group, "shield set", "Choose what is masked before text leaves, from the next call on.")
    choose.add_argument("mode", choices=modes, metavar="|".join(modes), help="the mode")
    test = command(group, "shield test", "Show what would be masked in a text, and why.")
    test.add_argument("file", metavar="FILE", nargs="?", default="-", help="the text; - is standard input (-)")
    scan = command(
        group, "shield scan", "Find personal values in many texts, without a daemon: a line in, a line with spans out."
    )
    scan.add_argument("--mode", choices=modes, metavar="M", help="standard, medical or off (that of the settings)")
    scan.add_argument(
        "--jsonl",
        action="store_true",
        required=True,
        help='read {"id", "text"} lines from standard input, write {"id", "spans"} lines',
    )


def _provider(group: Any) -> None:
    kinds = ("openai", "anthropic", "mistral", "openai-compatible")
    add = command(
        group,
        "provider add",
        "Add an external provider, or change one: what is not given is kept, unless its kind or its URL changes.",
    )
    add.add_argument("name", metavar="NAME", help="what to call it: a-z, 0-9, dot, dash and underscore")
    add.add_argument("--kind", choices=kinds, metavar="|".join(kinds), required=True, help="the dialect that it speaks")
    add.add_argument(
        "--base-url",
        metavar="U",
        help="where it is, with /v1 unless the kind is anthropic (the kind's own address; openai-compatible has none)",
    )
    add.add_argument("--key-stdin", action="store_true", help="read its key from standard input, or ask at a terminal")
    add.add_argument("--full", metavar="M", help="its model for difficult calls; without one no call goes there")
    add.add_argument("--fast", metavar="M", help="its model for short calls (the full model)")
    add.add_argument("--key", "--api-key", action=Refused, message=_NO_KEY)
    command(group, "provider list", "List the external providers, their models and what those cost.")
    test = command(
        group, "provider test", "Make a trial call to a provider and say what is wrong. Exit code 1: it fails."
    )
    test.add_argument("name", metavar="NAME", help="its name")
    remove = command(group, "provider remove", "Forget a provider and its key, from the next call on.")
    remove.add_argument("name", metavar="NAME", help="its name")


def _policy(group: Any) -> None:
    show = command(group, "policy show", "Say who answers calls, what may leave and what is refused.")
    allow = command(group, "policy allow", "Write the allow-list of a workspace: whom its calls may reach, best first.")
    allow.add_argument("names", metavar="NAME", nargs="+", help="providers, best first; ollama is your own machines")
    clear = command(group, "policy clear", "Take the allow-list of a workspace away.")
    for one in (show, allow, clear):
        one.add_argument("--workspace", metavar="W", help="the workspace (default)")
    active = command(group, "policy active", "Say where calls of workspaces without an allow-list go.")
    active.add_argument("name", metavar="NAME", help="a provider; ollama is your own machines")
    choices = {
        "unscannable": "Say whether pictures and files, which cannot be scanned, may leave to an external provider.",
        "sensitive-on-open": "Say whether sensitive calls may use machines that are known by their address only.",
    }
    for name, purpose in choices.items():
        choice = command(group, f"policy {name}", purpose)
        choice.add_argument("value", choices=("refuse", "allow"), metavar="refuse|allow", help="for every workspace")
        choice.add_argument("--workspace", action=Refused, message=_EVERY_WORKSPACE)
    active.add_argument("--workspace", action=Refused, message=_ONE_ACTIVE)


_NO_KEY = "a key does not go on the command line, where others see it and the shell keeps it; use --key-stdin"
_EVERY_WORKSPACE = "it holds for every workspace"
_ONE_ACTIVE = "there is one active provider for the installation; policy allow NAME --workspace W speaks for one"


def _ledger(commands: Any) -> None:
    ledger = command(commands, "ledger", "Show the newest calls of the ledger and what they come to.")
    _which(ledger)
    ledger.add_argument("--by", choices=_BY, metavar="|".join(_BY), help="show sums by one of these instead of calls")
    ledger.add_argument("--limit", metavar="N", type=read(values.count), default=20, help="how many calls (20)")
    ledger.add_argument("--before", metavar="CURSOR", help="go on after a page, as that page says")
    group = ledger.add_subparsers(metavar="[export]", parser_class=Parser)
    export = command(group, "ledger export", "Write all calls of the ledger to stdout, oldest first.")
    _which(export, default=argparse.SUPPRESS)  # what was said before the word "export" holds
    export.add_argument("--csv", action="store_true", required=True, help="as CSV, with a header line")


def _which(of: Any, **given: Any) -> None:
    of.add_argument(
        "--since",
        metavar="D",
        type=read(_since),
        **given,
        help="from this day on (2026-11-01, UTC), or how long ago (30d)",
    )
    of.add_argument("--until", metavar="D", type=read(values.until), **given, help="until the end of this day, UTC")
    of.add_argument("--workspace", metavar="W", **given, help="of this workspace only")
    of.add_argument(
        "--key",
        metavar="KEY",
        **given,
        help="of this key only, by its id or its name (of several that are named so, the one that works)",
    )
    of.add_argument("--model", metavar="M", **given, help="answered by this model only")
    of.add_argument("--node", metavar="NODE", **given, help="answered by this machine only, by its id or its name")
    of.add_argument("--task", choices=_TASKS, metavar="T", **given, help=f"of this task only: {', '.join(_TASKS)}")
    of.add_argument("--ending", choices=_ENDINGS, metavar="E", **given, help=f"ended so only: {', '.join(_ENDINGS)}")
    of.add_argument(
        "--left",
        action="store_const",
        const=True,
        **given,
        help="only those of which something left the building, whoever answered in the end",
    )


_BY = ("day", "workspace", "key", "model", "node", "task", "left")
_TASKS = ("simple", "complex", "code", "agent", "sensitive", "extraction")
_ENDINGS = ("complete", "length", "context_cut", "refused", "cancelled", "failed")


def _proof(group: Any) -> None:
    listing = command(group, "proof list", "List certificates, newest first.")
    listing.add_argument("--limit", metavar="N", type=read(values.count), help="how many, at most 500 (50)")
    listing.add_argument("--before", metavar="INDEX", type=read(values.index), help="only those before this log index")
    show = command(group, "proof show", "Write a certificate's file to stdout, byte for byte.")
    show.add_argument("id", metavar="ID", help="prf_…, from the answer's header x-pulse-proof")
    command(group, "proof keys", "Write the public keys to stdout, as a JWK set.")
    verify = command(
        group, "proof verify", "Check certificates offline. Exit code 0: all good, 1: one is bad, 3: evidence missing."
    )
    verify.add_argument("files", metavar="FILE", nargs="+", help="certificates; - is standard input")
    verify.add_argument(
        "--keys", metavar="FILE", help="the public keys, as you got them apart (those that the daemon here keeps)"
    )


def _since(text: str) -> datetime:
    return values.since(text, datetime.now(UTC))


def _expiry(text: str) -> datetime:
    return values.expiry(text, datetime.now(UTC))
