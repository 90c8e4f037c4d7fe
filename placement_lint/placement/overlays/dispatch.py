"""Evaluation of calls: by name, by the transfer table, by the kind of object that is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.ecosystem import OPTIMIZERS_WITH_MOMENTS
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.containers import is_container, sited
from placement_lint.placement.domain.values import (
    UNKNOWN,
    AnyTree,
    Array,
    Context,
    DefaultDeviceContext,
    Executor,
    ExitStack,
    Future,
    Generator,
    Host,
    Mapping,
    Sequence,
    Target,
    TensorFile,
    Thread,
    Value,
    value,
)
from placement_lint.placement.engine.program_calls import ObjectCalls, awaited
from placement_lint.placement.overlays.builtins import BuiltinCalls
from placement_lint.placement.overlays.higher_order import AppliedFunctions
from placement_lint.placement.overlays.jax_control_flow import ControlFlow
from placement_lint.placement.overlays.jax_devices import DeviceCalls
from placement_lint.placement.overlays.jax_transfer import Effects
from placement_lint.placement.overlays.methods import MethodCalls
from placement_lint.placement.overlays.stdlib import (
    EXECUTORS,
    GETTERS,
    ITERATORS,
    QUEUES,
    LibraryCalls,
)
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator


LAZY_CALLS = frozenset({
    "builtins.enumerate", "builtins.filter", "builtins.iter", "builtins.map", "builtins.reversed",
    "builtins.zip", *ITERATORS,
})  # fmt: skip
"""What gives an iterator, and touches nothing before that is consumed."""


_TAKING_APART = frozenset({
    "equinox.filter", "equinox.filter_shard", "equinox.partition", "equinox.tree_at",
    "flax.jax_utils.replicate", "flax.nnx.clone", "flax.nnx.split", "flax.nnx.state",
    "flax.serialization.to_state_dict", "jax.tree.flatten_with_path",
    "jax.tree_util.tree_flatten_with_path",
})  # fmt: skip
"""What gives the arrays of an object, or others, of which the program then makes another one."""


_WITH_METHODS = (
    Array, Context, DefaultDeviceContext, Executor, ExitStack, Future, Generator, Host, Mapping,
    Sequence, TensorFile, Thread, AnyTree,
)  # fmt: skip
"""What has methods that are known here, and is no module or class."""


class Calls:
    """Evaluates the calls of one body."""

    def __init__(self, expressions: Evaluator) -> None:
        """Bind to the evaluator of the body's other expressions."""
        self.on = expressions
        self.names = expressions.names
        self.devices = devices = DeviceCalls(expressions)
        self.builtins = builtins = BuiltinCalls(expressions)
        self.objects = objects = ObjectCalls(expressions)
        self.methods = MethodCalls(expressions)
        self.applied = applied = AppliedFunctions(expressions)
        self.library = library = LibraryCalls(expressions)
        effects = Effects(expressions)
        control = ControlFlow(expressions)
        self._at_once: cst.Call | None = None
        """The call that gives the iterator which is consumed now."""
        self._by_name: dict[str, Callable[[cst.Call, Arguments, State], Value]] = {
            "builtins.dict": builtins.dict_,
            "builtins.dict.fromkeys": builtins.from_keys,
            "builtins.enumerate": builtins.enumerate_,
            "builtins.filter": applied.filter_,
            "builtins.getattr": builtins.getattr_,
            "builtins.map": applied.map_,
            "builtins.max": applied.ordered,
            "builtins.min": applied.ordered,
            "builtins.next": builtins.next_,
            "builtins.setattr": builtins.setattr_,
            "builtins.sorted": applied.ordered,
            "builtins.vars": builtins.vars_,
            "builtins.zip": builtins.zip_,
            "collections.OrderedDict": builtins.dict_,
            "collections.defaultdict": builtins.default_dict,
            "collections.deque": builtins.deque,
            "collections.namedtuple": objects.named_tuple_type,
            "contextlib.AsyncExitStack": devices.exit_stack,
            "contextlib.ExitStack": devices.exit_stack,
            "contextlib.nullcontext": devices.null_context,
            "copy.copy": effects.copied,
            "copy.deepcopy": effects.deep_copied,
            "dataclasses.replace": objects.replaced,
            "equinox.apply_updates": effects.updated,
            "equinox.tree_deserialise_leaves": effects.remade,
            "flax.nnx.update": effects.overwritten,
            "functools.partial": builtins.partial,
            "functools.reduce": applied.reduce,
            "h5py.File": devices.host_file,
            "jax.config.update": devices.config_update,
            "jax.NamedSharding": devices.named_sharding,
            "jax.P": devices.partition_spec,
            "jax.default_device": devices.default_device,
            "jax.jvp": control.derived,
            "jax.lax.associative_scan": control.associative_scan,
            "jax.lax.cond": control.cond,
            "jax.lax.fori_loop": control.fori_loop,
            "jax.lax.map": control.map_,
            "jax.lax.scan": control.scan,
            "jax.lax.switch": control.switch,
            "jax.lax.while_loop": control.while_loop,
            "jax.linearize": control.derived,
            "jax.vjp": control.derived,
            "jax.devices": devices.devices,
            "jax.local_devices": devices.local_devices,
            "jax.numpy.array": effects.array,
            "jax.sharding.NamedSharding": devices.named_sharding,
            "jax.sharding.PartitionSpec": devices.partition_spec,
            "jax.sharding.SingleDeviceSharding": devices.single_device_sharding,
            "jax.tree.flatten": applied.tree_flatten,
            "jax.tree.leaves": applied.tree_leaves,
            "jax.tree.map": applied.tree_map,
            "jax.tree_map": applied.tree_map,
            "jax.tree_util.tree_flatten": applied.tree_flatten,
            "jax.tree_util.tree_leaves": applied.tree_leaves,
            "jax.tree_util.tree_map": applied.tree_map,
            "optax.GradientTransformation": objects.transformation,
            "optax.GradientTransformationExtraArgs": objects.transformation,
            "optax.apply_updates": effects.updated,
            "optax.chain": effects.optimizer,
            "optax.incremental_update": effects.updated,
            "optax.sgd": effects.optimizer,
            "pickle.dumps": effects.pickled,
            "pickle.loads": effects.remade,
            "safetensors.safe_open": devices.safe_open,
            "typing.NamedTuple": objects.named_tuple_type,
            "asyncio.gather": library.gathered,
            "asyncio.to_thread": library.in_thread,
            "concurrent.futures.as_completed": library.completed,
            "itertools.chain.from_iterable": library.chained,
            "itertools.count": library.counted,
            "itertools.repeat": library.repeated,
            "itertools.starmap": library.starred,
            "itertools.tee": library.teed,
            **dict.fromkeys(EXECUTORS, library.executor),
            "threading.Thread": library.thread,
            **dict.fromkeys(GETTERS, library.getter),
            **dict.fromkeys(_TAKING_APART, effects.taken_apart),
            **dict.fromkeys(ITERATORS, library.iterator),
            **dict.fromkeys(OPTIMIZERS_WITH_MOMENTS, effects.optimizer),
            **dict.fromkeys(QUEUES, library.queue),
        }
        self._by_effect: dict[Effect, Callable[[cst.Call, Arguments, State, str], Value]] = {
            Effect.COMMIT: effects.commit,
            Effect.COMPUTE: effects.compute,
            Effect.CONVERT: effects.convert,
            Effect.COPY: effects.copy,
            Effect.CREATE: effects.create,
            Effect.DISTRIBUTE: effects.distribute,
            Effect.HOST: effects.host,
            Effect.IDENTITY: effects.identity,
            Effect.KEY: effects.key,
            Effect.LOAD: effects.load,
            Effect.PLAIN: effects.plain,
            Effect.SAMPLE: effects.sample,
            Effect.TRANSFORM: effects.transform,
        }

    def call(self, node: cst.Call, state: State) -> Value:
        """Give what a call may return."""
        self.on.record.saw_default(self.on.index(node), state.default)
        qualified = self.names.qualified(node.func)
        if isinstance(node.func, cst.Attribute) and self._is_of_variable(node.func, state):
            return self.methods.method(node, node.func, Arguments(node), state)
        if qualified is not None:
            held = self._library_call(node, qualified, state)
            if held is not None:
                return sited(held, self.on.targets.made(node)) if is_container(held) else held
        elif isinstance(node.func, cst.Attribute):
            return self.methods.method(node, node.func, Arguments(node), state)
        return self.objects.called(node, self.on.evaluate(node.func, state), state)

    def at_once(self, node: cst.Call, state: State) -> Value:
        """Call what gives an iterator, all of which is consumed here."""
        before, self._at_once = self._at_once, node
        try:
            return self.call(node, state)
        finally:
            self._at_once = before

    def is_at_once(self, node: cst.Call) -> bool:
        """Tell whether a call gives the iterator that is consumed now."""
        return node is self._at_once

    def gives_iterator(self, name: str) -> bool:
        """Tell whether what is called gives an iterator, and touches nothing before."""
        return name in LAZY_CALLS

    def _is_of_variable(self, function: cst.Attribute, state: State) -> bool:
        """Tell whether it is a method of an array or a container that a module of ours holds."""
        owner = self.names.qualified(function.value)
        if owner is None or not self.on.program.linking.is_in_module(self.on.module, owner):
            return False
        held = self.on.evaluate(function.value, state)
        return any(isinstance(atom, _WITH_METHODS) for atom in held)

    def _library_call(self, node: cst.Call, qualified: str, state: State) -> Value | None:
        """Call a function of JAX, NumPy or Python; None for one of another package."""
        arguments = Arguments(node)
        if qualified in LAZY_CALLS and node is not self._at_once and _is_simple(node):
            return self.on.iteration.later(node, [argument.value for argument in node.args], state)
        special = self._by_name.get(qualified)
        if special is not None:
            return special(node, arguments, state)
        row = transfer.TABLE.get(qualified)
        if row is not None:
            return self._by_effect[row.effect](node, arguments, state, qualified)
        if qualified.startswith("numpy."):
            return self.builtins.numpy(node, state, qualified)
        if qualified.startswith("builtins."):
            return self.builtins.builtin(node, state, qualified)
        if qualified.startswith("jax."):
            for _, given in self.on.arguments(node, state):
                self.on.escapes(given, state)
            return value(Target()) if qualified.startswith("jax.sharding.") else UNKNOWN
        if qualified == "asyncio.run" and node.args:
            return awaited(self.on.argument(node.args[0].value, state))
        return None


def _is_simple(node: cst.Call) -> bool:
    """Tell whether all arguments are passed by position, each evaluated to what is iterated."""
    is_sentinel = isinstance(node.func, cst.Name) and node.func.value == "iter"
    return (
        bool(node.args)
        and not (is_sentinel and len(node.args) > 1)
        and all(
            not argument.star
            and argument.keyword is None
            and not isinstance(argument.value, cst.GeneratorExp | cst.List | cst.Tuple)
            for argument in node.args
        )
    )
