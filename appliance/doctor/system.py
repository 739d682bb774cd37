"""Asks systemd about the unit and the clock, where it is there."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from appliance.doctor.facts import ClockFacts, ServiceFacts

UNIT = "synapse.service"

BOOTED = Path("/run/systemd/system")
"""What there is where systemd runs the machine (sd_booted(3))."""

SECONDS = 5.0


def service(booted: Path = BOOTED) -> ServiceFacts:
    if not booted.is_dir():
        return ServiceFacts(False)
    told = _properties(["systemctl", "show", UNIT, "--property=LoadState,ActiveState,UnitFileState,Result"])
    if not told:
        return ServiceFacts(False)
    return ServiceFacts(
        True,
        load=told.get("LoadState", ""),
        active=told.get("ActiveState", ""),
        enabled=told.get("UnitFileState", ""),
        result=told.get("Result", ""),
    )


def clock(now: datetime) -> ClockFacts:
    told = _properties(["timedatectl", "show", "--property=NTPSynchronized"]).get("NTPSynchronized")
    return ClockFacts(now, {"yes": True, "no": False}.get(told or ""))


def properties(text: str) -> dict[str, str]:
    """The lines `Name=value` of `show`."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _properties(command: Sequence[str]) -> Mapping[str, str]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    return properties(done.stdout) if done.returncode == 0 else {}
