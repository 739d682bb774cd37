"""What a rule finds, and why it thinks so."""

from typing import NamedTuple

from appliance.shield.categories import Category


class Finding(NamedTuple):
    """A personal value in a text: code points from `start` to before `end`.

    `rule` says in a few words what found it (`"Luhn and issuer range"`), `context` the word nearby that decided
    (`"tel"`), empty where none had to.
    """

    start: int
    end: int
    category: Category
    rule: str
    context: str = ""
