"""Puts values back into a whole answer. Must not know more of a call than its vault.

Source: shield.md ("Restoring").
"""

from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault


def restore(text: str, vault: Vault, depth: int = 0) -> str:
    """The text with the values of this vault's tokens; `depth` as in `Restorer`. Linear."""
    restorer = Restorer(vault, depth)
    return restorer.feed(text) + restorer.flush()
