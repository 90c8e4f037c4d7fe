"""What makes nodes from the tree of Python's own parser, held against what LibCST reads."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.files.python_tree import parsed
from placement_lint.files.source import Source
from placement_lint.syntax.lean import expressions, literals, patterns, statements, tree
from placement_lint.syntax.lean.places import KnownPlaces, LeanSpans, is_placeable
from placement_lint.syntax.lean.punctuation import copy_punctuation, is_punctuation
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree

if TYPE_CHECKING:
    import pytest


class Outcome(Enum):
    """What came of a text."""

    SAME = "both read it, and alike"
    REFUSED = "LibCST does not read it"
    LEFT = "it is left to LibCST"


def lean_module(text: str) -> cst.Module | None:
    """Return the module of a text without punctuation; None where it is left to LibCST."""
    made = parsed(text)
    return None if made is None else tree.lean_module(made, text)


def compared(text: str) -> Outcome:
    """Read a text in both ways. Raises AssertionError where the nodes differ."""
    lean = lean_module(text)
    try:
        whole = cst.parse_module(text)
    except Exception:
        return Outcome.REFUSED
    if lean is None:
        return Outcome.LEFT
    made, read = Tree(lean), Tree(whole)
    assert list(map(_looks, made.nodes)) == list(map(_looks, read.nodes))
    assert made.parents == read.parents
    # No node stands in two places.
    assert len({*map(id, made.nodes)}) == len(made.nodes)
    _compare_places(text, made, read)
    assert copy_punctuation(lean, whole)
    assert lean.deep_equals(whole)
    assert lean.code == whole.code
    return Outcome.SAME


def _looks(node: cst.CSTNode) -> tuple[object, ...]:
    """Return what rules may ask of a node beside its children."""
    told = [getattr(node, name, None) for name in ("value", "star", "attr", "name", "keyword")]
    texts = [each.value if isinstance(each, cst.Name) else each for each in told]
    return (
        type(node),
        *[each for each in texts if isinstance(each, str)],
        type(getattr(node, "operator", None)),
        isinstance(getattr(node, "semicolon", None), cst.Semicolon),
    )


def _compare_places(text: str, made: Tree, whole: Tree) -> None:
    source = Source("text.py", text)
    spans = Spans(whole.module, source)
    by_python = parsed(text)
    assert by_python is not None
    places = KnownPlaces(by_python, text, lambda: by_python)
    for number, node in enumerate(whole.nodes):
        line = places.line(number, made)
        assert line in {None, source.position(spans.inner(node)[0])[0]}, node
    if not is_placeable(text):
        return
    assert spans.exact
    for number, node in enumerate(whole.nodes):
        assert places.inner(number, made) in {None, spans.inner(node)}, node
    lean = LeanSpans(source, made, places, lambda: spans)
    assert lean.comments == sorted(spans.comments)


class _Unreadable:
    """Stands where there is no punctuation: whoever looks at it fails."""

    def _fail(self, *_: object) -> Any:
        message = "punctuation was read before it was asked for"
        raise AssertionError(message)

    __bool__ = __iter__ = __len__ = __getitem__ = __contains__ = _fail
    __getattribute__ = _fail


def without_punctuation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lean nodes be made with what nobody can read in the place of punctuation."""
    changed = 0
    for module in (literals, expressions, statements, patterns, tree):
        for make in vars(module).values():
            values = getattr(make, "__globals__", {})
            if "unfinished" not in values:
                continue
            for name in values:
                field = name.removeprefix("default_")
                # Semicolons are read off the text.
                if field != name and is_punctuation(field) and field != "semicolon":
                    monkeypatch.setitem(values, name, _Unreadable())
                    changed += 1
    assert changed > 200
