"""Arrays that are changed, or bound to a name, between being made and being put elsewhere."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import contents, values
from placement_lint.rules.transfers.put_trees import is_named
from placement_lint.rules.transfers.putting_functions import function_called
from placement_lint.semantic.followed import assigned_parts, value_for
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import assigned_by, named_function
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts


_KEEPING_SIZE = frozenset({
    "astype", "conj", "flatten", "ravel", "reshape", "swapaxes", "transpose", "view",
})  # fmt: skip
_NUMBERS = ("builtins.", "math.")


_FUNCTIONS_KEEPING_SIZE = frozenset(
    f"jax.numpy.{name}"
    for name in (
        "abs", "cos", "cumsum", "exp", "flip", "log", "negative", "ravel", "roll", "sign", "sin",
        "sort", "sqrt", "square", "tanh", "transpose", "tril", "triu",
    )
)  # fmt: skip


def creator_of(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression:
    """Return the call that makes the array of an expression, below what leaves its size alone.

    That is arithmetic with numbers, as in `jax.random.normal(key, shape) * 0.02`, methods such as
    `astype`, and functions of one array, such as `jnp.tril`. For any other expression, the
    expression itself.
    """
    while (inner := _changed(node, ctx) or _before(node, ctx)) is not None:
        node = inner
    return node


def _before(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return what a name stood for that its own assignment changes: `x = x * 0.02`."""
    assignment = ctx.statement(node)
    if not isinstance(node, cst.Name) or not isinstance(assignment, cst.Assign):
        return None
    return _assigned_just_before(node, ctx) if _assigns(assignment, node.value) else None


def returned_by(
    call: cst.BaseExpression | None, ctx: Context
) -> tuple[cst.BaseExpression, Context] | None:
    """Return the call that makes the array which a function gives, if it does no more, and its
    file.

    That is a function of the program whose one `return` gives what is new, or a lambda that has a
    name; and None where it keeps anything.
    """
    if not isinstance(call, cst.Call):
        return None
    function = named_function(call.func, ctx.names)
    if isinstance(function, cst.Lambda):
        return creator_of(function.body, ctx), ctx
    found = function_called(call, ctx) if function is None else (function, ctx)
    if found is None or found[0].decorators:
        return None
    only = only_return(found[0], found[1])
    if only is None or any(_may_place(item, found[1]) for item in found[1].with_items(only)):
        return None
    return creator_of(only, found[1]), found[1]


def _may_place(item: cst.WithItem, ctx: Context) -> bool:
    """Return whether a block may decide where arrays are made: of JAX, or of the program."""
    entered = item.item
    name = ctx.name(entered.func if isinstance(entered, cst.Call) else entered)
    return name is None or name.startswith("jax.")


def leaves_made(tree: cst.BaseExpression, ctx: Context) -> Iterator[cst.Call]:
    """Yield the calls that make the leaves of a tree, such as a dict that a function fills.

    None where a leaf may be something else, or where the function keeps anything elsewhere.
    """
    function = ctx.function(tree)
    if not isinstance(function, cst.FunctionDef) or _keeps_elsewhere(function, ctx):
        return
    places: set[int] = set()
    for leaf in contents.leaves_of(ctx.flow.tree_of(tree)):
        for atom in leaf:
            if not isinstance(atom, values.Array) or atom.origin is None or atom.committed:
                return
            created = atom.origin.created
            if created.module != ctx.flow.module.name:
                return
            places.add(created.node)
    for place in sorted(places):
        made = ctx.tree.nodes[place]
        if isinstance(made, cst.Call) and ctx.tree.is_inside(made, function):
            yield made


def _keeps_elsewhere(function: cst.FunctionDef, ctx: Context) -> bool:
    """Return whether a function stores anything in what it did not make: a cache, an object."""
    for node in ctx.tree.every(cst.AssignTarget, cst.Global, cst.Nonlocal, below=function.body):
        if not isinstance(node, cst.AssignTarget):
            return True
        root: cst.CSTNode = node.target
        while isinstance(root, cst.Attribute | cst.Subscript):
            root = root.value
        if root is node.target:
            continue
        bound = ctx.names.sole_value(root)
        if bound is None or not ctx.tree.is_inside(bound, function):
            return True
    return False


def _changed(node: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return the array that an expression changes, but not in size."""
    if isinstance(node, cst.BinaryOperation):
        if _is_number(node.right, ctx):
            return node.left
        return node.right if _is_number(node.left, ctx) else None
    if isinstance(node, cst.UnaryOperation):
        return None if isinstance(node.operator, cst.Not) else node.expression
    if isinstance(node, cst.Attribute):
        return node.value if node.attr.value in {"T", "mT"} else None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        is_method = ctx.called(node) is None and node.func.attr.value in _KEEPING_SIZE
        if is_method:
            return node.func.value
    if isinstance(node, cst.Call) and ctx.called(node) in _FUNCTIONS_KEEPING_SIZE:
        given = Arguments(node)
        is_alone = len(given.positional) == 1 or all(
            _is_number(n, ctx) for n in given.positional[1:]
        )
        return given.positional[0] if given.positional and is_alone and not given.is_open else None
    return None


def _is_number(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is a number, or writes out several: the axes of a transpose."""
    if isinstance(node, cst.Tuple | cst.List):
        return all(_is_number(each.value, ctx) for each in node.elements)
    if isinstance(node, cst.Integer | cst.Float | cst.Imaginary):
        return True
    if isinstance(node, cst.BinaryOperation):
        return _is_number(node.left, ctx) and _is_number(node.right, ctx)
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression, ctx)
    if isinstance(node, cst.Call) and (ctx.called(node) or "").startswith(_NUMBERS):
        return True
    held = ctx.flow.value(node)
    return bool(held) and all(isinstance(atom, values.Plain) for atom in held)


def made_before(operand: cst.Name, put: cst.CSTNode, ctx: Context) -> cst.BaseExpression | None:
    """Return the expression that a name stands for, if being put is all that becomes of it.

    It is assigned to the name in the same block, or before an `if` that asks whether there is
    anywhere to put it. Nothing but its shape is read between, and afterwards the name stands for
    what was put, or is not used.
    """
    made = _reaching(operand, ctx)
    statement = None if made is None else ctx.statement(made)
    if made is None or statement is None or _value_for(operand.value, statement, ctx) is not made:
        # What made the array may have had another name before, or is in a dict that is made.
        made = _assigned_just_before(operand, ctx)
    line = None if made is None else ctx.statement_line(made)
    end = ctx.statement_line(put)
    if made is None or line is None or end is None:
        return None
    assignment, scope = ctx.statement(made), ctx.names.scope(operand)
    block, tried = _block_around(end, ctx)
    while block is not None and ctx.parent(line) is not block:
        block = _block_around_condition(block, put, ctx)
    if (
        block is None
        or _value_for(operand.value, assignment, ctx) is not made
        or ctx.names.scope(made) is not scope
    ):
        return None
    rebinds = _assigns(ctx.statement(put), operand.value)
    first, last = ctx.tree.index(line), ctx.tree.ends[ctx.tree.index(end)]
    uses = ctx.names.uses(operand.value, scope)
    before, after = (bisect_left(uses, place, key=ctx.tree.index) for place in (first, last))
    # `x = jnp.asarray(x)` reads what the name stood for before.
    between = (use for use in uses[before:after] if not ctx.tree.is_inside(use, made))
    if any(
        use is not operand and not is_assigned(use, ctx) and not _asks_for_shape(use, ctx)
        for use in between
    ):
        return None
    # What a handler reads, it reads because nothing was put.
    is_later = any(not _is_handled(use, tried, ctx) for use in uses[after:])
    start = bisect_left(uses, ctx.tree.index(block), key=ctx.tree.index)
    is_new = _is_bound_first(operand, uses[start : start + 2], block, ctx)
    is_earlier = _first_read(operand, ctx) < (start if is_new else before)
    if (is_earlier or is_later) and (not rebinds or _first_from_inside(operand, ctx) < first):
        return None
    return made


def is_put_always(made: cst.CSTNode, put: cst.CSTNode, ctx: Context) -> bool:
    """Return whether what is made is put whenever it is made, and not in an `if` that follows."""
    line, end = ctx.statement_line(made), ctx.statement_line(put)
    return line is not None and end is not None and ctx.parent(line) is _block_around(end, ctx)[0]


def made_in_branches(operand: cst.Name, put: cst.CSTNode, ctx: Context) -> list[cst.BaseExpression]:
    """Return what the branches just before a statement assign to a name, last of all they do.

    Where no branch may be taken, what the statement before them assigns to it is one more. Being
    put is all that becomes of these: no other use of the name is left, but to be put.
    """
    line = ctx.statement_line(put)
    block = None if line is None else ctx.parent(line)
    if line is None or not isinstance(block, cst.IndentedBlock | cst.Module):
        return []
    lines: list[cst.CSTNode] = [*block.body]
    place = lines.index(line) if line in lines else 0
    chosen = lines[place - 1] if place else None
    found = [
        (None if each is None else _last_assignment(each, operand.value))
        for each in _branches(chosen)
    ]
    if None in found and place > 1 and isinstance(chosen, cst.If):
        found[found.index(None)] = _assignment_of(lines[place - 2], operand.value)
    if not found or None in found or not isinstance(ctx.statement(put), cst.Assign | cst.Return):
        return []
    assignments = [each for each in found if each is not None]
    rebinds = _assigns(ctx.statement(put), operand.value)
    end = ctx.tree.ends[ctx.tree.index(line)]
    for use in ctx.names.uses(operand.value, ctx.names.scope(operand)):
        is_made = any(each.targets[0].target is use for each in assignments)
        is_after = rebinds and ctx.tree.index(use) > end
        is_put = ctx.tree.is_inside(use, line) and (use is operand or is_assigned(use, ctx))
        if not (is_made or is_after or is_put) or ctx.names.scope(use) is not ctx.names.scope(put):
            return []
    return [each.value for each in assignments]


def _branches(node: cst.CSTNode | None) -> list[cst.BaseSuite | None]:
    """Return the bodies of an `if` or a `match`; None among them: it may execute none of them."""
    found: list[cst.BaseSuite | None] = []
    while isinstance(node, cst.If):
        found.append(node.body)
        node = node.orelse
        if node is None:
            found.append(None)
    if isinstance(node, cst.Else):
        found.append(node.body)
    if isinstance(node, cst.Match):
        found += [case.body for case in node.cases]
        last = node.cases[-1] if node.cases else None
        is_any = last is not None and last.guard is None and isinstance(last.pattern, cst.MatchAs)
        if not is_any or last is None or last.pattern.pattern is not None:  # type: ignore[attr-defined]
            found.append(None)
    return found


def _last_assignment(body: cst.BaseSuite, name: str) -> cst.Assign | None:
    last = body.body[-1] if isinstance(body, cst.IndentedBlock) and body.body else None
    return _assignment_of(last, name)


def _assignment_of(line: cst.CSTNode | None, name: str) -> cst.Assign | None:
    """Return the assignment to a name that is all that a line does."""
    only = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    is_one = isinstance(only, cst.Assign) and len(only.targets) == 1
    return only if isinstance(only, cst.Assign) and is_one and _assigns(only, name) else None


def tree_of_leaf(leaf: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return the tree whose leaves a name of a comprehension stands for, one after another.

    The tree is a list in `[f(x) for x in tree]`, and a dict in `{k: f(x) for k, x in
    tree.items()}` and in `[f(x) for x in tree.values()]`. None where the name is read beside.
    """
    only = ctx.names.sole_binding(leaf)
    drawn = None if only is None else only.node
    if not isinstance(drawn, cst.CompFor) or not isinstance(leaf, cst.Name):
        return None
    target: cst.BaseExpression = drawn.target
    tree, method = drawn.iter, ""
    if isinstance(tree, cst.Call) and isinstance(tree.func, cst.Attribute) and not tree.args:
        method, tree = tree.func.attr.value, tree.func.value
    if method == "items" and isinstance(target, cst.Tuple) and len(target.elements) == 2:
        target = target.elements[1].value
    elif method not in {"", "values"}:
        return None
    if not is_named(target, leaf.value):
        return None
    uses = ctx.names.uses(leaf.value, ctx.names.scope(leaf))
    is_alone = all(use is leaf or use is target or _asks_for_shape(use, ctx) for use in uses)
    return tree if is_alone else None


def is_put_later(made: cst.Call, ctx: Context) -> bool:
    """Return whether being put is all that becomes of what a call makes and a statement assigns."""
    whole: cst.CSTNode = made
    statement = ctx.parent(made)
    while isinstance(statement, cst.BaseExpression) and creator_of(statement, ctx) is made:
        whole, statement = statement, ctx.parent(statement)
    if isinstance(statement, cst.Element):
        # `x, y = jnp.asarray(a), jnp.asarray(b)`
        statement = ctx.statement(statement)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    name = _name_given(whole, statement)
    if name is None:
        return False
    uses = ctx.names.uses(name, ctx.names.scope(made))
    after = bisect_left(uses, ctx.tree.index(made), key=ctx.tree.index)
    # What is put is the next use, or the next but one where the name is assigned again.
    for use in uses[after : after + 2]:
        tree: cst.CSTNode | None = use
        argument = ctx.parent(use)
        while isinstance(argument, cst.BaseElement | cst.BaseDictElement):
            tree = ctx.parent(argument)
            argument = None if tree is None else ctx.parent(tree)
        put = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        if (
            isinstance(put, cst.Call)
            and ctx.is_call(put, "jax.device_put")
            and Arguments(put).get(0, "x") is tree
            and len(put.args) > 1
            and made_before(use, put, ctx) is whole
        ):
            return True
    return False


def _name_given(value: cst.CSTNode, assignment: cst.Assign) -> str | None:
    """Return the name that an assignment to one target gives a value, alone or among others."""
    parts = assigned_parts(assignment.targets[0].target, assignment.value)
    names = (name for name, part in parts if part is value)
    return next((name.value for name in names if isinstance(name, cst.Name)), None)


def _is_bound_first(
    operand: cst.Name, first_uses: list[cst.Name], block: cst.CSTNode, ctx: Context
) -> bool:
    """Return whether the first mention in a block gives a name a new value, in every iteration.

    `first_uses`: the first two from the beginning of the block on.
    """
    inside = [use for use in first_uses if ctx.tree.is_inside(use, block)]
    statement = ctx.statement(inside[0]) if inside else None
    return (
        statement is not None
        and is_assigned(inside[0], ctx)
        and ctx.parent(ctx.statement_line(inside[0]) or statement) is block
        and not any(ctx.tree.is_inside(use, statement) for use in inside[1:])
        and inside[0] is not operand
    )


def _asks_for_shape(use: cst.Name, ctx: Context) -> bool:
    """Return whether a use only reads what a NumPy array of the same numbers would say, too."""
    parent = ctx.parent(use)
    return isinstance(parent, cst.Attribute) and parent.attr.value in {"ndim", "shape", "size"}


def is_assigned(use: cst.Name, ctx: Context) -> bool:
    """Return whether a name is on the left of an assignment, alone or as one of several."""
    return isinstance(assigned_by(use, ctx.tree), cst.AssignTarget | cst.AnnAssign)


def _first_from_inside(name: cst.Name, ctx: Context) -> int:
    """Return the place of the first use of a variable in another scope than this one."""
    scope = ctx.names.scope(name)
    key = (id(ctx.names.owner(name.value, scope)), name.value, id(scope))
    known = ctx.module.fact(_first_uses)
    if key not in known:
        known[key] = next(
            (
                ctx.tree.index(use)
                for use in ctx.names.uses(name.value, scope)
                if ctx.names.scope(use) is not scope
            ),
            len(ctx.tree.nodes),
        )
    return known[key]


def _first_read(name: cst.Name, ctx: Context) -> int:
    """Return which of the uses of a name is the first that no assignment makes."""
    scope = ctx.names.scope(name)
    uses = ctx.names.uses(name.value, scope)
    known = ctx.module.fact(_first_reads)
    key = (id(ctx.names.owner(name.value, scope)), name.value, id(scope))
    if key not in known:
        reads = (number for number, use in enumerate(uses) if not is_assigned(use, ctx))
        known[key] = next(reads, len(uses))
    return known[key]


def _first_reads(_facts: ModuleFacts) -> dict[tuple[int, str, int], int]:
    """Make the store of one file."""
    return {}


def _first_uses(_facts: ModuleFacts) -> dict[tuple[int, str, int], int]:
    """Make the store of one file."""
    return {}


def _reaching(name: cst.Name, ctx: Context) -> cst.BaseExpression | None:
    """Return the one expression that made all that a name may stand for."""
    pending = list(ctx.flow.value(name))
    places = set()
    while pending:
        atom = pending.pop()
        if isinstance(atom, values.Array) and atom.origin is not None:
            created = atom.origin.created
            places.add(created.node if created.module == ctx.flow.module.name else None)
        elif isinstance(atom, values.Mapping) and atom.element:
            pending += atom.element
        else:
            return None
    (place,) = places if len(places) == 1 else {None}
    made = None if place is None else ctx.tree.nodes[place]
    return made if isinstance(made, cst.BaseExpression) else None


def _assigned_just_before(name: cst.Name, ctx: Context) -> cst.BaseExpression | None:
    """Return what the last mention of a name before this one assigns to it."""
    scope = ctx.names.scope(name)
    uses = ctx.names.uses(name.value, scope)
    # The statement may assign what it puts to the same name.
    own = ctx.tree.index(ctx.statement(name))
    place = bisect_left(uses, own, key=ctx.tree.index)
    if place == 0 or ctx.names.scope(uses[place - 1]) is not scope:
        return None
    # Another function may have assigned to it in between.
    if _first_from_inside(name, ctx) < len(ctx.tree.nodes):
        return None
    statement = ctx.statement(uses[place - 1])
    return _value_for(name.value, statement, ctx)


def _value_for(name: str, statement: cst.CSTNode | None, ctx: Context) -> cst.BaseExpression | None:
    """Return what an assignment to one target gives a name: all that it assigns, or a part."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        return value_for(name, statement, ctx)
    if isinstance(statement, cst.AnnAssign) and is_named(statement.target, name):
        return statement.value
    return None


def _assigns(statement: cst.CSTNode, name: str) -> bool:
    """Return whether a statement assigns to a name, alone or beside others."""
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
    elif isinstance(statement, cst.AnnAssign):
        target = statement.target
    else:
        return False
    parts = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
    return is_named(target, name) or any(is_named(part.value, name) for part in parts)


def _block_around(line: cst.CSTNode, ctx: Context) -> tuple[cst.CSTNode | None, list[cst.Try]]:
    """Return the block that a line is in, or its `with` and `try` statements, and the latter.

    What is in these always runs with what is before them, up to an error.
    """
    block = ctx.parent(line)
    tried: list[cst.Try] = []
    while block is not None:
        around = ctx.parent(block)
        if isinstance(around, cst.Try) and around.body is block:
            tried.append(around)
        elif not isinstance(around, cst.With):
            break
        block = ctx.parent(around)
    return block, tried


def _block_around_condition(
    block: cst.CSTNode, put: cst.CSTNode, ctx: Context
) -> cst.CSTNode | None:
    """Return the block that has the `if` of which another is a branch, where it asks for what the
    call needs beside the array: `if sharding is not None: x = jax.device_put(x, sharding)`.
    """
    branch = ctx.parent(block)
    if isinstance(branch, cst.Else):
        branch = ctx.parent(branch)
    if not isinstance(branch, cst.If) or _named_in(branch.test, ctx).isdisjoint(
        _named_in(put, ctx)
    ):
        return None
    while isinstance(around := ctx.parent(branch), cst.If):
        branch = around
    return _block_around(branch, ctx)[0]


def _named_in(node: cst.CSTNode, ctx: Context) -> set[str]:
    """Return the names and the attributes that an expression reads: `sharding`, `self.mesh`."""
    found = {dotted(node)} | {dotted(n) for n in ctx.tree.every(cst.Attribute, below=node)}
    for name in ctx.tree.every(cst.Name, below=node):
        parent = ctx.parent(name)
        is_keyword = isinstance(parent, cst.Arg) and parent.keyword is name
        if not is_keyword and not isinstance(parent, cst.Attribute):
            found.add(name.value)
    return found - {""}


def _is_handled(use: cst.CSTNode, tried: list[cst.Try], ctx: Context) -> bool:
    return any(ctx.tree.is_inside(use, handler) for each in tried for handler in each.handlers)
