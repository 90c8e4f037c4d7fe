"""`# reveal: name` at the end of a line: say what the analysis knows of the name there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.describe import describe
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import (
        Place,
    )
    from placement_lint.placement.flow import Flow
    from placement_lint.syntax.edits import Editor

MARK = "# reveal:"
_COMMENT = re.compile(r"#\s*reveal:\s*(?P<names>[\w.,\s]+)")


@dataclass(frozen=True, order=True)
class Revealed:
    """What is known of one name at one place."""

    path: str
    line: int
    column: int
    name: str
    description: str


def reveal(flow: Flow, editor: Editor) -> Iterator[Revealed]:
    """Give what is asked for by the comments of a file, in order."""
    asked: dict[int, list[str]] = {}
    for start, end in editor.spans.comments:
        match = _COMMENT.match(editor.source.text[start:end])
        if match is not None:
            names = [name.strip() for name in match["names"].split(",") if name.strip()]
            asked[editor.source.position(start)[0]] = names
    if not asked:
        return
    nodes: dict[tuple[int, str], cst.CSTNode] = {}
    for node in editor.tree.every(cst.Name, cst.Attribute):
        name = dotted(node)
        if name:
            line = editor.line_of(node)
            if name in asked.get(line, ()):
                nodes[line, name] = node

    def where(place: Place) -> str:
        there = editor.of(place.module)
        return f"{place.module}:{there.line_of(there.tree.nodes[place.node])}"

    for line in sorted(asked):
        for name in asked[line]:
            found = nodes.get((line, name))
            column = 1 if found is None else editor.span(found).column
            text = (
                "there is no such name on this line"
                if found is None
                else describe(flow.value(found), where)
            )
            yield Revealed(editor.source.path, line, column, name, text)
