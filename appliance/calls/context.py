"""Whether a prompt fits a context, before it is sent and after it was answered. Pure; counts are tokens.

A machine is always told to refuse what does not fit. These rules are for one that does not listen: Ollama's own
default is to cut in silence (dialects.md §2, "Context"). A certificate says what they find, so that they only speak
where there is no other explanation.
"""

from collections.abc import Iterable

SURELY_TOO_LONG = 2.0
"""An estimate this many times the context is refused unsent. Rare text has half as many tokens as estimated."""

TOKENS_PER_TURN = 2
"""What each message costs at least, for the marks around it, even if it says nothing."""

TOKENS_PER_WORD = 1.25
"""Of English prose, which has the fewest: a word is one token or more, since none goes on beyond a blank."""

KEPT_TOLERANCE = 8
"""How exactly a cut prompt has the length that Ollama's cut leaves."""

NUM_KEEP = 4
"""Tokens that Ollama keeps at the start of what it cuts, by default."""


def surely_too_long(estimate: int, turns: int, context: int) -> bool:
    """Whether there is no use in asking: by its characters, or by how many messages it has."""
    return estimate > SURELY_TOO_LONG * context or turns * TOKENS_PER_TURN > context


def words(texts: Iterable[str]) -> int:
    """What stands between blanks, as many as there are."""
    return sum(len(text.split()) for text in texts)


def was_cut(words: int, reported: int, context: int) -> bool:
    """Whether the machine reports to have read so few tokens that it must have left text out.

    Either there were more words than it read tokens, or the middle of a prompt that was too long went, which leaves
    `context - (context - num_keep) / 2` tokens.
    """
    if not reported or reported > context:
        return False
    left_by_a_cut = context - (context - NUM_KEEP) // 2
    middle_gone = abs(reported - left_by_a_cut) <= KEPT_TOLERANCE and words * TOKENS_PER_WORD > context
    return middle_gone or words > reported + KEPT_TOLERANCE
