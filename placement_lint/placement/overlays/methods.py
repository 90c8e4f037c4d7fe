"""Evaluation of method calls: of arrays, of containers, of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.libraries import method_of
from placement_lint.jaxmodel.sharded_operations import SPLIT_ALIKE_METHODS
from placement_lint.placement.domain.containers import (
    EXTENDING,
    Change,
    emptied,
    loosened,
    merged,
    view_of,
    with_assigned,
    with_item,
    with_more,
    without_item,
    words_of,
)
from placement_lint.placement.domain.contents import (
    as_tree,
    committed_to,
    element_of,
    has_host_device,
    map_arrays,
    of_pairs,
    without_parts,
)
from placement_lint.placement.domain.keys import Key, sorted_items
from placement_lint.placement.domain.library_values import (
    Executor,
    ExitStack,
    Optimizer,
    TensorFile,
)
from placement_lint.placement.domain.mesh_contexts import ANY_MESHES
from placement_lint.placement.domain.sharded_calls import Running
from placement_lint.placement.domain.sharding import DeviceGrid, Memory, Mesh
from placement_lint.placement.domain.state import chosen_defaults
from placement_lint.placement.domain.values import (
    DOUBT,
    DOUBTFUL,
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    UNFOLLOWED,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Class,
    DefaultDeviceContext,
    Future,
    Generator,
    Host,
    Instance,
    Lazy,
    LibraryMethod,
    Mapping,
    Plain,
    PlainContext,
    Sequence,
    TheDevice,
    Thread,
    Value,
    arrays,
    is_unfollowed,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import sort_arguments
from placement_lint.placement.engine.contexts import (
    entered_by_hand,
    entered_default,
    entered_meshes,
    entered_under_condition,
    is_neutral_context,
)
from placement_lint.placement.engine.meshes import grid_method, in_memory, memory_of
from placement_lint.placement.engine.split_alike import split_alike
from placement_lint.placement.overlays.host_arrays import host_method
from placement_lint.placement.overlays.jax_devices import devices_of
from placement_lint.placement.overlays.registry import LibraryCall
from placement_lint.placement.overlays.stdlib import executed, of_future, of_thread
from placement_lint.placement.overlays.torch import tensor_method
from placement_lint.placement.overlays.tree_methods import (
    ADDING,
    OF_COLLECTIONS,
    as_arrays,
    tree_method,
    walks_down,
)
from placement_lint.syntax.calls import Arguments, integer_value, updated_array
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.domain.values import Atom, Container
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator

_REMOVING = frozenset({"discard", "popleft", "remove", "reverse", "rotate", "sort"})
_ENTERING = frozenset({"enter_context", "enter_async_context"})
_BY_HAND = frozenset({"__enter__", "__exit__"})
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
        only = sole(held)
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
            self._change(node, receiver, held, name, operands, state, kept)
            if name == "setdefault" and walks_down(node, receiver, self.on.tree):
                # What is deeper down is not told apart.
                return self.on.evaluate(receiver, state)
        return frozenset(found) or UNKNOWN

    def _kept(self, instances: frozenset[Instance], name: str) -> frozenset[Instance]:
        """Return objects that are lists or dicts, for a method that those have."""
        return instances if name in OF_COLLECTIONS else frozenset()

    def _namespaces(self, held: Value) -> Value:
        """Return the objects that are only attributes, which methods of theirs may set."""
        classes = self.on.program.classes
        return frozenset(a for a in held if isinstance(a, Instance) and classes.is_namespace(a))

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
        if isinstance(atom, Host) and atom.from_file and name in {"item", "tolist"}:
            # An array of objects, which may be arrays of JAX.
            return UNKNOWN
        if isinstance(atom, Plain) and atom.text is not None and name == "split":
            return words_of(atom.text, operands, self.on.targets.made(node))
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
            return self._mapping_method(atom, name, node, operands)
        if isinstance(atom, Sequence):
            return self._sequence_method(atom, name, node, operands, state)
        if isinstance(atom, TensorFile) and name in {"get_tensor", "get_slice"}:
            if atom.is_torch is not None:
                return value(Host(is_tensor=atom.is_torch))
            self.on.record.saw_read(atom.site, self.on.module.place(node))
            return self.on.operations.created(self.on.index(node), state)
        if isinstance(atom, Future):
            return of_future(atom, name)
        if isinstance(atom, ExitStack):
            return self._exit_stack_method(node, atom, name, operands, state)
        if name in _ENTERING and isinstance(atom, Anything):
            # A stack that nobody knows: what it enters stays, until the function ends.
            return self._exit_stack_method(node, ExitStack(), name, operands, state)
        if isinstance(atom, Mesh) and name in _BY_HAND:
            state.meshes = ANY_MESHES
            return value(atom)
        if isinstance(atom, DefaultDeviceContext | PlainContext) and name in _BY_HAND:
            return self._by_hand(receiver, held, name, state)
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
                if isinstance(element.slice, cst.Index):
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
        return self.on.computed(node, [held, *ready], state)

    def _change(
        self,
        node: cst.Call,
        receiver: cst.BaseExpression,
        held: Value,
        name: str,
        operands: list[Operand],
        state: State,
        kept: frozenset[Instance],
    ) -> None:
        """Do to the containers that the receiver is what a method does to them.

        `kept`: the objects of the program that are such containers.
        """
        change: Change | None = None
        arguments = Arguments(node)
        first = arguments.get(0)
        if name in ADDING and operands:
            new = operands[0 if name.startswith("put") else -1][1]
            at = {"append": -1, "appendleft": 0}.get(name)
            if name == "insert" and first is not None:
                at = integer_value(first)
                at = None if at is not None and at < 0 else at

            def change(container: Container) -> Container:
                more = None if self.on.repeats else (new,)
                return with_more(container, more, new, at)

        elif name in EXTENDING and (operands or arguments.keywords):
            change = self._extension(node, name, operands, state)
        elif name == "clear":
            change = emptied
        elif name == "setdefault" and walks_down(node, receiver, self.on.tree):
            tree = value(AnyTree(NOTHING))

            def change(container: Container) -> Container:
                return with_item(container, None, tree)

        elif name == "setdefault" and len(arguments.positional) == 2:
            key = None if first is None else self.on.subscripts.key(first, operands[0][1])
            default = operands[-1][1]

            def change(container: Container) -> Container:
                if isinstance(container, Mapping) and key in dict(container.items):
                    return container
                known = element_of(value(container), key)
                return with_item(container, key, join(known, default))

        elif name in _REMOVING or (name in {"pop", "popitem"} and self._pops(held)):
            named = None if first is None else self.on.subscripts.key(first, operands[0][1])
            taken: Key | None = None if self.on.repeats else named
            if name in {"pop", "popleft"} and first is None and not self.on.repeats:
                taken = -1 if name == "pop" else 0

            def change(container: Container) -> Container:
                at = named if isinstance(container, Mapping) else taken
                at = None if name not in {"pop", "popitem", "popleft"} else at
                return without_item(container, at, reverse=name == "reverse")

        elif name == "__setitem__" and len(operands) == 2:
            at_key = self.on.subscripts.key(node.args[0].value, operands[0][1])

            def change(container: Container) -> Container:
                return with_assigned(container, at_key, operands[1][1])

        if change is not None and kept:
            self.on.targets.change_items(kept, change, state)
        elif change is not None:
            if isinstance(receiver, cst.Name | cst.Attribute):
                # An argument may have changed it already.
                held = self.on.evaluate(receiver, state)
            self.on.targets.change(receiver, held, change, state)

    def _pops(self, held: Value) -> bool:
        """Return whether a container has items whose place or key is known."""
        return any(isinstance(atom, Mapping | Sequence) and atom.items for atom in held)

    def _extension(
        self, node: cst.Call, name: str, operands: list[Operand], state: State
    ) -> Change:
        """Return what `xs.extend(ys)` and `d.update(other, key=x)` do."""
        arguments = Arguments(node)
        first = arguments.get(0)
        given = PLAIN if first is None else operands[0][1]
        keywords = {
            argument.keyword.value: held
            for argument, (_, held) in zip(node.args, operands, strict=True)
            if argument.keyword is not None
        }
        only = sole(given)
        element = NOTHING
        if first is not None and not (isinstance(only, Mapping) and name == "update"):
            element = self.on.iteration.iterated(first, given, state)
        if name == "update" and any(isinstance(atom, Lazy | Sequence) for atom in given):
            given = of_pairs(self.on.program.functions.consumed(given, state))
        if isinstance(only, AnyTree) and name == "update":
            # It is a dict of such trees.
            given = value(Mapping((), given))
        is_open = arguments.is_open
        repeats = self.on.repeats

        def change(container: Container) -> Container:
            if given == DOUBTFUL and not keywords and not is_open:
                # What a function that calls itself gives is known later, if at all.
                return with_item(container, None, DOUBTFUL)
            if isinstance(container, Sequence):
                more = only.items if isinstance(only, Sequence) and not repeats else None
                return with_more(container, more, element, -1 if name == "extend" else None)
            if is_open:
                return loosened(container)
            if first is not None:
                container = merged(container, given)
            for key, inner in keywords.items():
                container = with_item(container, key, inner)
            return container

        return change

    def _sequence_method(
        self, atom: Sequence, name: str, node: cst.Call, operands: list[Operand], state: State
    ) -> Value:
        if atom.names and atom.items is not None:
            named = dict(zip(atom.names, atom.items, strict=True))
            if name == "_asdict":
                return value(Mapping(sorted_items(named.items()), NOTHING, order=atom.names))
            if name == "_replace" and not any(
                argument.keyword is None and argument.star != "**" for argument in node.args
            ):
                for argument, (_, held) in zip(node.args, operands, strict=True):
                    if argument.keyword is None:
                        named = {key: _unpacked(held, key, of) for key, of in named.items()}
                    elif argument.keyword.value in named:
                        named[argument.keyword.value] = held
                return value(
                    replace(atom, items=tuple(named.values()), element=join(*named.values()))
                )
        if atom.cls is not None:
            member = self.on.program.classes.attribute(value(atom), name, state)
            consumed = (
                (
                    each,
                    self.on.program.functions.consumed(held, state) if each.star == "*" else held,
                )
                for each, (_, held) in zip(node.args, operands, strict=True)
            )
            passed = sort_arguments(consumed)
            return self.on.calls.objects.called_with(node, member, passed, state)
        every = [*(atom.items or ()), atom.element]
        if name == "__getitem__" and node.args:
            return element_of(value(atom), integer_value(node.args[0].value))
        if name == "pop" and atom.items:
            key = integer_value(node.args[0].value) if node.args else -1
            if key is not None:
                return element_of(value(atom), key)
        if name == "popleft" and atom.items:
            return atom.items[0]
        if name in {"get", "get_nowait", "pop", "popleft"}:
            # An empty one raises, or waits.
            return join(*every)
        if name == "copy":
            return value(replace(atom, site=self.on.targets.made(node)))
        if name in ADDING or name in EXTENDING or name in _REMOVING or name == "clear":
            return PLAIN
        return UNKNOWN

    def _mapping_method(
        self, atom: Mapping, name: str, node: cst.Call, operands: list[Operand]
    ) -> Value:
        if name in {"items", "keys", "values"}:
            return value(view_of(atom, name))
        if name in {"__getitem__", "get", "pop", "setdefault"} and node.args:
            key = self.on.subscripts.key(node.args[0].value, operands[0][1])
            found = element_of(value(atom), key)
            if len(node.args) > 1 and key not in dict(atom.items):
                found = join(found, operands[1][1]) if found else operands[1][1]
            return found
        if name == "copy":
            return value(replace(atom, site=self.on.targets.made(node)))
        return PLAIN if name in {"clear", "update"} else UNKNOWN

    def _exit_stack_method(
        self, node: cst.Call, stack: ExitStack, name: str, operands: list[Operand], state: State
    ) -> Value:
        site = self.on.module.place(node) if stack.site is None else stack.site
        owners = frozenset({site})
        if name in _ENTERING and operands:
            given = operands[0][1]
            if given == UNKNOWN and is_neutral_context(self.on.module, node.args[0].value):
                given = value(PlainContext())
            given = self.on.calls.objects.contexts(given)
            self.on.program.suspensions.stack(site, given)
            entered = entered_default(given)
            if entered_meshes(given, state.meshes) != state.meshes:
                # It stays until the stack is left, wherever that is.
                state.meshes = ANY_MESHES
            outside = len(state.blocks)
            gives = self.on.calls.objects.entered_value(given, state)
            if entered is not None:
                entered = entered_under_condition(entered, self.on.module, node)
                state.blocks = (*state.blocks, entered)
            state.blocks = (
                *state.blocks[:outside],
                *(replace(block, owners=owners) for block in state.blocks[outside:]),
            )
            return gives
        if name in {"close", "aclose"}:
            state.release(owners)
            return PLAIN
        if name in {"__exit__", "__aexit__"}:
            # Hardly any of what is entered through a stack hides errors.
            state.release(owners)
            return NONE
        if name in {"__enter__", "__aenter__"}:
            return value(stack)
        if name == "pop_all":
            # What it holds stays entered, until the new stack is left.
            taken = self.on.module.place(node)
            state.blocks = tuple(
                replace(block, owners=frozenset({taken})) if block.owners == owners else block
                for block in state.blocks
            )
            return value(ExitStack(taken))
        return UNKNOWN

    def _by_hand(self, receiver: cst.BaseExpression, held: Value, name: str, state: State) -> Value:
        """`context.__enter__()` and `context.__exit__(…)`."""
        if entered_meshes(held, state.meshes) != state.meshes:
            state.meshes = ANY_MESHES
        if all(isinstance(atom, PlainContext) for atom in held):
            return PLAIN
        owners = entered_by_hand(held)
        if not owners or isinstance(receiver, cst.Call):
            # Entered and dropped: from JAX 0.5.3 on it stays in force, before it did not.
            state.forget_default()
        elif name == "__enter__":
            entered = entered_default(held)
            if entered is not None:
                state.blocks = (*state.blocks, replace(entered, owners=owners))
        elif not state.release(owners):
            state.forget_default()
        return PLAIN


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


def _unpacked(given: Value, name: str, before: Value) -> Value:
    """Return what a field is that `**given` may replace.

    Where its key is not known, it is of before or a new one: known only if those are alike.
    """
    found: list[Value] = []
    for atom in given:
        if not isinstance(atom, Mapping):
            return UNKNOWN
        held = dict(atom.items).get(name)
        if held is None and atom.element:
            held = join(before, atom.element)
            places = {
                (each.device, each.committed) if isinstance(each, Array) else None for each in held
            }
            if None in places or len(places) > 1:
                return UNKNOWN
        found.append(before if held is None else held)
    return join(*found)
