"""The dialects that a call can come in, and what the path of a call has to know of each.

Must not know providers: what goes out is written elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from appliance.calls.address import Address, certificate_fields, narrow_certificate_fields
from appliance.dialects.anthropic import request as anthropic_request
from appliance.dialects.anthropic import structure as anthropic_structure
from appliance.dialects.bodies import Structure
from appliance.dialects.chat import Chat
from appliance.dialects.openai import request as openai_request
from appliance.dialects.openai import structure as openai_structure

Dialect = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Entry:
    """`structure` says what the strings of a body are, `chat` reads one again after it was masked (it raises
    DialectError), and `address` is what a certificate says of an address."""

    dialect: Dialect
    structure: Callable[[str], Structure]
    chat: Callable[[bytes], Chat]
    address: Callable[[Address], dict[str, str | bool]]


ENTRIES: Mapping[str, Entry] = {
    "/v1/chat/completions": Entry(
        "openai", openai_structure.structure, lambda body: openai_request.parse(body).chat, certificate_fields
    ),
    "/v1/messages": Entry(
        "anthropic",
        anthropic_structure.structure,
        lambda body: anthropic_request.parse(body).chat,
        narrow_certificate_fields,
    ),
}
"""By the endpoint."""
