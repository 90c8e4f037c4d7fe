"""Iteration: comprehensions, iterators that are consumed later, and what iterating gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries import classes_without_other_arrays
from placement_lint.placement.domain.containers import of_site, view_of
from placement_lint.placement.domain.contents import (
    arrays,
    is_placed,
    iterated_of,
    map_arrays,
    without_parts,
)
from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.keys import Key, key_order
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.places import Site, Taking
from placement_lint.placement.domain.program_values import Class, Function, Instance
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.sharding import Mesh, Sharding, Spec
from placement_lint.placement.domain.values import (
    DOUBTFUL,
    NONE,
    NOTHING,
    UNKNOWN,
    AnyTree,
    Array,
    Atom,
    Closure,
    Container,
    Lazy,
    Mapping,
    Method,
    Partial,
    Plain,
    Sequence,
    TheDevice,
    Value,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.mesh_rounds import counted, makes_meshes_of, rows
from placement_lint.placement.engine.pytrees import has_object
from placement_lint.syntax.calls import integer_value
from placement_lint.syntax.collection_methods import EXTENDING
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.protocols import Evaluator


_MOST_WORDS = 8
"""Items of a list that a comprehension is evaluated for one by one: no array has more dimensions.
"""
_MOST_ROUNDS = 4
"""Items of a list for each of which the body of a loop is executed by itself."""
FIELDS = "dataclasses.fields"
_MOST_OPTIONS = 32
"""Items of a dict of which a comprehension with conditions keeps some, one by one."""
_CONSUMING = frozenset({
    "collections.deque", "functools.reduce", "jax.numpy.array", "jax.numpy.stack", "numpy.array",
    "numpy.stack",
})  # fmt: skip
"""Functions beside Python's own that take all that an iterator gives where they are called."""


def _is_read_only(node: cst.BaseExpression) -> bool:
    """Return whether evaluating an expression once more does nothing."""
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Slice):
        # Of a list of devices: a slice of another list makes a new one.
        node = node.value
        return _is_read_only(node) or (isinstance(node, cst.Call) and not node.args)
    if isinstance(node, cst.Tuple | cst.List):
        return all(isinstance(each.value, cst.SimpleString | cst.Name) for each in node.elements)
    return isinstance(node, cst.Name | cst.Attribute)


def first_devices(devices: DeviceList) -> tuple[Value, ...] | None:
    """Return the devices of a list, if it says how many there are: `jax.devices()[:2]`."""
    start, stop, step = devices.part
    if stop is None or stop < 0 or (start or 0) < 0 or step == 0:
        return None
    places = range(stop)[slice(start, stop, step)]
    if not 1 < len(places) <= _MOST_WORDS:
        return None
    return tuple(value(TheDevice(Device(devices.platform, place))) for place in places)


def _as_one(held: Value) -> Mapping | None:
    """Return the dict that a value is; of several with the same keys, one that may be any."""
    every = [atom for atom in held if isinstance(atom, Mapping)]
    if not every or len(every) < len(held):
        return None
    first, *others = every
    keys = [key for key, _ in first.items]
    if any([key for key, _ in other.items] != keys for other in others):
        return None
    items = tuple((key, join(*(dict(each.items)[key] for each in every))) for key in keys)
    return Mapping(items, join(*(each.element for each in every)), first.site)


def _is_distinguished(item: Value, depth: int = 2) -> bool:
    """Return whether an item of a list is a device, an object or something else by itself."""
    only = sole(item)
    if isinstance(only, Sequence | Mapping) and depth:
        parts = only.items or () if isinstance(only, Sequence) else [held for _, held in only.items]
        return any(_is_distinguished(part, depth - 1) for part in parts)
    if isinstance(only, Array):
        return only.committed
    return isinstance(only, _DISTINGUISHED)


_DISTINGUISHED = (
    TheDevice, DeviceList, Mesh, Sharding, Instance, Function, Class, Method, Partial, Closure,
)  # fmt: skip


def _is_word(item: Value) -> bool:
    only = sole(item)
    return isinstance(only, Plain) and (only.text is not None or only.member is not None)


def _names_axes(item: Value, depth: int = 2) -> bool:
    """Return whether an item of a list may say which axis is meant: a word, a spec, one of each."""
    only = sole(item)
    if isinstance(only, Sequence) and depth:
        return any(_names_axes(part, depth - 1) for part in only.items or ())
    return _is_word(item) or isinstance(only, Mesh | Sharding | Spec)


class Iteration:
    """Evaluates what iterates in one body."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.program = expressions.program
        self.names = expressions.names

    def comprehension(self, node: cst.ListComp | cst.SetComp, state: State) -> Value:
        items, element = self._items(node.for_in, node.elt, state)
        known = None if isinstance(node, cst.SetComp) else items
        return value(Sequence(known, element, self.on.targets.made(node)))

    def dict_comprehension(self, node: cst.DictComp, state: State) -> Value:
        kept: Iterable[Value] | None = self._kept_items(node.for_in, state)
        if kept is None:
            kept = self._meshes_of(node.for_in, [node.value], state)
        if kept is None:
            _, element = self._comprehended(node.for_in, [node.key, node.value], state)
            return value(Mapping((), element, self.on.targets.made(node)))
        found: dict[Key, Value] = {}
        with self.on.loop():
            for pair in kept:
                self.on.targets.assign(node.for_in.target, pair, state)
                key = sole(self.on.evaluate(node.key, state))
                held = self.on.evaluate(node.value, state)
                text: Key | None = None
                if isinstance(key, Plain):
                    text = key.number if key.text is None else key.text
                if text is None:
                    return value(Mapping((), UNKNOWN, self.on.targets.made(node)))
                found[text] = held
        items = tuple((each, found[each]) for each in sorted(found, key=key_order))
        return value(Mapping(items, NOTHING, self.on.targets.made(node)))

    def _kept_items(self, for_in: cst.CompFor, state: State) -> list[Value] | None:
        """Return the pairs of a dict of texts that `for k, v in d.items() if k != "x"` keeps.

        None where the dict is not known whole, or a condition does not say of each pair whether it
        is kept.
        """
        called = for_in.iter
        if (
            for_in.inner_for_in is not None
            or for_in.asynchronous is not None
            or not isinstance(called, cst.Call)
            or called.args
            or not isinstance(called.func, cst.Attribute)
            or called.func.attr.value != "items"
            or not isinstance(called.func.value, cst.Name | cst.Attribute)
            or not all(isinstance(each.test, cst.Comparison | cst.Name) for each in for_in.ifs)
        ):
            return None
        only = _as_one(self.on.evaluate(called.func.value, state))
        if only is None or only.element or len(only.items) > _MOST_OPTIONS:
            return None
        kept: list[Value] = []
        for key, held in only.items:
            if not isinstance(key, str):
                return None
            pair = value(Sequence((value(Plain(text=key)), held), UNKNOWN))
            branch = state.copy()
            self.on.targets.assign(for_in.target, pair, branch)
            tests = [each.test for each in for_in.ifs]
            if any(not self.on.operators.narrow(test, branch, holds=True) for test in tests):
                continue
            if any(self.on.operators.narrow(test, branch, holds=False) for test in tests):
                return None
            kept.append(pair)
        return kept

    def _items(
        self, for_in: cst.CompFor, result: cst.BaseExpression, state: State
    ) -> tuple[tuple[Value, ...] | None, Value]:
        """Return what a comprehension gives of each word of a short list, and joined.

        Of anything else only what it gives of all. Words are names of axes, and keys of tables of
        them: which one belongs to which dimension matters.
        """
        words = self._words(for_in, state) or self._meshes_of(for_in, [result], state)
        if words is None:
            return None, self._comprehended(for_in, [result], state)[0]
        found: list[Value] = []
        with self.on.loop(repeats=False):
            for word in self.rounds(words):
                self.on.targets.assign(for_in.target, word, state)
                found.append(self.on.evaluate(result, state))
        return tuple(found), join(*found)

    def _meshes_of(
        self, for_in: cst.CompFor, results: list[cst.BaseExpression], state: State
    ) -> tuple[Value, ...] | None:
        """Return the items of a comprehension that makes a mesh of each of a few."""
        if for_in.ifs or for_in.inner_for_in is not None or for_in.asynchronous is not None:
            return None
        return self.meshes_of(for_in.target, for_in.iter, results, state)

    def meshes_of(
        self,
        target: cst.BaseExpression,
        iterable: cst.BaseExpression,
        bodies: Iterable[cst.CSTNode],
        state: State,
    ) -> tuple[Value, ...] | None:
        """Return the numbers, or the rows of devices, of each of which a loop makes a mesh."""
        if not isinstance(target, cst.Name) or self.program.nth >= (_MOST_WORDS + 1) ** 2:
            return None
        if not makes_meshes_of(target.value, bodies, self.on.tree):
            return None

        def evaluated(node: cst.BaseExpression) -> Value:
            return self.on.evaluate(node, state)

        is_reshaped = isinstance(iterable, cst.Call) and said(iterable.func) == "reshape"
        if is_reshaped or _is_read_only(iterable):
            return rows(evaluated(iterable))
        return counted(iterable, self.names, evaluated)

    def rounds(self, items: tuple[Value, ...]) -> Iterator[Value]:
        """Yield the items of a loop that is executed item by item, each in a round of its own."""
        around = self.program.nth
        try:
            for number, item in enumerate(items, 1):
                self.program.nth = around * (_MOST_WORDS + 1) + number
                yield item
        finally:
            self.program.nth = around

    def _pairs_up(self, call: cst.Call) -> bool:
        """Return whether a call is `enumerate(xs)` or `zip(xs, ys)` of what is only read."""
        return self.names.qualified(call.func) in {"builtins.enumerate", "builtins.zip"} and all(
            not argument.star and _is_read_only(argument.value) for argument in call.args
        )

    def _lists(self, call: cst.Call) -> bool:
        """Return whether a call gives the parts of a dict or of a dataclass, which it only reads.

        `d.items()`, `dataclasses.fields(x)`.
        """
        if self.names.qualified(call.func) == FIELDS:
            return all(_is_read_only(argument.value) for argument in call.args)
        method = call.func if isinstance(call.func, cst.Attribute) and not call.args else None
        is_view = method is not None and method.attr.value in {"items", "keys", "values"}
        return method is not None and is_view and _is_read_only(method.value)

    def each(
        self, node: cst.BaseExpression, held: Value, state: State, *, axes: bool = False
    ) -> tuple[Value, ...] | None:
        """Return the items of a short list, where it matters which of them comes first.

        They are devices, objects, functions, and arrays in several places; `axes`: or name axes.
        """
        if self.program.nth >= (_MOST_WORDS + 1) ** 2:
            # Each loop in another multiplies the work.
            return None
        if isinstance(node, cst.Call) and any(isinstance(atom, Lazy) for atom in held):
            held = self.program.functions.consumed(held, state)
        only = sole(held)
        if isinstance(only, DeviceList):
            items = first_devices(only)
        else:
            items = only.items if isinstance(only, Sequence) and only.views is None else None
        if not items or not 1 < len(items) <= _MOST_ROUNDS or len({*items}) == 1:
            return None
        if all(map(_is_distinguished, items)) or (axes and all(map(_names_axes, items))):
            return items
        return None

    def _words(self, for_in: cst.CompFor, state: State) -> tuple[Value, ...] | None:
        """Return the items of what a comprehension iterates, if each of them is a known word."""
        if for_in.ifs or for_in.inner_for_in is not None or for_in.asynchronous is not None:
            return None
        if isinstance(for_in.iter, cst.Call) and self._pairs_up(for_in.iter):
            return self.each(for_in.iter, self.on.evaluate(for_in.iter, state), state)
        is_listing = isinstance(for_in.iter, cst.Call) and self._lists(for_in.iter)
        if not is_listing and not (
            isinstance(for_in.target, cst.Name) and _is_read_only(for_in.iter)
        ):
            return None
        only = sole(self.listed(self.on.evaluate(for_in.iter, state), state))
        if isinstance(only, DeviceList):
            return first_devices(only)
        items = only.items if isinstance(only, Sequence) and only.views is None else None
        if not items or len(items) > _MOST_WORDS:
            return None
        if all(item == NONE or _is_word(item) or is_listing for item in items):
            return items
        return self.each(for_in.iter, value(only), state) if only is not None else None

    def generator(self, node: cst.GeneratorExp, state: State) -> Value:
        """Evaluate a generator expression that is kept: its body runs where it is consumed."""
        return self.later(node, [node.for_in.iter], state)

    def consumed_generator(self, node: cst.GeneratorExp, state: State) -> Value:
        """Evaluate a generator expression that the call it is passed to consumes."""
        items, element = self._items(node.for_in, node.elt, state)
        return value(Sequence(items, element))

    def _comprehended(
        self, for_in: cst.CompFor, results: list[cst.BaseExpression], state: State
    ) -> list[Value]:
        held = self.on.evaluate(for_in.iter, state)
        with self.on.loop():
            clause: cst.CompFor | None = for_in
            while clause is not None:
                if clause is not for_in:
                    held = self.on.evaluate(clause.iter, state)
                self.on.targets.assign(
                    clause.target, self.iterated(clause.iter, held, state), state
                )
                for condition in clause.ifs:
                    self.on.evaluate(condition.test, state)
                    if not self.on.operators.narrow(condition.test, state, holds=True):
                        return [NOTHING for _ in results]
                clause = clause.inner_for_in
            return [self.on.evaluate(result, state) for result in results]

    def has_items(self, node: cst.BaseExpression, held: Value) -> bool:
        """Return whether a loop over something runs at least once.

        A list, a tuple or a dict of arrays or of objects is taken for one that has some, however
        it was filled.
        An iterator that has a name may have given all that it had.
        """
        if isinstance(node, cst.Call) and self.names.qualified(node.func) == "builtins.range":
            bounds = [integer_value(argument.value) for argument in node.args]
            first, last = (0, *bounds) if len(bounds) == 1 else (*bounds, None, None)[:2]
            return len(bounds) < 3 and first is not None and last is not None and first < last
        is_new = isinstance(node, cst.Call)
        # Where it is still empty, nothing is in it that could be elsewhere.
        filled = [atom for atom in held if not isinstance(atom, Container) or any(atom.parts())]
        return bool(filled) and all(
            (isinstance(atom, Sequence) and bool(atom.items))
            or (
                isinstance(atom, Container)
                and (any(arrays(value(atom))) or has_object(value(atom)))
                and (is_new or not self._is_iterator(atom))
            )
            for atom in filled
        )

    def _is_iterator(self, atom: Container) -> bool:
        """Return whether a container may be an iterator, of which something may be taken."""
        if isinstance(atom, Mapping):
            return False
        if not atom.site:
            return True
        made, names = self.program.node(atom.site[0]), self.program.module_of(atom.site[0]).names
        called = names.qualified(made.func) if isinstance(made, cst.Call) else None
        return called is not None and self.on.calls.gives_iterator(called)

    def later(
        self, node: cst.BaseExpression, parts: list[cst.BaseExpression], state: State
    ) -> Value:
        """Evaluate parts of an expression, the rest of which runs where it is consumed."""
        operands = tuple((self.on.index(part), self.on.evaluate(part, state)) for part in parts)
        return value(Lazy(self.on.module.place(node), operands, self.on.in_loop))

    def consume(self, lazy: Lazy, state: State) -> Value:
        """Return what an iterator gives, which is consumed here."""
        node = self.on.tree.nodes[lazy.place.node]
        operands = {place: self.grown(held, state) for place, held in lazy.operands}
        before, self.on.captured = self.on.captured, operands
        self.on.operations.later = (
            frozenset(self.on.captured) if self.is_kept(node) else frozenset()
        )
        try:
            if isinstance(node, cst.GeneratorExp):
                return self.consumed_generator(node, state)
            return self.on.calls.at_once(node, state) if isinstance(node, cst.Call) else UNKNOWN
        finally:
            self.on.captured = before
            self.on.operations.later = frozenset(before)

    def is_kept(self, node: cst.CSTNode) -> bool:
        """Return whether an iterator outlives the expression that makes it.

        Then it may never be consumed. A loop over it, names that it is unpacked to, or a built-in
        function that is given it, consume it at once; one that gives another iterator keeps it.
        """
        for ancestor in self.on.tree.ancestors(node):
            if isinstance(ancestor, cst.AugAssign | cst.For | cst.CompFor | cst.StarredElement):
                return False
            if isinstance(ancestor, cst.Call):
                function = ancestor.func
                if isinstance(function, cst.Attribute) and function.attr.value in EXTENDING:
                    return False
                called = self.names.qualified(function) or ""
                if not self.on.calls.gives_iterator(called):
                    return not called.startswith("builtins.") and called not in _CONSUMING
            elif not isinstance(ancestor, cst.Arg):
                return not (
                    isinstance(ancestor, cst.Assign)
                    and any(isinstance(t.target, cst.Tuple | cst.List) for t in ancestor.targets)
                )
        return True

    def grown(self, held: Value, now: State, since: State | None = None) -> Value:
        """Return what is iterated, with what its lists hold now: they may change meanwhile.

        Those are known by the variables that hold them now, and held something else `since`.
        """
        found: set[Atom] = set()
        for atom in held:
            if isinstance(atom, Lazy):
                operands = tuple((p, self.grown(part, now, since)) for p, part in atom.operands)
                found.add(replace(atom, operands=operands))
                continue
            found.add(atom)
            if isinstance(atom, Sequence) and atom.views is not None:
                site, name = atom.views
                for changed in self._held_now(site, now, since):
                    if isinstance(changed, Mapping):
                        found.add(view_of(changed, name))
            if isinstance(atom, Container) and atom.site is not None:
                found.update(self._held_now(atom.site, now, since))
        return limited(frozenset(found))

    def of_view(self, held: Value, state: State) -> Value:
        """Return a list of what `d.items()` or `d.values()` gives, where each is known; all else as
        it is.
        """
        only = sole(held)
        is_view = isinstance(only, Sequence) and only.views is not None
        return self.listed(held, state) if is_view else held

    def listed(self, held: Value, state: State) -> Value:
        """Return a list of the keys of a dict, of the letters of a text, or of what a view of a
        dict gives, where each is known; all else as it is.
        """
        if any(isinstance(atom, Sequence) and atom.views is not None for atom in held):
            held = self.grown(held, state)
        only = sole(held)
        made = view_of(only, "keys") if isinstance(only, Mapping) else only
        if isinstance(only, Plain) and only.text and len(only.text) <= _MOST_WORDS:
            letters = tuple(value(Plain(letter)) for letter in only.text)
            return value(Sequence(letters, join(*letters)))
        if isinstance(made, Sequence) and made.items is not None and (made.views or made != only):
            return value(replace(made, views=None))
        return held

    def _held_now(self, site: Site, now: State, since: State | None) -> Iterator[Container]:
        """Yield a container as variables hold it now that held something else before."""
        for key in self.program.containers.holders(site):
            before = None if since is None else self.program.held(key, since)
            after = self.program.held(key, now)
            if after is not None and after is not before:
                yield from of_site(after, site)

    def iterated(self, node: cst.CSTNode, held: Value, state: State) -> Value:
        """Return what iterating over an expression gives; iterating over an array indexes it."""
        held = self.program.functions.consumed(held, state)
        held = self.program.classes.collections.with_items(held, "__iter__", state)
        if any(isinstance(atom, Sequence) and atom.views is not None for atom in held):
            held = self.grown(held, state)
        held = self.taken_apart(node, held, state)
        objects = frozenset(atom for atom in held if isinstance(atom, Instance))
        found = iterated_of(held - objects) if held - objects else NOTHING
        for instance in objects:
            found |= self.on.calls.objects.iterated_instance(node, instance, state)
        indexed = frozenset(atom for atom in held if isinstance(atom, Array))
        if indexed:
            row = self.on.operations.computed(
                self.on.index(node),
                [(self.on.index(node), without_parts(held))],
                state,
                UseKind.INDEXED,
                in_loop=self.on.in_loop,
            )
            taking = Taking(self.on.module.place(node), iterated=True)
            if self.on.supposed is not None and taking in self.on.supposed.put_back:
                made = self.on.operations.created(self.on.index(node), state)
                row = self.on.supposed.returned(taking, row, made, alone=held == indexed)
            row = self._rows_of_mesh(node, indexed, row, state)
            found = join(found, row) if found else row
        return found or UNKNOWN

    def _rows_of_mesh(self, node: cst.CSTNode, held: Value, row: Value, state: State) -> Value:
        """Return the rows of arrays, which may be spread over a mesh.

        Those of a split one go through the host to the default device; those of a replicated one
        stay on the mesh (measured on 0.5.3 to 0.10.2).
        """
        shardings = [atom.sharding for atom in held if isinstance(atom, Array)]
        if not any(shardings):
            return row
        if any(each is not None and each.is_of_host for each in shardings):
            return UNKNOWN
        specs = [None if each is None else each.spec for each in shardings]
        if all(spec is not None and spec.splits for spec in specs):
            return self.on.operations.created(self.on.index(node), state)
        return row if all(spec is not None and spec.is_whole for spec in specs) else UNKNOWN

    def taken_apart(self, node: cst.CSTNode, held: Value, state: State) -> Value:
        """Return a value in which a list of its parts is in the place of each unknown tree.

        Such a tree may be an array: then its rows are wherever taking them puts them.
        """
        if not any(isinstance(atom, AnyTree) for atom in held):
            return held
        return frozenset(
            Sequence(None, self.part(node, atom, state)) if isinstance(atom, AnyTree) else atom
            for atom in held
        )

    def part(self, node: cst.CSTNode, tree: AnyTree, state: State) -> Value:
        """Return what a part of a tree is, or what is computed of it, if it is an array."""
        if tree.cls in classes_without_other_arrays():
            # Of layers in a list.
            return value(tree)
        if any(array.sharding is not None for array in arrays(tree.leaf)):
            # If it is an array, its rows are on the mesh, or all on one device.
            rows = map_arrays(tree.leaf, lambda array: replace(array, sharding=None))
            return value(tree) if self.on.program.is_tracing else value(AnyTree(rows)) | DOUBTFUL
        is_compiled = self.on.program.is_tracing and self.on.operations.at_once() is None
        if self.on.operations.stays(tree.leaf, state) or is_compiled:
            # Of tracers, taking rows moves nothing: what is done with them counts.
            return value(tree)
        if any(is_placed(array) for array in arrays(tree.leaf)):
            return UNKNOWN
        rows = self.on.operations.created(self.on.index(node), state)
        return value(AnyTree(join(tree.leaf, rows)))
