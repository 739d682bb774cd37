"""The dialects that a call can come in, and what the path of a call has to know of each.

Must not know providers: what goes out is written elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from appliance.calls.address import Address, certificate_fields, narrow_certificate_fields
from appliance.calls.classify import ExplicitTask
from appliance.dialects.anthropic import request as anthropic_request
from appliance.dialects.anthropic import structure as anthropic_structure
from appliance.dialects.bodies import Structure
from appliance.dialects.chat import Chat
from appliance.dialects.native import request as native_request
from appliance.dialects.native import structure as native_structure
from appliance.dialects.openai import request as openai_request
from appliance.dialects.openai import structure as openai_structure

Dialect = Literal["openai", "anthropic", "native"]


@dataclass(frozen=True, slots=True)
class Entry:
    """`structure` says what the strings of a body are, `chat` reads one again after it was masked (it raises
    DialectError), and `address` is what a certificate says of an address.

    `internal`: its callers see no certificates. `requests_per_minute` is what one key may ask of it, None for no limit
    but the key's own. `asks_again`: a structured answer is checked and asked for once more whoever gives it, a provider
    outside too. `task` is what the call is for where that is known before, and one that is not `charged` counts no
    questions. `judged`: a structured answer that is not as wanted is a failure; else whoever asked reads what it can.
    """

    dialect: Dialect
    structure: Callable[[str], Structure]
    chat: Callable[[bytes], Chat]
    address: Callable[[Address], dict[str, str | bool]]
    internal: bool = False
    requests_per_minute: int | None = None
    asks_again: bool = False
    task: ExplicitTask | None = None
    charged: bool = True
    judged: bool = True


EXTRACTION = "/v1/ai/complete#extraction"
"""No path: the call that follows the answer of one, and is the gateway's own."""

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
    "/v1/ai/complete": Entry(
        "native",
        native_structure.structure,
        native_request.parse_chat,
        certificate_fields,
        internal=True,
        requests_per_minute=30,
        asks_again=True,
    ),
    EXTRACTION: Entry(
        "native",
        openai_structure.structure,
        lambda body: openai_request.parse(body).chat,
        certificate_fields,
        internal=True,
        task="extraction",
        charged=False,
        judged=False,
    ),
}
"""By the endpoint."""
