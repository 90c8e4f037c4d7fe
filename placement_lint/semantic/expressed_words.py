"""The words that the expressions of a file have, whatever names it uses for things: what is said in
none of them, executing the file alone cannot meet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import NOT_OF_PROGRAM
from placement_lint.syntax.dotted import said, saying
from placement_lint.syntax.names import Ambiguous, BindingKind, Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Names

_IMPORTING = frozenset({"import_module", "importorskip"})


def expressed_words(facts: ModuleFacts) -> frozenset[str]:
    """Return the last parts of all names that expressions stand for, with keywords and texts.

    A name that is imported counts for what it stands for, also by way of other files, where it is
    used. Annotations are no expressions here: they make nothing.
    """
    return facts.fact(_Words).expressed


def annotated_words(facts: ModuleFacts) -> frozenset[str]:
    """Return the last parts of all names in annotations, those that are texts among them."""
    return facts.fact(_Words).annotated


class _Words:
    """The words of one file."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._names = names = facts.names
        self._imported, self._from_others = _imported(names)
        self._has_star = names.module_scope.has_star_import
        annotations = _annotations(names)
        kinds = frozenset(saying()) - {cst.ImportAlias}
        expressed: set[str] = set()
        annotated: set[str] = set()
        for place, node in enumerate(names.tree.nodes):
            if type(node) not in kinds:
                continue
            if not annotations[place]:
                expressed.update(self._of(node))
                continue
            annotated.update(self._of(node))
            if type(node) is cst.SimpleString:
                for word in _WORD.findall(node.raw_value):
                    annotated.add(word)
                    annotated.update(self._imported.get(word, ()))
        self.expressed = frozenset(expressed)
        self.annotated = frozenset(annotated)

    def _of(self, node: cst.CSTNode) -> Iterator[str]:
        kind = type(node)
        if type(node) is cst.Name:
            yield node.value
            yield from self._imported.get(node.value, ())
        else:
            yield said(node)
        if (kind is cst.Name and self._has_star) or (
            kind is cst.Attribute and self._from_others and _first(node) in self._from_others
        ):
            # What a name of another file is there.
            yield (self._names.qualified(node) or "").rpartition(".")[2]


_WORD = re.compile(r"\w+")


def _annotations(names: Names) -> bytearray:
    """Return for each node whether it is in an annotation."""
    tree = names.tree
    found = bytearray(len(tree.nodes))
    for node in tree.every(cst.Annotation):
        start = tree.index(node)
        end = tree.ends[start]
        found[start:end] = b"\1" * (end - start)
    return found


def _imported(names: Names) -> tuple[dict[str, set[str]], set[str]]:
    """Return the last parts of what imports bring, by the names that they bind; and those of these
    names that may be of other files.
    """
    words: dict[str, set[str]] = {}
    from_others: set[str] = set()
    assigned: set[str] = set()
    for scope in names.scopes():
        for name, bindings in scope.bindings.items():
            targets = [each.target for each in bindings if each.kind is BindingKind.IMPORT]
            if not targets:
                # It may stand for a module that has another name.
                if any(_may_be_module(each.value) for each in bindings):
                    assigned.add(name)
                continue
            resolved = names.lookup(name, scope)
            stands_for = {target for target in targets if target is not None}
            if isinstance(resolved, Known):
                stands_for.add(resolved.name)
            elif isinstance(resolved, Ambiguous):
                stands_for |= resolved.names
            words.setdefault(name, set()).update(each.rpartition(".")[2] for each in stands_for)
            if any(each.partition(".")[0] not in NOT_OF_PROGRAM for each in stands_for):
                from_others.add(name)
    return words, from_others | assigned


def _may_be_module(value: cst.BaseExpression | None) -> bool:
    if type(value) is cst.Call:
        return said(value.func) in _IMPORTING
    return type(value) is cst.Name or type(value) is cst.Attribute


def _first(node: cst.CSTNode) -> str:
    """Return the name that a chain of attributes begins with; of all else the empty string."""
    while type(node) is cst.Attribute:
        node = node.value
    return node.value if type(node) is cst.Name else ""
