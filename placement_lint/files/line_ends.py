"""Line ends of text."""

from __future__ import annotations


def with_line_feeds(text: str) -> str:
    """Return a text with one kind of line ends, that of Unix."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
