"""JDP106."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.jaxmodel.tracing import TRACINGS, TraceKind
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.transfers.putting_functions import function_called
from placement_lint.semantic.config_contexts import context_of, entered_by
from placement_lint.semantic.followed import followed
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import named_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.config_contexts import EnteredContext
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_COMPILERS = frozenset({
    "equinox.filter_jit", "equinox.filter_pmap", "flax.nnx.jit", "flax.nnx.pmap",
    "jax.experimental.pjit.pjit", "jax.jit", "jax.pmap",
})  # fmt: skip
_MOST_STEPS = 3
"""Functions that hand on what another one compiles."""
_HARMLESS_CALLS = frozenset({"functools.partial"}) | frozenset(
    row.name for row in TRACINGS.values() if row.kind is not TraceKind.ABSTRACT and row.decorates
)

_LIBRARIES = ("jax.", "numpy.")
_METHODS = frozenset({
    "_cache_size", "clear_cache", "eval_shape", "fun", "lower", "trace", "unwrap",
})  # fmt: skip
"""What compiled functions have, and the functions around them have not."""


class ConfigContextAroundDefinition(Rule):
    """A `with jax.default_device(…)` around the definition of a compiled function.

    ## What it does
    Finds `function = jax.jit(…)`, `return jax.jit(…)` and `@jax.jit` functions in the body of a
    `with jax.default_device(device):`, or of another configuration context of JAX, if the function
    is not used inside the block. The block may be entered by a context manager of the program that
    always enters such a context. So it does with `function = make()` of a function of the program
    that compiles one and does nothing else, in a block for nothing else, and `policy.compile()` of
    a method that only stores it in an attribute. A loop in the block may fill a dict with them.

    ## Why is this bad?
    `jax.jit` does not compile until the first call. By then the block has exited, so the function
    is traced and run on the caller's default device, as if the block did not exist. A function that
    should run on the CPU, because the accelerator does not support it or lacks the memory, runs on
    the accelerator.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp

    with jax.default_device(jax.devices("cpu")[0]):
        eigenvalues = jax.jit(jnp.linalg.eigvals)
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp

    eigenvalues = jax.default_device(jax.devices("cpu")[0])(jax.jit(jnp.linalg.eigvals))
    ```

    Or enter the context around the calls.

    ## Fix safety
    Unsafe: the function is wrapped in the context, which is then in effect in every call. This is
    what the block was written for, but it changes where the function runs, and the wrapper has no
    methods such as `lower`. No fix if such a method is used, or for a
    context that was created before the `with`.

    ## What it does not flag
    Functions that are used in the block: called, or lowered and compiled, which does take the
    block's device. Functions whose calls are all inside such a block, as far as the run sees.
    `jax.jit` of the result of a call (`jax.jit(make_step(params))`), since that call may make
    arrays. Functions that are not compiled.

    ## Verified by
    The proof jits a function inside the host's block, calls it outside, and finds its result on the
    accelerator. After the fix it is on the host.

    ## References
    - [facebookresearch/fmmax](https://github.com/facebookresearch/fmmax), `utils.py`: `jax.jit` of
      `jnp.linalg.eig` in a block of the CPU
    - [jax-ml/jax#24255](https://github.com/jax-ml/jax/issues/24255), with the same lines
    - Measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1, also for the matrix precision and
      `disable_jit`
    """

    code, name = "JDP106", "config-context-around-definition"
    advice = (
        "Enter the context around the calls of the function, or put its arguments on the device"
    )
    severity, fix = Severity.ERROR, Applicability.UNSAFE
    needs = AllOf(Jax(), Uses(*CONFIG_CONTEXTS))

    def visit_With(self, node: cst.With, ctx: Context) -> None:
        found = entered_by(node, ctx)
        if found is None or not isinstance(node.body, cst.IndentedBlock):
            return
        item, entered = found
        for statement in _statements(node.body):
            for made, target in _made(statement, ctx):
                if _may_be_used_inside(target, node, ctx):
                    continue
                # An object of a class of the program need not be a decorator.
                is_wrapped = not entered.is_object and not _uses_methods(target, ctx)
                plan = _plan(made, item, ctx) if is_wrapped else None
                ctx.report(made, _message(made, entered, ctx), fix=plan)
        for made, target, compiled in _made_by_functions(node.body, ctx):
            if not _may_be_used_inside(target, node, ctx):
                is_wrapped = not entered.is_object and not _uses_methods(target, ctx)
                plan = _plan(made, item, ctx) if is_wrapped else None
                ctx.report(made, _message(made, entered, ctx), fix=plan, related=[compiled])
        for call, stored, there, compiled in _stored_by_methods(node.body, ctx):
            if not _is_used_as_attribute(stored, node, there, ctx):
                ctx.report(call, _message(call, entered, ctx), related=[compiled])


def _statements(body: cst.IndentedBlock) -> Iterator[cst.BaseStatement]:
    """Yield the statements of a block, and of the loops in it."""
    for statement in body.body:
        if isinstance(statement, cst.For) and isinstance(statement.body, cst.IndentedBlock):
            yield from _statements(statement.body)
        else:
            yield statement


_Related: TypeAlias = "tuple[cst.CSTNode, str, str]"


def _made_by_functions(
    body: cst.IndentedBlock, ctx: Context
) -> list[tuple[cst.Call, cst.BaseExpression, _Related]]:
    """Return the calls of functions of the program that compile one and do nothing else.

    With what they are bound to, and where it is compiled. Nothing where a block does anything
    beside, which it may be for.
    """
    found: list[tuple[cst.Call, cst.BaseExpression, _Related]] = []
    for statement in body.body:
        part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if not isinstance(part, cst.Assign) or len(part.targets) != 1:
            return []
        call, target = part.value, part.targets[0].target
        is_text = isinstance(target, cst.Name | cst.Attribute)
        if not isinstance(call, cst.Call) or not is_text:
            return []
        if _compiles(call, ctx):
            continue
        if any(isinstance(each, cst.Call) for each in ctx.tree.descendants(call)):
            return []
        compiled = _compiled_by(call, ctx)
        if compiled is None:
            return []
        found.append((call, target, compiled))
    return found


def _compiled_by(call: cst.Call, ctx: Context, steps: int = _MOST_STEPS) -> _Related | None:
    """Return what a function of the program compiles that a call runs, if it does no more."""
    function = named_function(call.func, ctx.names)
    found = function_called(call, ctx) if function is None else (function, ctx)
    if found is None or not isinstance(found[0], cst.FunctionDef) or found[0].decorators:
        return None
    function, there = found
    body = function.body.body if isinstance(function.body, cst.IndentedBlock) else ()
    compiled: dict[str, _Related] = {}
    for statement in body:
        made = [
            (node, there.module.path, "it is compiled here") for node, _ in _made(statement, there)
        ]
        if isinstance(statement, cst.FunctionDef):
            if len(made) < len(statement.decorators):
                return None
            compiled.update((statement.name.value, each) for each in made)
            continue
        part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if isinstance(part, cst.Assign | cst.Return):
            given = made[0] if made else _handed_on(part.value, compiled, there, steps)
            if isinstance(part, cst.Return) or given is None:
                return given if isinstance(part, cst.Return) else None
            if not isinstance(part.targets[0].target, cst.Name):
                return None
            compiled[part.targets[0].target.value] = given
        elif not _is_docstring(part):
            return None
    return None


def _handed_on(
    value: cst.BaseExpression | None, compiled: dict[str, _Related], ctx: Context, steps: int
) -> _Related | None:
    """Return what was compiled that an expression is: by its name, or by a call of a function that
    compiles it.
    """
    if isinstance(value, cst.Name):
        return compiled.get(value.value)
    return _compiled_by(value, ctx, steps - 1) if isinstance(value, cst.Call) and steps else None


def _stored_by_methods(
    body: cst.IndentedBlock, ctx: Context
) -> list[tuple[cst.Call, cst.Attribute, Context, _Related]]:
    """Return the calls of methods that compile functions, store them in attributes of their object,
    and do nothing else.

    With the attribute, in the file of the method, and where it is compiled. Nothing where a block
    does anything beside, which it may be for.
    """
    found: list[tuple[cst.Call, cst.Attribute, Context, _Related]] = []
    for statement in body.body:
        part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        call = part.value if isinstance(part, cst.Expr) else None
        if not isinstance(call, cst.Call) or call.args or not isinstance(call.func, cst.Attribute):
            return []
        method = function_called(call, ctx)
        stored = None if method is None else _stored(*method)
        if not stored or method is None or method[0].decorators:
            return []
        there = method[1]
        found += [
            (call, target, there, (made, there.module.path, "it is compiled here"))
            for made, target in stored
        ]
    return found


def _stored(
    method: cst.FunctionDef, ctx: Context
) -> list[tuple[cst.BaseExpression, cst.Attribute]] | None:
    """Return what a method compiles and stores in attributes; None where it does more."""
    found: list[tuple[cst.BaseExpression, cst.Attribute]] = []
    made: list[tuple[cst.BaseExpression, cst.CSTNode | None]]
    for statement in method.body.body:
        parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [None]
        if isinstance(statement, cst.FunctionDef) and not statement.decorators:
            continue
        made = [*_made(statement, ctx)] if isinstance(statement, cst.BaseStatement) else []
        if not made and len(parts) == 1:
            made = _handed_over(parts[0], ctx)
        for compiled, target in made:
            if not isinstance(target, cst.Attribute):
                return None
            found.append((compiled, target))
        if not made and not all(map(_is_docstring, parts)):
            return None
    return found


def _handed_over(
    part: cst.BaseSmallStatement | None, ctx: Context
) -> list[tuple[cst.BaseExpression, cst.CSTNode | None]]:
    """Return the call of a function that compiles another one, and what it is assigned to."""
    if not isinstance(part, cst.Assign) or len(part.targets) != 1:
        return []
    call = part.value
    is_made = isinstance(call, cst.Call) and _compiled_by(call, ctx) is not None
    return [(call, part.targets[0].target)] if is_made else []


def _is_docstring(part: cst.BaseSmallStatement | None) -> bool:
    return isinstance(part, cst.Expr) and isinstance(part.value, cst.SimpleString)


def _is_used_as_attribute(
    stored: cst.Attribute, block: cst.With, there: Context, ctx: Context
) -> bool:
    """Return whether a function that an attribute holds is used in the block, or only in others
    like it, in any file of the program.
    """
    text = f".{stored.attr.value}"
    first = ctx.tree.index(block)
    own = ctx.module.fact(_written).get(text, [])
    if any(first <= place < ctx.tree.ends[first] for place in own):
        return True
    files = {id(each.module): each for each in (ctx, there)}
    for path in ctx.module.siblings:
        each = ctx.beside(path)
        if each is not None:
            files[id(each.module)] = each
    reads = [
        _is_read_in_blocks_only(written, each)
        for each in files.values()
        if (written := each.module.fact(_written).get(text)) and _has_reads(written, each)
    ]
    return bool(reads) and all(reads)


def _has_reads(written: list[int], ctx: Context) -> bool:
    return any(not _is_target(ctx.tree.nodes[place], ctx) for place in written)


def _message(made: cst.BaseExpression, entered: EnteredContext, ctx: Context) -> str:
    called = made.func if isinstance(made, cst.Call) else made
    compiler = ctx.name(called)
    if compiler not in _COMPILERS:
        compiler = "jax.jit"
    return (
        f"{compiler} compiles at the first call, outside of this block: {entered.spelled} "
        "has no effect on it"
    )


def _made(
    statement: cst.BaseStatement, ctx: Context
) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode | None]]:
    """Yield each compiled function that a statement defines, and what is bound to it."""
    if isinstance(statement, cst.FunctionDef):
        for decorator in statement.decorators:
            if ctx.called(decorator.decorator) in CONFIG_CONTEXTS:
                # It is in force in every call of the code below it.
                return
            tracing = ctx.module.fact(TracedFunctions).tracing(decorator.decorator)
            if tracing is not None and tracing.name in _COMPILERS:
                yield decorator.decorator, statement
                return
    if not isinstance(statement, cst.SimpleStatementLine):
        return
    for part in statement.body:
        if isinstance(part, cst.Assign) and len(part.targets) == 1:
            value: cst.BaseExpression | None = part.value
            target: cst.CSTNode | None = part.targets[0].target
        elif isinstance(part, cst.AnnAssign):
            value, target = part.value, part.target
        elif isinstance(part, cst.Return):
            value, target = part.value, None
        else:
            continue
        if isinstance(value, cst.Call) and _compiles(value, ctx):
            calls = [each for each in ctx.tree.descendants(value) if isinstance(each, cst.Call)]
            if all(
                ctx.called(call) in _HARMLESS_CALLS or _is_in_lambda(call, value, ctx)
                for call in calls
            ):
                yield value, target


def _compiles(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call is `jax.jit(f)`, or `partial(jax.jit, …)(f)`."""
    if ctx.called(call) in _COMPILERS:
        return True
    maker = call.func
    return (
        isinstance(maker, cst.Call)
        and ctx.is_call(maker, "functools.partial")
        and ctx.name(Arguments(maker).get(0, "func")) in _COMPILERS
    )


def _is_in_lambda(call: cst.Call, around: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a call is in the body of a lambda: it does not run yet."""
    between = itertools.takewhile(lambda each: each is not around, ctx.ancestors(call))
    return any(isinstance(each, cst.Lambda) for each in between)


def _may_be_used_inside(target: cst.CSTNode | None, block: cst.With, ctx: Context) -> bool:
    """Return whether a function is used in its block, or only in blocks like it."""
    if target is None:
        return False
    table = target.value if isinstance(target, cst.Subscript) else None
    text = _text(table or target)
    if text is None:
        return True
    written = ctx.module.fact(_written).get(text, [])
    first = ctx.tree.index(block)
    for number in range(bisect_left(written, first), len(written)):
        if written[number] >= ctx.tree.ends[first]:
            break
        if not ctx.tree.is_inside(ctx.tree.nodes[written[number]], target):
            return True
    if table is not None and not isinstance(followed(table, ctx), cst.Dict):
        # What is in another container already is not known.
        return True
    known = ctx.module.fact(_in_blocks)
    if text not in known:
        known[text] = _is_read_in_blocks_only(written, ctx)
    return known[text]


def _uses_methods(target: cst.CSTNode | None, ctx: Context) -> bool:
    """Return whether the file uses something of a compiled function that a wrapper lacks."""
    text = None if target is None else _text(target)
    return text is not None and text in ctx.module.fact(_with_methods)


def _with_methods(facts: ModuleFacts) -> frozenset[str]:
    """Return the names and attributes of anything of which such a method is used."""
    methods = (each for each in facts.tree.every(cst.Attribute) if each.attr.value in _METHODS)
    return frozenset(text for each in methods if (text := _text(each.value)) is not None)


def _written(facts: ModuleFacts) -> dict[str, list[int]]:
    """Return the places of each name, and of each attribute of anything but JAX and NumPy."""
    found: dict[str, list[int]] = {}
    for place, node in enumerate(facts.tree.nodes):
        text = None if isinstance(node, cst.FunctionDef) else _text(node)
        if text is not None and not (facts.names.qualified(node) or "").startswith(_LIBRARIES):
            found.setdefault(text, []).append(place)
    return found


def _in_blocks(_facts: ModuleFacts) -> dict[str, bool]:
    """Make the store of one file."""
    return {}


def _is_read_in_blocks_only(written: list[int], ctx: Context) -> bool:
    nodes = [ctx.tree.nodes[place] for place in written]
    reads = [node for node in nodes if not _is_target(node, ctx)]
    return bool(reads) and all(
        any(context_of(item.item, ctx) for item in ctx.with_items(node)) for node in reads
    )


def _is_target(node: cst.CSTNode, ctx: Context) -> bool:
    parent = ctx.parent(node)
    if isinstance(parent, cst.AnnAssign):
        return parent.target is node
    return isinstance(parent, cst.AssignTarget)


def _text(node: cst.CSTNode) -> str | None:
    """Return `name`, or `.name` of an attribute of anything."""
    if isinstance(node, cst.FunctionDef):
        return node.name.value
    if isinstance(node, cst.Name):
        return node.value
    return f".{node.attr.value}" if isinstance(node, cst.Attribute) else None


def _plan(made: cst.BaseExpression, item: cst.WithItem, ctx: Context) -> FixPlan:
    """Enter the context in every call."""
    decorator = ctx.parent(made)
    function = ctx.parent(decorator) if isinstance(decorator, cst.Decorator) else None

    def build(editor: Editor) -> list[Edit] | None:
        if editor.has_comment(editor.spans.inner(item.item)):
            return None
        context = editor.text_alone(item.item)
        if context is None:
            return None
        if isinstance(function, cst.FunctionDef):
            line = editor.line_of(function.decorators[0])
            start = editor.source.line_starts[line - 1]
            margin = editor.indentation(line)
            return [editor.insert(start, f"{margin}@{context}{editor.source.newline}")]
        return editor.wrap(made, f"{context}(", ")")

    return FixPlan(Applicability.UNSAFE, "Enter the context in every call", build)
