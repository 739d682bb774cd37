"""Log lines for the journal: one line an event, `level name: message`, on stderr. Never a prompt, answer or key."""

import logging
import sys
import traceback
from types import TracebackType

from appliance.errors import ConfigError

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
"""The journal's priorities (sd-daemon(3)), which it reads from a `<N>` in front of a line."""


_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _JournalFormatter(logging.Formatter):
    def __init__(self, *, priorities: bool) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._priorities = priorities

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{_LEVELS.get(record.levelno, 6)}>" if self._priorities else ""
        # Every line of a traceback carries the prefix, or the journal files the rest under another priority.
        return "\n".join(prefix + line for line in super().format(record).splitlines())

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  logging's own name
        """Where it happened and what kind it is, never its message: that may quote a prompt or an answer."""
        error, parts = ei[1], list[str]()
        while error is not None:
            parts.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\nwhile handling, or because of:\n".join(parts)


def configure(*, level: str, under_journal: bool) -> None:
    """Send the daemon's log to stderr; `under_journal` adds the journal's priority in front of each line.

    Raises:
        ConfigError: there is no such level.
    """
    if level.upper() not in LEVELS:
        raise ConfigError(f"SYNAPSE_LOG is {level!r}.", advice=f"It must be one of: {', '.join(LEVELS)}.")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JournalFormatter(priorities=under_journal))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)  # its debug lines quote statements with their values
    logging.getLogger("httpx").setLevel(logging.WARNING)
