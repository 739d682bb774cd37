"""Starts Synapse for a newcomer: a machine that runs models, the daemon, a first key, a first answer, its proof.

Runs in the project's own environment (scripts/up makes it). Everything that it starts ends with it.
"""

import argparse
import asyncio
import contextlib
import ctypes
import hashlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.cluster.addresses import Inside, at_url
from appliance.cluster.connections import open_session
from appliance.cluster.health import OllamaProber
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine, default_model
from appliance.errors import AdminError, SynapseError
from appliance.proofs import verify
from appliance.settings import Settings, load
from appliance.tls.running import CA_FILE

SYNAPSE = Path(sys.executable).with_name("synapse")

READY_SECONDS = 60.0
"""Loading a model from a slow disk; what takes longer has gone wrong."""

ONE_LOOK = aiohttp.ClientTimeout(total=2)

NO_LIMIT = aiohttp.ClientTimeout(total=None)
"""The daemon has limits of its own for a call, and says which one was passed."""

STOP_SECONDS = 35.0
"""The daemon lets calls end for 25 s."""

QUESTION = "What is the capital of France? Answer in one sentence."
"""Something that even the smallest model knows; asked without chance, so that it always answers alike."""

ENGINE_PORT = 11480

FIRST_KEY = "first"
CHECK_KEY = "scripts/up check"


class Failed(Exception):
    """The start failed; the message says what to do."""


class Children:
    """The processes that we started. Each in a session of its own, so that Ctrl-C reaches us alone and we stop
    them in the right order: the daemon first, which lets its calls end, then the machine that answers them."""

    def __init__(self) -> None:
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self, name: str, *arguments: str, environ: Mapping[str, str]) -> None:
        process = subprocess.Popen(
            [SYNAPSE, *arguments], env=dict(environ), start_new_session=True, preexec_fn=_die_with_parent
        )
        self._running.append((name, process))

    def check(self) -> None:
        """Raises `Failed` where one has ended by itself; it has said why."""
        for name, process in self._running:
            code = process.poll()
            if code is None:
                continue
            if code < 0:
                raise Failed(f"{name} was killed (signal {-code}). Start again.")
            raise Failed(f"{name} ended with code {code}; its message is above.")

    def pid(self) -> int:
        """Of the newest."""
        return self._running[-1][1].pid

    def kill(self) -> None:
        """End them now, whatever they are doing."""
        for _, process in self._running:
            if process.poll() is None:
                process.kill()

    def stop(self) -> None:
        for _, process in reversed(self._running):
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _die_with_parent() -> None:
    """Runs in the child before it becomes the program: it gets SIGTERM when we die, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


async def find_machine(settings: Settings) -> Machine | None:
    """An Ollama of this installation that has a model to answer with, and a word about one that has none."""
    inside = Inside(settings.local.networks)
    links = Links(lambda tls: open_session(tls=tls, inside=inside))
    prober = OllamaProber(links)
    try:
        for url in settings.local.ollama:
            machine = await prober.probe(at_url(url, inside=inside))
            if default_model((machine,)) is not None:
                return machine
            if machine.healthy:
                say(f"Ollama at {url} has no model to answer with yet (get one: ollama pull llama3.2).")
        return None
    finally:
        await links.close()


def port_of(base: str) -> int:
    return int(base.removesuffix("/v1").rpartition(":")[2])


def free_port(wanted: int) -> int:
    """The wanted port of this machine, or another if it is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise Failed("This machine has no free port.")


def trusted(settings: Settings) -> ssl.SSLContext | bool:
    """What to trust the gateway by. It is asked by an address here, which the settings' certificate may not hold."""
    if settings.gateway.tls_files is not None:
        context = ssl.create_default_context(cafile=str(settings.gateway.tls_files[0]))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.check_hostname = False
        return context
    if settings.gateway.tls == "auto":
        return ssl.create_default_context(cafile=str(settings.state_dir / CA_FILE))
    return True


def asked_at(settings: Settings, base: str) -> str:
    """The base URL that is certain to lead to this machine: the name in a certificate may lead nowhere from here."""
    if settings.gateway.tls_files is None:
        return base
    host = settings.gateway.host if settings.gateway.host not in ("0.0.0.0", "::") else "127.0.0.1"
    return f"https://{f'[{host}]' if ':' in host else host}:{port_of(base)}/v1"


async def until_answers(session: aiohttp.ClientSession, url: str, children: Children) -> None:
    """Wait until `url` answers 200."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        children.check()
        try:
            async with session.get(url, timeout=ONE_LOOK) as answer:
                if answer.status == 200:
                    return
                said = await answer.text()
        except (aiohttp.ClientError, OSError, TimeoutError):
            said = "no answer"
        await asyncio.sleep(0.1)
    raise Failed(f"{url} was not ready within {READY_SECONDS:g} s: {said}")


async def refuse_second_start(admin: Client) -> None:
    try:
        status = await admin.status()
    except AdminError:
        return
    raise Failed(f"Synapse is running here already, at {status.base_url}. `.venv/bin/synapse status` shows how it is.")


async def until_running(admin: Client, children: Children) -> wire.Status:
    """Wait for our own daemon: another program may answer on its port, and another daemon on its socket."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        children.check()
        with contextlib.suppress(AdminError):
            status = await admin.status()
            if status.pid == children.pid():
                return status
        await asyncio.sleep(0.1)
    raise Failed(f"The daemon did not start within {READY_SECONDS:g} s.")


@asynccontextmanager
async def key_for_start(admin: Client) -> AsyncGenerator[tuple[str, bool]]:
    """A key to ask the question with, and whether it is the first key, to be kept by the person who reads it.

    A key that nobody has been shown is revoked again, whatever happens.
    """
    listed = (await admin.keys()).keys
    for key in listed:
        if key.name == CHECK_KEY and key.state == "active":  # of a start that was killed
            await admin.revoke_key(key.id)
    first = all(key.name == CHECK_KEY or key.state != "active" for key in listed)
    made = await admin.create_key(wire.NewKey(FIRST_KEY if first else CHECK_KEY))
    shown = False
    try:
        yield made.secret, first
        shown = first
    finally:
        if not shown:
            await asyncio.shield(admin.revoke_key(made.key.id))


async def first_answer(session: aiohttp.ClientSession, base: str, key: str) -> None:
    """Ask one question through the gateway at `base`, and check its certificate as an auditor would."""
    asked = {"model": "pulse-auto", "messages": [{"role": "user", "content": QUESTION}]}
    body = orjson.dumps({**asked, "max_tokens": 60, "temperature": 0, "seed": 1})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    began = time.monotonic()
    say("", "Asking it one question (a large model is loaded first, which can take minutes) …")
    async with session.post(f"{base}/chat/completions", data=body, headers=headers, timeout=NO_LIMIT) as answer:
        said: Any = await answer.json()
        if answer.status != 200:
            raise Failed(f"The first question was not answered: {said['error']['message']}")
        proof_id = answer.headers["x-pulse-proof"]
    text: str = said["choices"][0]["message"]["content"]
    say("", f"  you  {QUESTION}", f"  {said['model']}  {' '.join(text.split())}")
    async with session.get(f"{base}/proofs/{proof_id}", headers=headers) as answer:
        certificate = await answer.read()
    async with session.get(f"{base.removesuffix('/v1')}/.well-known/synapse/keys.json") as answer:
        keys = await answer.read()
    report = verify.verify({proof_id: certificate}, keys)
    payload = orjson.loads(certificate)["payload"]
    checks = {
        "signature": report.exit_code == 0,
        "your request": payload["request"]["sha256"] == hashlib.sha256(body).hexdigest(),
        "the answer's text": payload["response"]["textSha256"] == hashlib.sha256(text.encode()).hexdigest(),
        "stayed on this machine": payload["egress"]["local"] is True,
    }
    wrong = [name for name, holds in checks.items() if not holds]
    if wrong:
        raise Failed(f"The certificate {proof_id} does not hold: {', '.join(wrong)}. Please report this.")
    say(f"  Certificate {proof_id} verified: {', '.join(checks)}.")
    say(f"  Answered and certified in {time.monotonic() - began:.1f} s.")


def paste(base: str, lan: str | None, key: str | None, ca: Path | None) -> None:
    """What a person pastes into a client."""
    say("", "Synapse is ready. Paste this into a client that speaks OpenAI:", "")
    say(f"  Base URL   {base}" + (f"      (from other machines: {lan})" if lan else ""))
    if key:
        say(f"  API key    {key}", "             It is shown this once: keep it.")
    else:
        say("  API key    the one from the first start; for another: .venv/bin/synapse key create --name laptop")
    shown = key or "YOUR_KEY"
    say("  Model      pulse-auto", "", "Or try it here:", "")
    if ca is not None:
        say(f"  export CURL_CA_BUNDLE={ca}      (other tools: .venv/bin/synapse tls ca)", "")
    say(
        f"  curl {base}/chat/completions \\",
        f'    -H "Authorization: Bearer {shown}" -H "Content-Type: application/json" \\',
        """    -d '{"model": "pulse-auto", "messages": [{"role": "user", "content": "Hello"}]}'""",
        "",
    )


def lan_address(settings: Settings, port: int) -> str | None:
    """How other machines reach the gateway, where it listens to them. No packet is sent to find out."""
    if settings.gateway.host not in ("0.0.0.0", "::"):
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            host = probe.getsockname()[0]
        except OSError:
            return None
    scheme = "http" if settings.gateway.tls == "off" else "https"
    return None if host.startswith("127.") else f"{scheme}://{host}:{port}/v1"


def about_the_model(machine: Machine | None, model: Path | None) -> None:
    if machine is not None:
        say(f"Models come from {machine.engine} at {machine.url}: {default_model((machine,))} answers.")
    elif model is not None:
        say(f"The embedded engine serves {model.name}.")
    else:
        say(
            "No Ollama with a model was found here, so the embedded engine answers.",
            "Its model is tiny, for trying the plumbing: trust it with no fact, and not with French.",
            "For real work: install Ollama, run `ollama pull llama3.2`, then start this again;",
            "or give a model file of your own: ./scripts/up --model /path/to/model.gguf",
        )


async def start(children: Children, session: aiohttp.ClientSession, settings: Settings, model: Path | None) -> None:
    """Start the machine, where there is none, and the daemon."""
    environ = dict(os.environ)
    machine = None if model else await find_machine(settings)
    about_the_model(machine, model)
    if machine is None:
        url = f"http://127.0.0.1:{free_port(ENGINE_PORT)}"
        named = ["--model", str(model)] if model else []
        children.start("The embedded engine", "engine", "--port", url.rpartition(":")[2], *named, environ=environ)
        environ["SYNAPSE_LOCAL__OLLAMA"] = ",".join([*settings.local.ollama, url])
        await until_answers(session, f"{url}/api/version", children)
    children.start("The daemon", "serve", environ=environ)


async def serve(children: Children, model: Path | None, stop: asyncio.Event) -> None:
    began = time.monotonic()
    settings = load(None, os.environ)
    async with (
        aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=60)) as session,
        Client(settings.admin.socket) as admin,
    ):
        await refuse_second_start(admin)
        await start(children, session, settings, model)
        status = await until_running(admin, children)
        absent = [one for one in (await admin.models()).roles if one.configured and not one.available]
        for one in absent:
            say(
                f"The {one.role} model is set to {one.configured}, which no machine has: calls for it are refused.",
                f"Get it (ollama pull {one.configured}), or let go of it: .venv/bin/synapse model unset {one.role}",
            )
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted(settings)), trust_env=False) as gateway,
            key_for_start(admin) as (key, first),
        ):
            base = asked_at(settings, status.base_url)
            if not absent:
                await until_answers(gateway, f"{base.removesuffix('/v1')}/readyz", children)
                await first_answer(gateway, base, key)
            ca = settings.state_dir / CA_FILE if settings.gateway.tls == "auto" else None
            lan = lan_address(settings, port_of(status.base_url))
            paste(status.base_url, lan, key if first else None, ca)
    say(f"Started in {time.monotonic() - began:.1f} s. Ctrl-C stops it; a second start keeps keys and certificates.")
    while not stop.is_set():
        children.check()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.5)


async def run(model: Path | None) -> int:
    stop = asyncio.Event()
    children = Children()
    work = asyncio.ensure_future(serve(children, model, stop))

    def stopped() -> None:
        if stop.is_set():
            children.kill()
            return
        say("", "Stopping: calls in flight may end. Ctrl-C again stops at once.")
        stop.set()
        work.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopped)
    try:
        await work
    except asyncio.CancelledError:
        pass
    except (Failed, SynapseError) as error:
        say(f"scripts/up: {error}")
        return 1
    except (aiohttp.ClientError, TimeoutError) as error:
        say(f"scripts/up: the gateway stopped answering ({type(error).__name__}). Start again; its log is above.")
        return 1
    finally:
        await asyncio.to_thread(children.stop)
    return 0


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/up", description="Start Synapse on this machine, until Ctrl-C.")
    parser.add_argument("--model", type=Path, metavar="FILE", help="a GGUF file for the embedded engine to serve")
    model: Path | None = parser.parse_args().model
    return asyncio.run(run(model))


if __name__ == "__main__":
    sys.exit(main())
