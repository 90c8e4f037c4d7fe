"""Codes of rules in a text become links to the rules' pages."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from website.rules import address

if TYPE_CHECKING:
    from collections.abc import Collection

_TOKEN = re.compile(
    r"""
    (?P<as_it_is>
        ^(?P<fence>[ ]*`{3,}).*?^(?P=fence)[ ]*$    # a block of code
      | `+[^`\n]+`+                                 # code in a line
      | \[[^\]]*\]\([^)]*\)                         # a link
      | <!--.*?-->
      | ^\#.*?$                                     # a heading
    )
    | \b(?P<code>JDP\d{3})\b
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


def with_links(text: str, source: str, codes: Collection[str]) -> str:
    """Give a page's Markdown with a link at each code of a rule; `source` is where it stands."""

    def replaced(found: re.Match[str]) -> str:
        code = found["code"]
        if code is None or code not in codes or source == address(code):
            return found[0]
        target = posixpath.relpath(address(code), posixpath.dirname(source) or ".")
        return f"[{code}]({target})"

    return _TOKEN.sub(replaced, text)
