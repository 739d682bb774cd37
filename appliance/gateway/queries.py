"""What is asked for behind the question mark of a URL."""

import re
from collections.abc import Mapping

from appliance.errors import BadRequest


def whole_number(asked: Mapping[str, str], name: str, *, otherwise: int, most: int) -> int:
    """A number from 1 to `most`. Raises BadRequest."""
    text = asked.get(name)
    if text is None:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        raise BadRequest(f"`{name}` must be a whole number from 1 to {most}.", param=name)
    return int(text)


def number_up_to(asked: Mapping[str, str], name: str, *, otherwise: int, most: int) -> int:
    """A number from 1 on; what is more than `most` stands for `most`. Raises BadRequest."""
    text = asked.get(name)
    if text is None:
        return otherwise
    digits = text.lstrip("0")
    if not re.fullmatch(r"[0-9]+", digits):
        raise BadRequest(f"`{name}` must be a whole number, 1 or more.", param=name)
    return most if len(digits) > 9 else min(int(digits), most)
