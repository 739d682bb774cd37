"""A call's texts with tokens in place of the values that were found.

Must not know how values are found, or what becomes of the texts. Source: shield.md ("Tokens").
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from appliance.shield.categories import Category
from appliance.shield.finding import Finding
from appliance.shield.forms import MINTED
from appliance.shield.tokens import normalised
from appliance.shield.vault import Identity, Vault, mint, written_like_tokens

_HOLE = "[]"
"""What stands for a value until it has its token: like a token, it is a boundary for what is beside it."""


class Masked(NamedTuple):
    """`texts` are parallel to those that came in; `vault` restores them."""

    texts: tuple[str, ...]
    vault: Vault


class _Part(NamedTuple):
    """A stretch of a text to be masked: code points from `start` to before `end`."""

    start: int
    end: int
    category: Category


def mask(texts: Sequence[str], findings: Sequence[Sequence[Finding]], *, key: bytes, country: str = "FR") -> Masked:
    """All texts of one call, each with its own findings: places in the text as written, in order and apart.

    `key` is the installation's; the same value has the same token wherever the key is the same, unless tokens of one
    call clash. `country` as in `tokens.normalised`. Tokens that stand in the texts already are left as they are, and of
    a finding that overlaps one only what is outside of it is masked.
    """
    parts = [list(_parts(text, found)) for text, found in zip(texts, findings, strict=True)]
    normal: dict[tuple[Category, str], Identity] = {}
    spelled: dict[Identity, str] = {}
    for text, own in zip(texts, parts, strict=True):
        for start, end, category in own:
            written = text[start:end]
            if (category, written) not in normal:
                value = category, normalised(category, written, country)
                normal[category, written] = value
                spelled.setdefault(value, written)
    around = ["".join(_filled(text, own, [_HOLE] * len(own))) for text, own in zip(texts, parts, strict=True)]
    tokens = mint(spelled, key, written_like_tokens(around, {category for category, _ in spelled}))
    masked = tuple(
        "".join(_filled(text, own, [tokens[normal[each.category, text[each.start : each.end]]] for each in own]))
        for text, own in zip(texts, parts, strict=True)
    )
    return Masked(masked, Vault({tokens[value]: spelling for value, spelling in spelled.items()}, texts, masked))


def _parts(text: str, findings: Sequence[Finding]) -> Iterator[_Part]:
    """What of each finding is outside of the tokens in the text and has a letter or a digit."""
    tokens = iter(MINTED.finditer(text)) if "[" in text and findings else iter(())
    token = next(tokens, None)
    for finding in findings:
        start = finding.start
        while token is not None and token.end() <= start:
            token = next(tokens, None)
        while token is not None and token.start() < finding.end:
            yield from _part(text, start, token.start(), finding.category)
            start = token.end()
            if start >= finding.end:
                break
            token = next(tokens, None)
        yield from _part(text, start, finding.end, finding.category)


def _part(text: str, start: int, end: int, category: Category) -> Iterator[_Part]:
    if any(map(str.isalnum, text[start:end])):
        yield _Part(start, end, category)


def _filled(text: str, parts: Sequence[_Part], fillings: Sequence[str]) -> Iterator[str]:
    at = 0
    for part, filling in zip(parts, fillings, strict=True):
        yield text[at : part.start]
        yield filling
        at = part.end
    yield text[at:]
