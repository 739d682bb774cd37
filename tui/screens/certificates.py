"""Certificates."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class CertificatesPage(Page):
    NAME = "certificates"
    BINDINGS: ClassVar = actions.bindings("certificates")
