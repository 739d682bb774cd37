"""What rules find, as values that are easy to compare."""

from collections.abc import Callable, Iterable

from appliance.shield.finding import Finding
from appliance.shield.overlap import settle


def values(rule: Callable[[str], Iterable[Finding]], text: str) -> list[str]:
    """The values that one rule finds in a text, in order and apart."""
    return [text[each.start : each.end] for each in settle(rule(text))]


def typed(rule: Callable[[str], Iterable[Finding]], text: str) -> list[tuple[str, str]]:
    """The same with their categories."""
    return [(each.category, text[each.start : each.end]) for each in settle(rule(text))]
