"""The tokens of one call and what they stand for. It lives as long as the call, and is written down nowhere.

Must not know how a text is masked or restored. Source: shield.md ("Tokens", "Restoring").
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from appliance.shield.addresses import Addresses, hosts_of, may_lead_out
from appliance.shield.categories import MEDICAL, Category
from appliance.shield.escapes import inside_json
from appliance.shield.forms import begins, core_of, forms, literals, places
from appliance.shield.tokens import LONGEST_SUFFIX, SHORTEST_SUFFIX, suffix, token

Identity = tuple[Category, str]
"""A value: its category, and what `normalised` gives for all of its spellings."""

_BACKSLASHES = 4
"""What a caller writes is taken for a token with so many before a sign too, so that none of ours is like it."""
_BRACKETS = frozenset("[\\%")


class Vault:
    """`values` has, for each token as minted (`[EMAIL_k3j2h4m5]`), the spelling that was seen first. `written` is the
    call's own text, `sent` the same with tokens in place."""

    def __init__(self, values: Mapping[str, str], written: Sequence[str] = (), sent: Sequence[str] = ()) -> None:
        self._values = {core_of(each): value for each, value in values.items()}
        self._by_name: dict[str, list[str]] = {}
        for minted in values:
            for name in _names_of(minted):
                self._by_name.setdefault(name, []).append(core_of(minted))
        self._written = written
        self._sent = sent

    def __repr__(self) -> str:
        return f"Vault({self.count} values)"

    @property
    def count(self) -> int:
        """How many values were masked; one in several places, or in several spellings, is one."""
        return len(self._values)

    @cached_property
    def counts(self) -> Mapping[Category, int]:
        """How many values of each category were masked; categories without one are left out, the others sorted."""
        found: dict[Category, int] = {}
        for category in sorted(MEDICAL):
            if cores := self._by_name.get(category.replace("_", "")):
                found[category] = len(cores)
        return found

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The categories of these values, sorted."""
        return tuple(self.counts)

    def value(self, core: str) -> str | None:
        """The value of a token, given as `forms.core_of` has it; None if it is no token of this call."""
        return self._values.get(core)

    @cached_property
    def cores(self) -> Sequence[str]:
        """All tokens, as `forms.core_of` has them, sorted."""
        return sorted(self._values)

    @cached_property
    def alone(self) -> Mapping[str, str]:
        """The token that `[EMAIL]` or `[DATE_1985]` means (`EMAIL` and `DATE1985` there, as a place's `core` has them),
        for each that has one token only, and of which the call wrote nothing in brackets that is like a token itself.
        """
        written = [
            place.core.lower()
            for text in self._sent
            for place in places(text, 0, forms(_BACKSLASHES), self.categories)
            if place.core not in self._values and text[place.start] in _BRACKETS
        ]
        return {
            name: cores[0]
            for name, cores in self._by_name.items()
            if len(cores) == 1 and not any(each.startswith(name.lower()) for each in written)
        }

    def has(self, name: str) -> bool:
        """Whether there are tokens of a category, or of a year, that is given as in `alone`."""
        return name in self._by_name

    def permits(self, address: str, core: str, depth: int) -> bool:
        """Whether the token may be restored at the end of this address: see `addresses`."""
        if not may_lead_out(address, self._hosts):
            return True
        return (address, core) in (self._own_in_json if depth else self._own)

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return hosts_of(self._written)

    @cached_property
    def _own(self) -> Collection[tuple[str, str]]:
        return frozenset(pair for text in self._sent for pair in self._addressed(text, 0))

    @cached_property
    def _own_in_json(self) -> Collection[tuple[str, str]]:
        return frozenset(pair for text in self._sent for pair in self._addressed(f'"{inside_json(text, 1)}"', 1))

    def _addressed(self, text: str, depth: int) -> Iterable[tuple[str, str]]:
        """Every address with a token at its end that the call itself sent."""
        addresses = Addresses(depth)
        at = 0
        for place in places(text, 0, forms(1), self.categories):
            if place.core in self._values:
                addresses.read(text[at : place.first])
                at = place.first
                if (address := addresses.address()) is not None:
                    yield address, place.core


def mint(values: Iterable[Identity], key: bytes, taken: Sequence[str]) -> Mapping[Identity, str]:
    """A token for each value, as short as can be: none is like another, nor like one of `taken` (as `core_of` has
    them). Those that clash are all lengthened."""
    lengths = dict.fromkeys(values, SHORTEST_SUFFIX)
    tokens: dict[Identity, str] = {}
    changed = list(lengths)
    while changed:
        for value in changed:
            tokens[value] = token(*value, suffix(key, *value, lengths[value]))
        uses = Counter(tokens.values())
        changed = [
            value
            for value, minted in tokens.items()
            if (uses[minted] > 1 or (taken and begins(core_of(minted), taken))) and lengths[value] < LONGEST_SUFFIX
        ]
        for value in changed:
            lengths[value] += 1
    return tokens


def written_like_tokens(texts: Iterable[str], categories: Collection[Category]) -> Sequence[str]:
    """What stands in texts that may be taken for a token of one of these categories: as `core_of` has it, sorted."""
    # All as one, which is searched much faster; no token goes on beyond what stands between them.
    return sorted(set(literals("\0".join(texts), forms(_BACKSLASHES), categories)))


def _names_of(minted: str) -> Collection[str]:
    """What a token is called without its suffix, with its year and without; its underscores left out."""
    name = minted.strip("[]").rpartition("_")[0].replace("_", "")
    return {name, name.rstrip("0123456789")}
