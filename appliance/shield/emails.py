"""Finds e-mail addresses, also written with `[at]` and `[dot]`; not everything that has an @ in it.

Looked for from the @ in both directions. Source: shield.md ("Detection"); RFC 5321, RFC 5322 and RFC 6531 for what an
address may be made of, of which only what people use is taken: the rest stands in paths, queries and code too.
"""

import re
from collections.abc import Iterator

from appliance.shield.context import escape_before
from appliance.shield.finding import Finding

_LONGEST_LOCAL = 254
"""How much before the @ is looked at, in characters: a whole address may be as long. Source: RFC 5321, 4.5.3.1."""

_SIGNS = (
    "\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2000-\u2bff\u3000-\u303f\ud800-\uf8ff\ufe10-\ufe6f\uff5f-\uff65"
    "\U0001f000-\U0001faff"
)
"""What is beyond ASCII and of no word: signs, punctuation, pictures. Letters and the marks that some scripts put on
them are what remains."""
_LETTER = rf"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f{_SIGNS}]"
_LETTER_OR_HYPHEN = rf"[^\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x60\x7b-\x7f{_SIGNS}]"
_LOCAL = rf"[^\x00-\x26\x28-\x2a,/\x3a-\x40\x5b-\x5e\x60\x7b-\x7f{_SIGNS}]"

_SPELLED_DOT = r" ?[\[({<] ?(?i:dot|point|punkt|punto|ponto|punt|kropka) ?[\])}>] ?"
_LABEL = rf"{_LETTER}{_LETTER_OR_HYPHEN}{{0,62}}+"
_LABELS = rf"{_LABEL}(?:(?:\.|{_SPELLED_DOT}){_LABEL}){{1,8}}+"
_AT = re.compile(rf"@({_LABELS})")
_SPELLED_AT = re.compile(
    rf"[\[({{<] ?(?i:at|ät|arobase|arobas|arroba|chiocciola|apenstaartje|małpa|malpa) ?[\])}}>] ?({_LABELS})"
)
_DOT = re.compile(rf"\.|{_SPELLED_DOT}")
_SPELLED_DOT_BEFORE = re.compile(rf"{_SPELLED_DOT}\Z")
_SPELLED_DOT_LONGEST = 12

_LOCAL_BACKWARDS = re.compile(f"{_LOCAL}*+")
_TAGGED_BACKWARDS = re.compile(r"[\w.'\-]++(?:[/=][\w.'\-]++){1,3}\+[\w.'\-]++")
"""What is after a plus may hold a slash and an equals sign; before one they end a path or a query."""
_QUOTED = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n]){1,64}"\Z')
_SYMBOLS_BACKWARDS = re.compile(r"[!#$%&'*+/=?^_`.{|}~\-]{4,64}+(?=\s|\Z)")
_DIFFERENT_SYMBOLS = 4
"""Fewer different ones are a word that was blotted out, or Markdown around a decorator."""

_USER_OF_URL = re.compile(r"://[^\s/?#\"'<>]*\Z")
_USER_OF_URL_LONGEST = 80
_ONE_MORE_USER = re.compile(r"[^\s/?#\"'<>]{0,254}@")
_PATH = re.compile(r":(?:[/~:]|[\w.\-]+/|[\w.\-]+\.git\b)")
_RELEASE = re.compile(r"v?[0-9]+\Z")

_COMMON = frozenset({
    "com", "org", "net", "edu", "gov", "int", "mil", "info", "biz", "eu", "fr", "de", "es", "it", "nl", "be", "ch",
    "at", "lu", "pt", "pl", "uk", "ie", "us", "ca", "br", "mx", "se", "no", "dk", "fi",
})  # fmt: skip
"""The most usual last labels, for places where most else is code."""
_NO_PEOPLE = frozenset({"git", "hg", "svn", "this", "super", "return", "break", "continue"})
"""Who is before the @ of a repository, or of a label in a program."""
_NO_HOSTS = frozenset({
    "localhost", "localdomain", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "bmp", "tiff", "pdf", "css", "scss",
    "less", "js", "mjs", "cjs", "jsx", "tsx", "json", "yaml", "yml", "toml", "html", "htm", "xml", "txt", "csv", "log",
    "lst", "ini", "cfg", "conf", "po", "pot", "service", "socket", "timer", "target", "slice", "mount", "swap", "scope",
    "device",
})  # fmt: skip
"""Last labels of no domain: this machine, files (`user@2x.png`, `jane@example.org.csv`), units of systemd. The address
ends before them, if anything is left that can be one."""
_BEFORE_SUFFIX = frozenset({
    "min", "test", "spec", "bundle", "module", "config", "prod", "dev", "stories", "d", "dark", "light", "retina",
})  # fmt: skip
"""What programs put before the suffix of a file (`core@app.min.js`): with such a suffix, no domain either."""
_OWN_FIELDS = frozenset({"self", "this", "cls"})


def find(text: str) -> Iterator[Finding]:
    if "@" in text:
        for found in _AT.finditer(text):
            if address := _address(text, found.start(), found):
                yield Finding(*address, "EMAIL", "address")
    for found in _SPELLED_AT.finditer(text):
        before = found.start() - (text[found.start() - 1 : found.start()] == " ")
        if address := _address(text, before, found):
            yield Finding(*address, "EMAIL", "address with a spelled-out @")


def _address(text: str, at: int, found: re.Match[str]) -> tuple[int, int] | None:
    end = _domain_end(found)
    if not end:
        return None
    start = _local_start(text, at)
    # Markdown's emphasis stands on both sides.
    while start < at and text[start] == "_" and text[end : end + 1] == "_":
        start += 1
        if text[end + 1 : end + 2] != "_":
            break
    if start == at or text[start:at].lower() in _NO_PEOPLE:
        return None
    if _code_after(text, end, emphasised=text[start - 1 : start] == "_") or _user_of_url(text, start, end):
        return None
    return start, end


def _domain_end(found: re.Match[str]) -> int:
    """Where the domain ends, at a last label that may be one; 0 if there is none."""
    labels = _DOT.split(found[1])
    if (_RELEASE.match(labels[0]) and labels[1][0].isdigit()) or labels[0].lower() in _OWN_FIELDS:
        return 0
    end = found.end(1)
    separators = [each.end() - each.start() for each in _DOT.finditer(found[1])]
    of_file = False
    while len(labels) > 1:
        last = labels.pop()
        length = _last_label(last)
        name = last[:length].lower()
        if length and name not in _NO_HOSTS:
            return 0 if of_file and name in _BEFORE_SUFFIX else end - len(last) + length
        of_file = of_file or bool(length)
        end -= len(last) + separators.pop()
    return 0


def _last_label(label: str) -> int:
    """How much of a label can be the last of a domain: letters of any script; 0 if nothing can."""
    if label[:4].lower() == "xn--":
        return len(label.rstrip("-"))
    letters = len(label)
    for place, character in enumerate(label):
        if character == "-" or character.isdecimal():
            letters = place
            break
    if letters < 2 or (letters < len(label) and label[letters] != "-" and label[:letters].lower() not in _COMMON):
        return 0
    return letters


def _local_start(text: str, at: int) -> int:
    """Where what is before the @ begins; `at` itself if nothing is that could be somebody."""
    if text[at - 1 : at] == '"':
        quoted = _QUOTED.search(text, max(0, at - 66), at)
        return quoted.start() if quoted else at
    backwards = text[max(0, at - _LONGEST_LOCAL) : at][::-1]
    start = at - _length(_LOCAL_BACKWARDS, backwards)
    for _ in range(3):
        dot = _SPELLED_DOT_BEFORE.search(text, max(0, start - _SPELLED_DOT_LONGEST), start)
        if dot is None:
            break
        start = dot.start() - _length(_LOCAL_BACKWARDS, text[max(0, dot.start() - 64) : dot.start()][::-1])
    if text[start - 1 : start] in ("/", "="):
        start = min(start, at - _length(_TAGGED_BACKWARDS, backwards))
    elif start == at and (symbols := _SYMBOLS_BACKWARDS.match(backwards)):
        return at - symbols.end() if len(set(symbols[0])) >= _DIFFERENT_SYMBOLS else at
    return _trimmed(text, start, at)


def _length(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0


def _trimmed(text: str, start: int, at: int) -> int:
    """The start without what is before a name in quotes, lists and escapes."""
    if start < at and escape_before(text, start + 1):
        start += 1
    if text[start - 1 : start] == "%" and re.match(r"[0-9A-Fa-f]{2}", text[start:at]):
        start += 2
    while start < at and not (text[start].isalnum() or text[start] in "_+"):
        start += 1
    return start if any(each.isalnum() for each in text[start:at]) else at


def _code_after(text: str, end: int, *, emphasised: bool) -> bool:
    """Whether a call, a longer name, or the path of a copy between machines goes on after what looks like a domain."""
    after = text[end : end + 1]
    last = text[max(0, end - 12) : end].rpartition(".")[2].lower()
    if after == "_":
        # A name goes on with words (`mod.some_name`), the name of a file after an address also with a year.
        goes_on = text[end + 1 : end + 2].isalnum()
        return goes_on and not (emphasised or last in _COMMON or text[end + 1 : end + 3].isdecimal())
    if after == "(":
        return last not in _COMMON and len(last) != 2
    return after == ":" and bool(_PATH.match(text, end))


def _user_of_url(text: str, start: int, end: int) -> bool:
    """Whether the @ only parts the user from the host of a URL. A user's name may be an address itself."""
    if not _USER_OF_URL.search(text, max(0, start - _USER_OF_URL_LONGEST), start):
        return False
    return not _ONE_MORE_USER.match(text, end)
