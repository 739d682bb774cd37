"""Where a JSON object ends in a text that grows: by its structure, whatever stands inside of its strings. Pure."""

from typing import Literal

_BLANKS = " \t\r\n"


class ObjectEnd:
    """Looks at every letter of one text once. Blanks may stand before the object."""

    def __init__(self) -> None:
        self._at = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def find(self, text: str) -> int | Literal["never"] | None:
        """The place behind the object, or `None` while it is open. `text` begins as it did before.

        "never" if it is no JSON object so far; what is between brackets is not looked at closely.
        """
        while self._at < len(text):
            letter = text[self._at]
            self._at += 1
            if self._in_string:
                if letter < " ":
                    return "never"
                self._string(letter)
            elif letter in "}]" and self._depth == 1:
                return self._at if letter == "}" else "never"
            elif self._depth or letter == "{":
                self._structure(letter)
            elif letter not in _BLANKS:
                return "never"
        return None

    def _string(self, letter: str) -> None:
        self._in_string = self._escaped or letter != '"'
        self._escaped = letter == "\\" and not self._escaped

    def _structure(self, letter: str) -> None:
        self._in_string = letter == '"'
        self._depth += (letter in "{[") - (letter in "}]")
