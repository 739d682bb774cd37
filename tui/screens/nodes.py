"""Nodes."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class NodesPage(Page):
    NAME = "nodes"
    BINDINGS: ClassVar = actions.bindings("nodes")
