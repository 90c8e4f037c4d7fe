"""Evaluation of calls by the transfer table: one method for each effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.structures import SEQUENCES, SEQUENCES_UNASKED
from placement_lint.jaxmodel.transfer import Gives
from placement_lint.placement.domain.containers import anonymous, anonymous_outside
from placement_lint.placement.domain.contents import committed_to, map_arrays
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.places import (
    Origin,
    Place,
)
from placement_lint.placement.domain.state import SYSTEM
from placement_lint.placement.domain.transformations import Usage
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBTFUL,
    HOST,
    NONE,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Computation,
    Container,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    Optimizer,
    Partial,
    Pickled,
    Plain,
    Sequence,
    Value,
    arrays,
    join,
    value,
)
from placement_lint.placement.engine.operand_layouts import LaidOut, assembled
from placement_lint.placement.engine.pytrees import tree_of
from placement_lint.placement.facts.traced import (
    KEEPING_ARGUMENTS,
    MAPPING,
    fills_shapes,
    step_of,
    usage_of,
)
from placement_lint.placement.facts.traced_results import gives_array, row_gives_array
from placement_lint.placement.overlays.methods import is_own, ready_pieces
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.definitions import named_function

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Evaluator

_IMPORTS_FROM_DLPACK = frozenset({"jax.dlpack.from_dlpack", "jax.numpy.from_dlpack"})
"""From the host they give arrays committed there, whatever the default device (measured)."""
_NAMING_THE_DEVICE = _IMPORTS_FROM_DLPACK | {"jax.device_put"}
"""Calls that take the device as the second argument."""
_PIECE_BY_PIECE = frozenset({"jax.numpy.dstack", "jax.numpy.hstack", "jax.numpy.vstack"})
"""Operations that take uncommitted arrays to the default device first, one by one: by
`jnp.atleast_1d` and its like, which compute also where there is nothing to do (all versions)."""
_OF_ONE_TYPE = frozenset({
    "jax.numpy.column_stack", "jax.numpy.concat", "jax.numpy.concatenate", "jax.numpy.stack",
})  # fmt: skip
"""Operations that first convert, one by one, those of another type: weak ones beside others."""
_GIVING_THE_RESULT = frozenset({"jax.checkpoint", "jax.jit", "jax.remat", "jax.vmap"})
"""Transformations after which a function gives what it gave, or a stack of it."""
_FOLLOWED = (Computation, External, Function, Instance, Method, Partial)
"""What is executed where it is called in traced code."""
_PLACING_KEYWORDS = ("out_shardings", "in_shardings", "device", "backend", "out_axis_resources")


class Effects:
    """Applies the rows of the transfer table."""

    def __init__(self, expressions: Evaluator) -> None:
        """Bind to the evaluator of the body."""
        self.on = expressions
        self.names = expressions.names

    def _result_on_device(
        self,
        node: cst.Call,
        made: Value,
        device: cst.BaseExpression | None,
        names_one: bool | None,
        state: State,
    ) -> Value:
        """Commit what was made to the `device=` argument, where that names one."""
        if names_one is False:
            return made
        by = frozenset({self.on.module.place(node)})
        placed = committed_to(made, self.on.calls.devices.devices_of(device, state), by)
        return placed if names_one else join(made, placed)

    def _names_device(self, node: cst.BaseExpression | None, state: State) -> bool | None:
        """Tell whether an argument names a device; None: or it is None, which names none."""
        if node is None or is_none(node):
            return False
        held = self.on.evaluate(node, state)
        return False if held == NONE else None if held & NONE else True

    def create(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Apply a creator: its arguments are shapes and values."""
        device = arguments.get(None, "device")
        first = arguments.get(0, "a", "x", "array")
        held = self.on.argument(first, state)
        for argument in node.args:
            if argument.value is not first and argument.value is not device:
                self.on.evaluate(argument.value, state)
        weak = name == "jax.numpy.full" and arguments.get(2, "dtype") is None
        weak = weak and self._is_number(arguments.get(1, "fill_value"))
        made = self.on.operations.created(self.on.index(node), state, is_weak=weak)
        names_one = self._names_device(device, state)
        if name in transfer.LIKE_CREATORS and not names_one:
            keeps_type = arguments.get(None, "dtype") is None
            made = self._like(made, held, state, keeps_type=keeps_type)
        return self._result_on_device(node, made, device, names_one, state)

    def _like(self, made: Value, held: Value, state: State, *, keeps_type: bool) -> Value:
        """Give what a creator makes that follows a committed array to its device."""
        if self.on.supposed is not None:
            causes = self.on.supposed.followed(held, state.default.devices, copied=True)
            if causes:
                own = frozenset(a for a in held if not isinstance(a, Array) or not a.supposed)
                there = {a.device for a in held if isinstance(a, Array) and a.supposed}
                followed = map_arrays(
                    committed_to(made, there), lambda a: replace(a, origin=None, supposed=causes)
                )
                return join(followed, self._like(made, own, state, keeps_type=keeps_type))
        committed = {a.device for a in held if isinstance(a, Array) and a.committed}
        if keeps_type and any(isinstance(a, Array) and a.committed and a.is_weak for a in held):
            weak = map_arrays(made, lambda array: replace(array, is_weak=True))
            return join(weak, committed_to(weak, committed))
        if committed and all(isinstance(a, Array) and a.committed for a in held):
            return committed_to(made, committed)
        if committed or any(isinstance(a, Anything | External) for a in held):
            return join(made, DOUBTFUL)
        return made

    def _is_number(self, node: cst.BaseExpression | None) -> bool:
        """Tell whether an argument may be a Python number."""
        if node is None:
            return False
        held = self.on.record.values.get(self.on.index(node), UNKNOWN)
        return not all(isinstance(atom, Array | Host) for atom in held)

    def compute(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Apply an operation to every array among the arguments."""
        if name in {"jax.numpy.concatenate", "jax.numpy.concat"} and _has_one_element(arguments):
            self.on.arguments(node, state)
            return UNKNOWN
        operands = self.on.arguments(node, state)
        closed: list[tuple[int, Value]] = []
        for place, held in operands:
            committed = self.on.closed_over(held, state)
            if committed:
                closed.append((place, committed))
        equal = name in transfer.SHAPE_PRESERVING_WHEN_EQUAL
        if equal and arguments.positional and is_own(arguments.positional[0], node):
            return operands[0][1]
        if name in _PIECE_BY_PIECE:
            for operand in operands:
                if any(not array.committed for array in arrays(operand[1])):
                    self.on.computed(node, [operand], state)
            operands = [(place, ready_pieces(held)) for place, held in operands]
        elif name in _OF_ONE_TYPE:
            for operand in operands:
                if any(array.is_weak and not array.committed for array in arrays(operand[1])):
                    self.on.computed(node, [operand], state, certain=False)
        made = self.on.computed(node, [*operands, *closed], state, certain=not equal)
        row = transfer.TABLE[name]
        if row.gives is Gives.ARRAY:
            return made
        if row.gives is Gives.NOTHING:
            return PLAIN
        is_asked = len(operands) > 1 or bool(arguments.keywords) or arguments.is_open
        are_listed = name in SEQUENCES or (name in SEQUENCES_UNASKED and not is_asked)
        return value(Sequence(None, made)) if are_listed else tree_of(made)

    def updated(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`optax.apply_updates(params, updates)`: a tree like the first one, computed."""
        laid_out = LaidOut(self.on, node, state)
        trees = self.on.program.trees
        made = self.on.computed(node, self.on.spread(laid_out.operands, state), state)
        first = laid_out.of(0, "params", "model", "new_tensors")
        if first is None or arguments.is_open:
            return tree_of(made)
        like = assembled(first, [held for _, held in laid_out.operands])
        at = self.on.module.place(node)
        return trees.rebuilt(like, lambda _: made, at, state, is_given=True)

    def overwritten(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`nnx.update(module, state)`: the module has other arrays from then on."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        for each in held[:1]:
            self.on.targets.spoil(each, state, UNKNOWN)
        for each in held:
            self.on.escapes(each, state)
        return NONE

    def taken_apart(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`nnx.split(module)`, `eqx.partition(tree, test)`: the arrays of a tree, in others."""
        for argument in node.args:
            held = self.on.argument(argument.value, state)
            self.on.escapes(held, state)
            self.on.program.objects.take_apart(held)
        return UNKNOWN

    def identity(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Hand back the first argument."""
        operands = [self.on.argument(argument.value, state) for argument in node.args]
        return operands[0] if operands else UNKNOWN

    def convert(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jnp.asarray(x)`: the same array, or a new one on the default device."""
        first = arguments.get(0, "a")
        held = _as_arrays(self.on.argument(first, state))
        dtype = arguments.get(1, "dtype")
        device = arguments.get(None, "device")
        if dtype is not None:
            self.on.evaluate(dtype, state)
        if any(isinstance(atom, Array) for atom in held):
            if dtype is not None and first is not None:
                self.on.computed(node, [(self.on.index(first), held)], state, certain=False)
                return join(held, self.on.operations.created(self.on.index(node), state))
            if device is None:
                return held
            # Refused once the array is committed elsewhere.
            if self.on.supposed is not None:
                self.on.supposed.refused(held)
            self.on.escapes(held, state)
            return UNKNOWN
        certain = not any(isinstance(atom, Anything | External) for atom in held)
        made = self.on.operations.created(
            self.on.index(node), state, certain=certain, is_small=_is_scalar(first)
        )
        names_one = self._names_device(device, state)
        return self._result_on_device(node, made, device, names_one, state)

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
            if self.on.supposed is not None:
                for _, held in operands:
                    self.on.supposed.refused(held)
            made = self.on.operations.created(self.on.index(node), state)
            names_one = self._names_device(device, state)
            return self._result_on_device(node, made, device, names_one, state)
        if any(True for _, held in operands for _ in arrays(held)):
            return self.on.computed(node, operands, state)
        certain = not any(
            isinstance(atom, Anything | External) for _, held in operands for atom in held
        )
        return self.on.operations.created(
            self.on.index(node), state, certain=certain, is_small=_is_scalar(first)
        )

    def host(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Read arrays into NumPy."""
        operands = self.on.arguments(node, state)
        if name != "jax.device_get":
            return HOST
        for _, held in operands:
            self.on.program.objects.take_apart(held)
        return self.on.read(node, operands)

    def plain(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Look at shapes and types."""
        self.on.arguments(node, state)
        return PLAIN

    def commit(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.device_put(x, d)`; without a device, an array comes back as it is."""
        held = self.on.argument(arguments.get(0, "x", "external_array"), state)
        target = arguments.get(1, "device") if name in _NAMING_THE_DEVICE else None
        for argument in node.args[1:]:
            if argument.value is not target:
                self.on.evaluate(argument.value, state)
        if name in _IMPORTS_FROM_DLPACK and target is None and held and not arguments.is_open:
            on_host = all(isinstance(atom, Host) for atom in held)
            place = self.on.module.place(node)
            origin = Origin(place, place, None)
            made = Array(None, committed=True, origin=origin)
            if on_host:
                made = replace(made, device=Device("cpu", 0), via=frozenset({place}))
            return value(made)
        if name not in _NAMING_THE_DEVICE:
            self.on.program.objects.take_apart(held)
            return value(Array(None, committed=True))
        names_one = self._names_device(target, state)
        if names_one is False:
            if arguments.is_open:
                return UNKNOWN
            return self._put_nowhere(node, arguments.get(0, "x"), held, state)
        self.on.record.put.update(
            array.origin.created for array in arrays(held) if array.origin is not None
        )
        by = frozenset({self.on.module.place(node)})
        devices = self.on.calls.devices.devices_of(target, state)
        placed = self.on.program.trees.rebuilt(
            held,
            lambda leaf: committed_to(leaf, devices, by),
            self.on.module.place(node),
            state,
            is_put=True,
        )
        self.on.program.objects.supersede(held, placed, state)
        if names_one:
            return placed
        return join(placed, self._put_nowhere(node, arguments.get(0, "x"), held, state))

    def _put_nowhere(
        self, node: cst.Call, given: cst.BaseExpression | None, held: Value, state: State
    ) -> Value:
        """`jax.device_put(x)`: what is no array becomes one, on the default device."""
        if state.default.devices != SYSTEM:
            held = self.on.calls.objects.read(given, held, state)
        kept = frozenset(
            atom
            for atom in held
            if isinstance(atom, Array | Mapping | Sequence | AnyTree | Instance | Anything)
        )
        if len(kept) == len(held):
            return held
        made = self.on.operations.created(self.on.index(node), state)
        return join(kept, made) if kept else made

    def copied(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`copy.copy(x)`: of an array a computation, of a list another list of the same items."""
        first = arguments.get(0, "x")
        if first is None:
            return UNKNOWN
        held = self.on.argument(first, state)
        containers = frozenset(atom for atom in held if isinstance(atom, Mapping | Sequence))
        others = held - containers
        made = anonymous_outside(containers)
        if any(isinstance(atom, Array) for atom in others):
            return made | self.on.computed(node, [(self.on.index(first), others)], state)
        self.on.escapes(others, state)
        return made | UNKNOWN if others else made

    def deep_copied(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`copy.deepcopy(x)`: of each array in it a computation, in containers like those of x."""
        first = arguments.get(0, "x")
        if first is None:
            return UNKNOWN
        held = self.on.argument(first, state)
        self.on.escapes(frozenset(a for a in held if not isinstance(a, Array)), state)

        def copied(array: Array) -> Atom:
            made = self.on.computed(node, [(self.on.index(first), value(array))], state)
            return next(iter(made)) if len(made) == 1 else ANYTHING

        made = map_arrays(anonymous(held), copied)
        return made if all(map(_is_of_arrays, held)) else UNKNOWN

    def remade(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`pickle.loads(pickle.dumps(x))`, `equinox.tree_deserialise_leaves(path, x)`.

        The arrays are made anew, on the default device, uncommitted, wherever those of x are.
        """
        held = [self.on.argument(argument.value, state) for argument in node.args]
        like = held[1] if len(held) > 1 else self._pickled(*held)
        made = self.on.operations.created(self.on.index(node), state)
        if len(made) != 1:
            return UNKNOWN
        (atom,) = made
        return map_arrays(anonymous(like), lambda _: atom)

    def pickled(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`pickle.dumps(x)`."""
        held = [self.on.argument(argument.value, state) for argument in node.args]
        pickled = arguments.get(0, "obj")
        for each in held:
            self.on.escapes(frozenset(a for a in each if not isinstance(a, Array)), state)
            self.on.targets.may_change(each, state)
        return UNKNOWN if pickled is None else value(Pickled(self.on.module.place(pickled)))

    def _pickled(self, data: Value = UNKNOWN) -> Value:
        """Give what was pickled."""
        found = [
            self.on.program.modules[atom.of.module].record.values.get(atom.of.node, UNKNOWN)
            for atom in data
            if isinstance(atom, Pickled)
        ]
        return join(*found) if found and len(found) == len(data) else UNKNOWN

    def optimizer(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """`optax.adam(…)`, `optax.chain(…)`: whether it, or a part of it, keeps moments."""
        operands = self.on.arguments(node, state)
        name = self.names.qualified(node.func) or ""
        if name == "optax.chain":
            made = [a for _, held in operands for a in held if isinstance(a, Optimizer)]
            keeping = [optimizer for optimizer in made if optimizer.keeps_moments]
            return value(keeping[0] if keeping else Optimizer(name, keeps_moments=False))
        momentum = arguments.get(1, "momentum")
        keeps = name != "optax.sgd" or not (momentum is None or is_none(momentum))
        return value(Optimizer(name, keeps))

    def key(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Make or derive a PRNG key."""
        operands = self.on.arguments(node, state)
        committed = [a for _, held in operands for a in arrays(held) if a.committed]
        if committed:
            if self.on.supposed is not None:
                self.on.supposed.followed(frozenset(committed), state.default.devices)
            made = value(
                *[
                    Array(a.device, committed=True, is_small=True, via=a.via, supposed=a.supposed)
                    for a in committed
                ]
            )
        else:
            made = self.on.operations.created(self.on.index(node), state, is_small=True)
        return value(Sequence(None, made)) | made if name.endswith(".split") else made

    def sample(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Draw random numbers: where a committed key is, else on the default device."""
        operands = self.on.arguments(node, state)
        return self.on.computed(node, operands, state)

    def load(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """Read a file of arrays onto the default device."""
        self.on.arguments(node, state)
        made = self.on.operations.created(self.on.index(node), state)
        if name == "jax.numpy.load":
            path = string_value(arguments.get(0, "file"))
            if path is not None and path.endswith(".npz"):
                return value(Mapping((), HOST))
            return made if path is not None else join(made, DOUBTFUL)
        return value(Mapping((), made))

    def transform(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.jit(f)` and its like: a function that computes."""
        closure: set[Atom] = set()
        operands = dict(self.on.arguments(node, state))
        for held in operands.values():
            closure |= self.on.closed_over(held, state)
            closure.update(*(atom.closure for atom in held if isinstance(atom, Computation)))
        places = any(keyword in arguments.keywords for keyword in _PLACING_KEYWORDS)
        given = arguments.get(0, "fun", "f")
        held = UNKNOWN if given is None else operands.get(self.on.index(given), UNKNOWN)
        if isinstance(given, cst.Attribute) and given.attr.value == "init":
            # Of an optimizer that another file makes, perhaps.
            held = self.on.calls.objects.read(given, held, state)
        place = self._function(held, name)
        names = self.names
        function = named_function(given, names)
        if place is not None and function is None:
            node_of = self.on.program.node(place)
            if isinstance(node_of, cst.FunctionDef | cst.Lambda):
                function, names = node_of, self.on.program.module_of(place).names
        row = transfer.TABLE.get(names.qualified(given) or "") if given is not None else None
        alike = row is not None and row.follows
        if function is not None:
            # `vmap` runs the operations one by one: what is only handed back meets none.
            usage = usage_of(
                function, names, handed_back=name == "jax.vmap",
                keeps_arguments=name in KEEPING_ARGUMENTS and place is not None,
            )  # fmt: skip
        else:
            usage = Usage((False,)) if alike else None
        keeps_unused = "keep_unused" in arguments.keywords
        told_nothing = name in MAPPING and len(node.args) == 1
        return value(
            Computation(
                places_arguments=places or arguments.has_double_star,
                is_known=function is not None,
                usage=None if keeps_unused else usage,
                keeps_unused=keeps_unused,
                donates=any(keyword.startswith("donate") for keyword in arguments.keywords),
                changes_objects=name.startswith("flax.nnx."),
                gives_array=name in _GIVING_THE_RESULT
                and len(node.args) == 1
                and (
                    row_gives_array(row, name)
                    if function is None
                    else gives_array(function, names, name)
                ),
                closure=frozenset() if name == "jax.jit" else frozenset(closure),
                of=frozenset(atom for atom in held if isinstance(atom, _FOLLOWED)),
                steps=(step_of(name, [arguments]),),
                function=place if name in KEEPING_ARGUMENTS else None,
                fills=told_nothing
                and (alike if function is None else fills_shapes(function, names)),
                moments=self._moments(held, state) if told_nothing else None,
            )
        )

    def _function(self, held: Value, transformation: str) -> Place | None:
        """Give the function that a transformation is given.

        None for what another one gives: a jitted gradient may not depend on an argument.
        """
        if len(held) != 1:
            return None
        (atom,) = held
        if not isinstance(atom, Function):
            return None
        # What a function of another file closes over is not known; jit makes constants of it.
        here = atom.place.module == self.on.module.name
        return atom.place if here or transformation == "jax.jit" else None

    def _moments(
        self, held: Value, state: State, seen: frozenset[Place] = frozenset()
    ) -> str | None:
        """Give the optimizer of which a function, `init` or one that calls it, makes moments."""
        if len(held) != 1:
            return None
        (atom,) = held
        if isinstance(atom, Function) and atom.place.module == self.on.module.name:
            function = self.on.program.node(atom.place)
            if not isinstance(function, cst.Lambda) or not isinstance(function.body, cst.Call):
                return None
            if atom.place in seen:
                # Functions that call one another for ever.
                return None
            called = self.on.evaluate(function.body.func, state.copy())
            return self._moments(called, state, seen | {atom.place}) if len(called) == 1 else None
        if not isinstance(atom, Optimizer) or not atom.is_init:
            return None
        return atom.name if atom.keeps_moments else None

    def distribute(self, node: cst.Call, arguments: Arguments, state: State, name: str) -> Value:
        """`jax.pmap(f)` and its like: a function that spreads its arguments on purpose."""
        self.on.arguments(node, state)
        return value(Computation(places_arguments=True))


def _as_arrays(held: Value) -> Value:
    """Give a value with what an unknown tree may be in its place, if it is an array."""
    trees = frozenset(atom for atom in held if isinstance(atom, AnyTree))
    return (held - trees).union(*(tree.leaf for tree in trees), DOUBTFUL) if trees else held


def _is_of_arrays(atom: Atom) -> bool:
    """Tell whether a thing is an array, a number, or a container of nothing else."""
    if isinstance(atom, Container):
        return all(map(_is_of_arrays, frozenset().union(*atom.parts())))
    return isinstance(atom, Array | Host | Plain)


def _is_scalar(node: cst.BaseExpression | None) -> bool:
    """Tell whether an expression is a literal number: an array of it is not worth a word."""
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.Integer | cst.Float | cst.Imaginary) or (
        isinstance(node, cst.Name) and node.value in {"True", "False"}
    )


def _has_one_element(arguments: Arguments) -> bool:
    first = arguments.get(0, "arrays")
    return isinstance(first, cst.List | cst.Tuple) and len(first.elements) == 1
