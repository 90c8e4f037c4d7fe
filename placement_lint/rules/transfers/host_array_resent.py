"""JDP406."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Identifier, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.meshes.compiled_callers import uses_of
from placement_lint.rules.transfers.array_sizes import SMALL, element_count, size_text
from placement_lint.rules.transfers.handed_on import handed_to_compiled
from placement_lint.rules.transfers.jitted_calls import jitted
from placement_lint.rules.transfers.numpy_values import makes_numpy_array, only_reads
from placement_lint.rules.transfers.object_arrays import (
    kept_by_module,
    kept_by_object,
    uses_of_object,
    uses_of_variable,
)
from placement_lint.rules.transfers.program_callees import Callee, program_callees
from placement_lint.semantic.called_from import attributes_by_name
from placement_lint.semantic.enclosing import is_in_test, may_be_bound
from placement_lint.semantic.followed import assigned_value, bound_before
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import assigned_by, class_named
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.loops import Loop
    from placement_lint.syntax.edits import Editor

_MOST_CALLS = 16
"""Calls of a function whose arguments are looked at."""
_NOWHERE: frozenset[int] = frozenset()


class HostArrayResent(Rule):
    """A NumPy array that a loop passes to a jitted function again on every iteration.

    ## What it does
    Finds a NumPy array that is made before a loop, is never changed, and is passed to a jitted
    function on every iteration of the loop. It is bound to a name, perhaps one of another file, or
    to an attribute that the class assigns once, or a base of it, of the object or of one that it
    holds; or it is what all calls of the function around pass for a parameter. A function of the
    program may make it. It may also be a dict, a tuple or a named tuple of such arrays that is
    written out, or `dict(np.load(path))`. The call may be one of a function or a method of
    the program, of any file, that only hands the array on to a jitted one.

    ## Why is this bad?
    A NumPy array is in the host's memory. Each call copies the whole array to the device again. The
    JAX array that the call makes from it is discarded after the call.

    ## Example
    ```python
    import jax
    import numpy as np

    @jax.jit
    def step(state, table):
        return state + table.mean(axis=0)

    def train(state):
        table = np.load("table.npy")
        for _ in range(1000):
            state = step(state, table)
        return state
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    @jax.jit
    def step(state, table):
        return state + table.mean(axis=0)

    def train(state):
        table = np.load("table.npy")
        table = jax.device_put(table)
        for _ in range(1000):
            state = step(state, table)
        return state
    ```

    ## Fix safety
    Unsafe: the name then refers to a JAX array, which stays in the device's memory. No fix if the
    array belongs to another scope than the loop.

    ## What it does not flag
    Arrays that are known to have fewer than 65,536 elements. Arrays that may change: written to
    anywhere, passed to an unknown function, aliased, views of others, memory maps; a dict of which
    anything else is read. Static arguments; functions that are not certainly jitted, or whose
    arguments have shardings; calls under an `if`, or after a `continue`; a program that is pinned
    to the CPU; tests.

    ## Verified by
    The proof counts the host-to-device transfers that JAX logs: one on each of four iterations;
    after the fix, one in total.

    ## References
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html): a NumPy argument of a
      jitted function is an implicit transfer
    - Measured on JAX 0.4.30, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP406", "host-array-resent"
    advice = "Put the array on the device once, before the loop, with `jax.device_put`"
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    pedantic = True
    # What is compiled may come from another file.
    needs = AllOf(Jax(), AnyOf(Identifier(b"for"), Identifier(b"while")))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        inner = loop_around(node, ctx)
        if inner is None:
            return
        taken = handed_to_compiled(node, ctx)
        if not taken or not runs_in_each_iteration(node, inner, ctx):
            return
        if is_in_test(node, ctx) or is_pinned_to_cpu(ctx.module):
            return
        if ctx.module.fact(TracedFunctions).is_traced(node):
            return
        for argument in taken:
            made = made_outside(argument, inner, ctx)
            if made is None or not _is_first(argument, inner, ctx):
                continue
            what = "holds NumPy arrays" if made.is_tree else "is a NumPy array"
            copied = "them" if made.is_tree else "it"
            ctx.report(
                argument,
                f"`{dotted(argument)}` {what}: every iteration of the loop copies {copied} to the "
                f"device again{size_text(made.value, made.there)}",
                confidence=Confidence.LIKELY,
                related=((made.at, made.there.module.path, "made here, and never changed"),),
                fix=_plan(argument, made.at, inner, ctx) if made.there is ctx else None,
            )


class UnchangedArray(NamedTuple):
    """A NumPy array that nothing changes, or a dict of such arrays."""

    at: cst.CSTNode
    """What binds it."""
    value: cst.BaseExpression
    there: Context
    arrays: list[cst.BaseExpression]
    """What makes each."""

    @property
    def is_tree(self) -> bool:
        """Whether it is a dict of such arrays."""
        return self.arrays != [self.value]


def made_outside(
    node: cst.BaseExpression, loop: Loop | None, ctx: Context, given_to: frozenset[int] = _NOWHERE
) -> UnchangedArray | None:
    """Return where a NumPy array is made that nothing changes, and what makes it.

    It is bound to a name, or to an attribute of an object, and is not made in the loop; or it is
    what all calls of the function around pass. `given_to`: calls that do not change it.
    """
    there, at, value = ctx, None, None
    if isinstance(node, cst.Name):
        binding = ctx.names.sole_binding(node)
        if loop is not None and binding is not None and isinstance(binding.node, cst.Param):
            return _passed(node, binding.node, ctx)
        # Of several names, that is what its own one is given: `a, b = f(), g()`.
        before = bound_before(node, ctx) if binding is None else assigned_value(node, ctx)
        value = None if isinstance(before, cst.For | cst.CompFor) else before
        at = value if binding is None else binding.node
    elif isinstance(node, cst.Attribute):
        at = value = own_attribute(node, ctx) if _is_set_once(node, ctx) else None
    if value is None and isinstance(node, cst.Attribute | cst.Name):
        is_import = ctx.name(node) is not None
        kept = kept_by_module(node, ctx) if is_import else None
        if not is_import and isinstance(node, cst.Attribute):
            kept = kept_by_object(node, ctx)
        if kept is not None:
            value, there = kept
            at, there = value, ctx if there.module is ctx.module else there
    if at is None or value is None:
        return None
    if loop is not None and there is ctx and ctx.tree.is_inside(at, loop):
        return None
    arrays = _arrays_of(value, there)
    counts = [element_count(each, there) for each in arrays]
    if not arrays or (None not in counts and sum(count or 0 for count in counts) < SMALL):
        return None
    made = UnchangedArray(at, value, there, arrays)
    # What reads a part of a tree may change that.
    leaves = _is_jitted_argument if made.is_tree else _leaves
    for use, where in _uses(node, ctx):
        argument = where.parent(use)
        is_given = isinstance(argument, cst.Arg) and id(where.parent(argument)) in given_to
        if not is_given and not leaves(use, where):
            return None
    return made


def _arrays_of(value: cst.BaseExpression, ctx: Context) -> list[cst.BaseExpression]:
    """Return the NumPy arrays that a value is: itself, or those of a tree; nothing for others.

    `{"w": np.ones(shape)}`, written out, a tuple or a named one, and `dict(np.load(path))`, of
    which the whole is one.
    """
    if _is_array(value, ctx):
        return [value]
    parts = _parts_of(value, ctx)
    if parts and all(_is_array(each, ctx) for each in parts):
        return parts
    if isinstance(value, cst.Call) and ctx.is_call(value, "builtins.dict") and len(value.args) == 1:
        read = value.args[0]
        is_read = not read.star and read.keyword is None and _loads(read.value, ctx)
        return [read.value] if is_read else []
    return []


def _is_array(value: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a value is a NumPy array of its own, or one that is loaded."""
    if makes_numpy_array(value, ctx, own=True) or _loads(value, ctx):
        return True
    # Only what may be given to compiled code needs it.
    from placement_lint.rules.transfers.returned_arrays import returns_numpy_array

    return returns_numpy_array(value, ctx)


def _parts_of(value: cst.BaseExpression, ctx: Context) -> list[cst.BaseExpression]:
    """Return what is in a tree that is written out: a dict, a tuple, or a named one."""
    if isinstance(value, cst.Dict):
        arrays = [each.value for each in value.elements if isinstance(each, cst.DictElement)]
        return arrays if len(arrays) == len(value.elements) else []
    if isinstance(value, cst.List | cst.Tuple):
        arrays = [each.value for each in value.elements if isinstance(each, cst.Element)]
        return arrays if len(arrays) == len(value.elements) else []
    made = class_named(value.func, ctx.names) if isinstance(value, cst.Call) else None
    if made is None or not isinstance(value, cst.Call):
        return []
    is_record = [ctx.name(base.value) for base in made.bases] == ["typing.NamedTuple"]
    is_open = any(each.star for each in value.args)
    is_plain = is_record and not any(isinstance(each, cst.FunctionDef) for each in made.body.body)
    return [each.value for each in value.args] if is_plain and not is_open else []


def _leaves(use: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a use of an array leaves it as it is: it is read, sent to the device, or given
    to functions of the program that do no more.
    """
    if only_reads(use, ctx) or _is_jitted_argument(use, ctx):
        return True
    argument = ctx.parent(use)
    call = ctx.parent(argument) if isinstance(argument, cst.Arg) and not argument.star else None
    if not isinstance(call, cst.Call):
        return False
    callees = program_callees(call, ctx)
    parameters = [
        [name for name, value in each.by_parameter(call) if value is use] for each in callees
    ]
    return bool(callees) and all(
        len(names) == 1 and _is_left_by(each, names[0])
        for each, names in zip(callees, parameters, strict=True)
    )


def _is_left_by(callee: Callee, parameter: str) -> bool:
    there = callee.there
    return all(
        only_reads(use, there) or _is_jitted_argument(use, there)
        for use in there.names.uses(parameter, there.names.scope(callee.function.body))
        if _is_read(use, there)
    )


def _is_read(use: cst.CSTNode, ctx: Context) -> bool:
    by = assigned_by(use, ctx.tree)
    return by is None or isinstance(by, cst.AugAssign)


def _passed(name: cst.Name, param: cst.Param, ctx: Context) -> UnchangedArray | None:
    """Return a NumPy array that nothing changes and that a parameter is, if every call passes such
    a one.
    """
    function = ctx.tree.around(param, cst.FunctionDef)
    parameters = ctx.parent(param)
    if function is None or parameters is not function.params or function.decorators:
        return None
    calls = _calls_of(function, ctx)
    given_to = frozenset(id(call) for call, _ in calls)
    found = [
        None if given is None else made_outside(given, None, there, given_to)
        for call, there in calls
        for given in [dict(Callee(function, ctx).by_parameter(call)).get(name.value)]
    ]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    leaves = _is_jitted_argument if any(each.is_tree for each in known) else _leaves
    return known[0] if all(leaves(use, where) for use, where in _uses(name, ctx)) else None


def _calls_of(function: cst.FunctionDef, ctx: Context) -> list[tuple[cst.Call, Context]]:
    """Return all calls of a function, in whichever file; nothing where it may have others."""
    found: list[tuple[cst.Call, Context]] = []
    for there, use in uses_of(function, ctx):
        parent = there.parent(use)
        if isinstance(parent, cst.ImportAlias):
            continue
        is_inside = there is ctx and ctx.tree.is_inside(use, function)
        if not isinstance(parent, cst.Call) or parent.func is not use or is_inside:
            return []
        if len(found) == _MOST_CALLS or any(argument.star for argument in parent.args):
            return []
        found.append((parent, there))
    return found


def _loads(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a call reads an array from a file, perhaps one of several by its name; JAX
    takes no file of several ones.
    """
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        index = node.slice[0].slice
        is_key = isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString)
        return is_key and _loads(node.value, ctx)
    if not isinstance(node, cst.Call) or ctx.called(node) != "numpy.load":
        return False
    return not Arguments(node).may_pass(1, "mmap_mode")


def _is_set_once(attribute: cst.Attribute, ctx: Context) -> bool:
    """Return whether only one statement of the file sets an attribute of that name."""
    known = ctx.module.fact(attributes_by_name).get(attribute.attr.value, ())
    return sum(assigned_by(each, ctx.tree) is not None for each in known) == 1


def _uses(node: cst.CSTNode, ctx: Context) -> Iterator[tuple[cst.CSTNode, Context]]:
    """Yield every place that reads the same variable, or an attribute of that name in any file."""
    found: Iterable[tuple[cst.CSTNode, Context]] = ()
    if isinstance(node, cst.Attribute | cst.Name) and (imported := ctx.name(node)) is not None:
        found = uses_of_variable(imported.rpartition(".")[2], ctx)
    elif isinstance(node, cst.Name):
        found = ((each, ctx) for each in ctx.names.uses(node.value, ctx.names.scope(node)))
    elif isinstance(node, cst.Attribute):
        found = uses_of_object(node, ctx)
    yield from ((each, there) for each, there in found if _is_read(each, there))


def _is_jitted_argument(use: cst.CSTNode, ctx: Context) -> bool:
    argument = ctx.parent(use)
    call = None if argument is None else ctx.parent(argument)
    return (
        isinstance(argument, cst.Arg)
        and isinstance(call, cst.Call)
        and (
            jitted(call.func, ctx) is not None
            or any(each is use for each in handed_to_compiled(call, ctx))
        )
    )


def _is_first(argument: cst.CSTNode, loop: Loop, ctx: Context) -> bool:
    """Return whether no call of the same iteration was given the array before."""
    place = ctx.tree.index(argument)
    return not any(
        where.module is ctx.module
        and ctx.tree.index(use) < place
        and ctx.tree.is_inside(use, loop)
        and _is_jitted_argument(use, ctx)
        and loop_around(use, ctx) is loop
        and runs_in_each_iteration(use, loop, ctx)
        for use, where in _uses(argument, ctx)
    )


def _plan(name: cst.BaseExpression, made: cst.CSTNode, inner: Loop, ctx: Context) -> FixPlan | None:
    """Put the array on the device before the outermost loop that leaves it as it is."""
    if not isinstance(name, cst.Name) or not isinstance(inner, cst.For | cst.While):
        return None
    around = itertools.takewhile(
        lambda each: (
            not isinstance(each, cst.FunctionDef | cst.Lambda)
            and not ctx.tree.is_inside(made, each)
        ),
        ctx.ancestors(inner),
    )
    *_, loop = (inner, *(each for each in around if isinstance(each, cst.For | cst.While)))
    put = ctx.reach("jax.device_put", at=loop)
    same_scope = ctx.names.scope(loop) is ctx.names.owner(name.value, ctx.names.scope(name))
    if put is None or not same_scope or not may_be_bound(name, loop, ctx):
        return None
    is_async = isinstance(loop, cst.For) and loop.asynchronous is not None
    if is_async or ctx.tree.index(made) > ctx.tree.index(loop):
        return None

    def build(editor: Editor) -> list[Edit]:
        start, _ = editor.spans.inner(loop)
        indent = editor.indentation(editor.source.position(start)[0])
        line = f"{name.value} = {put}({name.value}){editor.source.newline}{indent}"
        return [editor.insert(start, line)]

    what = "Put it on the device once, before the loop"
    return FixPlan(Applicability.UNSAFE, what, build, imports=put.imports)
