"""Machines in a network of names, all of which lead to this machine: so one is known by its address alone."""

import socket
from typing import Any

import pytest


def names_lead_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends in `.lan` is on loopback, and is not known to be."""
    really = socket.getaddrinfo

    def found(host: Any, *args: Any, **options: Any) -> Any:
        return really("127.0.0.1" if isinstance(host, str) and host.endswith(".lan") else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def by_name(url: str, name: str = "box") -> str:
    """The same place by a name."""
    return url.replace("127.0.0.1", f"{name}.lan")
