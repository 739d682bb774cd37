"""How the console reads its terminal: as Textual does on Unix, but that a byte which is no UTF-8 ends nothing, and that
a terminal which is gone ends it.

A terminal in Latin-1 sends such bytes for every accent, and a paste can hold them anywhere.
"""

import codecs
import signal

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver


class TerminalGone(Exception):
    """It will never send anything again."""


class ForgivingDriver(LinuxDriver):
    """What cannot be read comes as U+FFFD, which everybody sees is wrong."""

    def run_input_thread(self) -> None:
        # Textual (release pinned) takes its decoder from here as the thread begins, and offers no other way in.
        linux_driver.getincrementaldecoder = decoder  # pyright: ignore[reportPrivateImportUsage]
        try:
            super().run_input_thread()
        except TerminalGone:
            # Textual would ask it again and again. There is nothing left to tidy up: as if the line were hung up.
            signal.raise_signal(signal.SIGHUP)


def decoder(_: str) -> "type[_Decoder]":
    """What makes a decoder, whatever is asked for: everything here is UTF-8."""
    return _Decoder


class _Decoder:
    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def decode(self, data: bytes, final: bool = False) -> str:
        """Raises TerminalGone where a terminal that was ready had nothing to say."""
        if not data and not final:
            raise TerminalGone
        return self._utf8.decode(data, final)
