"""How the console reads its terminal: as Textual does on Unix, but that a byte which is no UTF-8 ends nothing.

A terminal in Latin-1 sends such bytes for every accent, and a paste can hold them anywhere.
"""

import codecs
from functools import partial
from typing import Any

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver


class ForgivingDriver(LinuxDriver):
    """What cannot be read comes as U+FFFD, which everybody sees is wrong."""

    def run_input_thread(self) -> None:
        # Textual (release pinned) takes its decoder from here as the thread begins, and offers no other way in.
        linux_driver.getincrementaldecoder = _forgiving  # pyright: ignore[reportPrivateImportUsage]
        super().run_input_thread()


def _forgiving(encoding: str) -> Any:
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")
