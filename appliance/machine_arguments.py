"""What can be typed after `synapse node` and `synapse cluster`. As in `arguments`.

Source: operations.md, "Commands"; cluster.md, "Node agent and trust".
"""

from datetime import UTC, datetime
from typing import Any

from appliance.admin import values
from appliance.parsing import DIRECTORY, FILE, Kind, Parser, Refused, Value, command, group_of, read

KINDS = ("ollama", "openai-compatible")

_NO_KEY = "a key does not go on the command line, where others see it and the shell keeps it; use --key-stdin"
_NO_CLUSTER_KEY = (
    "a key does not go on the command line, where others see it; use --cluster-key-file or --cluster-key-stdin"
)


def add_to(commands: Any) -> None:
    nodes = group_of(command(commands, "node", "Take machines in, and put them out.", leaf=False))
    _serve(nodes)
    _decisions(nodes)
    cluster = group_of(command(commands, "cluster", "What machines know this gateway by.", leaf=False))
    command(cluster, "cluster words", "Show the eight words of this gateway, which a machine is given.")
    _key(cluster)


def _serve(nodes: Any) -> None:
    serve = command(
        nodes, "node serve", "Run beside Ollama on another machine, and put it at the gateway's service until stopped."
    )
    serve.add_argument("--name", metavar="N", help="what to call this machine (its host name)")
    known = serve.add_mutually_exclusive_group()
    known.add_argument("--cluster-key-file", metavar=FILE, help="the file that holds the gateway's cluster key")
    known.add_argument("--cluster-key-stdin", action="store_true", help="read the cluster key from standard input")
    known.add_argument(
        "--gateway-words",
        metavar="WORDS",
        help="the gateway's eight words, in quotation marks; an administrator admits",
    )
    serve.add_argument("--ollama", metavar="URL", help="Ollama on this machine (http://127.0.0.1:11434)")
    serve.add_argument("--host", metavar="H", help="the address to listen on (0.0.0.0)")
    serve.add_argument("--port", metavar="N", type=read(values.port), help="the port for calls (11435)")
    serve.add_argument("--join-port", metavar="N", type=read(values.port), help="the port for joining (11436)")
    serve.add_argument(
        "--slots",
        metavar="N",
        type=read(values.count),
        help="calls at the same time (OLLAMA_NUM_PARALLEL, else the gateway's default)",
    )
    serve.add_argument(
        "--interface", metavar="IF", action="append", default=[], help="announce it only there; may be given again"
    )
    serve.add_argument("--no-announce", action="store_true", help="say nothing on the network; its address is typed")
    serve.add_argument("--state", metavar=DIRECTORY, help="where its key is kept (node in the state directory)")
    serve.add_argument("--cluster-key", action=Refused, message=_NO_CLUSTER_KEY)
    reset = command(nodes, "node reset", "Forget the gateway that this machine belongs to. Its agent must be stopped.")
    reset.add_argument("--state", metavar=DIRECTORY, help="where its key is kept (node in the state directory)")


def _decisions(nodes: Any) -> None:
    listing = command(nodes, "node list", "Show every machine and candidate, and why one is not used.")
    listing.add_argument("--all", action="store_true", help="those too that were rejected or revoked")
    add = command(
        nodes, "node add", "Take in a machine by its address: no certificate, so only in a network you trust."
    )
    add.add_argument(
        "url",
        metavar="URL",
        help="http://192.168.1.20:11434; synapse://192.168.1.20 makes a machine with synapse node serve a candidate",
    )
    add.add_argument(
        "--kind",
        choices=KINDS,
        metavar="|".join(KINDS),
        default="ollama",
        help="what it speaks; vLLM, Ray Serve and llama.cpp are openai-compatible (ollama)",
    )
    add.add_argument("--name", metavar="N", help="what to call it (its host and port)")
    add.add_argument("--key-stdin", action="store_true", help="read its key from standard input, or ask at a terminal")
    add.add_argument("--ca", metavar=FILE, help="trust these certificates there (this system's authorities)")
    add.add_argument("--slots", metavar="N", type=read(values.count), help="calls at the same time (4)")
    add.add_argument("--key", "--api-key", action=Refused, message=_NO_KEY)
    admit = command(nodes, "node admit", "Let a candidate in, after its words were compared.")
    admit.add_argument(
        "--words", metavar="WORDS", help="all eight words that it shows, in quotation marks (at a terminal it is asked)"
    )
    reject = command(nodes, "node reject", "Do not show a candidate again.")
    drain = command(nodes, "node drain", "Give a machine no more calls; those that run may end.")
    resume = command(nodes, "node resume", "Give a machine calls again.")
    remove = command(
        nodes, "node remove", "Put a machine out, at once; of one that was put out or rejected, forget all."
    )
    which: tuple[tuple[Parser, Kind], ...] = (
        (admit, "newcomer"),
        (reject, "candidate"),
        (drain, "serving node"),
        (resume, "draining node"),
        (remove, "removable node"),
    )
    for one, kind in which:
        one.add_argument("node", metavar=Value("ID", kind), help="its id or the beginning of it, or its name")


def _key(cluster: Any) -> None:
    key = command(
        cluster,
        "cluster key",
        "Show the cluster key, which lets machines in without a click; make one if there is none.",
    )
    group = key.add_subparsers(metavar="[COMMAND]", parser_class=type(key))
    command(group, "cluster key show", "Show the cluster key in force.")
    new = command(group, "cluster key new", "Make another in its place. Machines that have joined stay.")
    new.add_argument("--uses", metavar="N", type=read(values.count), help="how many machines may join with it (any)")
    new.add_argument(
        "--expires",
        metavar="D",
        type=read(_expiry),
        help="its last day (2027-01-31, UTC), or how long from now (7d, where no number of uses is given)",
    )
    command(group, "cluster key revoke", "Let nobody join with it any more. Machines that have joined stay.")


def _expiry(text: str) -> datetime:
    return values.expiry(text, datetime.now(UTC))
