"""The kinds of value that a setting can hold, each checked on its own. Knows no setting and reads nothing.

A rule takes a value as TOML gives it, or as text from the environment, and gives the value that the code
uses. Text that does not fit is handed on as text, so that `check` refuses it with the one message there is.
"""

import ipaddress
import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit


class SettingValueError(ValueError):
    """The value is not allowed; the text quotes it, without any password in a URL."""


class Rule(Protocol):
    @property
    def allowed(self) -> str:
        """What may stand here, to follow "it must be"."""
        ...

    def check(self, value: object) -> Any: ...

    def read(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Whole:
    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def check(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise SettingValueError(shown(value))
        return value

    def read(self, text: str) -> object:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text.strip()) else text


@dataclass(frozen=True, slots=True)
class Seconds:
    low: float
    high: float

    @property
    def allowed(self) -> str:
        return f"a number of seconds from {self.low:g} to {self.high:g}"

    def check(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise SettingValueError(shown(value))
        return float(value)

    def read(self, text: str) -> object:
        return float(text) if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,9})?", text.strip()) else text


@dataclass(frozen=True, slots=True)
class Questions:
    """A number of questions; the value that the code uses is in thousandths."""

    @property
    def allowed(self) -> str:
        return "a number of questions from 0 to 1000, with at most three decimals"

    def check(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1000:
            raise SettingValueError(shown(value))
        milli = Decimal(str(value)) * 1000
        if milli != int(milli):
            raise SettingValueError(shown(value))
        return int(milli)

    def read(self, text: str) -> object:
        return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text.strip()) else text


@dataclass(frozen=True, slots=True)
class Flag:
    @property
    def allowed(self) -> str:
        return "true or false"

    def check(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise SettingValueError(shown(value))
        return value

    def read(self, text: str) -> object:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower(), text)


@dataclass(frozen=True, slots=True)
class Choice:
    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        quoted = [f'"{word}"' for word in self.words]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def check(self, value: object) -> str:
        if value not in self.words:
            raise SettingValueError(shown(value))
        return str(value)

    def read(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True, slots=True)
class Text:
    pattern: str
    allowed: str

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise SettingValueError(shown(value))
        return value

    def read(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True, slots=True)
class Host:
    @property
    def allowed(self) -> str:
        return "an IP address or a host name, without a port"

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not (_is_address(value) or re.fullmatch(_HOST_NAME, value)):
            raise SettingValueError(shown(value))
        return value

    def read(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True, slots=True)
class Url:
    @property
    def allowed(self) -> str:
        return "http:// or https://, a host and perhaps a port, and nothing after it"

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not _is_base_url(value):
            raise SettingValueError(shown(value))
        return value.rstrip("/")

    def read(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True, slots=True)
class Network:
    """An IP network. The whole of the internet is none that anybody can call his own."""

    allowed: str = "an IP network, such as 100.64.0.0/10, of at most a 256th of all addresses"

    def check(self, value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        if isinstance(value, ipaddress.IPv4Network | ipaddress.IPv6Network):
            return value
        try:
            network = ipaddress.ip_network(value if isinstance(value, str) else "")
        except ValueError as error:
            raise SettingValueError(shown(value)) from error
        if network.prefixlen < 8:
            raise SettingValueError(shown(value))
        return network

    def read(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True, slots=True)
class AbsolutePath:
    @property
    def allowed(self) -> str:
        return "an absolute path"

    def check(self, value: object) -> Path:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise SettingValueError(shown(value))
        try:
            path = Path(value).expanduser()
        except RuntimeError as error:  # "~name" of a user who does not exist
            raise SettingValueError(shown(value)) from error
        if not path.is_absolute():
            raise SettingValueError(shown(value))
        return path

    def read(self, text: str) -> object:
        """In the environment a relative path is taken from the working directory, as a shell does."""
        return text if not text.strip() or text.startswith("~") else str(Path(text).absolute())


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Rule

    @property
    def allowed(self) -> str:
        return f"a list, each entry {self.item.allowed}"

    def check(self, value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise SettingValueError(shown(value))
        checked = (self.item.check(entry) for entry in cast(list[object], value))
        return tuple(dict.fromkeys(checked))

    def read(self, text: str) -> object:
        return [self.item.read(entry) for entry in text.split(",") if entry.strip()]


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """What a model costs here: `rate` is micro-dollars for a million tokens of prompt and of answer."""

    provider: str
    model: str
    rate: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OwnPrices:
    @property
    def allowed(self) -> str:
        return (
            "a list, each entry a provider, a slash, a model, and its dollars for a million tokens of prompt and for"
            ' a million of answer, such as "openai/gpt-4o 2.50 10"; each model once'
        )

    def check(self, value: object) -> tuple[OwnPrice, ...]:
        if not isinstance(value, list):
            raise SettingValueError(shown(value))
        prices: dict[tuple[str, str], OwnPrice] = {}
        for entry in cast(list[object], value):
            price = _own_price(entry)
            if (price.provider, price.model) in prices:
                raise SettingValueError(shown(entry))
            prices[price.provider, price.model] = price
        return tuple(prices.values())

    def read(self, text: str) -> object:
        return [entry.strip() for entry in text.split(",") if entry.strip()]


def _own_price(entry: object) -> OwnPrice:
    dollars = r"([0-9]{1,6}(?:\.[0-9]{1,6})?)"
    found = re.fullmatch(rf"([a-z0-9._-]+)/(\S.*?)\s+{dollars}\s+{dollars}", entry) if isinstance(entry, str) else None
    if found is None:
        raise SettingValueError(shown(entry))
    prompt, completion = (int(Decimal(amount) * 1_000_000) for amount in found.groups()[2:])
    return OwnPrice(found[1], found[2], (prompt, completion))


def shown(value: object) -> str:
    """The value for an error message: short, and without the user and password of a URL."""
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    text = re.sub(r"//[^/\s]*@", "//…@", text)
    return text if len(text) <= 60 else text[:59] + "…"


_HOST_NAME = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    host = parts.hostname or ""
    return (
        parts.scheme in ("http", "https")
        and (_is_address(host) or re.fullmatch(_HOST_NAME, host) is not None)
        and port != 0
        and "@" not in parts.netloc
        and parts.path in ("", "/")
        and not parts.query
        and not parts.fragment
    )
