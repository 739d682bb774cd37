"""The daemon as a service: HTTPS and its clients, signals, what systemd is told, and an ending that cuts no call."""

import asyncio
import os
import platform
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from appliance.gateway import drain
from appliance.listener import CUT_SECONDS, GRACE_SECONDS
from appliance.settings import Timeouts
from tests.e2e.needs import need
from tests.e2e.service import Service, deny_write_execute
from tests.tls.handshakes import self_signed
from tests.upstreams.ollama import OllamaDouble, line, says
from tests.upstreams.ollama import done as last
from tests.waiting import wait_until

CHAT = "/v1/chat/completions"
ASKED = {"model": "pulse-auto", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One without machines, which shows its TLS all the same."""
    made = Service(tmp_path_factory.mktemp("service") / "state")
    try:
        made.start()
        yield made
    finally:
        made.close()


def run(*arguments: str | Path, **environ: str) -> "subprocess.CompletedProcess[str]":
    plain = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return subprocess.run(arguments, env={**plain, **environ}, capture_output=True, text=True, timeout=30, check=False)


def test_the_base_url_is_that_of_https(service: Service):
    assert service.json("status")["base_url"] == f"{service.base}/v1"


class TestClients:
    """Each as `synapse tls ca` says; none trusts the gateway without."""

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", platform.node()])
    def test_curl(self, service: Service, host: str):
        need("curl")
        url = f"https://{host}:{service.port}/healthz"
        there = ["--connect-to", f"::127.0.0.1:{service.port}"]  # whatever name it is called by
        how = ["curl", "-sS", "--noproxy", "*", *there, "-o", "/dev/null", "-w", "%{http_code} %{http_version}"]
        assert run(*how, "--cacert", service.ca, url).stdout == "200 2"
        assert run(*how, "--http1.1", "--cacert", service.ca, url).stdout == "200 1.1"
        assert run(*how, url).returncode == 60

    def test_httpx(self, service: Service):
        trust = ssl.create_default_context(cafile=str(service.ca))
        with httpx.Client(verify=trust, trust_env=False, http2=True) as http:
            answer = http.get(f"{service.base}/healthz")
            assert (answer.status_code, answer.http_version) == (200, "HTTP/2")
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{service.base}/healthz", trust_env=False)

    def test_the_openai_sdk_and_requests(self, service: Service):
        program = (
            "import sys, openai, requests\n"
            "print([one.id for one in openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2]).models.list()][:1])\n"
            "key = {'authorization': 'Bearer ' + sys.argv[2]}\n"
            "print(requests.get(sys.argv[1] + '/models', headers=key).status_code)"
        )
        trust = {"SSL_CERT_FILE": str(service.ca), "REQUESTS_CA_BUNDLE": str(service.ca)}
        asked = run(sys.executable, "-W", "ignore", "-c", program, f"{service.base}/v1", service.key, **trust)
        assert asked.stdout.splitlines() == ["['pulse-auto']", "200"], asked.stderr

    def test_node(self, service: Service):
        need("node")
        program = f"fetch('{service.base}/healthz').then(a => console.log(a.status), e => console.log(e.cause.code))"
        assert run("node", "-e", program, NODE_EXTRA_CA_CERTS=str(service.ca)).stdout == "200\n"
        assert run("node", "-e", program).stdout != "200\n"


def test_plain_http_and_old_tls_get_nothing(service: Service):
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(service.base.replace("https", "http") + "/healthz", trust_env=False)
    old = ssl.create_default_context(cafile=str(service.ca))
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", service.port)) as sock, pytest.raises(ssl.SSLError):
        old.wrap_socket(sock, server_hostname="localhost")
    assert "Traceback" not in service.log.read_text()


def test_sighup_gives_a_new_certificate_and_systemd_is_told(service: Service):
    assert service.process is not None
    address = ("127.0.0.1", service.port)
    before = ssl.get_server_certificate(address)
    service.process.send_signal(signal.SIGHUP)
    assert "MONOTONIC_USEC=" in service.hear("RELOADING=1")
    service.hear("READY=1")
    assert ssl.get_server_certificate(address) != before


def test_the_ca_is_there_while_the_daemon_is_down_and_after_a_restart(tmp_path: Path):
    made = Service(tmp_path / "state")
    try:
        made.start()
        ca = made.ca.read_bytes()
        assert made.stop() == 0
        assert made.ca.read_bytes() == ca
        assert "forgotten" in made.command("tls", "new-ca").stdout.decode()
        assert "There is no CA" in made.command("tls", "ca", code=1).stderr.decode()
        made.start()
        assert made.ca.read_bytes() != ca
        assert "running" in made.command("tls", "new-ca", code=1).stderr.decode()
    finally:
        made.close()


class TestFiles:
    def make(self, folder: Path) -> tuple[Service, Path, Path]:
        need("openssl")
        certificate, key = self_signed(folder, "localhost")
        names = {"SYNAPSE_GATEWAY__TLS_CERTIFICATE": str(certificate), "SYNAPSE_GATEWAY__TLS_KEY": str(key)}
        return Service(folder / "state", SYNAPSE_GATEWAY__TLS="files", **names), certificate, key

    def test_a_reload_drops_no_connection_and_a_bad_file_changes_nothing(self, tmp_path: Path):
        made, certificate, key = self.make(tmp_path)
        made.base = f"https://localhost:{made.port}"
        try:
            made.start()
            assert made.process is not None
            assert made.json("status")["base_url"] == f"{made.base}/v1"
            trust = ssl.create_default_context(cafile=str(certificate))
            with httpx.Client(verify=trust, trust_env=False) as kept:
                assert kept.get(f"{made.base}/healthz").status_code == 200
                self_signed(tmp_path, "localhost")
                for content in (None, "nonsense"):
                    if content:
                        key.write_text(content)
                    made.process.send_signal(signal.SIGHUP)
                    made.hear("RELOADING=1")
                    made.hear("READY=1")
                    assert kept.get(f"{made.base}/healthz").status_code == 200
                    shown = ssl.get_server_certificate(("localhost", made.port))
                    assert ssl.PEM_cert_to_DER_cert(shown) == ssl.PEM_cert_to_DER_cert(certificate.read_text())
            log = made.log.read_text()
            assert "new connections get the certificate" in log
            assert "ERROR appliance.daemon: SIGHUP: the old certificate stays in use." in log
        finally:
            made.close()

    def test_what_is_wrong_is_told_at_the_start(self, tmp_path: Path):
        made, _, key = self.make(tmp_path)
        key.chmod(0o644)
        try:
            done = made.command("serve", code=1)
            assert f"chmod 640 {key}" in done.stderr.decode()
        finally:
            made.close()


class TestWatchdog:
    def test_it_is_fed_and_not_by_a_process_that_hangs(self, tmp_path: Path):
        made = Service(tmp_path / "state", SYNAPSE_GATEWAY__TLS="off", WATCHDOG_USEC="150000")
        try:
            made.start()
            assert made.process is not None
            for _ in range(3):
                made.hear("WATCHDOG=1", 5)
            os.kill(made.process.pid, signal.SIGSTOP)
            wait_until(lambda: _state(made.process.pid) == "T")
            while not made.silent():
                made.hear("WATCHDOG=1", 1)
            time.sleep(0.2)
            assert made.silent()
            os.kill(made.process.pid, signal.SIGCONT)
            made.hear("WATCHDOG=1", 5)
            made.process.terminate()
            made.hear("STOPPING=1")
            assert made.process.wait(10) == 0
        finally:
            made.close()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_runs_where_memory_is_never_both_written_and_executed(tmp_path: Path):
    """`MemoryDenyWriteExecute=` of the unit, for all that is loaded."""
    try:
        subprocess.run(["true"], preexec_fn=deny_write_execute, check=True)
    except subprocess.SubprocessError:
        pytest.skip("needs Linux 6.3")
    made = Service(tmp_path / "state")
    try:
        made.start(before=deny_write_execute)
        trust = ssl.create_default_context(cafile=str(made.ca))
        assert httpx.get(f"{made.base}/healthz", verify=trust, trust_env=False).status_code == 200
        assert made.stop() == 0
    finally:
        made.close()


def test_who_never_begins_its_handshake_does_not_hold_up_the_end(tmp_path: Path):
    made = Service(tmp_path / "state")
    try:
        made.start()
        with socket.create_connection(("127.0.0.1", made.port)):
            began = time.monotonic()
            assert made.stop() == 0
            assert time.monotonic() - began < GRACE_SECONDS + CUT_SECONDS + 3
    finally:
        made.close()


DRAIN_SECONDS = 1.5


async def test_of_twenty_streams_each_ends_or_says_that_it_was_ended(tmp_path: Path, ollama: OllamaDouble):
    """Half of them are done in time; the other half would never be."""
    go, never = asyncio.Event(), asyncio.Event()
    for index in range(20):
        ollama.scripts.append(says(line("one"), go if index % 2 else never, line(" two"), last()))
    environ = {"SYNAPSE_TIMEOUTS__DRAIN": str(DRAIN_SECONDS), "OLLAMA_NUM_PARALLEL": "32"}
    made = Service(tmp_path / "state", ollama.url, **environ)
    try:
        await asyncio.to_thread(made.start)
        assert made.process is not None
        trust = ssl.create_default_context(cafile=str(await asyncio.to_thread(lambda: made.ca)))
        begun: list[int] = []
        async with httpx.AsyncClient(
            base_url=made.base, headers=made.headers, verify=trust, timeout=30, trust_env=False
        ) as http:

            async def ask() -> str:
                async with http.stream("POST", CHAT, json={**ASKED, "stream": True}) as answer:
                    lines: list[str] = []
                    async for text in answer.aiter_lines():
                        lines.append(text)
                        if '"one"' in text:
                            begun.append(1)
                return "\n".join(lines)

            asked = [asyncio.ensure_future(ask()) for _ in range(20)]
            async with asyncio.timeout(20):
                while len(begun) < 20:  # noqa: ASYNC110  the streams of the tasks above
                    await asyncio.sleep(0.01)
            began = time.monotonic()
            made.process.send_signal(signal.SIGTERM)
            assert "(20)" in await asyncio.to_thread(made.hear, "STOPPING=1")
            late = await http.post(CHAT, json=ASKED)
            assert late.status_code == 503
            assert "stopping" in late.json()["error"]["message"]
            go.set()
            answers = await asyncio.gather(*asked)
        assert await asyncio.to_thread(made.process.wait, 10) == 0
        assert time.monotonic() - began < DRAIN_SECONDS + drain.END_SECONDS + GRACE_SECONDS + CUT_SECONDS
        whole = [text for text in answers if "data: [DONE]" in text]
        cut = [text for text in answers if '"error"' in text and "The gateway is stopping" in text]
        assert (len(whole), len(cut)) == (10, 10)
        assert not {*whole} & {*cut}
        assert all(" two" in text for text in whole)
        endings = [row["ending"] for row in made.ledger()]
        assert sorted(endings) == ["complete"] * 10 + ["failed"] * 10
    finally:
        never.set()
        made.close()


def test_the_unit_waits_longer_than_the_daemon_takes_to_end():
    unit = (Path(__file__).parents[2] / "systemd/synapse.service").read_text()
    limit = float(unit.partition("TimeoutStopSec=")[2].split()[0])
    listeners = 2 * (GRACE_SECONDS + CUT_SECONDS)  # that of the gateway, then that of the admin socket
    assert Timeouts().drain + drain.END_SECONDS + listeners + 5 < limit
