"""The placements of one module: the interpreter's results, as rules ask for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.environment import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    Devices,
    State,
    Variable,
    variable,
)
from placement_lint.placement.operations import Operations
from placement_lint.placement.pinned import pins_cpu
from placement_lint.placement.record import Record
from placement_lint.placement.statements import Statements
from placement_lint.placement.traced import Traced
from placement_lint.placement.values import (
    UNKNOWN,
    Array,
    Computation,
    DefaultDeviceContext,
    Device,
    DeviceList,
    Function,
    Plain,
    Target,
    TheDevice,
    Value,
)
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.record import Use
    from placement_lint.syntax.names import Names, Scope
    from placement_lint.syntax.tree import Tree

# Context managers of these packages leave the default device alone.
_NEUTRAL_PACKAGES = frozenset(sys.stdlib_module_names) | {
    "builtins", "h5py", "numpy", "pytest", "rich", "safetensors", "torch", "tqdm", "wandb",
}  # fmt: skip
_NEUTRAL_JAX = frozenset({
    "jax.named_scope", "jax.profiler", "jax.debug_nans", "jax.debug_infs", "jax.disable_jit",
    "jax.enable_x64", "jax.log_compiles", "jax.checking_leaks", "jax.check_tracer_leaks",
    "jax.default_matmul_precision", "jax.transfer_guard", "jax.transfer_guard_device_to_device",
    "jax.transfer_guard_device_to_host", "jax.transfer_guard_host_to_device",
    "jax.numpy_rank_promotion", "jax.numpy_dtype_promotion", "jax.default_prng_impl",
    "jax.ensure_compile_time_eval", "jax.experimental.enable_x64",
})  # fmt: skip
_SHARED = (TheDevice, DeviceList, Target, Function, Computation, Plain, DefaultDeviceContext)
"""What a function may know of a variable outside of it: values that no later call changes."""


class Flow:
    """What the interpreter found out about one module."""

    def __init__(self, tree: Tree, names: Names, *, accelerator: bool) -> None:
        """Interpret the module's body, then each function's. `accelerator` False: there is none."""
        self.tree = tree
        self.names = names
        self.accelerator = accelerator and not pins_cpu(tree, names)
        self.traced = Traced(tree, names)
        self.record = Record()
        self.operations = Operations(self.record, accelerator=self.accelerator)
        self._final: dict[Variable, Value] = {}
        self._callers: dict[int, Devices] = {}
        self._interpret()

    # -- answers ------------------------------------------------------------------------------

    def uses(self) -> Iterator[Use]:
        """Give every use of an array that copies it, in source order."""
        for place in sorted(self.record.uses):
            use = self.record.uses[place]
            if use.moved:
                yield use

    def value(self, node: cst.CSTNode) -> Value:
        """Give what an expression may be, all executions joined."""
        if not self.tree.contains(node):
            return UNKNOWN
        return self.record.values.get(self.tree.index(node), UNKNOWN)

    def is_array(self, node: cst.CSTNode) -> bool:
        """Tell whether an expression certainly is a JAX array."""
        held = self.value(node)
        return bool(held) and all(isinstance(atom, Array) for atom in held)

    def default_devices(self, call: cst.Call) -> Devices:
        """Give the default devices that may be in force at a call; none where it never runs."""
        seen = self.record.defaults.get(self.tree.index(call), set())
        return frozenset[Device | None]().union(*(default.devices for default in seen))

    def runs_on_system_default(self, call: cst.Call) -> bool:
        """Tell whether a call runs, and always where nobody has chosen a default device.

        Never so in a program that has no accelerator: then the system default is the host.
        """
        seen = self.record.defaults.get(self.tree.index(call), set())
        return (
            self.accelerator
            and bool(seen)
            and all(d.expression is None and d.devices == SYSTEM for d in seen)
        )

    def is_traced(self, node: cst.CSTNode) -> bool:
        """Tell whether a node runs on tracers, inside a function that JAX traces."""
        return node in self.traced

    # -- interpretation -------------------------------------------------------------------------

    def _interpret(self) -> None:
        statements = Statements(self)
        base = DefaultDevice(SYSTEM)
        end = statements.block(self.tree.module.body, State(base))
        if end is not None:
            base = end.base
            self.finish(end)
        if self._updates_in_functions():
            base = DefaultDevice(ANY_DEVICE)
        functions = [node for node in self.tree.nodes if isinstance(node, cst.FunctionDef)]
        self._functions(functions, base)
        before = {
            node: devices
            for node, devices in self._callers.items()
            if isinstance(self.tree.nodes[node], cst.FunctionDef)
        }
        if before:
            # Callers may stand below what they call: with all calls seen, once more.
            again = [node for node in functions if self.tree.index(node) in before]
            for node in again:
                self._forget(node)
            self._functions(again, base)

    def _functions(self, functions: list[cst.FunctionDef], base: DefaultDevice) -> None:
        for function in functions:
            if function in self.traced:
                continue
            callers = self._callers.get(self.tree.index(function))
            inside = base if callers is None else DefaultDevice(callers)
            decorated = self._decorated_default(function)
            state = State(decorated or inside)
            end = Statements(self).suite(function.body, state)
            if end is not None:
                self.finish(end)

    def _forget(self, function: cst.FunctionDef) -> None:
        """Drop the uses seen in a function, to see them again with more known."""
        first = self.tree.index(function)
        for place in [place for place in self.record.uses if first < place < self.tree.ends[first]]:
            del self.record.uses[place]

    def _decorated_default(self, function: cst.FunctionDef) -> DefaultDevice | None:
        """Give the default device of `@jax.default_device(d)`; None without it.

        It has no effect on the body of a generator or of an `async def`; nor does anything say on
        whose default device such a body runs.
        """
        for decorator in function.decorators:
            held = self.value(decorator.decorator)
            for atom in held:
                if isinstance(atom, DefaultDeviceContext):
                    if function.asynchronous is not None or self._is_generator(function):
                        return DefaultDevice(ANY_DEVICE)
                    return DefaultDevice(atom.devices)
        return None

    def _is_generator(self, function: cst.FunctionDef) -> bool:
        scope = self.names.scope(function.body)
        return any(
            isinstance(node, cst.Yield) and self.names.scope(node) is scope
            for node in self.tree.descendants(function)
        )

    def _updates_in_functions(self) -> bool:
        """Tell whether a function sets the default device of the whole program."""
        for node in self.tree.nodes:
            if (
                isinstance(node, cst.Call)
                and self.names.qualified(node.func) == "jax.config.update"
                and string_value(Arguments(node).get(0, "name")) == "jax_default_device"
                and any(isinstance(a, cst.FunctionDef) for a in self.tree.ancestors(node))
            ):
                return True
        return False

    # -- what statements and expressions ask --------------------------------------------------

    def finish(self, end: State) -> None:
        """Keep what holds at the end of a body, for the functions in it."""
        self._final.update(end.variables)

    def outer_value(self, owner: Scope, name: str) -> Value:
        """Give what a function knows of a variable outside of it: one bound once, to no array."""
        if len(owner.bindings.get(name, ())) != 1:
            return UNKNOWN
        held = self._final.get(variable(owner, name), UNKNOWN)
        return held if all(isinstance(atom, _SHARED) for atom in held) else UNKNOWN

    def called(self, function: int, devices: Devices) -> None:
        """Note under which default device a function of the module is called."""
        self._callers[function] = self._callers.get(function, frozenset()) | devices

    def is_neutral_context(self, node: cst.BaseExpression) -> bool:
        """Tell whether a context manager of unknown make leaves the default device alone."""
        function = node.func if isinstance(node, cst.Call) else node
        name = self.names.qualified(function)
        if name is None:
            return False
        if name.partition(".")[0] in _NEUTRAL_PACKAGES:
            return True
        return any(name == known or name.startswith(known + ".") for known in _NEUTRAL_JAX)

    def pattern_names(self, pattern: cst.CSTNode) -> Iterator[str]:
        """Give the names that a match pattern binds."""
        for node in (pattern, *self.tree.descendants(pattern)):
            if isinstance(node, cst.MatchAs | cst.MatchStar) and node.name is not None:
                yield node.name.value
            elif isinstance(node, cst.MatchMapping) and node.rest is not None:
                yield node.rest.value
