"""Operations that only move: which take a part of an array, and what becomes of the part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import movement, transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.places import Place, Taking
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.names import ScopeKind

if TYPE_CHECKING:
    from placement_lint.placement.facts.module import Module

_READING_BUILTINS = frozenset(
    f"builtins.{name}"
    for name in (
        "bool", "callable", "complex", "float", "format", "hash", "id", "int", "isinstance", "len",
        "print", "range", "repr", "str", "type",
    )
)  # fmt: skip
"""What reads an array on the host, and hands it to nobody."""
_READING_ITERABLES = frozenset({"builtins.all", "builtins.any"})
_METADATA = frozenset({"dtype", "itemsize", "nbytes", "ndim", "shape", "size"})
_TESTED = (cst.If, cst.While, cst.Assert)
_IN_TARGETS = (cst.Element, cst.List, cst.StarredElement, cst.Tuple)
_BINDERS = (cst.AnnAssign, cst.AssignTarget, cst.CompFor, cst.Del, cst.For, cst.NamedExpr)


def taking_of(module: Module, operation: int, operand: int) -> Taking | None:
    """Return what an operation is that takes a part of an operand; None for any other."""
    nodes = module.tree.nodes
    if operation == operand:
        return Taking(Place(module.name, operand), iterated=True)
    node, taken = nodes[operation], nodes[operand]
    is_taking = False
    if isinstance(node, cst.Subscript):
        is_taking = node.value is taken
    elif isinstance(node, cst.Call) and node.args and node.args[0].value is taken:
        is_taking = module.names.qualified(node.func) in movement.TAKING
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        is_method = node.func.value is taken
        is_taking = is_method and node.func.attr.value in movement.TAKING_METHODS
    return Taking(Place(module.name, operation)) if is_taking else None


class Stays:
    """Whether, in one module, what is taken of an array is only read on the host after that,
    or is put on a device explicitly: by the text alone, whatever the values are.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._tree = module.tree
        self._names = module.names
        self._asked: set[tuple[int, str]] = set()
        """The variables that are being examined now: one may depend on itself."""
        self._known: dict[tuple[int, str], bool] = {}
        """The answers for variables that were asked about."""

    def __call__(self, taking: Taking) -> bool:
        """Return whether what an operation takes is only read on the host, or put explicitly."""
        node = self._tree.nodes[taking.place.node]
        return self._items(node) if taking.iterated else self._result(node)

    def _result(self, node: cst.CSTNode) -> bool:
        parent = self._tree.parent(node)
        if isinstance(parent, cst.Arg):
            return self._argument(parent)
        if isinstance(parent, cst.Attribute):
            return self._attribute(parent)
        if isinstance(parent, cst.Assign):
            return all(self._target(each.target) for each in parent.targets)
        if isinstance(parent, cst.AnnAssign):
            return self._target(parent.target)
        if isinstance(parent, cst.NamedExpr):
            return self._target(parent.target) and self._result(parent)
        if isinstance(parent, cst.IfExp) and node is not parent.test:
            return self._result(parent)
        if isinstance(parent, cst.BooleanOperation):
            return self._result(parent)
        if isinstance(parent, cst.Comparison):
            return all(isinstance(c.operator, cst.Is | cst.IsNot) for c in parent.comparisons)
        if isinstance(parent, cst.UnaryOperation):
            return isinstance(parent.operator, cst.Not)
        read = (*_TESTED, cst.Expr, cst.FormattedStringExpression, cst.IfExp)
        return isinstance(parent, read)

    def _argument(self, argument: cst.Arg) -> bool:
        call = self._tree.parent(argument)
        if not isinstance(call, cst.Call) or argument.star:
            return False
        name = self._names.qualified(call.func) or ""
        if name in _READING_BUILTINS or name in transfer.SCALAR_FUNCTIONS:
            return True
        if name.startswith("numpy."):
            return name not in transfer.NUMPY_DISPATCHING | transfer.NUMPY_MOVING_TO_HOST
        if name == "jax.device_put":
            arguments = Arguments(call)
            target = arguments.get(1, "device")
            is_first = arguments.get(0, "x") is argument.value
            return is_first and target is not None and not is_none(target)
        row = self._names.table.get(name)
        reading = {Effect.HOST, Effect.PLAIN}
        return row is not None and row.effect in reading and not name.startswith("jax.debug.")

    def _attribute(self, node: cst.Attribute) -> bool:
        name = node.attr.value
        call = self._tree.parent(node)
        if not isinstance(call, cst.Call) or call.func is not node:
            return name in _METADATA
        if name in transfer.IDENTITY_METHODS:
            return self._result(call)
        return name == "to_device" or (name in transfer.HOST_METHODS and name != "devices")

    def _target(self, target: cst.CSTNode) -> bool:
        """Return whether a name is bound of which all uses only read."""
        if not isinstance(target, cst.Name):
            return False
        scope = self._names.scope(target)
        owner = self._names.owner(target.value, scope)
        if owner is None or owner.kind is ScopeKind.CLASS:
            return False
        key = (id(owner), target.value)
        if key in self._asked:
            return True
        if key in self._known:
            return self._known[key]
        uses = self._names.uses(target.value, scope)
        loads = [use for use in uses if not self._is_bound(use)]
        if owner is self._names.module_scope and not self._is_of_one_loop(uses):
            # What it holds in the end may be there for somebody else.
            self._known[key] = False
            return False
        self._asked.add(key)
        try:
            stays = all(map(self._result, loads))
        finally:
            self._asked.discard(key)
        if not stays or not self._asked:
            # Else it only holds if the variables do that it was asked for.
            self._known[key] = stays
        return stays

    def _is_of_one_loop(self, uses: list[cst.Name]) -> bool:
        """Return whether a name of the module is mentioned in one loop, and nowhere else."""
        around: cst.CSTNode | None = None
        for use in uses:
            loop: cst.CSTNode | None = None
            for ancestor in self._tree.ancestors(use):
                if isinstance(ancestor, cst.For | cst.While):
                    loop = ancestor
                elif isinstance(ancestor, cst.ClassDef | cst.FunctionDef | cst.Lambda):
                    return False
            if loop is None or around not in {None, loop}:
                return False
            around = loop
        return around is not None

    def _is_bound(self, use: cst.Name) -> bool:
        """Return whether a name is bound or deleted where it stands, and not read."""
        child: cst.CSTNode = use
        parent = self._tree.parent(use)
        while parent is not None and isinstance(parent, _IN_TARGETS):
            child, parent = parent, self._tree.parent(parent)
        if isinstance(parent, cst.AsName):
            return True
        return isinstance(parent, _BINDERS) and parent.target is child

    def _items(self, node: cst.CSTNode) -> bool:
        """Return whether each row that iterating over an expression gives is only read, or put."""
        parent = self._tree.parent(node)
        if isinstance(parent, cst.For | cst.CompFor):
            return parent.iter is node and self._target(parent.target)
        call = self._tree.parent(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call) or parent.star:
            return False
        name = self._names.qualified(call.func)
        if name in _READING_ITERABLES:
            return True
        if name == "builtins.map" and len(call.args) > 1 and parent is not call.args[0]:
            return self._names.qualified(call.args[0].value) in _READING_BUILTINS
        loop = self._tree.parent(call)
        if name not in {"builtins.enumerate", "builtins.zip"} or not isinstance(
            loop, cst.For | cst.CompFor
        ):
            return False
        position = 1 if name == "builtins.enumerate" else list(call.args).index(parent)
        elements = loop.target.elements if isinstance(loop.target, cst.Tuple | cst.List) else ()
        if len(elements) <= position or parent.keyword is not None:
            return False
        return loop.iter is call and self._target(elements[position].value)
