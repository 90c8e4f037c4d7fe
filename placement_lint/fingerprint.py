"""What a finding is known by from one run to the next, wherever its line has moved to meanwhile.

A report for a service that keeps track of findings (SARIF, GitLab) and a baseline need the same: a
name that stays while lines are put in or taken out above, while the line is indented otherwise, or
gets a comment that silences it. It is made of the rule, the file, the function or class around, and
the text of the line; never of numbers. Equal ones in a file are counted.
"""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.files.stamps import blake2b

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Finding

VERSION = 1
"""Goes up when the same finding would get another fingerprint than before."""

_SCOPE = re.compile(r"^([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_SILENCING = re.compile(r"#\s*(?:noqa\b|(?:placement-lint|ruff):).*")
_TAB = 8


def fingerprints(
    findings: Sequence[Finding],
    source_of: Callable[[str], Source | None],
    *,
    named: Callable[[str], str] | None = None,
) -> list[str]:
    """Return a fingerprint for each finding, no two alike, whatever the order of the findings.

    `source_of` gives the text that the findings of a file are about; None where it cannot be had.
    `named` gives the name of a path to go by: by default itself, with forward slashes.
    """
    found = [""] * len(findings)
    seen: dict[str, int] = {}
    texts: Texts | None = None
    for index in sorted(range(len(findings)), key=lambda index: findings[index].sort_key):
        finding = findings[index]
        if texts is None or texts.path != finding.path:
            texts = Texts(finding.path, source_of(finding.path))
        key = texts.fingerprint(finding, named)
        seen[key] = seen.get(key, 0) + 1
        found[index] = key if seen[key] == 1 else _digest((key, str(seen[key])))
    return found


class Texts:
    """What is said of places in one file, without numbers."""

    def __init__(self, path: str, source: Source | None) -> None:
        """Take a file, and its text if that can be had."""
        self.path = path
        self._source = source
        self._scopes = [] if source is None else _scopes(source)

    def fingerprint(self, finding: Finding, named: Callable[[str], str] | None = None) -> str:
        """Return a fingerprint that is the same for equal lines of one function.

        A baseline counts these; whoever needs one that nothing else has takes `fingerprints`.
        """
        path = finding.path.replace("\\", "/") if named is None else named(finding.path)
        return _digest((finding.code, path, *self.context(finding)))

    def context(self, finding: Finding) -> tuple[str, ...]:
        """Return the text of a finding's first line, and the names of what it stands in, outermost
        first. Of a file whose text cannot be had, or that has become shorter, the message.
        """
        source = self._source
        if source is None:
            return (finding.message,)
        line = finding.span.line + source.lines_before(finding.cell)
        if not 1 <= line <= len(source.line_starts):
            return (finding.message,)
        text = source.shown_line(line)
        shown = " ".join(_SILENCING.sub("", text).split())
        return (shown, *self._around(line, _depth(text)))

    def _around(self, line: int, depth: int) -> tuple[str, ...]:
        """Name the functions and classes that a line with some indentation stands in."""
        above = bisect.bisect_left(self._scopes, line, key=lambda scope: scope.line) - 1
        scope = self._scopes[above] if above >= 0 else None
        while scope is not None and scope.depth >= depth:
            scope = scope.parent
        return () if scope is None else scope.names


class _Scope(NamedTuple):
    """A function or a class, by the line that it begins on."""

    line: int
    depth: int
    parent: _Scope | None
    names: tuple[str, ...]


def _scopes(source: Source) -> list[_Scope]:
    """Find functions and classes by indentation alone: the text need not be Python."""
    found: list[_Scope] = []
    parent: _Scope | None = None
    for match in _SCOPE.finditer(source.text):
        depth = _depth(match[1])
        while parent is not None and parent.depth >= depth:
            parent = parent.parent
        names = (*(parent.names if parent else ()), match[2])
        parent = _Scope(source.position(match.start())[0], depth, parent, names)
        found.append(parent)
    return found


def _depth(text: str) -> int:
    """Return the columns of white space that a line begins with."""
    return len(text[: len(text) - len(text.lstrip())].expandtabs(_TAB))


def _digest(parts: Iterable[str]) -> str:
    # The lengths keep apart what a separator, which a path can hold too, would not.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
