"""JDP707."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.placement.domain.devices import SYSTEM_DEFAULT
from placement_lint.prefilter.conditions import SHARDS, AllOf, AnyOf, Identifier, Jax
from placement_lint.prefilter.mesh_names import SPLITS
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.commitment_lost import is_certain
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.meshes.compiled_calls import arguments_of, kept_by, leaves_some
from placement_lint.rules.meshes.constraints import may_be_set_around
from placement_lint.rules.meshes.known_shapes import known_shape
from placement_lint.rules.meshes.shardings import may_split, name_at, split_over
from placement_lint.rules.transfers.array_sizes import (
    SMALL,
    element_count,
    has_wide_sides,
    size_text,
)
from placement_lint.semantic.enclosing import is_in_test, may_be_bound
from placement_lint.semantic.loops import loop_around, runs_in_each_iteration
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.placement.domain.sharding import Mesh, Sharding
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.names import Binding

_LOADERS = frozenset({"jax.numpy.load", "numpy.load"})
_COPIES_NUMPY = "0.7.2"
"""From here on JAX was measured to copy a NumPy argument to each device: 0.4.30 does not."""
_MAKES_A_MODEL = re.compile(
    r"(?:init|load|restore)(?:$|_(?:model|params|parameters|state|weights))"
)
"""The last name of what makes, or reads, the parameters of a model: these are large."""


class ReplicatedAtEveryCall(Rule):
    """Parameters on one device that a loop passes to a jitted function together with sharded
    arrays.

    ## What it does
    Finds an array, or a tree of arrays, that is made before a loop, is not put on the mesh, and is
    an argument of a jitted function on every iteration, together with an array that is certainly
    split over a mesh. It may be a NumPy array that nothing changes, or a dict of such arrays.

    ## Why is this bad?
    The call runs on all devices of the mesh. At every call, JAX silently copies each whole
    uncommitted argument to each device, and discards the copies after it. For 64 MB of parameters
    this takes half a second, while the computation takes a millisecond.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    predict = jax.jit(lambda params, batch: batch @ params)

    params = jnp.ones((4096, 4096))
    for path in ("a.npy", "b.npy"):
        batch = jax.device_put(np.load(path), by_row)
        print(predict(params, batch).mean())
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    by_row = NamedSharding(mesh, PartitionSpec("data"))
    predict = jax.jit(lambda params, batch: batch @ params)

    params = jnp.ones((4096, 4096))
    params = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))
    for path in ("a.npy", "b.npy"):
        batch = jax.device_put(np.load(path), by_row)
        print(predict(params, batch).mean())
    ```

    ## Fix safety
    Unsafe: each device then holds the whole array, and operations on it run on all of them.

    ## What it does not flag
    Values that the loop replaces, as in `params = step(params, batch)`: after the first call they
    are on the mesh. Arrays that are committed, or whose placement is unknown; NumPy arrays that may
    change, and all of them if a JAX before 0.7.2 is supported. Arrays of fewer than 65,536
    elements, and those that nothing says to be large: a shape of literals, or of several unknown
    sides; a file; a function named `init`, `load_params` and the like. Arguments that are donated;
    functions with `in_shardings`; calls under an `if`, or after a `continue`; calls that may run
    under `jax.set_mesh`, where arrays are made on the mesh; tests.

    ## Verified by
    The proof calls a jitted function with rows that are split over eight devices and parameters on
    one, under JAX's device-to-device transfer guard, which raises. With replicated parameters it
    does not raise.

    ## References
    - [jax-ml/jax#28372](https://github.com/jax-ml/jax/issues/28372): parameters that were put
      nowhere
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP707", "replicated-at-every-call"
    advice = (
        "Replicate it once before the loop, `jax.device_put(x, NamedSharding(mesh, "
        "PartitionSpec()))`"
    )
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        b"jit",
        SPLITS,
        AnyOf(Identifier(b"for"), Identifier(b"while")),
        SHARDS,
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        inner = loop_around(node, ctx)
        if not isinstance(inner, cst.For | cst.While) or not may_split(ctx):
            return
        taken = arguments_of(node, ctx)
        if not taken or not runs_in_each_iteration(node, inner, ctx):
            return
        if is_in_test(node, ctx) or is_pinned_to_cpu(ctx.module) or may_be_set_around(node, ctx):
            return
        if ctx.module.fact(TracedFunctions).is_traced(node):
            return
        split = [each for argument in taken if (each := _split(argument, ctx)) is not None]
        if not split or leaves_some(node, ctx):
            return
        sharding = min(split, key=str)
        kept = kept_by(node, ctx)
        for argument in taken:
            if argument not in kept:
                continue
            fix = None
            binding = _made_outside(argument, inner, ctx)
            stored = _kept(argument, ctx)
            made = stored if binding is None else binding.node
            is_assigned = binding is not None and binding.value is not None
            if made is not None:
                is_on, related = "on one device", _where_made(made, argument, is_assigned, ctx)
            elif (on_host := _unchanged(argument, inner, ctx)) is not None:
                is_on, related = "in NumPy, on the host,", on_host
                binding = ctx.names.sole_binding(argument)
                is_assigned = binding is not None and binding.value is not None
            else:
                continue
            if isinstance(argument, cst.Name) and binding is not None and is_assigned:
                fix = _plan(argument, binding, inner, sharding.mesh, ctx)
            ctx.report(
                argument,
                f"`{dotted(argument)}` is {is_on} beside an array that is split over the "
                f"{sharding}: every iteration copies all of it to all devices"
                f"{size_text(argument, ctx)}",
                confidence=Confidence.LIKELY,
                related=related,
                fix=fix,
            )


def _unchanged(
    argument: cst.BaseExpression, loop: cst.For | cst.While, ctx: Context
) -> tuple[tuple[cst.CSTNode, str, str], ...] | None:
    """Return where a large NumPy array is made that nothing changes, as a related place."""
    from placement_lint.rules.transfers.host_array_resent import made_outside

    made = made_outside(argument, loop, ctx) if ctx.target.all_reach(_COPIES_NUMPY) else None
    if made is None:
        return None
    # One array of a file with several, by its name.
    read = [each.value if isinstance(each, cst.Subscript) else each for each in made.arrays]
    if not any(_is_large(each, made.there) for each in read):
        return None
    return ((made.at, made.there.module.path, "made here, and put nowhere"),)


def _where_made(
    made: cst.CSTNode, argument: cst.BaseExpression, is_here: bool, ctx: Context
) -> tuple[tuple[cst.CSTNode, str, str], ...]:
    """Return where an argument is made, as a related place: what binds it, or the expression of
    the program that made the array, where it came from there.
    """
    from placement_lint.placement.domain.contents import arrays

    if is_here or (made is not argument and not isinstance(made, cst.Param)):
        return ((made, ctx.module.path, "made here, and put nowhere"),)
    created = {
        array.origin.created
        for array in arrays(ctx.flow.value(argument))
        if array.origin is not None
    }
    for place in sorted(created):
        there = ctx.beside(place.module)
        if there is not None:
            node = there.tree.nodes[place.node]
            return ((node, place.module, "made here, and put nowhere"),)
    return ()


def _split(argument: cst.BaseExpression, ctx: Context) -> Sharding | None:
    """Return how an argument surely is split, over several devices.

    What the loop computes of it stays on the mesh.
    """
    from placement_lint.placement.domain.values import Array

    held = ctx.flow.value(argument)
    arrays = [atom for atom in held if isinstance(atom, Array)]
    computed = [each for each in arrays if each.sharding is not None and each.sharding.spec is None]
    sharding = split_over(held - frozenset(computed))
    if sharding is None or sharding.mesh is None or sharding.mesh.number == 1:
        return None
    meshes = [each.sharding and each.sharding.mesh for each in computed]
    return sharding if all(mesh == sharding.mesh for mesh in meshes) else None


def _made_outside(
    argument: cst.BaseExpression, loop: cst.For | cst.While, ctx: Context
) -> Binding | None:
    """Return where large arrays are made that are on one device, and stay what they are."""
    held = ctx.flow.value(argument)
    if not isinstance(argument, cst.Name) or not _is_alone(held):
        return None
    binding = ctx.names.sole_binding(argument)
    if binding is None or not ctx.tree.contains(binding.node):
        return None
    if ctx.tree.is_inside(binding.node, loop):
        return None
    is_large = binding.value is not None and _is_large(binding.value, ctx)
    return binding if is_large or _has_large(held, ctx) else None


def _kept(argument: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return what makes the large arrays that an attribute of the object holds, once and for all.

    They are on one device, as far as every file of the program says.
    """
    if not isinstance(argument, cst.Attribute) or not _is_alone(ctx.flow.value(argument)):
        return None
    made = own_attribute(argument, ctx)
    is_large = made is not None and _is_large(made, ctx)
    if not is_large and not _has_large(ctx.flow.value(argument), ctx):
        return None
    name = argument.attr.value
    stores = (
        each
        for facts in ctx.module.siblings.values()
        for each in facts.tree.every(cst.AssignTarget)
        if isinstance(each.target, cst.Attribute) and each.target.attr.value == name
    )
    count = sum(1 for _ in stores)
    if made is not None:
        return made if count == 1 else None
    # Of an object of another class, or a record whose fields nobody assigns.
    return argument if count <= 1 else None


def _is_alone(held: Value) -> bool:
    """Return whether all arrays in a value surely are uncommitted on the default device."""
    from placement_lint.placement.domain.contents import arrays

    found = list(arrays(held))
    return (
        bool(found)
        and is_certain(held)
        and all(not a.committed and a.device == SYSTEM_DEFAULT and not a.is_small for a in found)
    )


def _is_large(made: cst.BaseExpression | None, ctx: Context) -> bool:
    if isinstance(made, cst.Dict | cst.List | cst.Tuple):
        return any(_is_large(element.value, ctx) for element in made.elements)
    if not isinstance(made, cst.Call):
        return False
    name = made.func.attr if isinstance(made.func, cst.Attribute) else made.func
    if isinstance(name, cst.Name) and _MAKES_A_MODEL.match(name.value):
        return True
    count = _count(made, ctx)
    if count is not None:
        return count >= SMALL
    return ctx.called(made) in _LOADERS or has_wide_sides(made, ctx)


def _count(made: cst.Call, ctx: Context) -> int | None:
    """Return the number of elements of the array that a call makes, if the program's text, or its
    settings, say its shape.
    """
    count = element_count(made, ctx)
    shape = known_shape(made, ctx) if count is None else None
    if shape is None:
        return count
    sizes = [each for each in shape if each is not None]
    return math.prod(sizes) if len(sizes) == len(shape) else None


def _has_large(held: Value, ctx: Context) -> bool:
    """Return whether one of the arrays in a value was made with a shape that is large."""
    from placement_lint.placement.domain.contents import arrays

    for array in arrays(held):
        created = None if array.origin is None else array.origin.created
        there = None if created is None else ctx.beside(created.module)
        made = None if created is None or there is None else there.tree.nodes[created.node]
        if isinstance(made, cst.Call) and there is not None:
            count = _count(made, there)
            if has_wide_sides(made, there) if count is None else count >= SMALL:
                return True
    return False


def _plan(
    name: cst.Name,
    binding: Binding,
    inner: cst.For | cst.While,
    mesh: Mesh | None,
    ctx: Context,
) -> FixPlan | None:
    """Replicate it before the outermost loop that leaves it as it is."""
    around = itertools.takewhile(
        lambda each: (
            not isinstance(each, cst.FunctionDef | cst.Lambda)
            and not ctx.tree.is_inside(binding.node, each)
        ),
        ctx.ancestors(inner),
    )
    *_, loop = (inner, *(each for each in around if isinstance(each, cst.For | cst.While)))
    spelled = [
        ctx.reach(each, at=loop)
        for each in ("jax.device_put", "jax.sharding.NamedSharding", "jax.sharding.PartitionSpec")
    ]
    known = [each for each in spelled if each is not None]
    mesh_name = None if mesh is None else name_at(loop, ctx, frozenset({mesh}))
    same_scope = ctx.names.scope(loop) is ctx.names.owner(name.value, ctx.names.scope(name))
    is_async = isinstance(loop, cst.For) and loop.asynchronous is not None
    if len(known) != len(spelled) or mesh_name is None or not same_scope or is_async:
        return None
    if ctx.tree.index(binding.node) > ctx.tree.index(loop) or not may_be_bound(name, loop, ctx):
        return None
    put, sharding, spec = known

    def build(editor: Editor) -> list[Edit]:
        start, _ = editor.spans.inner(loop)
        indent = editor.indentation(editor.source.position(start)[0])
        made = f"{put}({name.value}, {sharding}({mesh_name}, {spec}()))"
        return [editor.insert(start, f"{name.value} = {made}{editor.source.newline}{indent}")]

    message = f"Replicate it over `{mesh_name}` once, before the loop"
    return FixPlan(Applicability.UNSAFE, message, build, imports=needed(known))
