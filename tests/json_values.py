"""Any JSON, out of the words that a dialect knows and others, for tests that no body makes the gateway fail."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def leaves(words: Sequence[str]) -> SearchStrategy[Any]:
    return (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=8)
        | st.sampled_from(words)
    )


def values(words: Sequence[str], members: Sequence[str]) -> SearchStrategy[Any]:
    """Objects have these members, and others."""
    names = st.sampled_from(members) | st.text(max_size=4)
    return st.recursive(
        leaves(words),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )
