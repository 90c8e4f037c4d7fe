"""Assignment: to names, attributes, items and containers, under all the names that these have."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries.transformers import ALL_ARRAYS
from placement_lint.placement.domain.containers import (
    changed_holders,
    forget,
    is_container,
    loosened,
    merged,
    of_items,
    once,
    unsure,
    with_assigned,
    with_item,
    with_items_of,
    with_more,
    without_item,
)
from placement_lint.placement.domain.contents import as_tree, iterated_of, leaves_of, map_arrays
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.state import State, Variable, variable
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBTFUL,
    NOTHING,
    UNKNOWN,
    AnyTree,
    Array,
    Container,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.attribute_dicts import DICT
from placement_lint.syntax.calls import bounds_of

if TYPE_CHECKING:
    from placement_lint.placement.domain.containers import Change
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.names import Scope


class Targets:
    """Binds the targets of one body, and changes the containers that they are."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.program = expressions.program
        self.names = expressions.names

    def owner_of(self, node: cst.Name) -> Scope:
        owner = self.names.owner(node.value, self.names.scope(node))
        return owner if owner is not None else self.names.module_scope

    def assign(self, target: cst.CSTNode, held: Value, state: State) -> None:
        if isinstance(target, cst.Name):
            self.program.bind(variable(self.owner_of(target), target.value), held, state)
            self.on.record.saw_value(self.on.index(target), held)
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(target, held, state)
        elif isinstance(target, cst.Subscript):
            self._store(target, held, state)
        elif isinstance(target, cst.Attribute):
            self._set_attribute(target, held, state)

    def bound(self, node: cst.BaseExpression, held: Value, state: State) -> Value:
        """Note, in what an expression made, that it is bound to a name: there it can be committed.

        Only for one array or one loaded file: `device_put` around a container of other things
        would fail on them.
        """
        whole = all(isinstance(a, Array) or (isinstance(a, Mapping) and not a.items) for a in held)
        if not whole or isinstance(node, cst.Name | cst.Attribute):
            return held
        place = self.on.module.place(node)
        if state.default.inherited:
            return held
        expression = state.default.expression

        def note(array: Array) -> Array:
            origin = array.origin
            if origin is None or origin.device is None or origin.device != expression:
                return array
            if origin.commit_at != origin.created:
                return array
            return _with_commit_at(array, place)

        return map_arrays(held, note)

    def _unpack(self, target: cst.Tuple | cst.List, held: Value, state: State) -> None:
        held = self.on.iteration.taken_apart(
            target, self.program.functions.consumed(held, state), state
        )
        count = len(target.elements)
        star = next(
            (i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None
        )
        if any(isinstance(atom, DeviceList) for atom in held) and star is None and count == 1:
            # `[device] = jax.devices()`: there is one.
            self.assign(target.elements[0].value, iterated_of(held, 0), state)
            return
        for position, element in enumerate(target.elements):
            if position == star:
                part = _middle(held, star, count)
            else:
                key = position if star is None or position < star else position - count
                part = iterated_of(held, key) or UNKNOWN
            self.assign(element.value, part, state)

    def _set_attribute(self, target: cst.Attribute, held: Value, state: State) -> None:
        self.on.record.saw_value(self.on.index(target), held)
        qualified = self.names.qualified(target)
        if qualified is not None:
            key = self.program.linking.attribute_of_module(self.on.module, qualified)
            if key is not None:
                if not self.program.linking.is_rebound(key):
                    # Where it is not assigned to here, it is what it was.
                    self.program.finish(
                        {key: self.program.linking.imported(self.on.module, qualified, state)}
                    )
                self.program.linking.rebind(key, held, state)
            else:
                self.on.escapes(held, state)
            return
        receiver = self.on.evaluate(target.value, state)
        for cls in receiver:
            if isinstance(cls, Class):
                self.program.linking.rebind(
                    self.program.classes.variable(cls.place, target.attr.value), held, state
                )
        objects = [atom for atom in receiver if isinstance(atom, Instance)]
        if target.attr.value == DICT and receiver == held and objects:
            # Its items are its attributes from now on.
            self.program.bind((objects[0], DICT), held, state)
            return
        if target.attr.value == DICT and objects:
            self.on.attribute_dicts.update(receiver, held, state)
            return
        for instance in objects:
            self.set_attribute(instance, target.attr.value, held, state, surely=len(receiver) == 1)
        if len(objects) < len(receiver):
            self.on.escapes(held, state)
        if isinstance(target.value, cst.Name | cst.Attribute) and any(
            isinstance(atom, AnyTree) and atom.cls for atom in receiver
        ):
            # An object of a library: some of its arrays, or all, are others from now on.
            leaf = join(*leaves_of(held))
            every = (_with_arrays(atom, target.attr.value, leaf) for atom in receiver)
            self.assign(target.value, frozenset(every), state)

    def set_attribute(
        self,
        instance: Instance,
        name: str,
        held: Value,
        state: State,
        *,
        surely: bool,
        is_plain: bool = False,
    ) -> None:
        """Set an attribute of an object; `surely` False: or of another one.

        `is_plain`: as `object.__setattr__` does, whatever the class has of that name.
        """
        self.program.objects.named_attribute(instance, name)
        key = (instance, name)
        setter = self.program.classes.setter(instance.cls, name)
        if setter is not None:
            arguments: dict[int | str, Value] = {0: value(instance), 1: held}
            self.program.functions.call(setter, arguments, state, bound=True)
            return
        described = self.program.classes.descriptor(instance, name, "__set__", state)
        if described is not None:
            descriptor = self.program.classes.class_variable(instance.cls, name, state)
            given: dict[int | str, Value] = {0: descriptor, 1: value(instance), 2: held}
            self.program.functions.call(described, given, state, bound=True)
            return
        own = None if is_plain else self.program.classes.method(instance.cls, "__setattr__")
        if own is not None:
            passed: dict[int | str, Value] = {
                0: value(instance), 1: value(Plain(text=name)), 2: held,
            }  # fmt: skip
            self.program.functions.call(own, passed, state, bound=True)
            return
        if self.program.classes.collections.sets_items(instance, state):
            one = frozenset({instance})
            self.change_items(one, lambda items: with_item(items, name, held), state)
            return
        if self.program.classes.is_described(instance, name, state):
            self.on.escapes(held, state)
            held, surely = UNKNOWN, False
        if not surely:
            held = join(held, state.variables.get(key) or NOTHING)
        elif is_container(held):
            held = self.program.containers.owned(held, instance, again=self.on.repeats)
        self.program.bind(key, held, state)

    def spoil(self, held: Value, state: State, other: Value = DOUBTFUL) -> None:
        """Note that any attribute of an object may be set, by `vars(x)` or `x.__dict__`.

        `other`: to what.
        """
        for atom in held:
            if isinstance(atom, Instance):
                for name in self.program.objects.attribute_names(atom):
                    before = self.program.held((atom, name), state) or NOTHING
                    self.program.bind((atom, name), join(before, other), state)

    def _store(self, target: cst.Subscript, held: Value, state: State) -> None:
        owner = self.on.attribute_dicts.owner(target.value)
        if owner is not None:
            self.on.evaluate(target.value, state)
            of = self.on.evaluate(owner, state)
            name = self.on.subscripts.key_of(target, state)
            self.on.attribute_dicts.set(of, name if isinstance(name, str) else None, held, state)
            return
        container = frozenset(map(as_tree, self.on.evaluate(target.value, state)))
        keys = [element.slice for element in target.slice]
        for key in keys:
            for each in [key.value] if isinstance(key, cst.Index) else bounds_of(key):
                self.on.evaluate(each, state)
        instances = self.program.classes.collections.inheriting(container, "__setitem__")
        for instance in container - instances:
            if isinstance(instance, Instance):
                index = keys[0].value if isinstance(keys[0], cst.Index) else None
                given = UNKNOWN if index is None else self.on.evaluate(index, state)
                self.on.calls.objects.special(instance, "__setitem__", [given, held], state)
        if not all(isinstance(atom, Sequence | Mapping | Host) for atom in container - instances):
            self.on.escapes(held, state)
        known = self.on.subscripts.key_of(target, state)
        if any(isinstance(atom, AnyTree) for atom in container):
            if isinstance(target.value, cst.Name | cst.Attribute) and isinstance(known, str):
                self.assign(target.value, _as_dict(container, known, held), state)
                return
            if not _is_one_of_leaves(held, container):
                self.loosen(target.value, state)
        if not is_container(container) and not instances:
            return
        if isinstance(keys[0], cst.Slice):
            held = iterated_of(held) or UNKNOWN
        stored = partial(with_assigned, key=known, held=held)
        if instances:
            self.change_items(instances, stored, state)
        if is_container(container):
            self.change(target.value, container, stored, state)

    def delete_item(self, target: cst.Subscript, state: State) -> None:
        held = self.on.evaluate(target.value, state)
        instances = self.program.classes.collections.inheriting(held, "__delitem__")
        if instances:
            self.change_items(instances, lambda c: without_item(c, None), state)
        if is_container(held):
            key = None if self.on.repeats else self.on.subscripts.key_of(target, state)
            self.change(target.value, held, lambda c: without_item(c, key), state)

    def augmented(self, node: cst.AugAssign, state: State) -> None:
        """`x += y`: of a list or a dict a change, of all else `x = x + y`."""
        target = self.on.operand(node.target, state)
        if is_container(target[1]):
            right = self.on.evaluate(node.value, state)
            adds = isinstance(node.operator, cst.AddAssign)
            element = self.on.iteration.iterated(node.value, right, state) if adds else UNKNOWN
            only = sole(right)
            items = only.items if isinstance(only, Sequence) and not self.on.repeats else None

            def change(container: Container) -> Container:
                if adds and isinstance(container, Sequence):
                    return with_more(container, items, element, -1)
                if isinstance(node.operator, cst.BitOrAssign):
                    return merged(container, right)
                return loosened(container)

            # Of a tuple it makes another one.
            surely = not adds
            self.change(node.target, target[1], change, state, surely=surely)
            return
        right_operand = self.on.operand(node.value, state)
        held = self.on.operators.compute(node, [target, right_operand], state)
        if any(isinstance(atom, Array) for atom in held):
            # What is committed has no origin: what the operation gave says where it came from.
            self.on.record.saw_value(self.on.index(node), held)
        place, _ = target
        read = self.on.record.values.get(place, target[1])
        self.assign(node.target, held, state)
        # The place stands for the operand: for what was read, not for what is stored.
        self.on.record.values[place] = read

    def made(self, node: cst.CSTNode) -> Site:
        """Return the site of a container that an expression makes now."""
        site = (self.on.module.place(node),)
        self.program.containers.made(site, again=self.on.repeats)
        if self.program.functions.frame is not None:
            self.program.functions.frame.made.add(site)
        return site

    def change(
        self,
        node: cst.BaseExpression,
        held: Value,
        change: Change,
        state: State,
        *,
        surely: bool = True,
    ) -> None:
        """Change the containers that an expression is, under every name that they have.

        `surely` False: of those under other names it is not sure that they are the same.
        """
        change = once(change)
        own = self._variable_of(node, state)
        containers = [atom for atom in held if isinstance(atom, Container)]
        self._change_elsewhere(own, held, change, state, surely=surely)
        if own is not None or isinstance(node, cst.Name | cst.Attribute):
            self.assign(node, _changed(held, change), state)
        elif any(atom.site is None for atom in containers):
            self.loosen(node, state)

    def _change_elsewhere(
        self,
        own: Variable | None,
        held: Value,
        change: Change,
        state: State,
        *,
        surely: bool,
    ) -> None:
        """Change containers under all names that they have but one of which more is known."""
        surely = surely and len(held) == 1
        for site in {a.site for a in held if isinstance(a, Container) and a.site is not None}:
            known = surely and self.program.containers.is_one(site)
            held_by = {
                key: self.program.held(key, state)
                for key in self.program.containers.holders(site)
                if key != own
            }
            for key, after in changed_holders(held_by, site, change, surely=known):
                self.program.bind(key, after, state)

    def change_items(self, instances: frozenset[Instance], change: Change, state: State) -> None:
        """Change what objects of classes that derive from `dict` or `list` hold as items."""
        change = once(change)
        for instance in in_order(instances):
            kind = self.program.classes.collections.kind(instance.cls)
            if kind is None:
                continue
            own = (instance, kind[0])
            held = self.program.held(own, state) or NOTHING
            self._change_elsewhere(own, held, change, state, surely=len(instances) == 1)
            after = _changed(held, change)
            self.program.bind(own, after if len(instances) == 1 else join(held, after), state)

    def _variable_of(self, node: cst.BaseExpression, state: State) -> Variable | None:
        """Return the variable, or the attribute of one object, that an expression is."""
        if isinstance(node, cst.Name):
            return variable(self.owner_of(node), node.value)
        if isinstance(node, cst.Attribute):
            qualified = self.names.qualified(node)
            if qualified is not None:
                return self.program.linking.attribute_of_module(self.on.module, qualified)
            receiver = self.on.evaluate(node.value, state)
            if len(receiver) == 1:
                (atom,) = receiver
                if isinstance(atom, Instance):
                    return (atom, node.attr.value)
        return None

    def loosen(self, node: cst.BaseExpression, state: State) -> None:
        """Forget for sure what a container holds, where something in it was or may be changed."""
        while isinstance(node, cst.Subscript):
            node = node.value
        if not isinstance(node, cst.Name | cst.Attribute):
            return
        held = self.on.evaluate(node, state)
        if is_container(held):
            self.change(node, held, loosened, state)
        elif any(isinstance(as_tree(atom), AnyTree) for atom in held):
            self.assign(node, UNKNOWN, state)

    def replace_items(self, node: cst.For, held: Value, state: State) -> None:
        """Let what a loop goes through hold what its body has made of each item, at its end.

        That is what the loop's variable holds there, if the body does not bind it.
        """
        target: cst.BaseExpression = node.target
        if isinstance(target, cst.Tuple) and target.elements:
            target = target.elements[-1].value
        if not isinstance(target, cst.Name):
            return
        tree = self.on.tree
        bound = [each.node for each in self.names.bindings(target) if tree.contains(each.node)]
        if any(tree.is_inside(each, node.body) for each in bound):
            return
        after = state.variables.get(variable(self.owner_of(target), target.value)) or NOTHING
        inner = {a.site for a in after if isinstance(a, Container) and a.site is not None}
        if not inner or len(inner) < len(after):
            return
        change = once(lambda container: with_items_of(container, inner, after))
        sites = {_site_of(atom) for atom in held}
        for site in sorted(each for each in sites if each is not None):
            surely = len(sites) == 1 and self.program.containers.is_one(site)
            holders = self.program.containers.holders(site)
            held_by = {key: self.program.held(key, state) for key in holders}
            for key, new in changed_holders(held_by, site, change, surely=surely):
                self.program.bind(key, new, state)

    def may_change(self, held: Value, state: State) -> None:
        """Note that something that nobody follows was given containers: it may change them."""
        if is_container(held):
            forget(held, state, self.program.containers, unsure)


def _with_arrays(atom: Atom, attribute: str, leaf: Value) -> Atom:
    """Return an object whose attribute is set to something of these arrays."""
    if not isinstance(atom, AnyTree) or not atom.cls:
        return atom
    is_all = attribute == ALL_ARRAYS.get(atom.cls)
    return AnyTree(leaf if is_all else join(atom.leaf, leaf), atom.cls)


def _site_of(atom: Atom) -> Site | None:
    """Return the site of a container, or of the dict that a view of one is of."""
    views = atom.views if isinstance(atom, Sequence) else None
    return views[0] if views else atom.site if isinstance(atom, Container) else None


def _is_one_of_leaves(held: Value, trees: Value) -> bool:
    """Return whether what an item of a tree is set to is what the tree holds anyway."""
    leaves = [atom.leaf for atom in trees if isinstance(atom, AnyTree) and not atom.cls]
    return bool(leaves) and all(held <= leaf or not leaf for leaf in leaves)


def _as_dict(held: Value, key: str, item: Value) -> Value:
    """Return a tree of unknown structure after an item was set by a text: it is a dict.

    Its other items are trees like it. Of an object of a library nothing is known then.
    """
    found: set[Atom] = set()
    for atom in held:
        if isinstance(atom, AnyTree):
            other = value(atom) if atom.leaf else UNKNOWN
            found.add(ANYTHING if atom.cls else Mapping(((key, item),), other))
        else:
            found.add(with_item(atom, key, item) if isinstance(atom, Container) else atom)
    return limited(frozenset(found))


def _with_commit_at(array: Array, place: Place) -> Array:
    origin = array.origin
    return array if origin is None else replace(array, origin=replace(origin, commit_at=place))


def _middle(held: Value, star: int, count: int) -> Value:
    """Return what a starred target takes of a value that is unpacked into `count` targets."""
    only = sole(held)
    if not isinstance(only, Sequence) or only.items is None:
        return value(Sequence(None, iterated_of(held) or UNKNOWN))
    return value(of_items(only.items[star : len(only.items) - (count - star - 1)]))


def _changed(held: Value, change: Change) -> Value:
    """Return a value with each container in it changed."""
    return limited(frozenset(change(a) if isinstance(a, Container) else a for a in held))
