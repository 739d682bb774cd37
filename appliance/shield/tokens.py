"""What a value is, whatever way it is written, and the token that stands for it.

`normalised` decides which spellings are one value. Pure: the key comes in. Must not know texts, or where in one a
value stood. Source: shield.md ("Tokens"), synapse.md ("Consistent pseudonymization"); RFC 2104 (HMAC), RFC 4648 §6
(base32).
"""

import base64
import hmac
import ipaddress
import re
import unicodedata
from urllib.parse import unquote

from appliance.shield.categories import Category
from appliance.shield.e164 import e164
from appliance.shield.iso_dates import iso_date, year_of
from appliance.shield.view import view_of

SHORTEST_SUFFIX = 8
"""Characters of base32, 40 bits: two of 1,000 values of one call clash in 5 of 10 million calls."""
LONGEST_SUFFIX = 52
"""Characters of base32: the whole of an HMAC-SHA256."""

_CHARACTERS_IN_FIVE_BYTES = 8

_COMPACT: frozenset[Category] = frozenset({
    "CREDIT_CARD", "IBAN", "SSN", "MAC_ADDRESS", "NIR", "NHS_NUMBER", "VIN",
})  # fmt: skip
"""Whose spaces and separators say nothing."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACES = re.compile(r"\s+")
_QUOTES = str.maketrans("’‘ʼ`´", "'''''")

_TITLES = (
    "dr dre dra doctor docteur docteure doktor dottore dottoressa dott prof pr professeur professeure professor "
    "professora professore m mm mr mrs ms mx miss mister mme mmes mlle mlles monsieur madame mademoiselle messieurs "
    "mesdames me maitre sir herr herrn frau hr fr sig signor signora signore signorina sr sra srta senor senora "
    "senorita dona dhr mevr mevrouw mw meneer pan pani"
)
_TITLE = re.compile(rf"(?:(?:{'|'.join(_TITLES.split())})(?:\.\s?|\s)(?:med\.\s?)?)+(?=\S)")

_OBFUSCATED = (
    (re.compile(r"\s{0,3}[\[({<]\s?(?:@|at|arobase|arroba|chiocciola|malpa)\s?[\])}>]\s{0,3}"), "@"),
    (re.compile(r"\s{0,3}[\[({<]\s?(?:\.|dot|point|punkt|punto|ponto|kropka)\s?[\])}>]\s{0,3}"), "."),
    (re.compile(r"\s{1,3}(?:at|arobase|arroba|chiocciola|malpa)\s{1,3}"), "@"),
    (re.compile(r"\s{1,3}(?:dot|point|punkt|punto|ponto|kropka)\s{1,3}"), "."),
    (re.compile(r"\s{0,3}([@.])\s{0,3}"), r"\1"),
)
"""How an address is written for people only, brackets first: `jane (at) example (dot) org`."""

_URL_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^/?#]*|www\.[^/?#]*", re.IGNORECASE)


def normalised(category: Category, value: str, country: str = "FR") -> str:
    """One text for all spellings of a value; what it looks like is not for people. Linear in the value.

    `country` (ISO 3166, two letters) is where phone numbers without a prefix are at home, and whose order a date in
    digits has where it is ambiguous.
    """
    shown = view_of(value).text
    if category == "URL":
        return _url(shown)
    plain = folded(shown)
    if category in _COMPACT:
        return _SEPARATORS.sub("", plain)
    if category == "EMAIL":
        return _email(plain, "%40" in value)
    if category == "PHONE":
        return e164(plain, country) or plain
    if category == "DATE":
        return iso_date(plain, country) or plain
    if category == "IP_ADDRESS":
        return _ip_address(plain)
    return _TITLE.sub("", plain, count=1) if category == "NAME" and _TITLE.match(plain) else plain


def folded(text: str) -> str:
    """NFKD without accents, case-folded, with single spaces and plain apostrophes."""
    if not text.isascii():
        text = _unaccented(_unaccented(text).casefold()).translate(_QUOTES)
    return _SPACES.sub(" ", text.casefold()).strip()


def suffix(key: bytes, category: Category, normal: str, length: int = SHORTEST_SUFFIX) -> str:
    """The first `length` characters, `LONGEST_SUFFIX` at most, of what identifies a value under a key."""
    digest = hmac.digest(key, category.encode() + normal.encode("utf-8", "surrogatepass"), "sha256")
    needed = digest[: -(-length // _CHARACTERS_IN_FIVE_BYTES) * 5]
    return base64.b32encode(needed)[:length].decode().lower()


def token(category: Category, normal: str, letters: str) -> str:
    """`[EMAIL_k3j2h4m5]`; `[DATE_1985_k3j2h4m5]` for a date with a year."""
    year = year_of(normal) if category == "DATE" else ""
    return f"[{category}_{year}_{letters}]" if year else f"[{category}_{letters}]"


def _unaccented(text: str) -> str:
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text))


def _email(plain: str, percent_encoded: bool) -> str:
    address = unquote(plain) if percent_encoded else plain
    address = address.replace("\\", "")
    for written, meant in _OBFUSCATED:
        address = written.sub(meant, address)
    return address


def _ip_address(plain: str) -> str:
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        return plain


def _url(shown: str) -> str:
    """Only scheme and host are the same in capitals: RFC 3986, section 6.2.2.1."""
    host = _URL_HOST.match(shown)
    return shown if host is None else host[0].casefold() + shown[host.end() :]
