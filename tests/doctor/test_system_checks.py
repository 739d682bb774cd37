from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from appliance.doctor import system_checks as checks
from appliance.doctor.facts import ClockFacts, FileFact, MdnsFacts, PortFacts, ServiceFacts, SocketFacts
from tests.doctor.healthy import DAEMON, HEALTHY, NOW, SOCKET, STATE, STATUS
from tests.doctor.test_storage_checks import one


def test_the_settings_file_is_named():
    one(checks.configuration("/etc/synapse/synapse.toml"), "ok", "/etc/synapse/synapse.toml")
    one(checks.configuration(None), "ok", "no settings file")


class TestClock:
    @pytest.mark.parametrize(
        ("facts", "state", "said"),
        [
            (ClockFacts(NOW, True), "ok", "2026-11-29 18:57Z, and is kept right."),
            (ClockFacts(NOW), "ok", "It shows 2026-11-29 18:57Z."),
            (ClockFacts(NOW, False), "warning", "nothing keeps it right"),
            (ClockFacts(datetime(1970, 1, 1, tzinfo=UTC), True), "failed", "before this version was written"),
            (ClockFacts(datetime(2025, 12, 31, tzinfo=UTC)), "failed", "before this version was written"),
            (ClockFacts(NOW - timedelta(minutes=4)), "ok", ""),
            (ClockFacts(NOW - timedelta(minutes=6)), "failed", "the newest call of the ledger is of 2026-11-29 18:57Z"),
        ],
    )
    def test_it_is_right(self, facts: ClockFacts, state: str, said: str):
        one(checks.clock(facts, NOW), state, said)

    def test_without_a_call(self):
        one(checks.clock(ClockFacts(NOW), None), "ok", "")


class TestSocket:
    @pytest.mark.parametrize(
        ("facts", "state", "said", "advice"),
        [
            (SocketFacts(SOCKET), "ok", "answers, and is open to synapse and its group alone", ""),
            (SocketFacts(replace(SOCKET, mode=0o666)), "failed", "open to every user", "chmod 660 /run"),
            (SocketFacts(replace(SOCKET, mode=0o661), "down"), "failed", "open to every user", "chmod 660"),
            (SocketFacts(SOCKET, "down"), "ok", "left by a daemon that is gone", ""),
            (SocketFacts(FileFact(SOCKET.path, "absent"), "down"), "ok", "is not there while no daemon runs", ""),
            (SocketFacts(SOCKET, "no", denied=True), "failed", "bob may not use", "the group synapse"),
            (SocketFacts(FileFact(SOCKET.path, "hidden"), "no"), "failed", "bob may not use", "as root"),
            (SocketFacts(FileFact(SOCKET.path, "file"), "no"), "failed", "is no socket", "admin.socket"),
        ],
    )
    def test_who_may_open_it(self, facts: SocketFacts, state: str, said: str, advice: str):
        one(checks.admin_socket(facts, "bob"), state, said, advice)


class TestDaemon:
    def test_it_runs(self):
        one(checks.daemon(HEALTHY), "ok", "It runs (version 0.1.0, process 42).")

    def test_another_version_than_is_installed(self):
        one(checks.daemon(replace(HEALTHY, version="0.2.0")), "warning", "version 0.1.0, and 0.2.0", "Restart it")

    def test_it_does_not_run(self):
        one(checks.daemon([replace(HEALTHY, daemon=None)][0]), "warning", "does not run", "synapse serve")

    def test_it_runs_and_does_not_answer(self):
        facts = replace(HEALTHY, daemon=None, state=replace(STATE, holder=77))
        one(checks.daemon(facts), "failed", "Process 77 owns the state directory, and does not answer", "restart")


class TestPort:
    FREE = PortFacts("0.0.0.0", 8787)
    TAKEN = PortFacts("0.0.0.0", 8787, "address already in use", "nginx (process 9)")

    def test_without_a_daemon(self):
        one(checks.port(self.FREE, None), "ok", "Port 8787 on 0.0.0.0 is free.")
        one(checks.port(self.TAKEN, None), "failed", "address already in use by nginx (process 9).", "= 8788")
        one(checks.port(replace(self.TAKEN, holder=""), None), "failed", "address already in use.", "= 8788")

    def test_with_ours(self):
        one(checks.port(replace(self.TAKEN, answers=True), DAEMON), "ok", "http://127.0.0.1:8787/v1")
        one(checks.port(replace(self.TAKEN, answers=False), DAEMON), "failed", "does not answer", "log")

    def test_where_the_settings_have_changed_since(self):
        one(checks.port(PortFacts("0.0.0.0", 9000), DAEMON), "warning", "the settings say port 9000", "Restart")
        one(checks.port(PortFacts("0.0.0.0", 787), DAEMON), "warning", "the settings say port 787", "Restart")

    def test_where_the_system_chooses(self):
        one(checks.port(PortFacts("0.0.0.0", 0), DAEMON), "ok", "http://127.0.0.1:8787/v1")


def test_tls():
    one(checks.tls("off"), "ok", "cross the network as they are")
    one(checks.tls("auto"), "ok", '"auto"')


class TestDiscovery:
    WELL = MdnsFacts(True, (), ("eth0", "wlan0"))

    @pytest.mark.parametrize(
        ("facts", "heard", "state", "said"),
        [
            (WELL, None, "ok", "mDNS works on eth0, wlan0."),
            (MdnsFacts(False), "off", "ok", "switch it off"),
            (MdnsFacts(True), None, "warning", "no network interface"),
            (MdnsFacts(True, ("eth7", "eth0"), ("eth0",)), None, "warning", "not there or not up: eth7."),
            (
                MdnsFacts(True, (), ("eth0",), "address already in use", "dnsd (process 9)"),
                None,
                "warning",
                "Port 5353 (UDP) cannot be shared: address already in use by dnsd (process 9).",
            ),
            (replace(WELL, silent=("wlan0",)), None, "warning", "did not come back on wlan0"),
            (WELL, "it does not work on eth0: no permission", "warning", "hears no machines: it does not work on"),
        ],
    )
    def test_whether_machines_are_heard(self, facts: MdnsFacts, heard: str | None, state: str, said: str):
        one(checks.discovery(facts, heard), state, said, "synapse node add" if state == "warning" else "")


class TestService:
    WELL = ServiceFacts(True, "loaded", "active", "enabled", "success")

    @pytest.mark.parametrize(
        ("facts", "running", "state", "said"),
        [
            ({}, True, "ok", "runs, and starts with the machine"),
            ({"enabled": "disabled"}, True, "warning", "is not started with the machine"),
            ({"load": "not-found"}, True, "warning", "There is no unit"),
            ({"active": "failed", "result": "exit-code"}, False, "failed", "has failed (exit-code)"),
            ({"active": "inactive"}, False, "failed", "is inactive"),
            ({"active": "inactive"}, True, "warning", "a daemon runs beside it"),
        ],
    )
    def test_whether_it_is_there_after_a_restart(self, facts: dict[str, Any], running: bool, state: str, said: str):
        one(checks.service(replace(self.WELL, **facts), running=running), state, said)

    def test_without_systemd(self):
        assert checks.service(ServiceFacts(False), running=True) == []


def test_the_status_of_these_tests_is_on_the_port_of_the_settings():
    assert STATUS.base_url.endswith(f":{HEALTHY.port.port}/v1")
