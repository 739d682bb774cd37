import argparse
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.commands import doctor
from appliance.commands.invocation import Invocation
from appliance.doctor.finding import failed, ok, warning


def test_each_check_is_a_line_with_a_glyph_and_a_word_and_the_next_step_below():
    outcome = doctor.report(
        [
            ok("clock", "It is right."),
            warning("backup", "None.", "Make one."),
            failed("database", "Broken.", "Restore."),
        ]
    )
    assert outcome.lines == (
        "✓ ok       clock: It is right.",
        "! warning  backup: None.",
        "           → Make one.",
        "✗ failed   database: Broken.",
        "           → Restore.",
        "",
        "1 failed, 1 to look at, 1 in order.",
    )
    assert outcome.code == 1


def test_for_programs():
    outcome = doctor.report([warning("backup", "None.", "Make one.")])
    assert outcome.document == {
        "ok": True,
        "failed": 0,
        "warnings": 1,
        "findings": [{"check": "backup", "state": "warning", "said": "None.", "advice": "Make one."}],
    }
    assert outcome.code == 0


@pytest.mark.usefixtures("terminal")
def test_long_sentences_are_set_below_each_other():
    lines = doctor.report([failed("disk space", "word " * 40 + ".", "step " * 40)]).lines
    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith("           word") for line in lines[1:3])
    assert sum(line.startswith("             step") for line in lines) >= 2


def test_what_a_machine_is_called_cannot_command_the_terminal():
    lines = doctor.report([ok("machine \x1b[2J", "It answers.")]).lines
    assert "\x1b" not in "".join(lines)


async def test_settings_that_cannot_be_read_are_a_finding_and_no_error(tmp_path: Path):
    named = str(tmp_path / "none.toml")
    call = Invocation(argparse.Namespace(config=named), {}, lambda: datetime.now(UTC))
    outcome = await doctor.run(call, online=False)
    assert outcome.code == 1
    assert named in outcome.lines[0] + outcome.lines[1]
