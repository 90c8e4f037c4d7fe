"""Text from the outside, made safe to show: a path or a line can hold anything."""

from __future__ import annotations

import re

# Control characters (a terminal obeys them), what turns the direction of writing, what ends a line
# or stands in one where nobody sees it, and the halves of characters that stand for bytes of no
# text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Azure Pipelines takes `##vso[…` for a command wherever it stands in a line of the log, GitHub
# Actions `##[…`, and TeamCity `##teamcity[…`.
_COMMAND = re.compile(r"#(?=#\w*\[)")
_FIRST_COLONS = re.compile(r"^(\s*)::")
_PLAIN_BEGINNINGS = frozenset("._/\\")
_LONGEST = 2_000
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """Write out every character that is not to be printed as it is, also to the log of a build."""
    return _COMMAND.sub(r"\\x23", escape_characters(text))


def escape_characters(text: str) -> str:
    """Write out every character that is not to be printed as it is on a terminal."""
    return text if text.isprintable() else _UNSAFE.sub(_escaped, text)


def escape_path(path: str) -> str:
    """Write a path for the beginning of a line, as `./::x.py` where it is `::x.py`.

    GitHub Actions takes a line that begins with `::` for a command, behind spaces too.
    """
    text = escape(path)
    is_plain = not text or text[0].isalnum() or text[0] in _PLAIN_BEGINNINGS
    return text if is_plain else f"./{text}"


def escape_line(line: str) -> str:
    """Write a line of a file for a terminal or a log: tabs stay, a carriage return at its end goes.

    What would begin a command of GitHub Actions is written out as well.
    """
    shown = "\t".join(map(escape, line.removesuffix("\r").split("\t")))
    return _FIRST_COLONS.sub(r"\1\\x3a:", shown)


def inert_json(text: str) -> str:
    """Write JSON so that it says the same and begins no command in the log of a build.

    Outside of strings there is no `#`.
    """
    return _COMMAND.sub(r"\\u0023", text)


def inert_toml(text: str) -> str:
    """Write TOML so that it says the same, with nothing in it that is not to be printed."""
    return _UNSAFE.sub(_escaped_in_toml, inert_json(text))


def inert_xml(text: str) -> str:
    """Write XML so that it says the same and begins no command in the log of a build."""
    return _COMMAND.sub("&#35;", text)


def marks_of_commands(text: str) -> frozenset[int]:
    """Return the places of the characters that `escape` writes out since they begin a command."""
    return frozenset(match.start() for match in _COMMAND.finditer(text))


def shortened(text: str) -> str:
    """Leave out the middle of a text that is too long to be read: a name of a megabyte."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


def as_unicode(text: str) -> str:
    """Write out what is no character, and leave all else as it is: for formats that can carry it.

    That is a byte of a path that is not UTF-8. Readers of JSON fail on it, or change it silently.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", _escaped, text)
    return text


def _escaped_in_toml(match: re.Match[str]) -> str:
    char = match.group()
    # Between the values: in strings these are written out already.
    return char if char in "\t\n\r" else f"\\U{ord(char):08x}"


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a file name that is not UTF-8.
        code -= 0xDC00
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _NAMED.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
