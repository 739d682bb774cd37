"""Finds the addresses of machines, IPv4 and IPv6: what `ipaddress` reads as one and is not a version or a section.

Loopback, unspecified addresses and netmasks are nobody's. Source: shield.md ("Detection"), RFC 1122, RFC 4291.
"""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from appliance.shield.context import escape_before, words_before
from appliance.shield.finding import Finding

_IPV4 = re.compile(r"[0-9][0-9]{0,2}+\.[0-9]{1,3}+\.[0-9]{1,3}+\.[0-9]{1,3}+(?![0-9A-Za-z_]|\.[0-9]|-[A-Za-z])")
_BESIDE = 24
"""How far a word for a version may be, in characters, with no other number between."""
_NUMBER = re.compile(r"[0-9]")
_VERSION = frozenset({
    "version", "versions", "ver", "v", "vers", "versie", "versione", "versao", "wersja", "release", "rel", "build",
    "firmware", "patch", "revision", "rev", "update", "upgrade", "driver", "section", "sections", "sec", "sect",
    "chapter", "chapitre", "kapitel", "abschnitt", "clause", "article", "annex", "annexe", "appendix", "paragraph",
    "paragraphe", "oid", "objectidentifier",
})  # fmt: skip
_ADDRESS = frozenset({
    "ip", "ipv", "address", "addr", "adresse", "saddr", "daddr", "src", "dst", "host", "hostname", "server", "node",
    "client", "peer", "gateway", "dns", "from", "at",
})  # fmt: skip
_SIGNS = re.compile(r"(?:[=<>~!^]=|[~^§#]|[A-Za-z][A-Za-z0-9_.+]*-|[A-Z][A-Za-z]*/)\s?\Z")
"""What stands before a version or a section: an operator of a requirement, `§`, a package's or a browser's name."""

_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}+:")
_IPV6_CHARACTERS = re.compile(r"[0-9A-Fa-f:]{0,39}+(?:\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})?")
_ALLOCATED = (range(0x2000, 0x4000), range(0xFC00, 0xFE00), range(0xFE80, 0xFEC0), range(0xFF00, 0x10000))
"""The first groups of addresses in use: global, local, of a link, multicast. Source: IANA, "IPv6 Address Space"."""
_PAIRS = re.compile(r"(?:[0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}")


def find(text: str) -> Iterator[Finding]:
    yield from _ipv4(text)
    yield from _ipv6(text)


def _ipv4(text: str) -> Iterator[Finding]:
    for found in _IPV4.finditer(text):
        start = found.start()
        if _goes_on(text, start) or not _personal(found[0]) or _versioned(text, start):
            continue
        yield Finding(start, found.end(), "IP_ADDRESS", "IPv4 address")


def _goes_on(text: str, start: int) -> bool:
    """Whether a longer number, name or code stands before."""
    before = text[start - 1 : start]
    if before.isalnum() or before == "_":
        return not escape_before(text, start)
    return before == "." and text[start - 2 : start - 1].isalnum()


def _personal(value: str) -> bool:
    try:
        address = IPv4Address(value)
    except AddressValueError:
        return False
    number = int(address)
    # A mask is ones, then zeros, so that its inverse and one more share no bit.
    inverse = number ^ 0xFFFFFFFF
    is_mask = number >> 31 and not inverse & (inverse + 1)
    return not (address.is_loopback or number < 1 << 24 or is_mask)


def _versioned(text: str, start: int) -> bool:
    """Whether a word or sign before says that this is a version or a section."""
    before = text[max(0, start - _BESIDE) : start]
    words = words_before(text, start, len(_NUMBER.split(before)[-1]))
    if _SIGNS.search(before):
        # As in a filter, `ip.addr==192.0.2.7`.
        return not words or words[0] not in _ADDRESS
    return next((word in _VERSION for word in words if word in _DECIDING), False)


_DECIDING = _VERSION | _ADDRESS


def _ipv6(text: str) -> Iterator[Finding]:
    end = 0
    for found in _COLONS.finditer(text):
        start = found.start()
        if start < end:
            continue
        first = max(end, start - 4)
        while start > first and text[start - 1] in _HEXADECIMAL:
            start -= 1
        rest = _IPV6_CHARACTERS.match(text, start)
        value = rest[0] if rest else ""
        end = start + len(value)
        if _glued(text, start, end):
            continue
        if value.endswith(":") and not value.endswith("::"):
            # Prose goes on with a colon.
            value, end = value[:-1], end - 1
        if ("::" in value or value.count(":") == 7) and _used(value):
            yield Finding(start, end, "IP_ADDRESS", "IPv6 address")


_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


_GLUE = frozenset("_:")


def _glued(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before.isalnum() or before in _GLUE) and not escape_before(text, start):
        return True
    return after.isalnum() or after in _GLUE


def _used(value: str) -> bool:
    """Whether this is an address that somebody may have, and not two names of a program's or a slice's ends."""
    if not any(each.isdigit() for each in value) or _PAIRS.fullmatch(value):
        return False
    try:
        address = IPv6Address(value)
    except AddressValueError:
        return False
    if address.is_loopback or address.is_unspecified:
        return False
    if address.ipv4_mapped is not None:
        return _personal(str(address.ipv4_mapped))
    return "::" not in value or int(address) >> 112 in _ALLOCATED_GROUPS or len(value.replace("::", ":").split(":")) > 5


_ALLOCATED_GROUPS = frozenset(group for each in _ALLOCATED for group in each)
