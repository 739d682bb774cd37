"""`synapse provider add | list | test | remove`. A key comes on standard input, and goes to the daemon alone."""

import getpass
import sys

from appliance.admin import looks
from appliance.admin import policy_wire as wire
from appliance.admin.client import Client
from appliance.admin.wire import InvalidInput, encode
from appliance.commands import text
from appliance.commands.outcome import FAILED, Outcome
from appliance.commands.prompts import interruptible

MAX_KEY_BYTES = 8 * 1024
"""More than any key; bounds what is read."""


def read_key(what: str = "Key of the provider", option: str = "provider add … --key-stdin") -> str:
    """The key from standard input: typed unseen at a terminal, else all that is there but the end of its line. `what`
    it is and the `option` that it is for are told to who gives it.

    Raises:
        InvalidInput: nothing came, or what came is no text.
    """
    pipe = f"Pipe it in: synapse {option} < FILE, and keep FILE away from others."
    if sys.stdin is None:
        raise InvalidInput("There is no standard input to read the key from.", advice=pipe)
    try:
        key = _typed(what) if sys.stdin.isatty() else sys.stdin.buffer.read(MAX_KEY_BYTES).decode()
    except UnicodeDecodeError:
        raise InvalidInput("What came on standard input is not text, so it is no key.", advice=pipe) from None
    key = key.removesuffix("\n").removesuffix("\r")
    if not key:
        raise InvalidInput("No key came on standard input.", advice=pipe)
    return key


def _typed(what: str) -> str:
    try:
        with interruptible():
            return getpass.getpass(f"{what} (it is not shown): ", stream=sys.stderr)
    except EOFError:
        return ""


async def add(client: Client, new: wire.NewProvider) -> Outcome:
    put = await client.put_provider(new)
    made = put.provider
    lines = [f"Provider {made.name} is {'changed' if put.before else 'added'}: {made.kind} at {made.base_url}."]
    lines += _differences(put) if put.before else []
    lines.append(_models(made))
    if put.new_key:
        lines.append("Its key is stored encrypted, and is never shown again.")
    notes = [f"Try it: synapse provider test {made.name}"]
    if not put.before:
        notes.append(
            f"No call goes there yet: synapse policy active {made.name}, or synapse policy allow {made.name} …"
        )
    return Outcome(encode(put), tuple(lines), notes=tuple(notes))


async def show_all(client: Client) -> Outcome:
    found = await client.providers()
    rows = [
        (
            one.name,
            one.kind,
            one.base_url,
            _priced(one.full, one.full_price) if one.full else "none: not configured",
            _priced(one.fast, one.fast_price) if one.fast else looks.ABSENT,
        )
        for one in found.providers
    ]
    if not rows:
        return Outcome(encode(found), ("There is no external provider: every call stays on your own machines.",))
    notes = ("Prices are dollars for a million tokens of prompt and of answer.",)
    return Outcome(encode(found), text.table(("NAME", "KIND", "URL", "FULL", "FAST"), rows, whole=(0, 1)), notes=notes)


async def test(client: Client, name: str) -> Outcome:
    found = await client.test_provider(name)
    if found.ok:
        return Outcome(encode(found), (f"Provider {name} answers: its URL, key and models are good.",))
    lines = (f"Provider {name} does not work: {found.problem}", *((found.advice,) if found.advice else ()))
    return Outcome(encode(found), tuple(looks.printable(line) for line in lines), code=FAILED)


async def remove(client: Client, name: str) -> Outcome:
    gone = await client.remove_provider(name)
    lines = [f"Provider {name} is removed, and its key with it."]
    if gone.active:
        lines.append(
            "It is still the active provider: calls of workspaces without an allow-list are refused (403) until"
            " another is (synapse policy active ollama)."
        )
    for workspace in gone.listed:
        what = (
            "its calls are refused (403)" if workspace in gone.refused else "its calls go to the others that it names"
        )
        lines.append(
            f"The allow-list of workspace {workspace} still names it; {what}. Write another with synapse policy allow."
        )
    return Outcome(encode(gone), tuple(wrapped for line in lines for wrapped in text.wrapped(line)))


def _differences(put: wire.PutProvider) -> list[str]:
    before, after = put.before, put.provider
    if before is None:
        return []
    changed = [
        f"{what}: {old or 'none'} → {new or 'none'}"
        for what, old, new in (
            ("kind", before.kind, after.kind),
            ("URL", before.base_url, after.base_url),
            ("full model", before.full, after.full),
            ("fast model", before.fast, after.fast),
        )
        if old != new
    ]
    return changed + (["key: another"] if put.new_key else []) or ["Nothing is different."]


def _models(made: wire.Provider) -> str:
    if not made.full:
        return "It has no full model, and no call goes there until it has: add it again with --full MODEL."
    fast = f"fast model {_priced(made.fast, made.fast_price)}" if made.fast else "no fast model: the full one serves"
    return f"Full model {_priced(made.full, made.full_price)}; {fast}."


def _priced(model: str | None, price: wire.Price | None) -> str:
    if price is None:
        return f"{model} (no price known)"
    return f"{model} (${_dollars(price.prompt)} + ${_dollars(price.completion)})"


def _dollars(micro: int) -> str:
    return f"{micro / 1_000_000:.6f}".rstrip("0").rstrip(".")
