"""Which results of the compiled calls of a loop an expression in it is, or holds."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES, Effect
from placement_lint.semantic.host_reads import whose_items
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.syntax.calls import Arguments, elements_or_self, literal_value
from placement_lint.syntax.collection_methods import CHANGING
from placement_lint.syntax.definitions import assigned_by
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

    Keys: TypeAlias = tuple[int | str | None, ...]
    """What is asked for in something that may be written out, the outermost last; None: a part that
    no literal names."""

_COMPUTING_METHODS = frozenset(
    "all any argmax argmin argsort astype clip compute cumsum flatten max mean min prod ravel "
    "reshape round sort squeeze std sum swapaxes transpose var".split()
)
"""Methods of a result that compute with it; `compute` is one of an object with metrics."""
_MOST_NAMES = 3
"""Names of which each stands for what is computed from the next."""
_DICT = "builtins.dict"


def is_looked_into(assigned: cst.BaseExpression) -> bool:
    """Return whether what is assigned to a name may be computed of a result, or hold one."""
    if isinstance(assigned, cst.Dict | cst.List | cst.Tuple | cst.DictComp | cst.ListComp):
        return True
    return isinstance(assigned, cst.BinaryOperation | cst.Call | cst.Name | cst.Subscript)


def branches_of(choice: cst.If) -> list[cst.BaseSuite]:
    """Return the blocks of an `if` with an `else`; none where there may be no one that runs."""
    blocks, other = [choice.body], choice.orelse
    while isinstance(other, cst.If):
        blocks.append(other.body)
        other = other.orelse
    return [] if other is None else [*blocks, other.body]


def step_of(
    what: cst.BaseExpression, read: cst.CSTNode, loop: cst.CSTNode, steps: set[int], ctx: Context
) -> cst.CSTNode | None:
    """Return the jitted call of the same iteration that an expression is a result of, or a
    part of, or that it holds. `loop`: that, or a function.
    """
    return _StepSearch(loop, steps, ctx).of(what, read, _MOST_NAMES)


@dataclass(frozen=True)
class _StepSearch:
    """The search for the call of one iteration of which something is a result.

    `names`: through how many names it goes on. `keys`: of what is written out, only this is
    asked for.
    """

    loop: cst.CSTNode
    """That, or a function."""
    steps: set[int]
    """The jitted calls in it, as `id`."""
    ctx: Context

    def of(
        self, what: cst.BaseExpression, read: cst.CSTNode, names: int, keys: Keys = ()
    ) -> cst.CSTNode | None:
        """Return the call of which an expression is a result, which is read at a place."""
        steps, ctx = self.steps, self.ctx
        inner: cst.BaseExpression | None = what
        while inner is not None:
            what = inner
            if isinstance(what, cst.Attribute) and what.attr.value in METADATA_ATTRIBUTES:
                return None
            if isinstance(what, cst.Attribute) and (kept := _assigned(what, read, self.loop, ctx)):
                return kept if id(kept) in steps else None
            if keys and _is_written(what, ctx):
                inner, keys = _part_under(what, keys)
                continue
            operands = _operands(what, ctx)
            if operands is not None:
                return self._of_any(operands, read, names)
            if isinstance(what, cst.Subscript | cst.Attribute):
                keys = (*keys, _key(what))
            elif isinstance(what, cst.DictComp | cst.ListComp):
                keys = keys[:-1]
            inner = _in_part_of(what, steps, ctx)
        if isinstance(what, cst.Call):
            return what if id(what) in steps else None
        return self._of_name(what, read, names, keys) if isinstance(what, cst.Name) else None

    def _of_any(
        self, every: Iterable[cst.BaseExpression], read: cst.CSTNode, names: int
    ) -> cst.CSTNode | None:
        found = (self.of(each, read, names) for each in every)
        return next((step for step in found if step is not None), None)

    def _of_name(
        self, what: cst.Name, read: cst.CSTNode, names: int, keys: Keys
    ) -> cst.CSTNode | None:
        """Return the jitted call that a name stands for, by what binds it last before it."""
        ctx, loop = self.ctx, self.loop
        bound = _bound_before(what, read, loop, ctx)
        last = max(bound, key=ctx.tree.index, default=None)
        drawn = last.iter if isinstance(last, cst.For | cst.CompFor) else None
        of = None if drawn is None or last is loop else whose_items(drawn, ctx)
        if of is not None and last is not None:
            return self.of(of, last, names - 1) if names else None
        value = last.value if isinstance(last, cst.Assign) else None
        if value is not None and id(value) in self.steps:
            return value if self._is_bound_either_way(last, read, bound) else None
        if names == 0 or not isinstance(last, cst.Assign):
            return None
        if value is None or not is_looked_into(value):
            return None
        if not all(isinstance(each.target, cst.Name | cst.Tuple) for each in last.targets):
            return None
        if _is_written(value, ctx):
            return self._of_written(what, last, read, names - 1, keys)
        return self.of(value, last, names - 1, keys)

    def _of_written(
        self, what: cst.Name, made: cst.Assign, read: cst.CSTNode, names: int, keys: Keys
    ) -> cst.CSTNode | None:
        """Return the jitted call that something is a result of which a loop writes out under a
        name, and then stores more in: `row = {"step": number}`, `row["loss"] = loss`.
        """
        stored = [*_stored(what, made, read, self.loop, self.ctx)]
        if not keys:
            values = [made.value, *(each.value for _, each in stored if each is not None)]
            return self._of_any(values, read, names)
        under = [each for key, each in stored if key is None or key == keys[-1]]
        if not under:
            return self.of(made.value, made, names, keys)
        last = under[-1]
        return None if last is None else self.of(last.value, last, names, keys[:-1])

    def _is_bound_either_way(
        self, binding: cst.CSTNode | None, read: cst.CSTNode, bound: list[cst.CSTNode]
    ) -> bool:
        """Return whether all branches of an `if` bind to a step what one of them does."""
        tree = self.ctx.tree
        for around in () if binding is None else self.ctx.ancestors(binding):
            if around is self.loop or tree.is_inside(read, around):
                break
            if isinstance(around, cst.If):
                assigned = [
                    each
                    for each in bound
                    if isinstance(each, cst.Assign) and id(each.value) in self.steps
                ]
                if not all(
                    any(tree.is_inside(each, branch) for each in assigned)
                    for branch in branches_of(around)
                ):
                    return False
        return True


def _key(node: cst.Subscript | cst.Attribute) -> int | str | None:
    """Return the literal in `x["loss"]`; None for any other part."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return None
    index = node.slice[0].slice
    return literal_value(index.value) if isinstance(index, cst.Index) else None


def _is_written(what: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression writes out what it holds."""
    return isinstance(what, cst.Dict | cst.List | cst.Tuple) or ctx.called(what) == _DICT


def _part_under(made: cst.BaseExpression, keys: Keys) -> tuple[cst.BaseExpression | None, Keys]:
    """Return what is under the outermost key of something that is written out, and the other keys;
    or what alone may have that key and the others. None: it is not known.
    """
    key, others = keys[-1], keys[:-1]
    if isinstance(made, cst.List | cst.Tuple):
        is_plain = not any(isinstance(each, cst.StarredElement) for each in made.elements)
        count = len(made.elements)
        if not is_plain or not isinstance(key, int) or not -count <= key < count:
            return None, ()
        return made.elements[key].value, others
    if isinstance(made, cst.Call):
        arguments = Arguments(made)
        is_plain = not arguments.is_open and not arguments.positional
        return arguments.keywords.get(str(key)) if is_plain else None, others
    if key is None or not isinstance(made, cst.Dict):
        return None, ()
    unpacked = [each.value for each in made.elements if isinstance(each, cst.StarredDictElement)]
    for element in reversed(made.elements):
        written = literal_value(element.key) if isinstance(element, cst.DictElement) else None
        if written == key:
            return element.value, others
        if written is None:
            # A key that is not known, or what is unpacked: that has it, if nothing else can.
            is_only = [element.value] == unpacked and key not in _written_keys(made)
            return (element.value, keys) if is_only else (None, ())
    return None, ()


def _written_keys(made: cst.Dict) -> set[int | str | None]:
    """Return the keys that a dict writes out; None among them: one that is no literal."""
    return {literal_value(each.key) for each in made.elements if isinstance(each, cst.DictElement)}


def _operands(what: cst.BaseExpression, ctx: Context) -> Sequence[cst.BaseExpression] | None:
    """Return what an expression computes with, or holds, of which one may be a result; None: it
    does not.
    """
    if isinstance(what, cst.Dict | cst.List | cst.Tuple):
        return [element.value for element in what.elements]
    if isinstance(what, cst.Call) and (_is_computation(what, ctx) or ctx.called(what) == _DICT):
        return Arguments(what).values
    if isinstance(what, cst.BinaryOperation):
        return [what.left, what.right]
    if isinstance(what, cst.Comparison):
        return [what.left, *(each.comparator for each in what.comparisons)]
    return None


def _in_part_of(
    what: cst.BaseExpression, steps: set[int], ctx: Context
) -> cst.BaseExpression | None:
    """Return what an expression takes a part of, or computes with alone; None: of nothing."""
    if isinstance(what, cst.Subscript | cst.Attribute):
        return what.value
    if isinstance(what, cst.UnaryOperation):
        return what.expression
    if isinstance(what, cst.DictComp):
        return what.value
    if isinstance(what, cst.ListComp):
        return what.elt
    if not isinstance(what, cst.Call) or id(what) in steps:
        return None
    is_method = isinstance(what.func, cst.Attribute) and ctx.called(what) is None
    if not is_method or not isinstance(what.func, cst.Attribute):
        return None
    return what.func.value if what.func.attr.value in _COMPUTING_METHODS else None


def _stored(
    what: cst.Name, made: cst.Assign, read: cst.CSTNode, loop: cst.CSTNode, ctx: Context
) -> Iterator[tuple[int | str | None, cst.Assign | None]]:
    """Yield what a loop stores in what it has made before it is read, with its key, in order.

    None: a key that is no literal, or what is not stored by an assignment in each iteration.
    """
    after, before = ctx.tree.index(made), ctx.tree.index(read)
    for use in ctx.names.uses(what.value, ctx.names.scope(what)):
        if not after < ctx.tree.index(use) < before or not ctx.tree.is_inside(use, loop):
            continue
        around = ctx.parent(use)
        if isinstance(around, cst.Attribute) and around.attr.value in CHANGING:
            yield None, None
        elif not isinstance(around, cst.Subscript) or around.value is not use:
            continue
        elif isinstance(ctx.parent(around), cst.Del):
            yield None, None
        elif (by := assigned_by(around, ctx.tree)) is not None:
            statement = ctx.parent(by)
            is_alone = isinstance(by, cst.AssignTarget) and by.target is around
            if not is_alone or not _is_of_each_iteration(by, loop, ctx):
                statement = None
            yield _key(around), statement if isinstance(statement, cst.Assign) else None


def _is_of_each_iteration(node: cst.CSTNode, loop: cst.CSTNode, ctx: Context) -> bool:
    around = loop_around(node, ctx)
    return around is not None and around is loop and runs_in_each_iteration(node, around, ctx)


def _bound_before(
    what: cst.Name, read: cst.CSTNode, loop: cst.CSTNode, ctx: Context
) -> list[cst.CSTNode]:
    """Return what binds a name in a loop before it is read there."""

    def is_before(node: cst.CSTNode) -> bool:
        if isinstance(node, cst.CompFor):
            return True
        is_around = ctx.tree.is_inside(read, node) and not isinstance(node, cst.For)
        return ctx.tree.index(node) < ctx.tree.index(read) and not is_around

    nodes = (binding.node for binding in ctx.names.bindings(what))
    return [
        node
        for node in nodes
        if ctx.tree.contains(node) and ctx.tree.is_inside(node, loop) and is_before(node)
    ]


def _assigned(
    node: cst.Attribute, read: cst.CSTNode, loop: cst.CSTNode, ctx: Context
) -> cst.BaseExpression | None:
    """Return what a loop has assigned to an attribute before it is read: `self.state, loss = …`."""
    known = ctx.module.fact(_known_assignments)
    if id(loop) not in known:
        known[id(loop)] = _assignments_in(loop, ctx)
    assignments = known[id(loop)].get(dotted(node), [])
    before = bisect_left(assignments, ctx.tree.index(read), key=ctx.tree.index)
    # What is read may be in the last of these itself.
    found = (each for each in reversed(assignments[:before]) if not ctx.tree.is_inside(read, each))
    return next((each.value for each in found), None)


def _assignments_in(loop: cst.CSTNode, ctx: Context) -> dict[str, list[cst.Assign]]:
    """Return what a loop assigns to attributes, by their dotted names."""
    found: dict[str, list[cst.Assign]] = {}
    for statement in ctx.tree.every(cst.Assign, below=loop):
        parts = (part for each in statement.targets for part in elements_or_self(each.target))
        for part in parts:
            if isinstance(part, cst.Attribute) and (name := dotted(part)):
                found.setdefault(name, []).append(statement)
    return found


def _known_assignments(_facts: ModuleFacts) -> dict[int, dict[str, list[cst.Assign]]]:
    """Make the store of one file: what each loop assigns to attributes, by their dotted names."""
    return {}


def _is_computation(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call computes with its arguments, and not just looks at their shapes."""
    row = ctx.names.row(call.func)
    return row is not None and row.effect in {Effect.COMPUTE, Effect.CONVERT, Effect.COPY}
