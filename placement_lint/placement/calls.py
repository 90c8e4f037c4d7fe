"""Evaluation of calls: by the transfer table, by the kind of object called, else Unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.decorators import keeps_signature
from placement_lint.placement.environment import (
    ANY_DEVICE,
    SYSTEM,
    DefaultDevice,
    Devices,
    State,
    meet,
    variable,
)
from placement_lint.placement.record import UseKind
from placement_lint.placement.traced import unused_parameters
from placement_lint.placement.values import (
    ANYTHING,
    HOST,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    Array,
    Class,
    Computation,
    Context,
    Coroutine,
    DefaultDeviceContext,
    Device,
    DeviceList,
    ExitStack,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Partial,
    Place,
    Plain,
    Sequence,
    Target,
    TensorFile,
    TheDevice,
    Value,
    arrays,
    committed_to,
    element_of,
    join,
    limited,
    value,
)
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.expressions import Expressions
    from placement_lint.placement.program import Program

Operand = tuple[int, Value]

_SUPER = "builtins.super"
_PLACING_KEYWORDS = ("out_shardings", "in_shardings", "device", "backend", "out_axis_resources")
_PLAIN_BUILTINS = frozenset({
    "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "delattr", "float", "format",
    "hasattr", "hash", "hex", "id", "input", "int", "isinstance", "issubclass", "len", "oct",
    "open", "ord", "print", "range", "repr", "round", "setattr", "slice", "str", "type",
})  # fmt: skip
_NEUTRAL = (Context, ExitStack, Plain, Host, Array, TensorFile)
"""What changes no default device where it is entered."""

_TEXT_PLATFORMS = frozenset({"cpu", "gpu", "tpu"})


class Calls:
    """Evaluates the calls of one body."""

    def __init__(self, expressions: Expressions) -> None:
        """Bind to the evaluator of the body's other expressions."""
        self.on = expressions
        self.names = expressions.names
        self._special: dict[str, Callable[[cst.Call, Arguments, State], Value]] = {
            "jax.default_device": self.default_device,
            "jax.devices": self.devices,
            "jax.local_devices": self.local_devices,
            "jax.config.update": self.config_update,
            "jax.numpy.array": self.array,
            "contextlib.nullcontext": self.null_context,
            "contextlib.ExitStack": self.exit_stack,
            "contextlib.AsyncExitStack": self.exit_stack,
            "builtins.enumerate": self.enumerate_,
            "builtins.zip": self.zip_,
            "builtins.next": self.next_,
            "builtins.dict": self.dict_,
            "builtins.getattr": self.getattr_,
            "functools.partial": self.partial,
            "h5py.File": self.host_file,
            "jax.sharding.SingleDeviceSharding": self.single_device_sharding,
            "safetensors.safe_open": self.safe_open,
        }
        self._by_effect: dict[Effect, Callable[[cst.Call, Arguments, State, str], Value]] = {
            Effect.CREATE: self.create,
            Effect.COMPUTE: self.compute,
            Effect.IDENTITY: self.identity,
            Effect.CONVERT: self.convert,
            Effect.COPY: self.copy,
            Effect.HOST: self.host,
            Effect.PLAIN: self.plain,
            Effect.COMMIT: self.commit,
            Effect.KEY: self.key,
            Effect.SAMPLE: self.sample,
            Effect.LOAD: self.load,
            Effect.TRANSFORM: self.transform,
            Effect.DISTRIBUTE: self.distribute,
            Effect.TREE_MAP: self.tree_map,
        }

    # -- entry ------------------------------------------------------------------------------

    def call(self, node: cst.Call, state: State) -> Value:
        """Give what a call may return."""
        self.on.record.saw_default(self.on.index(node), state.default)
        qualified = self.names.qualified(node.func)
        arguments = Arguments(node)
        if qualified is not None:
            special = self._special.get(qualified)
            if special is not None:
                return special(node, arguments, state)
            row = transfer.TABLE.get(qualified)
            if row is not None:
                return self._by_effect[row.effect](node, arguments, state, qualified)
            if qualified.startswith("numpy."):
                return self.numpy(node, state, qualified)
            if qualified.startswith("builtins."):
                return self.builtin(node, state, qualified)
            if qualified.startswith("jax.sharding."):
                self._evaluate_arguments(node, state)
                return value(Target())
            if qualified.startswith("jax."):
                self._evaluate_arguments(node, state)
                return UNKNOWN
            if qualified == "asyncio.run" and node.args:
                return awaited(self._evaluate_argument(node.args[0].value, state))
        if isinstance(node.func, cst.Attribute) and qualified is None:
            return self.method(node, node.func, arguments, state)
        return self.object_called(node, self.on.evaluate(node.func, state), state)

    def _evaluate_arguments(self, node: cst.Call, state: State) -> list[Operand]:
        """Evaluate every argument, literal containers element by element."""
        found: list[Operand] = []
        for argument in node.args:
            if isinstance(argument.value, cst.GeneratorExp):
                held = self.on.consumed_generator(argument.value, state)
                found.append((self.on.index(argument.value), held))
            else:
                found += self.on.operands(argument.value, state)
        return found

    def _evaluate_argument(self, node: cst.BaseExpression | None, state: State) -> Value:
        if node is None:
            return UNKNOWN
        if isinstance(node, cst.GeneratorExp):
            return self.on.consumed_generator(node, state)
        return self.on.evaluate(node, state)

    # -- devices and contexts -----------------------------------------------------------------

    def devices_of(self, node: cst.BaseExpression | None, state: State) -> Devices:
        """Give the devices that an expression names; `None` is the system default."""
        if node is None:
            return ANY_DEVICE
        held = self.on.evaluate(node, state)
        if is_none(node):
            return SYSTEM
        found: set[Device | None] = set()
        for atom in held:
            if isinstance(atom, TheDevice):
                found.add(atom.device)
            elif isinstance(atom, Plain) and atom.text in _TEXT_PLATFORMS:
                found.add(Device(atom.text, 0))
            else:
                found.add(None)
        return frozenset(found)

    def default_device(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.default_device(d)`: a context, not entered yet."""
        expression = arguments.get(0, "new_val")
        devices = self.devices_of(expression, state)
        place = None if expression is None else self.on.module.place(expression)
        return value(DefaultDeviceContext(devices, place))

    def devices(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.devices(platform)`."""
        return self._device_list(arguments.get(0, "backend"), arguments, state)

    def local_devices(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.local_devices(backend=platform)`, whose first parameter is a process index."""
        if arguments.get(0, "process_index") is not None or arguments.get(2, "host_id") is not None:
            self._evaluate_arguments(node, state)
            return UNKNOWN
        return self._device_list(arguments.get(1, "backend"), arguments, state)

    def _device_list(
        self, platform: cst.BaseExpression | None, arguments: Arguments, state: State
    ) -> Value:
        if arguments.is_open:
            return UNKNOWN
        if platform is None or is_none(platform):
            return value(DeviceList(None))
        found: set[Any] = set()
        for atom in self.on.evaluate(platform, state):
            known = isinstance(atom, Plain) and atom.text is not None
            found.add(DeviceList(atom.text) if known else ANYTHING)  # type: ignore[union-attr]
        return frozenset(found)

    def single_device_sharding(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`SingleDeviceSharding(d)`: commits to one device, or to one of its memories."""
        devices = self.devices_of(arguments.get(0, "device"), state)
        return value(*[TheDevice(device) for device in devices])

    def null_context(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`contextlib.nullcontext()`."""
        self._evaluate_arguments(node, state)
        return value(Context())

    def exit_stack(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`contextlib.ExitStack()`."""
        return value(ExitStack())

    def host_file(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`h5py.File(path)`, whose items are read as NumPy arrays."""
        self._evaluate_arguments(node, state)
        return value(Host(from_file=True))

    def safe_open(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`safetensors.safe_open(path, framework)`: makes its arrays when they are asked for."""
        self._evaluate_arguments(node, state)
        framework = string_value(arguments.get(1, "framework"))
        return value(TensorFile()) if framework in {"flax", "jax"} else UNKNOWN

    def config_update(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jax.config.update("jax_default_device", d)`: the default outside of every block."""
        name = string_value(arguments.get(0, "name"))
        new = arguments.get(1, "val")
        if name == "jax_default_device":
            devices = self.devices_of(new, state)
            named = new is not None and not is_none(new)
            place = self.on.module.place(new) if named and new is not None else None
            state.base = DefaultDevice(devices, place)
        elif new is not None:
            self.on.evaluate(new, state)
        return PLAIN

    # -- the transfer table ---------------------------------------------------------------------

    def _result_on_device(
        self, made: Value, device: cst.BaseExpression | None, state: State
    ) -> Value:
        """Commit what was made to the `device=` argument, where there is one."""
        if device is None or is_none(device):
            return made
        return committed_to(made, self.devices_of(device, state))

    def create(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Apply a creator: its arguments are shapes and values."""
        device = arguments.get(None, "device")
        first = arguments.get(0, "a", "x", "array")
        held = self._evaluate_argument(first, state) if first is not None else UNKNOWN
        for argument in node.args:
            if argument.value is not first and argument.value is not device:
                self.on.evaluate(argument.value, state)
        made = self.on.operations.created(self.on.index(node), state)
        if name in transfer.LIKE_CREATORS:
            committed = {a.device for a in held if isinstance(a, Array) and a.committed}
            if committed and all(isinstance(a, Array) and a.committed for a in held):
                return committed_to(made, committed)
            if committed or any(isinstance(a, Anything) for a in held):
                made = join(made, UNKNOWN)
        return self._result_on_device(made, device, state)

    def compute(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Apply an operation to every array among the arguments."""
        if name in {"jax.numpy.concatenate", "jax.numpy.concat"} and _has_one_element(arguments):
            self._evaluate_arguments(node, state)
            return UNKNOWN
        operands = self._evaluate_arguments(node, state)
        equal = name in transfer.SHAPE_PRESERVING_WHEN_EQUAL
        if equal and arguments.positional and _is_own(arguments.positional[0], node):
            return operands[0][1]
        return self._computed(node, operands, state, certain=not equal)

    def _computed(
        self, node: cst.Call, operands: list[Operand], state: State, *, certain: bool = True
    ) -> Value:
        return self.on.operations.computed(
            self.on.index(node),
            operands,
            state,
            UseKind.COMPUTED,
            in_loop=self.on.in_loop,
            certain=certain,
        )

    def identity(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Hand back the first argument."""
        operands = [self._evaluate_argument(argument.value, state) for argument in node.args]
        return operands[0] if operands else UNKNOWN

    def convert(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jnp.asarray(x)`: the same array, or a new one on the default device."""
        first = arguments.get(0, "a")
        held = self._evaluate_argument(first, state)
        dtype = arguments.get(1, "dtype")
        device = arguments.get(None, "device")
        if dtype is not None:
            self.on.evaluate(dtype, state)
        if any(isinstance(atom, Array) for atom in held):
            if dtype is not None and first is not None:
                self._computed(node, [(self.on.index(first), held)], state, certain=False)
                return join(held, self.on.operations.created(self.on.index(node), state))
            return held if device is None else UNKNOWN
        certain = not any(isinstance(atom, Anything) for atom in held)
        made = self.on.operations.created(
            self.on.index(node), state, certain=certain, is_small=_is_scalar(first)
        )
        return self._result_on_device(made, device, state)

    def array(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`jnp.array(x)`, which copies unless it is told not to."""
        copying = arguments.get(2, "copy")
        if isinstance(copying, cst.Name) and copying.value == "False":
            return self.convert(node, arguments, state, "jax.numpy.asarray")
        return self.copy(node, arguments, state, "jax.numpy.array")

    def copy(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jnp.array(x)`, `jnp.float32(x)`: a new array, on the default device."""
        first = arguments.get(0, "object", "x")
        device = arguments.get(None, "device")
        operands = [] if first is None else self.on.operands(first, state)
        for argument in node.args:
            if argument.value is not first and argument.value is not device:
                self.on.evaluate(argument.value, state)
        if device is not None and not is_none(device):
            made = self.on.operations.created(self.on.index(node), state)
            return self._result_on_device(made, device, state)
        if any(True for _, held in operands for _ in arrays(held)):
            return self._computed(node, operands, state)
        certain = not any(isinstance(atom, Anything) for _, held in operands for atom in held)
        return self.on.operations.created(
            self.on.index(node), state, certain=certain, is_small=_is_scalar(first)
        )

    def host(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Read arrays into NumPy."""
        self._evaluate_arguments(node, state)
        return HOST

    def plain(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Look at shapes and types."""
        self._evaluate_arguments(node, state)
        return PLAIN

    def commit(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.device_put(x, d)`; without a device, an array comes back as it is."""
        held = self._evaluate_argument(arguments.get(0, "x"), state)
        target = arguments.get(1, "device") if name == "jax.device_put" else None
        for argument in node.args[1:]:
            if argument.value is not target:
                self.on.evaluate(argument.value, state)
        if name != "jax.device_put":
            return value(Array(None, committed=True))
        if target is None or is_none(target):
            if arguments.is_open:
                return UNKNOWN
            made = self.on.operations.created(self.on.index(node), state)
            kept = frozenset(
                atom for atom in held if isinstance(atom, Array | Mapping | Sequence | Anything)
            )
            if len(kept) == len(held):
                return held
            return join(kept, made) if kept else made
        return committed_to(held, self.devices_of(target, state))

    def key(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Make or derive a PRNG key."""
        operands = self._evaluate_arguments(node, state)
        committed = [a for _, held in operands for a in arrays(held) if a.committed]
        if committed:
            made = value(*[Array(a.device, committed=True, is_small=True) for a in committed])
        else:
            made = self.on.operations.created(self.on.index(node), state, is_small=True)
        return value(Sequence(None, made)) | made if name.endswith(".split") else made

    def sample(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Draw random numbers: where a committed key is, else on the default device."""
        operands = self._evaluate_arguments(node, state)
        return self._computed(node, operands, state)

    def load(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Read a file of arrays onto the default device."""
        self._evaluate_arguments(node, state)
        made = self.on.operations.created(self.on.index(node), state)
        if name == "jax.numpy.load":
            path = string_value(arguments.get(0, "file"))
            if path is not None and path.endswith(".npz"):
                return value(Mapping((), HOST))
            return made if path is not None else join(made, UNKNOWN)
        return value(Mapping((), made))

    def transform(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.jit(f)` and its like: a function that computes."""
        self._evaluate_arguments(node, state)
        places = any(keyword in arguments.keywords for keyword in _PLACING_KEYWORDS)
        function = self.on.module.traced.function_of(arguments.get(0, "fun", "f"))
        return value(
            Computation(
                places_arguments=places or arguments.has_double_star,
                is_known=function is not None,
                unused=frozenset() if function is None else unused_parameters(function),
            )
        )

    def distribute(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.pmap(f)` and its like: a function that spreads its arguments on purpose."""
        self._evaluate_arguments(node, state)
        return value(Computation(places_arguments=True))

    def tree_map(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.tree.map(f, tree)`: apply a lambda to the leaves; of another function, nothing."""
        function = self._evaluate_argument(arguments.get(0, "f"), state)
        trees = [self._evaluate_argument(tree, state) for tree in arguments.positional[1:]]
        leaves = [frozenset(arrays(tree)) or UNKNOWN for tree in trees]
        result = self.called_with(node, function, CallArguments(leaves), state)
        return value(Mapping((), result), *result)

    # -- NumPy and builtins -----------------------------------------------------------------------

    def numpy(self, node: cst.Call, state: State, qualified: str) -> Value:
        """Apply a NumPy function: most convert, some call the array's own method."""
        operands = self._evaluate_arguments(node, state)
        if qualified in transfer.NUMPY_DISPATCHING and operands:
            first = operands[0][1]
            if any(isinstance(atom, Array) for atom in first):
                return self._computed(node, operands[:1], state)
        return value(Host(from_file=qualified in transfer.NUMPY_LOADERS))

    def builtin(self, node: cst.Call, state: State, qualified: str) -> Value:
        """Apply a builtin."""
        name = qualified.removeprefix("builtins.")
        if qualified in transfer.COMPUTING_BUILTINS:
            operands = self._evaluate_arguments(node, state)
            if any(isinstance(atom, Array) for _, held in operands for atom in held):
                return self._computed(node, operands, state)
            return UNKNOWN
        if qualified not in transfer.ITERATING_BUILTINS:
            self._evaluate_arguments(node, state)
            return PLAIN if name in _PLAIN_BUILTINS else UNKNOWN
        elements: list[Value] = []
        for position, argument in enumerate(node.args):
            held = self._evaluate_argument(argument.value, state)
            takes_function = position == 0 and name in {"map", "filter"}
            if takes_function or argument.keyword is not None or argument.star:
                continue
            several = name in {"max", "min"} and len(node.args) > 1
            if several or isinstance(argument.value, cst.GeneratorExp):
                elements.append(element_of(held) or UNKNOWN)
            else:
                elements.append(self.on.iterated(argument.value, held, state))
        if name in {"all", "any"}:
            return PLAIN
        element = join(*elements) if elements else UNKNOWN
        if name in {"sum", "max", "min"}:
            return element
        return value(Sequence(None, UNKNOWN if name == "map" else element))

    def enumerate_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`enumerate(x)`."""
        first = arguments.get(0, "iterable")
        if first is None:
            return UNKNOWN
        held = self._evaluate_argument(first, state)
        element = self.on.iterated(first, held, state)
        return value(Sequence(None, value(Sequence((PLAIN, element), join(PLAIN, element)))))

    def zip_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`zip(x, y)`."""
        parts = []
        for argument in node.args:
            held = self._evaluate_argument(argument.value, state)
            if argument.keyword is None:
                parts.append(
                    UNKNOWN if argument.star else self.on.iterated(argument.value, held, state)
                )
        if arguments.is_open or not parts:
            return UNKNOWN
        return value(Sequence(None, value(Sequence(tuple(parts), join(*parts)))))

    def next_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`next(iterator)`."""
        held = [self._evaluate_argument(argument.value, state) for argument in node.args]
        return join(element_of(held[0]) or UNKNOWN, *held[1:]) if held else UNKNOWN

    def dict_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`dict(a=x, b=y)`."""
        known = {
            keyword: self.on.evaluate(argument, state)
            for keyword, argument in arguments.keywords.items()
        }
        rest = [self._evaluate_argument(argument, state) for argument in arguments.positional]
        element = UNKNOWN if arguments.is_open or rest else NOTHING
        return value(Mapping(tuple(sorted(known.items())), element))

    def getattr_(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`getattr(x, name)`."""
        self._evaluate_arguments(node, state)
        return UNKNOWN

    def partial(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`functools.partial(f, …)`: of a transformation, a decorator; of a computation, one."""
        if not node.args:
            return UNKNOWN
        passed = self.passed(node, state)
        first, passed.positional = passed.positional[:1], passed.positional[1:]
        if not first or passed.rest is not None or passed.is_open:
            return UNKNOWN
        made: set[Any] = set()
        for atom in first[0]:
            if isinstance(atom, Computation):
                made.add(atom)
            elif isinstance(atom, Function | Class | Method):
                keywords = tuple(sorted(passed.keywords.items()))
                made.add(Partial(atom, tuple(passed.positional), keywords))
            else:
                made.add(ANYTHING)
        return frozenset(made)

    # -- methods and objects ------------------------------------------------------------------------

    def method(
        self, node: cst.Call, function: cst.Attribute, arguments: Arguments, state: State
    ) -> Value:
        """Call a method of an object that is no module."""
        indexed = _at_operand(function)
        if indexed is not None:
            return self._update(node, indexed, state)
        receiver = function.value
        name = function.attr.value
        if isinstance(receiver, cst.Call) and self.names.qualified(receiver.func) == _SUPER:
            return self._super_method(node, name, state)
        held = self.on.evaluate(receiver, state)
        objects = frozenset(atom for atom in held if isinstance(atom, Instance | Class))
        found: set[Any] = set()
        if objects:
            member = self.on.program.attribute(objects, name, state)
            found |= self.object_called(node, member, state)
            held -= objects
            if not held:
                return frozenset(found)
        operands = self._evaluate_arguments(node, state)
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        if own:
            found |= self._array_method(node, receiver, held, name, arguments, operands, state)
        for atom in held:
            if isinstance(atom, Host):
                found |= _host_method(atom, name)
            elif isinstance(atom, Mapping):
                found |= _mapping_method(atom, name, node)
            elif isinstance(atom, Sequence):
                found |= self._sequence_method(receiver, atom, name, operands, state)
            elif isinstance(atom, TensorFile) and name in {"get_tensor", "get_slice"}:
                found |= self.on.operations.created(self.on.index(node), state)
            elif isinstance(atom, ExitStack):
                found |= self._exit_stack_method(name, operands, state)
            elif isinstance(atom, DefaultDeviceContext | Context) and name == "__enter__":
                state.base = DefaultDevice(ANY_DEVICE)
                state.blocks = tuple(DefaultDevice(ANY_DEVICE) for _ in state.blocks)
                found |= PLAIN
            elif not isinstance(atom, Array | Host):
                found.add(ANYTHING)
        return frozenset(found) or UNKNOWN

    def _array_method(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        name: str,
        arguments: Arguments,
        operands: list[Operand],
        state: State,
    ) -> Value:
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        if name in transfer.IDENTITY_METHODS:
            return own
        if name == "to_device":
            return committed_to(own, self.devices_of(arguments.get(0, "device"), state))
        if name in transfer.HOST_METHODS:
            return PLAIN
        equal = name in transfer.SAME_WHEN_EQUAL_METHODS
        if equal and _is_own(receiver, node):
            return own
        if name in transfer.COMPUTING_METHODS or equal:
            operand = (self.on.index(receiver), held)
            result = self._computed(node, [operand, *operands], state, certain=not equal)
            return join(own, result) if equal else result
        return UNKNOWN

    def _update(self, node: cst.Call, operand: cst.BaseExpression, state: State) -> Value:
        """`x.at[i].set(v)`."""
        function = node.func
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Subscript):
            for element in function.value.slice:
                if isinstance(element.slice, cst.Index):
                    self.on.evaluate(element.slice.value, state)
        held = self.on.operand(operand, state)
        operands = self._evaluate_arguments(node, state)
        if not any(isinstance(atom, Array) for atom in held[1]):
            return UNKNOWN
        return self._computed(node, [held, *operands], state)

    def _sequence_method(
        self,
        receiver: cst.BaseExpression,
        atom: Sequence,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Value:
        every = [*(atom.items or ()), atom.element]
        if name in {"append", "insert", "extend"} and isinstance(receiver, cst.Name) and operands:
            new = operands[-1][1]
            new = element_of(new) or UNKNOWN if name == "extend" else new
            self.on.assign(receiver, value(Sequence(None, join(*every, new))), state)
            return PLAIN
        if name == "pop":
            return join(*every) or UNKNOWN
        if name == "copy":
            return value(atom)
        return UNKNOWN

    def _exit_stack_method(self, name: str, operands: list[Operand], state: State) -> Value:
        if name in {"enter_context", "enter_async_context"} and operands:
            entered = entered_default(operands[0][1], state)
            if entered is not None:
                state.blocks = (*state.blocks, entered)
        return UNKNOWN

    # -- functions and classes of the program -----------------------------------------------------

    def passed(self, node: cst.Call, state: State) -> CallArguments:
        """Evaluate the arguments of a call, for a function of the program."""
        found = CallArguments([])
        for argument in node.args:
            held = self._evaluate_argument(argument.value, state)
            if argument.star == "*":
                known = [a.items for a in held if isinstance(a, Sequence)] if len(held) == 1 else []
                if found.rest is None and known and known[0] is not None:
                    found.positional += known[0]
                else:
                    found.rest = join(*filter(None, (found.rest, element_of(held) or UNKNOWN)))
            elif argument.star == "**":
                items = [a for a in held if isinstance(a, Mapping)] if len(held) == 1 else []
                if items and not items[0].element:
                    found.keywords.update(items[0].items)
                else:
                    found.is_open = True
            elif argument.keyword is not None:
                found.keywords[argument.keyword.value] = held
            elif found.rest is not None:
                found.rest = join(found.rest, held)
            else:
                found.positional.append(held)
        return found

    def object_called(self, node: cst.Call, held: Value, state: State) -> Value:
        """Call a value: a computation computes; a function of the program is executed."""
        computations = frozenset(atom for atom in held if isinstance(atom, Computation))
        found: set[Any] = set()
        if computations:
            operands = self._evaluate_arguments(node, state)
            for atom in sorted(computations, key=repr):
                if atom.places_arguments:
                    found.add(ANYTHING)
                    continue
                used = [o for i, o in enumerate(operands) if i not in atom.unused]
                found |= self._computed(node, used, state, certain=atom.is_known)
                found.add(ANYTHING)
        others = held - computations
        if others:
            found |= self.called_with(node, others, self.passed(node, state), state)
        return limited(frozenset(found)) or UNKNOWN

    def called_with(
        self, node: cst.CSTNode, held: Value, passed: CallArguments, state: State
    ) -> Value:
        """Call each thing that a value may be, with arguments that are evaluated already."""
        found: set[Any] = set()
        several = len(held) > 1
        ends: list[State | None] = []
        for atom in sorted(held, key=repr) if several else held:
            branch = state.copy() if several else state
            found |= self._atom_called(node, atom, passed, branch)
            ends.append(branch)
        if several:
            met = meet(ends, state.blocks)
            if met is not None:
                state.variables, state.base = met.variables, met.base
        return limited(frozenset(found)) or UNKNOWN

    def _atom_called(
        self, node: cst.CSTNode, atom: Any, passed: CallArguments, state: State
    ) -> Value:
        program = self.on.program
        if isinstance(atom, Function):
            return program.call_function(
                atom.place,
                passed.numbered(),
                state,
                rest=passed.rest,
                open_to_more=passed.is_open,
            )
        if isinstance(atom, Method):
            return self._method_called(atom.function, atom.receiver, passed, state)
        if isinstance(atom, Class):
            return self._instantiated(node, atom.place, passed, state)
        if isinstance(atom, Partial):
            inner = CallArguments(
                [*atom.positional, *passed.positional],
                dict(atom.keywords) | passed.keywords,
                passed.rest,
                is_open=passed.is_open,
            )
            return self._atom_called(node, atom.function, inner, state)
        if isinstance(atom, Instance):
            function = program.method(atom.cls, "__call__")
            if function is not None:
                return self._method_called(function, atom, passed, state)
        if isinstance(atom, External) and passed.carry_placement(program, state):
            found = program.loaded(atom, state)
            if not any(isinstance(inner, External) for inner in found):
                return self.called_with(node, found, passed, state)
        return UNKNOWN

    def _method_called(
        self, function: Place, receiver: Any, passed: CallArguments, state: State
    ) -> Value:
        numbered = passed.numbered(1)
        numbered[0] = value(receiver)
        return self.on.program.call_function(
            function,
            numbered,
            state,
            bound=True,
            rest=passed.rest,
            open_to_more=passed.is_open,
        )

    def _super_method(self, node: cst.Call, name: str, state: State) -> Value:
        """`super().method(…)`: the same object, the method of the next class."""
        passed = self.passed(node, state)
        function: cst.FunctionDef | None = None
        for ancestor in self.on.tree.ancestors(node):
            if isinstance(ancestor, cst.FunctionDef):
                function = ancestor
            elif isinstance(ancestor, cst.ClassDef):
                break
        else:
            return UNKNOWN
        if function is None or not function.params.params:
            return UNKNOWN
        scope = self.names.scope(function.body)
        first = function.params.params[0].name.value
        receivers = state.variables.get(variable(scope, first)) or UNKNOWN
        found: set[Any] = set()
        for receiver in receivers:
            after = [*self.on.program.bases(self.on.module.place(ancestor))[1:]]
            method = None
            for base in after:
                method = self.on.program.method(base, name)
                if method is not None:
                    break
            if method is None or not isinstance(receiver, Instance | Class):
                found.add(ANYTHING)
            else:
                found |= self._method_called(method, receiver, passed, state)
        return frozenset(found) or UNKNOWN

    def _instantiated(
        self, node: cst.CSTNode, cls: Place, passed: CallArguments, state: State
    ) -> Value:
        """Make an object: run its initializer, or set the fields of a dataclass."""
        program = self.on.program
        instance = Instance(cls, self.on.module.place(node))
        program.made(instance)
        before = {
            name: held
            for name in program.attribute_names(instance)
            if (held := state.variables.get((instance, name))) is not None
        }
        initializer = program.method(cls, "__init__")
        fields = program.fields(cls) if initializer is None else None
        if initializer is not None:
            self._method_called(initializer, instance, passed, state)
        elif fields is not None:
            self._set_fields(instance, fields, passed, state)
        for name, held in before.items():
            # Another object that was made here before may still be in use.
            now = state.variables.get((instance, name))
            if now is not None and now != held:
                state.variables[instance, name] = join(held, now)
        return value(instance)

    def _set_fields(
        self,
        instance: Instance,
        fields: list[tuple[str, cst.BaseExpression | None]],
        passed: CallArguments,
        state: State,
    ) -> None:
        for position, (name, default) in enumerate(fields):
            if name in passed.keywords:
                held = passed.keywords[name]
            elif position < len(passed.positional):
                held = passed.positional[position]
            elif passed.rest is not None or passed.is_open:
                held = UNKNOWN
            else:
                held = PLAIN if default is None or _is_constant(default) else UNKNOWN
            state.variables[instance, name] = held
            self.on.program.named_attribute(instance, name)
        after = self.on.program.method(instance.cls, "__post_init__")
        if after is not None:
            self._method_called(after, instance, CallArguments([]), state)

    def special(
        self, instance: Instance, name: str, positional: list[Value], state: State
    ) -> Value:
        """Call a special method of an object, as an operator does."""
        function = self.on.program.method(instance.cls, name)
        if function is None:
            return UNKNOWN
        return self._method_called(function, instance, CallArguments(positional), state)

    def iterated_instance(self, instance: Instance, state: State) -> Value:
        """Give what iterating over an object of the program gives."""
        program = self.on.program
        if program.method(instance.cls, "__iter__") is not None:
            held = self.special(instance, "__iter__", [], state)
            found: set[Any] = set()
            for atom in held:
                if isinstance(atom, Instance):
                    found |= self.special(atom, "__next__", [], state)
                elif isinstance(atom, Array):
                    found.add(ANYTHING)
                else:
                    found |= element_of(value(atom)) or UNKNOWN
            return frozenset(found) or UNKNOWN
        return self.special(instance, "__getitem__", [PLAIN], state)

    def entered_value(self, held: Value, state: State) -> Value:
        """Give what `with … as` binds."""
        found: set[Any] = set()
        for atom in held:
            if isinstance(atom, DefaultDeviceContext | Context):
                found |= atom.gives or PLAIN
            elif isinstance(atom, Instance):
                found |= self.special(atom, "__enter__", [], state)
            elif not isinstance(atom, Anything):
                found.add(atom)
        return frozenset(found) or UNKNOWN

    def decorated(self, node: cst.FunctionDef, state: State) -> Value:
        """Give what a function is after decorators of the program."""
        held = value(Function(self.on.module.place(node)))
        for decorator in reversed(node.decorators):
            if keeps_signature(self.on.module, decorator):
                continue
            made = self.on.evaluate(decorator.decorator, state)
            if not made or not all(isinstance(atom, Function | Class | Method) for atom in made):
                return UNKNOWN
            held = self.called_with(decorator.decorator, made, CallArguments([held]), state)
        return held


@dataclass
class CallArguments:
    """The arguments of a call, evaluated."""

    positional: list[Value]
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: Value | None = None
    """What further positional ones are; None: there are no more."""
    is_open: bool = False
    """There may be more keyword ones."""

    def carry_placement(self, program: Program, state: State) -> bool:
        """Tell whether an array is among them that was made under a default device."""
        every = [*self.positional, *self.keywords.values(), self.rest or UNKNOWN]
        return any(program.carries_placement(held, state) for held in every)

    def numbered(self, first: int = 0) -> dict[int | str, Value]:
        """Give them by position, counted from `first`, and by keyword."""
        found: dict[int | str, Value] = dict(enumerate(self.positional, first))
        found.update(self.keywords)
        return found


def awaited(held: Value) -> Value:
    """Give what awaiting a value gives."""
    return join(*[atom.result if isinstance(atom, Coroutine) else UNKNOWN for atom in held])


def entered_default(held: Value, state: State) -> DefaultDevice | None:
    """Give the default device inside a `with` of a value; None where it certainly stays."""
    devices: set[Device | None] = set()
    expressions: set[Place | None] = set()
    inherited = False
    for atom in held:
        if isinstance(atom, DefaultDeviceContext):
            devices |= atom.devices
            expressions.add(atom.expression)
            inherited |= atom.inherited
        elif isinstance(atom, _NEUTRAL):
            devices |= state.default.devices
            expressions.add(state.default.expression)
        else:
            devices.add(None)
            expressions.add(None)
    if all(isinstance(atom, _NEUTRAL) for atom in held):
        return None
    if len(devices) > 1:
        # Chosen at run time: it may be the accelerator's own.
        devices = {None}
    named = expressions - {None}
    expression = named.pop() if len(named) == 1 else None
    return DefaultDevice(frozenset(devices), expression, inherited)


def _at_operand(function: cst.Attribute) -> cst.BaseExpression | None:
    """Give `x` of `x.at[i].set`."""
    indexed = function.value
    if not isinstance(indexed, cst.Subscript) or not isinstance(indexed.value, cst.Attribute):
        return None
    return indexed.value.value if indexed.value.attr.value == "at" else None


def _is_constant(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer | cst.Float | cst.SimpleString) or (
        isinstance(node, cst.Name) and node.value in {"None", "True", "False"}
    )


def _host_method(atom: Host, name: str) -> Value:
    if name in {"item", "tolist", "tobytes"}:
        return PLAIN
    return value(Host(from_file=atom.from_file and name in transfer.SIZE_KEEPING_METHODS))


def _mapping_method(atom: Mapping, name: str, node: cst.Call) -> Value:
    every = join(*(held for _, held in atom.items), atom.element)
    if name == "values":
        return value(Sequence(None, every))
    if name == "items":
        return value(Sequence(None, value(Sequence((PLAIN, every), join(PLAIN, every)))))
    if name == "keys":
        return value(Sequence(None, PLAIN))
    if name in {"get", "pop", "setdefault"} and node.args:
        key = string_value(node.args[0].value)
        return element_of(value(atom), key)
    if name == "copy":
        return value(atom)
    return UNKNOWN


def _is_scalar(node: cst.BaseExpression | None) -> bool:
    """Tell whether an expression is a literal number: an array of it is not worth a word."""
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer | cst.Float | cst.Imaginary) or (
        isinstance(node, cst.Name) and node.value in {"True", "False"}
    )


def _is_own(array: cst.BaseExpression, call: cst.Call) -> bool:
    """Tell whether a call asks for the shape or the type that the array has: `x.astype(x.dtype)`.

    Then it gives back the array itself.
    """
    text = dotted(array)
    return bool(text) and any(
        dotted(argument.value) in {f"{text}.shape", f"{text}.dtype"} for argument in call.args
    )


def _has_one_element(arguments: Arguments) -> bool:
    first = arguments.get(0, "arrays")
    return isinstance(first, cst.List | cst.Tuple) and len(first.elements) == 1
