"""What is typed into a form, read as the value that it stands for."""

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")

Read = Callable[[str], object]


def problem(given: Mapping[str, str], reads: Mapping[str, tuple[str, Read]]) -> str:
    """The first field that makes no sense, in a sentence; "" where all do. An empty field is left out.

    Args:
        given: the fields' texts by their names.
        reads: what each is called, and the function that reads it, which raises ValueError with what may stand there.
    """
    for name, (label, read) in reads.items():
        if given[name]:
            try:
                read(given[name])
            except ValueError as error:
                return f"{label}: {error}."
    return ""


def optional(text: str, read: Callable[[str], T]) -> T | None:
    """None for an empty field."""
    return read(text) if text else None
