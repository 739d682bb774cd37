"""Ledger."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class LedgerPage(Page):
    NAME = "ledger"
    BINDINGS: ClassVar = actions.bindings("ledger")
