"""What every page works with: the client, the newest picture, borrowed tools, and the way to other pages."""

from collections.abc import Callable
from dataclasses import dataclass, field

from appliance.admin.client import Client
from tui.feed import Picture
from tui.tools import Tools


@dataclass(slots=True)
class Desk:
    """`go` shows a page; what is `wanted` of it, such as a certificate's id, it finds under its name."""

    client: Client
    tools: Tools
    go: Callable[[str], None]
    picture: Picture = field(default_factory=Picture)
    wanted: dict[str, str] = field(default_factory=dict[str, str])
