import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.doctor import system
from appliance.doctor.facts import ClockFacts, ServiceFacts

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def says(monkeypatch: pytest.MonkeyPatch, out: str, code: int = 0) -> list[list[str]]:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(stdout=out, returncode=code)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_what_show_prints():
    # systemctl(1), "show": Name=value, and a value may hold an equals sign.
    assert system.properties("LoadState=loaded\nExecStart={ a=b }\n\nx\n") == {
        "LoadState": "loaded",
        "ExecStart": "{ a=b }",
    }


def test_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = says(monkeypatch, "LoadState=loaded\nActiveState=failed\nUnitFileState=enabled\nResult=exit-code\n")
    assert system.service(tmp_path) == ServiceFacts(True, "loaded", "failed", "enabled", "exit-code")
    assert asked[0][:3] == ["systemctl", "show", "synapse.service"]


def test_without_systemd_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = says(monkeypatch, "LoadState=loaded\n")
    assert system.service(tmp_path / "none") == ServiceFacts(False)
    assert asked == []


@pytest.mark.parametrize("code", [1, 127])
def test_where_systemd_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int):
    says(monkeypatch, "System has not been booted with systemd", code)
    assert system.service(tmp_path) == ServiceFacts(False)
    assert system.clock(NOW) == ClockFacts(NOW, None)


@pytest.mark.parametrize(("told", "synchronized"), [("yes", True), ("no", False), ("", None)])
def test_the_clock(monkeypatch: pytest.MonkeyPatch, told: str, synchronized: bool | None):
    says(monkeypatch, f"NTPSynchronized={told}\n")
    assert system.clock(NOW) == ClockFacts(NOW, synchronized)


@pytest.mark.parametrize("error", [FileNotFoundError(), subprocess.TimeoutExpired("x", 1)])
def test_where_the_program_is_not_there_or_hangs(monkeypatch: pytest.MonkeyPatch, error: Exception):
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", fails)
    assert system.clock(NOW).synchronized is None
