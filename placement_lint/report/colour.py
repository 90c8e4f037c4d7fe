"""Colour and links for terminals."""

from __future__ import annotations

WIDEST = 140
"""Columns: a longer line is hard to read on any terminal."""
_LEVELS = {"error": "1;31", "warning": "1;33", "info": "1;34"}


class Colours:
    """Paints text and makes links of it, or leaves it as it is; `width`: of a line, in columns."""

    def __init__(self, enabled: bool = False, *, links: bool = False, width: int = WIDEST) -> None:
        self.enabled = enabled
        self.links = links
        self.width = width

    def bold(self, text: str) -> str:
        """Paint what is to be read first."""
        return self._paint("1", text)

    def bad(self, text: str) -> str:
        """Paint a code, an underline, and what is taken away."""
        return self._paint("1;31", text)

    def level(self, severity: str, text: str) -> str:
        """Paint what has a severity."""
        return self._paint(_LEVELS[severity], text)

    def good(self, text: str) -> str:
        """Paint what is put in."""
        return self._paint("32", text)

    def frame(self, text: str) -> str:
        """Paint line numbers and rules."""
        return self._paint("1;34", text)

    def help(self, text: str) -> str:
        """Paint what can be done."""
        return self._paint("1;36", text)

    def link(self, text: str, code: str) -> str:
        """Make a link (OSC 8) of a text to the page of a rule, if there is one."""
        if not self.links:
            return text
        from placement_lint.report.site import rule_url

        url = rule_url(code)
        return text if url is None else f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"

    def _paint(self, style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.enabled and text else text
