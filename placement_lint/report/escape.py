"""Text from the outside, made safe to show: a path or a line can hold anything."""

from __future__ import annotations

import re

# Control characters (a terminal obeys them), what turns the direction of writing or ends a line
# where nobody sees it, and the halves of characters that stand for bytes of no text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST = 2_000
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """Write out every character that is not to be printed as it is."""
    return _UNSAFE.sub(_escaped, text)


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


def _escaped(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a file name that is not UTF-8.
        code -= 0xDC00
    return _NAMED.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
