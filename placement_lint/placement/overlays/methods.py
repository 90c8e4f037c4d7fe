"""Evaluation of method calls: of arrays, of containers, of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.libraries import method_of
from placement_lint.jaxmodel.reading import LOGGING_METHODS
from placement_lint.jaxmodel.sharded_operations import SPLIT_ALIKE_METHODS
from placement_lint.placement.domain.containers import (
    words_of,
)
from placement_lint.placement.domain.contents import (
    arrays,
    as_tree,
    committed_to,
    element_of,
    has_host_device,
    map_arrays,
    without_parts,
)
from placement_lint.placement.domain.library_values import (
    Executor,
    ExitStack,
    Optimizer,
    TensorFile,
)
from placement_lint.placement.domain.mesh_contexts import ANY_MESHES
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.sharding import DeviceGrid, Memory, Mesh
from placement_lint.placement.domain.state import chosen_defaults
from placement_lint.placement.domain.values import (
    DOUBT,
    DOUBTFUL,
    HOST,
    NONE,
    PLAIN,
    UNFOLLOWED,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    DefaultDeviceContext,
    Future,
    Generator,
    Host,
    LibraryMethod,
    Mapping,
    Plain,
    PlainContext,
    Sequence,
    TheDevice,
    Thread,
    Value,
    is_unfollowed,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.meshes import grid_method, in_memory, memory_of
from placement_lint.placement.engine.split_alike import split_alike
from placement_lint.placement.overlays.container_methods import ContainerMethods
from placement_lint.placement.overlays.context_methods import BY_HAND, ENTERING, ContextMethods
from placement_lint.placement.overlays.host_arrays import host_method
from placement_lint.placement.overlays.jax_devices import devices_of
from placement_lint.placement.overlays.registry import LibraryCall
from placement_lint.placement.overlays.stdlib import executed, of_future, of_thread
from placement_lint.placement.overlays.torch import tensor_method
from placement_lint.placement.overlays.tree_methods import (
    OF_COLLECTIONS,
    as_arrays,
    tree_method,
    walks_down,
)
from placement_lint.syntax.calls import Arguments, updated_array
from placement_lint.syntax.collection_methods import TEXT_METHODS
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator

_OF_DICTS = frozenset({"get", "items", "keys", "popitem", "setdefault", "update", "values"})
"""Methods of a `dict` that no array has."""
_READING = frozenset({"get", "items", "keys", "lock", "to_dict", "unlock", "unlocked", "values"})
"""Methods of settings that change none of them."""
_SUPER = "builtins.super"
_MAKING = frozenset({"init", "init_with_output", "lazy_init"})
"""Methods of models and transformed functions that make parameters."""
_TO_NUMPY = frozenset({"numpy", "to_numpy"})
"""Methods by which tensors and tables of other libraries give NumPy arrays."""


class MethodCalls:
    """Evaluates `x.method(…)` where `x` is no module."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.names = expressions.names
        self.of_containers = ContainerMethods(expressions)
        self.of_contexts = ContextMethods(expressions)

    def method(
        self, node: cst.Call, function: cst.Attribute, arguments: Arguments, state: State
    ) -> Value:
        """Call a method of an object that is no module."""
        indexed = updated_array(function)
        if indexed is not None:
            return self._update(node, indexed, state)
        receiver = function.value
        name = function.attr.value
        if isinstance(receiver, cst.Call) and self.names.qualified(receiver.func) == _SUPER:
            kept = self._kept(self.on.calls.objects.collections_of_super(node, name, state), name)
            if not kept:
                return self.on.calls.objects.super_method(node, name, state)
            held: Value = kept
        else:
            held = self.on.evaluate(receiver, state)
            owner = self.on.attribute_dicts.owner(receiver)
            if owner is not None and name == "update":
                passed = self.on.calls.objects.passed(node, state)
                self.on.attribute_dicts.updated(self.on.evaluate(owner, state), passed, state)
                return NONE
            collections = self.on.program.classes.collections
            held = collections.as_dicts(held, name, state)
            kept = self._kept(collections.inheriting(held, name), name)
        if kept:
            held = (held - kept) | self.on.program.classes.collections.items(kept, state)
        return self._of_value(node, function, held, kept, arguments, state)

    def _of_value(
        self,
        node: cst.Call,
        function: cst.Attribute,
        held: Value,
        kept: frozenset[Instance],
        arguments: Arguments,
        state: State,
    ) -> Value:
        """Call a method of what a value may be; `kept`: the objects whose items are in it."""
        receiver, name = function.value, function.attr.value
        if name in _OF_DICTS:
            # An array has no such method: what may be a tree is one.
            held = frozenset(map(as_tree, held))
        if name in _OF_DICTS and any(isinstance(atom, Mapping) for atom in held):
            # Of a leaf of a tree nobody asks for its items.
            held = frozenset(atom for atom in held if not isinstance(atom, Array))
        objects = frozenset(atom for atom in held if isinstance(atom, Instance | Class))
        found: set[Atom] = set()
        if name == "replace" and objects and all(map(self._has_replace, objects)):
            passed = self.on.calls.objects.passed(node, state)
            found |= self.on.calls.objects.like(node, objects, passed, state)
            held -= objects
            if not held:
                return frozenset(found)
        elif objects:
            member = self.on.program.classes.attribute(objects, name, state)
            self.on.record.saw_value(
                self.on.index(function), member if objects == held else member | UNKNOWN
            )
            found |= self.on.calls.objects.called(node, member, state)
            if name not in _READING:
                self.on.targets.spoil(self._namespaces(objects), state, UNKNOWN)
            held -= objects
            if not held:
                return frozenset(found)
        known = self._of_known_object(node, function, held, state)
        if known is not None:
            return known
        if any(isinstance(atom, Mapping | Sequence) for atom in held):
            # What is stored is the list or the dict itself, not what is in it.
            operands = [
                (self.on.index(a.value), self.on.argument(a.value, state)) for a in node.args
            ]
        else:
            operands = self.on.arguments(node, state)
        own = frozenset(atom for atom in held if isinstance(atom, Array))
        if own:
            found |= self._array_method(node, receiver, held, name, arguments, operands, state)
        for atom in held:
            if not isinstance(atom, Array):
                found |= self._atom_method(node, receiver, held, atom, name, operands, state)
        if any(isinstance(atom, Mapping | Sequence) for atom in held):
            self.of_containers.change(node, receiver, held, name, operands, state, kept)
            if name == "setdefault" and walks_down(node, receiver, self.on.tree):
                # What is deeper down is not told apart.
                return self.on.evaluate(receiver, state)
        return frozenset(found) or UNKNOWN

    def _of_known_object(
        self, node: cst.Call, function: cst.Attribute, held: Value, state: State
    ) -> Value | None:
        """Call a method of an object of Python or Optax; None: it is something else."""
        name, only = function.attr.value, sole(held)
        if isinstance(only, Optimizer) and name in {"init", "update"}:
            method = LibraryMethod(f"optax.GradientTransformation.{name}", only)
            return self.on.calls.library_method(node, method, None, state)
        named = frozenset(atom for atom in held if _has_member(atom, name))
        if named and all(isinstance(atom, Anything | Optimizer) for atom in held - named):
            member = self.on.program.classes.attribute(held, name, state)
            self.on.record.saw_value(self.on.index(function), member)
            return self.on.calls.objects.called(node, member, state)
        if isinstance(only, Executor):
            return executed(LibraryCall(self.on, node, state), name)
        if isinstance(only, Thread):
            return of_thread(LibraryCall(self.on, node, state), only, name)
        if isinstance(only, Generator) and name == "send":
            return self._sent(node, held, state)
        return None

    def _kept(self, instances: frozenset[Instance], name: str) -> frozenset[Instance]:
        """Return objects that are lists or dicts, for a method that those have."""
        return instances if name in OF_COLLECTIONS else frozenset()

    def _namespaces(self, held: Value) -> Value:
        """Return the objects that are only attributes, which methods of theirs may set."""
        classes = self.on.program.classes
        return frozenset(
            atom
            for atom in held
            if isinstance(atom, Instance)
            and classes.is_namespace(atom)
            and classes.library_class(atom.cls) is None
        )

    def _has_replace(self, atom: Atom) -> bool:
        """Return whether a library gives an object its method `replace`."""
        program = self.on.program
        return (
            isinstance(atom, Instance)
            and program.trees.classes.has_replace(atom.cls)
            and program.classes.method(atom.cls, "replace") is None
        )

    def _atom_method(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        atom: Atom,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Value:
        """Call a method of one thing that a value may be, which is no array."""
        known = self._method_of_data(node, atom, name, operands, state)
        if known is None:
            known = self._method_of_context(node, receiver, held, atom, name, operands, state)
        if known is None:
            known = self._method_of_others(node, receiver, held, atom, name, operands, state)
        return known

    def _method_of_data(
        self, node: cst.Call, atom: Atom, name: str, operands: list[Operand], state: State
    ) -> Value | None:
        """Call a method of something with data, or of a container; None: it is none of these."""
        if isinstance(atom, Host) and atom.from_file and name in {"item", "tolist"}:
            # An array of objects, which may be arrays of JAX.
            return UNKNOWN
        if isinstance(atom, Plain) and atom.text is not None and name == "split":
            return words_of(atom.text, operands, self.on.targets.made(node))
        if name in TEXT_METHODS and isinstance(atom, Plain) and atom.text is not None:
            if operands:
                return PLAIN
            return value(Plain(getattr(atom.text, name)()))
        if isinstance(atom, Host) and atom.is_tensor:
            return tensor_method(node, name)
        if isinstance(atom, Host):
            return host_method(atom, name)
        if isinstance(atom, DeviceGrid):
            return grid_method(
                atom,
                name,
                Arguments(node),
                self.names,
                lambda given: self.on.evaluate(given, state),
            )
        if name == "with_memory_kind" and len(operands) == 1:
            memory = memory_of(operands[0][1])
            is_one = isinstance(atom, TheDevice) and memory is Memory.DEVICE
            return value(atom if is_one else in_memory(atom, memory))
        if isinstance(atom, Mapping):
            return self.of_containers.of_mapping(atom, name, node, operands)
        if isinstance(atom, Sequence):
            return self.of_containers.of_sequence(atom, name, node, operands, state)
        if isinstance(atom, TensorFile) and name in {"get_tensor", "get_slice"}:
            if atom.is_torch is not None:
                return value(Host(is_tensor=atom.is_torch))
            self.on.record.saw_read(atom.site, self.on.module.place(node))
            return self.on.operations.created(self.on.index(node), state)
        return of_future(atom, name) if isinstance(atom, Future) else None

    def _method_of_context(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        atom: Atom,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Value | None:
        """Call a method that enters or leaves a context; None: it does neither."""
        if isinstance(atom, ExitStack):
            return self.of_contexts.of_exit_stack(node, atom, name, operands, state)
        if name in ENTERING and isinstance(atom, Anything):
            # A stack that nobody knows: what it enters stays, until the function ends.
            return self.of_contexts.of_exit_stack(node, ExitStack(), name, operands, state)
        if isinstance(atom, Mesh) and name in BY_HAND:
            self.on.program.reach.asks_meshes()
            state.meshes = ANY_MESHES
            return value(atom)
        if isinstance(atom, DefaultDeviceContext | PlainContext) and name in BY_HAND:
            return self.of_contexts.by_hand(receiver, held, name, state)
        return None

    def _method_of_others(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        atom: Atom,
        name: str,
        operands: list[Operand],
        state: State,
    ) -> Value:
        """Call a method of a tree, or of a thing of which nothing is known."""
        unfollowed = is_unfollowed(atom)
        program = self.on.program
        if ((unfollowed or name in _MAKING) and chosen_defaults(state)) or (
            unfollowed
            and any(
                has_host_device(given) or program.reach.carries_placement(given, state)
                for _, given in operands
            )
        ):
            program.linking.is_wanted = True
        for _, given in operands:
            self.on.escapes(given, state)
            if name not in LOGGING_METHODS:
                self.on.targets.may_change(given, state)
        if name in _TO_NUMPY and isinstance(atom, AnyTree) and not any(arrays(atom.leaf)):
            return HOST
        if isinstance(atom, AnyTree):
            return tree_method(self.on, node, receiver, atom, name, operands, state)
        if name == "getfixturevalue" and isinstance(atom, Anything):
            return self.on.program.fixtures.requested(self.on.module, node, state)
        if name == "as_numpy_iterator":
            return value(Sequence(None, value(AnyTree(HOST))))
        if name in _TO_NUMPY and isinstance(atom, Anything):
            return HOST
        if atom == DOUBT and any(isinstance(each, Array) for each in held):
            # It is the array beside it, of which the method gives what it gives.
            return DOUBTFUL
        return UNFOLLOWED if unfollowed else UNKNOWN

    def _sent(self, node: cst.Call, held: Value, state: State) -> Value:
        """`generator.send(x)`: what it yields next; where x goes is not followed."""
        for _, given in self.on.arguments(node, state):
            self.on.escapes(given, state)
            self.on.targets.may_change(given, state)
        return element_of(self.on.program.functions.consumed(held, state)) or UNKNOWN

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
        if name == "addressable_data":
            # Of one on a mesh it is the part that a single device has.
            return map_arrays(own, lambda array: replace(array, sharding=None))
        if name in transfer.IDENTITY_METHODS:
            return own
        if name == "to_device":
            devices = devices_of(LibraryCall(self.on, node, state), arguments.get(0, "device"))
            return committed_to(own, devices, frozenset({self.on.module.place(node)}))
        if name in transfer.HOST_METHODS:
            if self.on.supposed is not None:
                self.on.supposed.asked(name, own)
            where = value(*(TheDevice(array.device) for array in own))
            return value(Sequence(None, where)) if name == "devices" else PLAIN
        equal = name in transfer.SAME_WHEN_EQUAL_METHODS
        if equal and is_own(receiver, node):
            return own
        if name in transfer.COMPUTING_METHODS or equal:
            known = as_arrays(held, name, receiver)
            operand = (self.on.index(receiver), without_parts(known))
            is_alone = name in transfer.METHODS_OF_ONE_ARRAY and not arguments.keywords
            given = [operand] if is_alone else [operand, *operands]
            result = self.on.computed(node, given, state, certain=not equal)
            if name in SPLIT_ALIKE_METHODS and self.on.program.running is Running.EAGERLY:
                result = split_alike(result, given)
            return join(own, result) if equal else result
        return UNKNOWN

    def _update(self, node: cst.Call, operand: cst.BaseExpression, state: State) -> Value:
        """`x.at[i].set(v)`.

        The index and the value are made ready on the default device, also where `x` is committed
        elsewhere (measured on 0.4.30 to 0.12).
        """
        function = node.func
        indices: list[Operand] = []
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Subscript):
            for element in function.value.slice:
                if not isinstance(element.slice, cst.Index):
                    continue
                if not isinstance(element.slice.value, cst.Ellipsis):
                    indices += self.on.operands(element.slice.value, state)
        held = self.on.operand(operand, state)
        operands = self.on.arguments(node, state)
        if self.on.touched is not None:
            # In traced code it is one operation on all of them.
            made = self.on.computed(node, [held, *indices, *operands], state)
            return made if is_array(held[1]) else UNKNOWN
        for part in (*indices, *operands):
            if any(isinstance(atom, Array) and not atom.committed for atom in part[1]):
                self.on.computed(node, [part], state)
        if not is_array(held[1]):
            return UNKNOWN
        ready = [(place, ready_pieces(part)) for place, part in operands]
        made = self.on.computed(node, [held, *ready], state)
        if not indices or self.on.program.running is not Running.EAGERLY:
            # Before 0.10 `x.at[:].set(v)` is whole on each device.
            return made
        beside = [(place, ready_pieces(part)) for place, part in indices] + ready
        return split_alike(made, [held, *(part for part in beside if is_array(part[1]))])


def _has_member(atom: Atom, name: str) -> bool:
    """Return whether calling a method is calling a field, or a method of a library.

    A field of a named tuple may hold a function: `hk.transform(f).init(key, x)`.
    """
    if isinstance(atom, Sequence):
        return name in atom.names or method_of(atom.library, name) is not None
    if isinstance(atom, Plain) and atom.member is not None:
        return atom.member.cls is not None
    return isinstance(atom, AnyTree) and method_of(atom.cls, name) is not None


def ready_pieces(held: Value) -> Value:
    """Return what an operand is after uncommitted arrays were taken where the operation runs."""
    return frozenset(
        Host() if isinstance(atom, Array) and not atom.committed else atom for atom in held
    )


def is_array(held: Value) -> bool:
    """Return whether a value may be an array."""
    return any(isinstance(atom, Array) for atom in held)


def is_own(array: cst.BaseExpression, call: cst.Call) -> bool:
    """Return whether a call asks for the shape or the type that the array has: `x.astype(x.dtype)`.

    Then it gives back the array itself.
    """
    text = dotted(array)
    return bool(text) and any(
        dotted(argument.value) in {f"{text}.shape", f"{text}.dtype"} for argument in call.args
    )
