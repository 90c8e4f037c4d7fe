"""What becomes of a value that the host reads in a loop: kept, shown, or needed to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.reading import LOGGING, SHOWING
from placement_lint.semantic.followed import assigned_value
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.passed_on import PASSING_ON, is_used_up, makes_text
from placement_lint.semantic.tested_names import is_done_sometimes, names_tested
from placement_lint.semantic.written_files import is_file
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.definitions import assigned_by
from placement_lint.syntax.dotted import dotted, whole_of

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.loops import Loop
    from placement_lint.semantic.model import ModuleFacts

    Around = Loop | cst.FunctionDef

CONVERTING = frozenset({
    "builtins.float", "builtins.int", "jax.device_get", "numpy.array", "numpy.asarray",
})  # fmt: skip
_COLLECTING_METHODS = frozenset(
    "add add_scalars log_dict log_metric log_scalar measure observe record report track update "
    "write_metrics write_scalar write_scalars".split()
)
"""What keeps a value too, in an object that decides nothing in the loop."""
_KEEPING_METHODS = frozenset(
    "add_scalar append appendleft debug extend info log log_metrics logkv print scalar "
    "set_description set_description_str set_postfix set_postfix_str warning write writelines "
    "writerow".split()
)
_DICT = "builtins.dict"
_ADDING_METHODS = frozenset({"append", "appendleft", "extend"})
_MORE_OF_NUMPY = frozenset(
    "all any argmax argmin argsort astype copy cumsum flatten item max mean min prod ravel repeat "
    "reshape round squeeze std sum swapaxes take tolist transpose var".split()
)
"""Methods of what was read, which is an array of NumPy then."""


def is_kept(node: cst.CSTNode, loop: Around, ctx: FileView, depth: int = 3) -> bool:
    """Return whether what an expression gives is surely only kept or shown.

    Of a function, also whether it is only returned, or yielded: then it is up to who calls it.
    """
    if depth == 0:
        return False
    child = node
    for parent in ctx.ancestors(node):
        if parent is loop and not isinstance(parent, cst.For | cst.While):
            return isinstance(parent, cst.ListComp | cst.DictComp)
        if isinstance(parent, cst.Expr):
            return _keeps(child, ctx)
        if isinstance(parent, cst.Return | cst.Yield):
            return isinstance(loop, cst.FunctionDef)
        if isinstance(parent, cst.Call) and parent.func is not child:
            filled = _filled_dict(parent, ctx)
            if filled is not None:
                return _container_is_kept(filled, loop, ctx)
            if _keeps(parent, ctx) or _collects(parent, loop, ctx):
                return isinstance(ctx.parent(parent), cst.Expr) and _is_added(parent, loop, ctx)
        elif isinstance(parent, cst.AugAssign):
            return _target_is_kept(parent.target, parent, loop, ctx, depth)
        elif isinstance(parent, cst.Assign):
            targets = (each.target for each in parent.targets)
            return all(_target_is_kept(each, parent, loop, ctx, depth) for each in targets)
        if not _passes_on(parent, child, loop, ctx):
            return False
        child = parent
    return False


def _passes_on(parent: cst.CSTNode, child: cst.CSTNode, loop: Around, ctx: FileView) -> bool:
    """Return whether what a part of an expression gives is of no use but for what is around it."""
    if isinstance(parent, cst.Call) and parent.func is not child:
        return ctx.called(parent) in PASSING_ON or makes_text(parent)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _MORE_OF_NUMPY
    if isinstance(parent, cst.Subscript) and child is not parent.value:
        # A mask takes a part of what was read with it; an index may choose what to do next.
        return _is_read_too(parent.value, loop, ctx) or _is_looked_up(parent, loop, ctx)
    if isinstance(parent, cst.IfExp):
        return child is not parent.test
    if isinstance(parent, cst.GeneratorExp):
        return is_used_up(parent, ctx)
    return isinstance(
        parent,
        cst.Arg
        | cst.BinaryOperation
        | cst.Call
        | cst.Comparison
        | cst.ComparisonTarget
        | cst.Dict
        | cst.DictComp
        | cst.DictElement
        | cst.Element
        | cst.FormattedString
        | cst.FormattedStringExpression
        | cst.Index
        | cst.List
        | cst.ListComp
        | cst.Subscript
        | cst.SubscriptElement
        | cst.Tuple,
    )


def _is_read_too(node: cst.BaseExpression, loop: Around, ctx: FileView) -> bool:
    """Return whether an expression, or what a loop has bound to a name, was read by the host."""
    if not isinstance(node, cst.Name):
        return ctx.called(node) in CONVERTING
    bound = [
        each.node
        for each in ctx.names.bindings(node)
        if ctx.tree.contains(each.node)
        and ctx.tree.is_inside(each.node, loop)
        and ctx.tree.index(each.node) < ctx.tree.index(node)
    ]
    last = max(bound, key=ctx.tree.index, default=None)
    return isinstance(last, cst.Assign) and ctx.called(last.value) in CONVERTING


def _is_looked_up(item: cst.Subscript, loop: Around, ctx: FileView) -> bool:
    """Return whether an item is read from a table of which a loop does nothing but read items.

    After the loop the table is the same: `names[int(label)]`. Not if the item is called.
    """
    name, root = dotted(item.value), whole_of(item.value)
    if not name or not isinstance(root, cst.Name) or not _is_only_read(item, ctx):
        return False
    if isinstance(item.value, cst.Attribute) and own_attribute(item.value, ctx) is None:
        return False
    scope = ctx.names.scope(root)
    if any(
        ctx.tree.contains(each.node) and ctx.tree.is_inside(each.node, loop)
        for each in ctx.names.bindings(root)
    ):
        return False
    known = ctx.module.fact(_known_tables)
    key = (id(loop), id(ctx.names.owner(root.value, scope)), name)
    if key not in known:
        known[key] = all(
            _reads_item(use, name.count("."), name, ctx)
            for use in ctx.names.uses(root.value, scope)
            if ctx.tree.is_inside(use, loop)
        )
    return known[key]


def _known_tables(_facts: ModuleFacts) -> dict[tuple[int, int, str], bool]:
    """Make the store of one file: whether a loop only reads items of what a name stands for."""
    return {}


def _reads_item(use: cst.Name, steps: int, name: str, ctx: FileView) -> bool:
    """Return whether a use of a table reads an item of it, or its length; or is of another part of
    its object. `steps`: attributes after the first name of the table.
    """
    held: cst.CSTNode = use
    for _ in range(steps):
        around = ctx.parent(held)
        if not isinstance(around, cst.Attribute):
            # Of the object as a whole anything may be done.
            return False
        held = around
    if dotted(held) != name:
        return True
    parent = ctx.parent(held)
    if isinstance(parent, cst.Arg):
        return ctx.called(ctx.parent(parent)) == "builtins.len"
    return isinstance(parent, cst.Subscript) and parent.value is held and _is_only_read(parent, ctx)


def _is_only_read(item: cst.Subscript, ctx: FileView) -> bool:
    """Return whether an item is neither stored, deleted nor called, and no part of it changed."""
    node: cst.CSTNode = item
    parent = ctx.parent(node)
    while isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, ctx.parent(parent)
    if isinstance(parent, cst.Attribute | cst.Del):
        return False
    if isinstance(parent, cst.Call) and parent.func is node:
        return False
    return not isinstance(node, cst.Subscript) or assigned_by(node, ctx.tree) is None


def _keeps(call: cst.CSTNode, ctx: FileView) -> bool:
    """Return whether a call only stores or shows what it is given."""
    if not isinstance(call, cst.Call):
        return False
    name = ctx.called(call)
    if name is not None:
        return name in SHOWING or name.startswith(LOGGING)
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _KEEPING_METHODS


def _is_added(call: cst.Call, loop: Around, ctx: FileView) -> bool:
    """Return whether what a call adds to a list decides nothing in the loop; no other one adds."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _ADDING_METHODS:
        return True
    return _container_is_kept(call.func.value, loop, ctx)


def _filled_dict(call: cst.Call, ctx: FileView) -> cst.BaseExpression | None:
    """Return the dict of the file that a statement puts more into: `row.update(loss=loss)`."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "update":
        return None
    made = assigned_value(call.func.value, ctx)
    is_dict = isinstance(made, cst.Dict) or (made is not None and ctx.called(made) == _DICT)
    return call.func.value if is_dict and isinstance(ctx.parent(call), cst.Expr) else None


def _container_is_kept(container: cst.CSTNode, loop: Around, ctx: FileView) -> bool:
    """Return whether what a loop keeps in a list, a dictionary or an array decides nothing in it.

    It may ask for the length, and look at it in some iterations.
    """
    while isinstance(container, cst.Subscript):
        container = container.value
    name, root = dotted(container), whole_of(container)
    if not name or not isinstance(root, cst.Name):
        return True
    scope = ctx.names.scope(root)
    known = ctx.module.fact(_known_containers)
    key = (id(loop), id(ctx.names.owner(root.value, scope)), name)
    if key not in known:
        # Until it is known: as one that is kept in itself.
        known[key] = True
        steps = name.count(".")
        known[key] = all(
            _only_keeps_on(use, steps, name, loop, ctx)
            for use in ctx.names.uses(root.value, scope)
            if ctx.tree.is_inside(use, loop) and not is_done_sometimes(use, loop, ctx)
        )
    return known[key]


def _known_containers(_facts: ModuleFacts) -> dict[tuple[int, int, str], bool]:
    """Make the store of one file: whether what a loop keeps under a name decides nothing in it."""
    return {}


def _only_keeps_on(use: cst.Name, steps: int, name: str, loop: Around, ctx: FileView) -> bool:
    """Return whether a use of a container changes it, asks for its length, or shows it.

    `steps`: attributes after the first name of it.
    """
    held: cst.CSTNode | None = use
    for _ in range(steps):
        held = None if held is None else ctx.parent(held)
    if held is None or dotted(held) != name:
        return True
    parent = ctx.parent(held)
    while isinstance(parent, cst.Subscript) and parent.value is held:
        held, parent = parent, ctx.parent(parent)
    if isinstance(parent, cst.Arg) and ctx.called(ctx.parent(parent)) == "builtins.len":
        return True
    if isinstance(parent, cst.For) and parent.iter is held and _goes_through_keys(parent, ctx):
        return True
    statement = ctx.statement(use)
    if isinstance(statement, cst.Return):
        return True
    changed: list[cst.CSTNode] = []
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        changed = [statement.value.func]
    elif isinstance(statement, cst.Assign):
        changed = [each.target for each in statement.targets]
    return any(whole_of(each) is use for each in changed) or is_kept(held, loop, ctx, 2)


def _goes_through_keys(loop: cst.For, ctx: FileView) -> bool:
    """Return whether a loop reads items by what it draws: `for key in d: d[key].append(x)`."""
    if not isinstance(loop.target, cst.Name):
        return False
    held = dotted(loop.iter)
    for use in ctx.names.uses(loop.target.value, ctx.names.scope(loop.target)):
        element = ctx.parent(ctx.parent(use) or use)
        item = ctx.parent(element) if isinstance(element, cst.SubscriptElement) else None
        if isinstance(item, cst.Subscript) and dotted(item.value) == held:
            return True
    return False


def _collects(call: cst.Call, loop: Around, ctx: FileView) -> bool:
    """Return whether a call keeps what it is given in an object that decides nothing in the loop:
    all else that the loop does with it is to call it as a statement, or in one.
    """
    if not isinstance(call.func, cst.Attribute) or ctx.called(call) is not None:
        return False
    is_collecting = call.func.attr.value in _COLLECTING_METHODS
    return is_collecting and is_only_called(call.func.value, loop, ctx)


def is_only_called(receiver: cst.BaseExpression, loop: Around, ctx: FileView) -> bool:
    """Return whether all that a loop does with an object is to call it, in statements."""
    name = dotted(receiver)
    known = ctx.module.fact(_known_receivers)
    key = (id(loop), name)
    if key not in known:
        head = name.partition(".")[0]
        uses = (
            each
            for each in ctx.tree.every(cst.Attribute, cst.Name, below=loop)
            if dotted(each) == name and not isinstance(ctx.parent(each), cst.NameItem | cst.For)
        )
        known[key] = head not in names_tested(loop, ctx) - {"self"} and all(
            isinstance(ctx.statement(each), cst.Expr) for each in uses
        )
    return bool(name) and known[key]


def _known_receivers(_facts: ModuleFacts) -> dict[tuple[int, str], bool]:
    """Make the store of one file: whether all that a loop does with an object is to call it."""
    return {}


def _target_is_kept(
    target: cst.BaseExpression,
    statement: cst.CSTNode,
    loop: Around,
    ctx: FileView,
    depth: int,
) -> bool:
    """Return whether what is assigned to a target decides nothing in the loop."""
    if isinstance(target, cst.Subscript):
        return (
            isinstance(target.value, cst.Name)
            and not is_file(target.value, ctx)
            and _container_is_kept(target.value, loop, ctx)
        )
    if isinstance(target, cst.Attribute):
        return _attribute_is_kept(target, statement, loop, ctx, depth)
    if isinstance(target, cst.Tuple | cst.List):
        return all(
            _target_is_kept(each.value, statement, loop, ctx, depth) for each in target.elements
        )
    if not isinstance(target, cst.Name):
        return False
    is_tested = target.value in names_tested(loop, ctx)
    return all(
        _is_passed_on(each, statement, loop, ctx)
        if ctx.tree.is_inside(each, statement)
        else is_kept(each, loop, ctx, depth - 1)
        for each in ctx.names.uses(target.value, ctx.names.scope(target))
        if ctx.tree.is_inside(each, loop)
        # A function has no next iteration.
        and not (isinstance(loop, cst.FunctionDef) and ctx.tree.is_inside(each, statement))
        and assigned_by(each, ctx.tree) is None
        and not isinstance(ctx.statement(each), cst.Del)
        and (is_tested or not is_done_sometimes(each, loop, ctx))
        and not _is_of_another(each, statement, loop, ctx)
    )


def _is_passed_on(use: cst.CSTNode, statement: cst.CSTNode, loop: Around, ctx: FileView) -> bool:
    """Return whether a name in what a statement binds it to is only carried on, as the average in
    `x = 0.9 * x + 0.1 * float(loss)`, and no operand of the next step.
    """
    if isinstance(statement, cst.Assign) and not isinstance(statement.targets[0].target, cst.Name):
        # All results of a step are read at once, those for the next one too.
        return True
    child = use
    for parent in ctx.ancestors(use):
        if parent is statement or _is_asked_for_none(parent):
            return True
        if not _passes_on(parent, child, loop, ctx):
            return False
        child = parent
    return False


def _is_asked_for_none(node: cst.CSTNode) -> bool:
    """Return whether an expression is a comparison with None: `x is None`."""
    return isinstance(node, cst.Comparison) and all(
        isinstance(each.operator, cst.Is | cst.IsNot) and is_none(each.comparator)
        for each in node.comparisons
    )


def _is_of_another(use: cst.Name, statement: cst.CSTNode, loop: Around, ctx: FileView) -> bool:
    """Return whether a name surely is something else where it is used than what a statement binds
    it to: each iteration binds it again in between.
    """
    if isinstance(loop, cst.FunctionDef):
        return False
    index = ctx.tree.index
    is_before = index(use) < index(statement) or ctx.tree.is_inside(use, statement)
    after = -1 if is_before else index(statement)
    return any(
        each.node is loop
        or (
            after < index(each.node) < index(use)
            and not ctx.tree.is_inside(use, each.node)
            and loop_around(each.node, ctx) is loop
            and runs_in_each_iteration(each.node, loop, ctx)
        )
        for each in ctx.names.bindings(use)
        if ctx.tree.contains(each.node) and ctx.tree.is_inside(each.node, loop)
        if after == -1 or each.node is not loop
    )


def _attribute_is_kept(
    target: cst.Attribute, statement: cst.CSTNode, loop: Around, ctx: FileView, depth: int
) -> bool:
    """Return whether what a method adds to `self.total` decides nothing in the method.

    What a loop itself sets, others may look at meanwhile.
    """
    name, whole = dotted(target), whole_of(target)
    if not isinstance(loop, cst.FunctionDef) or not name:
        return False
    if not isinstance(whole, cst.Name) or _is_tested(whole.value, loop, ctx):
        return False
    return all(
        is_kept(each, loop, ctx, depth - 1)
        for each in ctx.tree.every(cst.Attribute, below=loop)
        if dotted(each) == name
        and not ctx.tree.is_inside(each, statement)
        and assigned_by(each, ctx.tree) is None
    )


def _is_tested(name: str, loop: Around, ctx: FileView) -> bool:
    """Return whether a loop tests an object, perhaps by a method, and not just a part of it."""
    for each in ctx.tree.every(cst.If, cst.IfExp, cst.While, cst.Assert, below=loop):
        for part in ctx.tree.every(cst.Name, below=each.test):
            parent = ctx.parent(part)
            if part.value != name or (isinstance(parent, cst.Attribute) and parent.attr is part):
                continue
            around = None if parent is None else ctx.parent(parent)
            is_part = isinstance(parent, cst.Attribute) and parent.value is part
            if not is_part or (isinstance(around, cst.Call) and around.func is parent):
                return True
    return False
