"""A picture as callers write it, a data URL or base64 alone, into its bytes.

Nothing is ever fetched or opened: a string that is no data URL is refused, whatever it names. What the bytes are is
read from the bytes, since clients often claim another type. Source: dialects.md §0.2 and §1.1, RFC 2397, RFC 4648.
"""

import base64
import binascii
import re

from appliance.dialects.chat import Chat, DialectError, Image

MAX_IMAGE_BYTES = 20 * 1024 * 1024
"""Of one picture, decoded; the size that OpenAI takes."""

_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)

_NOT_DATA = "is not a base64 data URL (`data:image/png;base64,…`)"

_REMOTE = re.compile(r"(?:https?|ftp):", re.IGNORECASE)

_GIF = "image/gif"

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", _GIF),
    (b"GIF89a", _GIF),
)


def from_data_url(url: str, param: str) -> Image:
    """The picture in `url`. Raises DialectError, which names `param` and quotes nothing of the string."""
    head = _DATA_URL.match(url)
    if head is None:
        raise remote(param) if _REMOTE.match(url) else _refused(param, _NOT_DATA)
    return _picture(url[head.end() :], param, "a data URL whose base64")


def from_base64(encoded: str, param: str) -> Image:
    """The picture whose base64 that is. Raises DialectError as above."""
    return _picture(encoded, param, "base64 that")


def remote(param: str) -> DialectError:
    """The refusal of a picture or document that would have to be fetched."""
    return _refused(param, "is an address, and no address is ever fetched: send the content itself, in base64")


def refuse_gifs(chat: Chat, whose: str) -> None:
    """Raises DialectError for a GIF, which not all models read; `whose` says in the sentence which do not."""
    if any(isinstance(part, Image) and part.media_type == _GIF for message in chat.messages for part in message.parts):
        raise _refused("messages", f"has a GIF, which {whose} do not read: send PNG, JPEG or WebP")


def _picture(encoded: str, param: str, what: str) -> Image:
    if len(encoded) > -(-MAX_IMAGE_BYTES // 3) * 4:
        raise _refused(param, f"is a picture of more than {MAX_IMAGE_BYTES // 1024**2} MiB")
    try:
        # Alphabet and padding are checked too: whatever is skipped in silence could be something else elsewhere.
        data = base64.b64decode(encoded.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise _refused(param, f"is {what} is not valid") from None
    return Image(data, _media_type(data, param))


def _media_type(data: bytes, param: str) -> str:
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    raise _refused(param, "is none of the pictures we know: send PNG, JPEG, WebP or GIF")


def _refused(param: str, what: str) -> DialectError:
    return DialectError(f"`{param}` {what}.", param)
