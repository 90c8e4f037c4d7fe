"""What a context manager does to the default device, and to the meshes in force."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.library_values import Executor, ExitStack, TensorFile
from placement_lint.placement.domain.mesh_contexts import (
    ANY_CHANGE,
    MeshChange,
    MeshesInForce,
    met,
)
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.sharding import Mesh
from placement_lint.placement.domain.state import DefaultDevice
from placement_lint.placement.domain.values import (
    Array,
    DefaultDeviceContext,
    Host,
    Plain,
    PlainContext,
    Value,
)
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.facts.module import Module

_NEUTRAL = (PlainContext, Executor, ExitStack, Plain, Host, Array, TensorFile, Mesh)
"""What changes no default device where it is entered."""
_FOLLOWED = (*_NEUTRAL, Instance)
"""What changes none but by what it executes: an object's `__enter__`."""

_NEUTRAL_PACKAGES = frozenset(sys.stdlib_module_names) | {
    "absl", "builtins", "clu", "datasets", "etils", "fsspec", "grain", "h5py", "haiku", "imageio",
    "matplotlib", "mlflow", "numpy", "orbax", "pandas", "PIL", "psutil", "pytest", "requests",
    "rich", "safetensors", "tensorboardX", "tensorflow", "tensorflow_datasets", "tensorstore",
    "torch", "tqdm", "transformers", "wandb", "zarr",
}  # fmt: skip
_OPENING = frozenset({"FileIO", "GFile", "Open", "fdopen", "open"})
"""Methods and functions that open a file, whatever the object is: a path, a file system."""
_OF_TESTS = frozenset({
    "assertLogs", "assertNoLogs", "assertRaises", "assertRaisesRegex", "assertWarns",
    "assertWarnsRegex", "subTest",
})  # fmt: skip
"""Methods of the test cases of unittest, absl and others."""
NEUTRAL_CONTEXTS = frozenset({
    "jax.checking_leaks", "jax.check_tracer_leaks", "jax.debug_infs", "jax.debug_nans",
    "jax.default_matmul_precision", "jax.default_prng_impl", "jax.disable_jit", "jax.enable_x64",
    "jax.ensure_compile_time_eval", "jax.experimental.enable_x64", "jax.log_compiles",
    "jax.named_scope", "jax.numpy_dtype_promotion", "jax.numpy_rank_promotion",
    "jax.profiler.StepTraceAnnotation", "jax.profiler.TraceAnnotation", "jax.profiler.trace",
    "jax.transfer_guard", "jax.transfer_guard_device_to_device",
    "jax.transfer_guard_device_to_host", "jax.transfer_guard_host_to_device",
})  # fmt: skip
"""JAX's functions that make a context, with another effect than on placements."""
_NEUTRAL_MODULES = ("flax.linen.", "haliax.axis_mapping.", "haliax.partitioning.axis_mapping.")


def is_neutral_context(module: Module, node: cst.BaseExpression) -> bool:
    """Return whether a context manager that is not followed leaves the default device alone."""
    if isinstance(node, cst.Name):
        bound = module.names.sole_value(node)
        node = node if bound is None else bound
    function = node.func if isinstance(node, cst.Call) else node
    if isinstance(function, cst.Attribute) and function.attr.value in _OPENING | _OF_TESTS:
        return True
    name = module.names.qualified(function) or _made_by(module, function)
    if name is None:
        return False
    if name.partition(".")[0] in _NEUTRAL_PACKAGES:
        return True
    return name in NEUTRAL_CONTEXTS or f"{name}.".startswith(_NEUTRAL_MODULES)


def _made_by(module: Module, method: cst.BaseExpression) -> str | None:
    """Return the name of what made the object of a method: `progress.timed`, where there is
    `progress = periodic_actions.ReportProgress(…)`.
    """
    receiver = method.value if isinstance(method, cst.Attribute) else None
    made = module.names.sole_value(receiver) if isinstance(receiver, cst.Name) else None
    return module.names.qualified(made.func) if isinstance(made, cst.Call) else None


def is_called_mesh(node: cst.BaseExpression) -> bool:
    """Return whether a context manager is a mesh by its name, `with self.device_mesh:`, which
    leaves the default device alone, as `jax.set_mesh(mesh)` does not.
    """
    name = dotted(node).rpartition(".")[2].lower()
    return name == "mesh" or name.endswith("_mesh")


def entered_default(held: Value) -> DefaultDevice | None:
    """Return the default device inside a `with` of a value; None where it certainly stays.

    An object is taken to be one whose `__enter__` is executed too.
    """
    devices: set[Device | None] = set()
    expressions: set[Place | None] = set()
    inherited = may_be_absent = False
    for atom in held:
        if isinstance(atom, DefaultDeviceContext):
            devices |= atom.devices
            expressions.add(atom.expression)
            inherited |= atom.inherited
        elif isinstance(atom, _FOLLOWED):
            may_be_absent = True
        else:
            devices.add(None)
            expressions.add(None)
    if not devices:
        return None
    # Where the device is chosen at run time, there is none to commit to.
    names = {place for place in expressions if place is not None}
    choices = {atom.chosen_by for atom in held if isinstance(atom, DefaultDeviceContext)}
    is_named = len(devices) == 1 and None not in expressions
    return DefaultDevice(
        frozenset(devices),
        min(names) if is_named else None,
        inherited,
        may_be_absent=may_be_absent,
        is_chosen=may_be_absent or len(devices) > 1,
        chosen_by=choices.pop() if len(choices) == 1 else None,
    )


def sets_mesh(held: Value) -> bool:
    """Return whether a value may be what `jax.set_mesh` gives."""
    return any(
        isinstance(atom, DefaultDeviceContext)
        and atom.meshes is not None
        and atom.meshes.by_set is not None
        for atom in held
    )


def entered_meshes(held: Value, now: MeshesInForce) -> MeshesInForce:
    """Return the meshes in force inside a `with` of a value."""
    entered = [_change(atom) for atom in held]
    changes = [change for change in entered if change is not None]
    if not changes:
        return now
    inside = changes[0].applied(now)
    for change in changes[1:]:
        inside = met(inside, change.applied(now))
    return inside if len(changes) == len(entered) else met(inside, now)


def changes_meshes(held: Value) -> bool:
    """Return whether a `with` of a value may change which meshes are in force, in some code."""
    return any(_change(atom) is not None for atom in held)


def _change(atom: Atom) -> MeshChange | None:
    if isinstance(atom, Mesh):
        return MeshChange(by_with=frozenset({atom}))
    if isinstance(atom, PlainContext | DefaultDeviceContext):
        return atom.meshes
    return None if isinstance(atom, _FOLLOWED) else ANY_CHANGE


def chosen_between(module: Module, node: cst.BaseExpression | None) -> Place | None:
    """Return a conditional expression of which one side leaves the default device alone.

    A device that is chosen elsewhere is mostly that of the whole program.
    """
    if not isinstance(node, cst.IfExp):
        return None
    names = [
        module.names.qualified(each.func) if isinstance(each, cst.Call) else None
        for each in (node.body, node.orelse)
    ]
    leaves_alone = is_none(node.body) or is_none(node.orelse) or "contextlib.nullcontext" in names
    return module.place(node) if leaves_alone else None


def with_choice(
    entered: DefaultDevice,
    held: Value,
    module: Module,
    node: cst.BaseExpression,
    module_of: Callable[[Place], Module],
) -> DefaultDevice:
    """Return a default device that may not be entered with the condition under which it is."""
    if not entered.may_be_absent or len(entered.devices) != 1 or None in entered.devices:
        return entered
    chosen_by = chosen_between(module, node) or _chosen_where_made(held, module_of)
    return replace(entered, chosen_by=chosen_by)


def entered_under_condition(
    entered: DefaultDevice, module: Module, node: cst.CSTNode
) -> DefaultDevice:
    """Return a default device that a call enters until later, with the `if` around the call."""
    if len(entered.devices) != 1 or None in entered.devices or entered.chosen_by is not None:
        return entered
    condition = _condition_around(module, node)
    if not isinstance(condition, cst.If) or condition.orelse is not None:
        return entered
    return replace(entered, chosen_by=module.place(condition))


def _chosen_where_made(held: Value, module_of: Callable[[Place], Module]) -> Place | None:
    """Return the condition under which a context is one of a default device, and else of nothing.

    It was made in another statement: by a function that returns one or the other, or in a branch.
    """
    contexts = [atom for atom in held if isinstance(atom, DefaultDeviceContext)]
    others = [atom for atom in held if not isinstance(atom, DefaultDeviceContext)]
    if len(contexts) != 1 or not all(isinstance(atom, PlainContext) for atom in others):
        return None
    expression = contexts[0].expression
    if expression is None:
        return None
    module = module_of(expression)
    condition = _condition_around(module, module.tree.nodes[expression.node])
    return None if condition is None else module.place(condition)


def _condition_around(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the `if` that a node is in a branch of, or that returns before it is reached."""
    below, statement = node, node
    for ancestor in module.tree.ancestors(node):
        if isinstance(ancestor, cst.If | cst.IfExp) and below is not ancestor.test:
            return ancestor
        if isinstance(ancestor, cst.FunctionDef):
            return _last_leaving(ancestor.body.body, before=statement)
        if isinstance(ancestor, cst.Lambda | cst.ClassDef | cst.Module):
            return None
        below = ancestor
        if not isinstance(ancestor, cst.BaseSuite):
            statement = ancestor
    return None


def _last_leaving(body: Iterable[cst.CSTNode], *, before: cst.CSTNode) -> cst.If | None:
    """Return the last `if` of a body before one of its statements whose branch returns."""
    found = None
    for statement in body:
        if statement is before:
            return found
        if isinstance(statement, cst.If) and _returns(statement):
            found = statement
    return None


def _returns(branch: cst.If) -> bool:
    """Return whether the body of an `if` ends with a `return`."""
    last = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Return) and branch.orelse is None


def entered_by_hand(held: Value) -> frozenset[Place]:
    """Return what identifies a context of a default device that is entered by `__enter__()`.

    That is the expression that names its device; nothing where the context is not known for sure.
    """
    if len(held) == 1:
        (atom,) = held
        if isinstance(atom, DefaultDeviceContext) and atom.expression is not None:
            return frozenset({atom.expression})
    return frozenset()
