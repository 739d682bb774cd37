"""`synapse doctor`: every check in a line, with the next step where there is one to take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from appliance.admin import looks
from appliance.commands import text
from appliance.commands.invocation import Invocation
from appliance.commands.outcome import DONE, FAILED, Outcome
from appliance.doctor import checking, gathering
from appliance.doctor.finding import Finding, State, failed
from appliance.errors import ConfigError
from appliance.settings import file_of

GLYPHS: dict[State, str] = {"ok": "✓", "warning": "!", "failed": "✗"}

_MARGIN = " " * 11
"""As wide as a glyph and the longest word."""


async def run(call: Invocation, *, online: bool) -> Outcome:
    """Exit code 1: a check failed. Wrong settings are a check that failed, and the last one that can be made."""
    try:
        settings = call.settings()
        config = file_of(call.config, call.environ)
    except ConfigError as error:
        advice = f"{error.advice} Nothing else was checked: where everything is stands there."
        return report([failed("configuration", error.message, advice)])
    facts = await gathering.gather(settings, call.environ, config=config, now=call.clock(), online=online)
    return report(checking.check(facts))


def report(findings: Sequence[Finding]) -> Outcome:
    counts = Counter(finding.state for finding in findings)
    broken = counts["failed"] > 0
    document = {
        "ok": not broken,
        "failed": counts["failed"],
        "warnings": counts["warning"],
        "findings": [asdict(finding) for finding in findings],
    }
    lines = [line for finding in findings for line in _lines(finding)]
    summary = f"{counts['failed']} failed, {counts['warning']} to look at, {counts['ok']} in order."
    return Outcome(document, (*lines, "", summary), code=FAILED if broken else DONE)


def _lines(finding: Finding) -> list[str]:
    head = f"{GLYPHS[finding.state]} {finding.state:<7}  {finding.check}: "
    said = text.wrapped(looks.printable(head + finding.said), indent=_MARGIN)
    if finding.state == "ok" or not finding.advice:
        return list(said)
    return [*said, *text.wrapped(looks.printable(f"{_MARGIN}→ {finding.advice}"), indent=_MARGIN + "  ")]
