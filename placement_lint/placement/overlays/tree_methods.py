"""Methods of trees of unknown structure, and what the methods of their parts are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.containers import view_of
from placement_lint.placement.domain.contents import arrays
from placement_lint.placement.domain.values import (
    PLAIN,
    UNKNOWN,
    AnyTree,
    Mapping,
    Value,
    join,
    value,
)
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.collection_methods import STORING
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.tree import Tree

_OF_ARRAYS = (
    transfer.COMPUTING_METHODS | transfer.IDENTITY_METHODS | transfer.SAME_WHEN_EQUAL_METHODS
)
OF_COLLECTIONS = frozenset({
    "__getitem__", "__setitem__", "append", "appendleft", "clear", "copy", "extend", "extendleft",
    "get", "insert", "items", "keys", "pop", "popitem", "popleft", "remove", "reverse",
    "setdefault", "sort", "update", "values",
})  # fmt: skip
"""Methods that a class has of `dict` or `list`."""
_OF_OTHERS = frozenset(
    {"dot", "max", "mean", "min", "std", "sum", "take", "transpose", "var", "view"}
)
"""Computing methods that other things than arrays have as well."""


def tree_method(
    on: Evaluator,
    node: cst.Call,
    receiver: cst.BaseExpression,
    atom: AnyTree,
    name: str,
    operands: list[Operand],
    state: State,
) -> Value:
    """Call a method of what may be an array, a dict, a named tuple or any other object.

    `operands`: its arguments, which are evaluated already.
    """
    held = value(atom)
    if name in transfer.HOST_METHODS:
        return PLAIN
    if atom.leaf and not atom.cls and _is_of_one_array(name, receiver):
        operand = (on.index(receiver), held)
        return on.computed(node, [operand, *operands], state)
    if atom.leaf and not atom.cls and name in transfer.SAME_WHEN_EQUAL_METHODS:
        computed = on.computed(node, [(on.index(receiver), held)], state, certain=False)
        return join(atom.leaf, computed)
    by_name = bool(node.args) and string_value(node.args[0].value) is not None
    if by_name and name in {"get", "pop"}:
        return join(held, *(given for _, given in operands[1:]))
    if name in _OF_ARRAYS or name == "get":
        return on.iteration.part(node, atom, state)
    if name in {"items", "keys", "values"}:
        return value(view_of(Mapping((), held), name))
    if name == "setdefault" and len(operands) == 2 and not any(arrays(operands[1][1])):
        return join(held, operands[1][1])
    on.escapes(held, state)
    if name in STORING or name in {"pop", "popitem"}:
        on.targets.loosen(receiver, state)
    return UNKNOWN


def as_arrays(held: Value, name: str, receiver: cst.BaseExpression) -> Value:
    """Return a value with its leaves in the place of each unknown tree, of which a method is called
    that only arrays have: then the tree is one.
    """
    if name not in transfer.SAME_WHEN_EQUAL_METHODS and not _is_of_one_array(name, receiver):
        return held
    leaves = (
        atom.leaf if isinstance(atom, AnyTree) and atom.leaf and not atom.cls else value(atom)
        for atom in held
    )
    return join(*leaves)


def _is_of_one_array(name: str, receiver: cst.BaseExpression) -> bool:
    """Return whether a method of an unknown tree is that of an array, which the tree then is.

    Of a distribution or of a metric, which are trees too, there are means: not of an item by name.
    """
    if name not in transfer.COMPUTING_METHODS or name in OF_COLLECTIONS:
        return False
    index = receiver.slice[0].slice if isinstance(receiver, cst.Subscript) else None
    is_item = isinstance(index, cst.Index) and string_value(index.value) is not None
    return is_item or name not in _OF_OTHERS


def walks_down(node: cst.Call, receiver: cst.BaseExpression, tree: Tree) -> bool:
    """Return whether a call is that in `node = node.setdefault(name, {})`."""
    default = Arguments(node).get(1, "default")
    is_empty = isinstance(default, cst.Dict) and not default.elements
    bound = tree.parent(node)
    if not is_empty or not isinstance(receiver, cst.Name) or not isinstance(bound, cst.Assign):
        return False
    target = bound.targets[0].target
    return len(bound.targets) == 1 and dotted(target) == receiver.value
