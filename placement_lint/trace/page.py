"""The report as a page: what was copied where, each place with its lines of code."""

from __future__ import annotations

import itertools
import re
from html import escape
from typing import TYPE_CHECKING

from placement_lint.html_page import document, prose
from placement_lint.trace import text, words
from placement_lint.trace.join import FindingState, Judgement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.findings import Span
    from placement_lint.trace.join import Joined
    from placement_lint.trace.text import TextStyle

_CODE = re.compile(r" *\d* \|")
_MOST_BARS = 12
"""Places in the chart: those with the most bytes."""

_STYLE = (
    ".bars{display:grid;grid-template-columns:minmax(8em,auto) 1fr auto;gap:4px 12px;"
    "align-items:center;font-size:13.5px;max-width:900px}"
    ".bars a{overflow-wrap:anywhere}.bar{background:var(--bad);height:12px;min-width:2px}"
    "ul{margin:4px 0;padding-left:20px;font-size:13.5px}li{overflow-wrap:anywhere}"
    "article pre{margin:6px 0}article p{font-size:13.5px;overflow-wrap:anywhere}"
    "@media(max-width:760px){.bars{grid-template-columns:1fr auto}.bars a{grid-column:1/3}}"
)


def page(joined: Joined, look: TextStyle, seconds: float, command: Sequence[str]) -> str:
    """Return the page of a run of `command`, which took `seconds`; `look` must paint nothing."""
    head, *stage = text.head(joined, _Plain(look))
    summary = text.summary(joined, seconds)
    kind = "not-ok" if text.copies(joined) or joined.host_runs else "ok"
    body = [
        f"<h1>placement-lint trace</h1>\n<p class='sum {kind}'>{escape(summary)}</p>",
        f"<p class='soft'><code>{escape(' '.join(command))}</code>: {words.seconds(seconds)}</p>",
        f"<p class='soft'>{escape(head.partition(': ')[2])}. {escape('; '.join(stage))}.</p>",
        _chart(joined, look),
        *_sections(joined, _Plain(look)),
        _listed("Notes", text.notes(joined, _Plain(look))),
    ]
    return document(f"placement-lint trace: {summary}", "\n".join(filter(None, body)), _STYLE)


class _Plain:
    """Shows things as text without colours: all of it is escaped for HTML after that."""

    def __init__(self, look: TextStyle) -> None:
        self.path = look.path
        self._look = look

    def escape(self, said: str) -> str:
        return self._look.escape(said)

    def bad(self, said: str) -> str:
        return said

    good = bold = help = bad

    def frame(self, path: str, span: Span, mark: str) -> list[str]:
        return self._look.frame(path, span, mark)


def _chart(joined: Joined, look: TextStyle) -> str:
    """Return bars: how many bytes were copied at each place in the scope of the rules."""
    lines = [*joined.judged(Judgement.FLAGGED), *joined.judged(Judgement.NOT_FLAGGED)]
    lines = sorted(lines, key=lambda line: -line.bytes)[:_MOST_BARS]
    most = max((line.bytes for line in lines), default=0)
    if not most:
        return ""
    rows = []
    for line in lines:
        place = text.at(line.site, look)
        said = f"{words.size(line.bytes)} in {words.seconds(line.seconds)}"
        rows.append(
            f"<a href='#{_anchor(place)}'>{escape(place)}</a>"
            f"<div class='bar' style='width:{max(line.bytes / most, 0.001):.1%}'></div>"
            f"<span>{escape(said)}, {escape(words.times(line.count))}</span>"
        )
    return (
        "<section>\n<h2>Bytes copied, by place</h2>\n"
        f"<div class='bars'>{''.join(rows)}</div></section>"
    )


def _sections(joined: Joined, look: TextStyle) -> list[str]:
    def found(state: FindingState) -> list[list[str]]:
        return [text.full_finding(seen, look) for seen in joined.with_state(state)]

    not_flagged = [
        *(text.full_line(line, look) for line in joined.judged(Judgement.NOT_FLAGGED)),
        *(text.full_run(run, look) for run in joined.on_host(Judgement.NOT_FLAGGED)),
    ]
    anchors: set[str] = set()
    return [
        _section("Confirmed", found(FindingState.CONFIRMED), anchors),
        _section("Not flagged", not_flagged, anchors),
        _section("Did not move", found(FindingState.REACHED), anchors),
        _section("Not seen to run", found(FindingState.UNKNOWN), anchors),
        _section("Not reached", found(FindingState.NOT_REACHED), anchors),
        _listed("Also ran on the host", text.other_host_runs(joined, look)),
        _listed("Compiled again", text.recompiled(joined, look)),
        _listed("Outside of the scope of the rules", text.beside(joined, look)),
    ]


def _section(name: str, blocks: Sequence[Sequence[str]], anchors: set[str]) -> str:
    """Return what was seen at several places; `anchors` are those that the page has already."""
    if not blocks:
        return ""
    articles = "".join(_article(block, anchors) for block in blocks)
    return f"<section>\n<h2>{name}</h2>\n{articles}</section>"


def _article(block: Sequence[str], anchors: set[str]) -> str:
    """Return what was seen at one place: a head, `--> PLACE`, lines of code and of text."""
    head, place, *rest = block
    anchor = _anchor(place.removeprefix("--> "))
    identity = "" if anchor in anchors else f" id='{anchor}'"
    anchors.add(anchor)
    parts = [f"<article{identity}><h3>{prose(head)}</h3>\n<p class='soft'>{escape(place)}</p>\n"]
    for is_code, lines in itertools.groupby(rest, lambda line: bool(_CODE.match(line))):
        if is_code:
            parts.append(f"<pre>{escape(chr(10).join(lines))}</pre>")
        else:
            parts += [f"<p>{prose(line)}</p>" for line in lines]
    return "".join((*parts, "</article>\n"))


def _anchor(place: str) -> str:
    """Return the anchor of a place, by its line: a copy and a finding may differ in the column."""
    path, _, line = place.partition(":")
    return escape(f"{path}:{line.partition(':')[0]}")


def _listed(name: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{prose(line)}</li>" for line in lines)
    return f"<section>\n<h2>{name}</h2>\n<ul>{items}</ul></section>"
