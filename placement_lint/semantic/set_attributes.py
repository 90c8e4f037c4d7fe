"""Which attributes of objects a file sets, by whatever means: what others read is unknown to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.tree import Tree

_ANSWERING = ("__getattr__", "__getattribute__")


def may_set_attribute(facts: ModuleFacts, name: str) -> bool:
    """Return whether an object that a file makes may have an attribute of some name.

    It is assigned there, or the name is written without a dot before it: as a keyword, in a class,
    in a text that may be the key of a dict.
    """
    if name in facts.fact(_stored) or any(word in facts.text for word in _ANSWERING):
        return True
    text = facts.text
    start = text.find(name)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        is_whole = not (_is_of_name(before) or _is_of_name(after))
        if is_whole and before != ".":
            return True
        start = text.find(name, start + len(name))
    return False


def _is_of_name(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _stored(facts: ModuleFacts) -> frozenset[str]:
    """Return the attributes that are assigned, or that stand in a target beside one that is."""
    targets = [*_targets(facts.tree)]
    below = (each for target in targets for each in facts.tree.every(cst.Attribute, below=target))
    return frozenset(
        each.attr.value for each in (*targets, *below) if isinstance(each, cst.Attribute)
    )


def _targets(tree: Tree) -> Iterator[cst.CSTNode]:
    yield from (each.target for each in tree.every(cst.AssignTarget, cst.AnnAssign, cst.AugAssign))
    yield from (each.target for each in tree.every(cst.For, cst.CompFor))
    yield from (each.name for each in tree.every(cst.AsName))
