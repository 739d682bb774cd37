"""Whether a prompt fits a context, before it is sent and after it was answered. Pure; counts are tokens.

A machine is always told to refuse what does not fit. These rules are for one that does not listen: Ollama's own
default is to cut in silence (dialects.md §2, "Context").
"""

SURELY_TOO_LONG = 2.0
"""An estimate this many times the context is refused unsent. Rare text has half as many tokens as estimated."""

KEPT_TOLERANCE = 8
"""How exactly a cut prompt has the length that Ollama's cut leaves."""

NUM_KEEP = 4
"""Tokens that Ollama keeps at the start of what it cuts, by default."""


def surely_too_long(estimate: int, context: int) -> bool:
    """Whether there is no use in asking."""
    return estimate > SURELY_TOO_LONG * context


def was_cut(estimate: int, reported: int, context: int) -> bool:
    """Whether the machine reports to have read so few tokens that it must have left text out.

    Either the middle of the prompt went, which leaves `context - (context - num_keep) / 2` tokens, or whole
    messages, of which only the count tells.
    """
    if not reported or reported > context:
        return False
    left_by_a_cut = context - (context - NUM_KEEP) // 2
    middle_gone = abs(reported - left_by_a_cut) <= KEPT_TOLERANCE and estimate > 1.3 * reported
    messages_gone = estimate > 1.5 * context and estimate > 2 * reported
    return middle_gone or messages_gone
