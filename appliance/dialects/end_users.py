"""How the names of end users are kept from a provider: each is replaced by what stands for it.

Source: gateway.md ("Sensitive data that is not text").
"""

from collections.abc import Callable, Mapping
from typing import cast

import orjson

from appliance.dialects.jsonmembers import member, with_members

EndUser = Callable[[str], str]
"""What a provider is told instead of a name: always the same for one."""


def hidden(value: object, end_user: EndUser) -> str | None:
    """What stands for the value of a member that names an end user, whatever it is; None for null."""
    if value is None:
        return None
    return end_user(value if isinstance(value, str) else orjson.dumps(value).decode())


def metadata(body: str, fields: Mapping[str, object], end_user: EndUser) -> dict[str, object]:
    """The member `metadata` of a body, with its `user_id` hidden and nothing else changed; nothing where it has none.

    `fields` are what `body` says.
    """
    text = member(body, "metadata")
    if text is None:
        return {}
    values = fields["metadata"]
    if isinstance(values, dict) and "user_id" in values:
        text = with_members(text, {"user_id": hidden(cast("dict[str, object]", values)["user_id"], end_user)})
    return {"metadata": orjson.Fragment(text)}
