"""Words as shells are told them: what was typed without its quotation marks, and a name that is nothing but a name.

Pure. What comes from the daemon is anybody's text: written by `bash_word` it is one word, in which nothing is run.
"""

_PLAIN = frozenset("_-./:=@%+,")
"""Beside letters and digits, what means nothing to a shell, wherever in a word."""

_SPECIAL_IN_DOUBLE = frozenset('\\"$`')
"""What a backslash takes its meaning from between double quotation marks (bash(1), "QUOTING")."""


def unquoted(typed: str) -> tuple[str, str]:
    """The word that is typed, and the quotation mark that is open at its end, "" for none. Nothing is expanded."""
    word, quote, escaped = "", "", False
    for character in typed:
        if escaped:
            kept = quote == '"' and character not in _SPECIAL_IN_DOUBLE
            word, escaped = word + ("\\" if kept else "") + character, False
        elif character == "\\" and quote != "'":
            escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            word += character
    return word, quote


def bash_word(name: str, quote: str = "") -> str | None:
    """What stands for this name in bash, behind the quotation mark that is open; None where nothing can."""
    if quote == "'":
        return name.replace("'", "'\\''")
    if quote == '"':
        # Between these, an exclamation mark recalls an old command, and a backslash before it stays.
        if "!" in name:
            return None
        return "".join(f"\\{one}" if one in _SPECIAL_IN_DOUBLE else one for one in name)
    return "".join(one if one.isalnum() or one in _PLAIN else f"\\{one}" for one in name)


def fish_word(text: str) -> str:
    """A word of a fish script."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
