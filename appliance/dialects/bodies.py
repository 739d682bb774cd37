"""What a dialect says of the strings of its bodies, so that they can be masked without knowing the dialect.

Also what all dialects have in common there. Source: shield.md ("What is scanned"); gateway.md ("Sensitive data that is
not text").
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from appliance.dialects.jsontext import IsDocument, IsText, Path

WORD = re.compile(r"[a-z_]{1,32}")
"""What kinds and roles are written with. What is in their place and is no such word is read as text all the same."""

NAME = re.compile(r"[A-Za-z_$][A-Za-z_$-]{0,63}")
"""A member's name as programmers write them; one with a digit, a dot or a space may be a value."""

_SETTINGS: frozenset[Path] = frozenset({("seed",), ("random_seed",)})
"""Numbers of a call that may be any and name nobody; as text, other settings are too short to be taken for a value."""

_PEOPLE = frozenset({
    "user", "userid", "username", "enduser", "enduserid", "safetyidentifier", "promptcachekey", "sessionid",
    "customer", "customerid", "accountid", "clientid", "visitorid", "deviceid", "externalid",
})  # fmt: skip
"""Names of members that name an end user, in small letters without what joins their words."""

_ENCODED = re.compile(r"data:[^,]{0,200};base64,")
_FILE = re.compile(
    r"(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi|UEsDB|SUQz|T2dnUw|AAAA[A-Za-z0-9+/]{2}Z0eX|Qk[0-9])"
    r"[A-Za-z0-9+/_\-\s]{64,}={0,2}\s*"
)
"""Base64 of a picture, a PDF, an archive, a sound or a film, by how each begins."""

_NOTHING_ELSE = re.compile(r"(?:data:[\w/+.;=-]{0,200};base64,)?[A-Za-z0-9+/_\-\r\n]{64,}={0,2}\s*", re.ASCII)
"""Base64 and nothing beside it; no file is as short as what may be a number or a name in the same letters."""


def _never(_: Path, __: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Structure:
    """What the strings of one body are: text that the shield reads, the name of an end user, or what nobody can read.

    `is_document` is None where no value is a document of its own. `thoughts` are those in it that are to go back
    to whoever signed them, and that are therefore no text. What `is_opaque` is text that looks
    random, and has to go back as it is to whoever made it.
    """

    is_text: IsText
    is_end_user: Callable[[Path], bool]
    is_unscannable: IsText
    is_document: IsDocument | None = None
    thoughts: Sequence[str] = ()
    is_opaque: IsText = _never


def reads_number(path: Path) -> bool:
    """Whether a number at this path of a body may be somebody's, and is read like text."""
    return path not in _SETTINGS


def place_of(path: Path) -> tuple[str, ...]:
    """The path without its indices."""
    return tuple(step for step in path if isinstance(step, str))


def names_person(place: Iterable[str]) -> bool:
    """Whether a member's name, or that of one it is in, says that it names an end user."""
    return any(re.sub("[^a-z]", "", step.lower()) in _PEOPLE for step in place)


def is_file(text: str) -> bool:
    """Whether this is no text but a picture, a sound or a file, which nobody can read for personal data."""
    return _ENCODED.match(text) is not None or _FILE.fullmatch(text) is not None


def is_encoded(text: str) -> bool:
    """Whether there is nothing in it to read: of what is taken for a file, some may hold words all the same."""
    return _NOTHING_ELSE.fullmatch(text) is not None
