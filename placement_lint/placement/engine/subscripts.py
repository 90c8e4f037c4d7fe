"""Subscripts: an item of a container, a part of an array."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.containers import (
    anonymous_outside,
    is_container,
    of_items,
    sited,
)
from placement_lint.placement.domain.contents import arrays, element_of, is_file, without_parts
from placement_lint.placement.domain.keys import Key, Member
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.mesh_devices import MeshDevices
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Class, External, Instance
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.sharding import DeviceGrid
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBT,
    DOUBTFUL,
    NONE,
    NOTHING,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Atom,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.meshes import number_of, rows_of
from placement_lint.placement.engine.pytrees import are_in_one_place, without_variables
from placement_lint.placement.facts.annotations import is_bound_as_text
from placement_lint.placement.facts.array_indices import is_of_array
from placement_lint.syntax.calls import bounds_of, integer_value, string_value
from placement_lint.syntax.collection_methods import TEXT_METHODS
from placement_lint.syntax.definitions import is_key, texts_of
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from placement_lint.placement.domain.mesh_devices import Part
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.syntax.names import Names


_MOST_NAMES_IN_BOUNDS = 4
"""Names in the bound of a slice that are followed."""
_ORDERS = frozenset({"arange", "permutation"})
"""What makes an index for each item: of NumPy, of a generator of random numbers, of JAX."""


_TEXTS = (
    cst.Attribute,
    cst.BooleanOperation,
    cst.ConcatenatedString,
    cst.IfExp,
    cst.Name,
    cst.SimpleString,
)
"""What an index may be that is a text."""
_GIVING_ITEMS = frozenset({"__call__", "__getitem__", "__next__", "get", "get_item"})
"""Methods that give one item by its key."""

_PARAMETERS = frozenset({"bias", "kernel"})
"""Names of arrays among the parameters of a layer."""
_GRIDS = frozenset({"jax.numpy.mgrid", "jax.numpy.ogrid"})
"""What makes an array, or a list of arrays, of the slices in the brackets: `jnp.mgrid[:3, :3]`."""


class Subscripts:
    """Evaluates the subscripts of one body."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self._raising: set[int] = set()
        """The subscripts that raised when they were last evaluated."""

    def subscript(self, node: cst.Subscript, state: State) -> Value:
        """Index: of a container, what it holds; of an array, a copy of all of it."""
        name = self.on.names.qualified(node.value) if _is_grid(node.value) else None
        if name not in _GRIDS:
            return self._taken(node, state)
        made = self.on.operations.created(self.on.index(node), state)
        return made if name == "jax.numpy.mgrid" else value(Sequence(None, made))

    def _taken(self, node: cst.Subscript, state: State) -> Value:
        """Return what an index takes of what is before the brackets."""
        # Nothing comes of indexing None.
        held = self.on.evaluate(node.value, state)
        held = without_variables(held - NONE or held)
        indices = self._indices(node, state)
        made = self._made_if_missing(node, held, indices, state)
        if made is not None:
            return made
        held = self.on.program.classes.collections.with_items(held, "__getitem__", state)
        trees = frozenset(atom for atom in held if isinstance(atom, AnyTree))
        if not is_of_array(node) and not any(_is_array(index) for _, index in indices):
            is_no_name = self._is_no_name(node)
            is_one = is_no_name and self._is_parameter(node.value)
            trees = frozenset(
                each
                for each in trees
                if is_no_name and (is_one or each.is_named) and are_in_one_place(each.leaf)
            )
        if trees:
            held = (held - trees).union(DOUBTFUL, *(_arrays_of(tree) for tree in trees))
        key = self.key_of(node, state)
        if any(isinstance(atom, Anything | External) for atom in held):
            # It may be an array that is committed elsewhere, or an object that does anything.
            for _, given in indices:
                self.on.escapes(given, state)
        part = self._part_of_one_kind(node, held, key, state)
        return self._items(node, held, key, indices, state) if part is None else part

    def _made_if_missing(
        self, node: cst.Subscript, held: Value, indices: list[Operand], state: State
    ) -> Value | None:
        """Return what dicts give of whose classes the program says what a missing item is; None for
        all else: `def __missing__(self, key)`.
        """
        collections = self.on.program.classes.collections
        making = collections.making_missing(held) if held else NOTHING
        if not making or making != held:
            return None
        key = self.key_of(node, state)
        argument = join(*(part for _, part in indices)) if indices else UNKNOWN
        found: list[Value] = []
        for atom in in_order(making):
            if not isinstance(atom, Instance):
                continue
            there = collections.items(frozenset({atom}), state)
            kept = {_kept_under(key, each) for each in there}
            if kept != {True}:
                special = self.on.calls.objects.special
                found.append(special(atom, "__missing__", [argument], state))
            if kept != {False}:
                found.append(element_of(there, key))
        return join(*found) or UNKNOWN

    def _is_no_name(self, node: cst.Subscript) -> bool:
        """Return whether an index is a slice or a number, which dicts of names do not have."""
        part = node.slice[0].slice
        if not isinstance(part, cst.Index) or integer_value(part.value) is not None:
            return True
        names = self.on.names
        bound = names.sole_definition(part.value) if isinstance(part.value, cst.Name) else None
        if not isinstance(bound, cst.For | cst.CompFor) or not isinstance(bound.target, cst.Name):
            return False
        of = bound.iter
        return isinstance(of, cst.Call) and names.qualified(of.func) == "builtins.range"

    def _is_parameter(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression is an item of a tree that has the name of a parameter."""
        node = self.on.names.sole_value(node) or node
        index = node.slice[0].slice if isinstance(node, cst.Subscript) else None
        return isinstance(index, cst.Index) and string_value(index.value) in _PARAMETERS

    def _indices(self, node: cst.Subscript, state: State) -> list[Operand]:
        """Return what is in the brackets, each with its place."""
        indices: list[Operand] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                indices += self.on.operands(element.slice.value, state)
            else:
                indices += [self.on.operand(each, state) for each in bounds_of(element.slice)]
        return indices

    def _part_of_one_kind(
        self, node: cst.Subscript, held: Value, key: Key | None, state: State
    ) -> Value | None:
        """Return a part of devices, of a container whose items are known, or all of a thing; None
        where an index takes something else.
        """
        is_slice = isinstance(node.slice[0].slice, cst.Slice)
        if is_slice and any(isinstance(atom, DeviceList) for atom in held):
            devices = _part_of_devices(held, self._bounds(node, state))
            return devices or value(Sequence(None, element_of(held)))
        if isinstance(grid := sole(held), DeviceGrid) and (key is None or rows_of(grid)):
            return _part_of_grid(grid, node, key, self._bounds(node, state))
        part = self._known_slice(held, node, state)
        if part is not None:
            return value(replace(part, site=self.on.targets.made(node)))
        if _is_whole(node) and not any(isinstance(atom, Instance) for atom in held):
            # Of a list it gives another one.
            return (
                sited(anonymous_outside(held), self.on.targets.made(node))
                if is_container(held)
                else held
            )
        return None

    def _items(
        self,
        node: cst.Subscript,
        held: Value,
        key: Key | None,
        indices: list[Operand],
        state: State,
    ) -> Value:
        """Return the items that an index takes of each thing that a value may be."""
        found: set[Atom] = set()
        own = [atom for atom in held if isinstance(atom, Array)]
        of_program = frozenset(atom for atom in held if isinstance(atom, Class | Instance))
        found |= self._of_program(of_program, key, indices, state)
        others = held - of_program
        is_text = self._is_text(node)
        if is_text:
            named, others = _named_by_text(others)
            found |= named
            own = [atom for atom in others if isinstance(atom, Array)]
        names_one = is_text or (len(indices) == 1 and _are_texts(indices[0][1]))
        files = self._files_in(node, others, state, is_text=names_one)
        found.update(replace(atom, is_archive=False) for atom in files)
        others -= files
        if isinstance(node.slice[0].slice, cst.Slice) and len(node.slice) == 1:
            lists = frozenset(atom for atom in others if isinstance(atom, Sequence))
            if lists:
                found.add(self._part_of_lists(node, lists))
                others -= lists
        if others:
            parts = (
                others
                if isinstance(key, str | Member)
                else self.on.iteration.taken_apart(node, others, state)
            )
            found |= element_of(parts, key)
        if own and not isinstance(key, str | Member):
            rows = self._indexed(node, held, indices, state)
            found |= _items_of_rows(rows) if all(atom.may_be_tree for atom in own) else rows
        elif own and not found:
            # Only a leaf of a tree, beside the dicts in it, is not asked for an item by a text.
            # What may be a tree is one, then, and all that is in it was put where it is.
            found.update(atom if atom.may_be_tree else ANYTHING for atom in own)
        return self._known_or_raised(node, held, _as_doubtful(frozenset(found), own, held))

    def _known_or_raised(self, node: cst.Subscript, held: Value, found: Value) -> Value:
        """Return what was found in a value; note whether there surely was nothing to be found."""
        self._raising.discard(self.on.index(node))
        if not found and _are_empty(held) and self.is_filled_here(node.value):
            self._raising.add(self.on.index(node))
        return found or UNKNOWN

    def surely_raises(self, node: cst.CSTNode | None) -> bool:
        """Return whether an item was just asked for of a dict in which there is nothing yet.

        A cache raises so at its first use. What has a public name, another file may fill.
        """
        return isinstance(node, cst.Subscript) and self.on.index(node) in self._raising

    def is_filled_here(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression is a dict that the file fills: an attribute of an object of
        the program, of which it sets items, or a private variable.
        """
        if isinstance(node, cst.Name):
            return node.value.startswith("_")
        if not isinstance(node, cst.Attribute) or node.attr.value not in self._filled:
            return False
        held = self.on.record.values.get(self.on.index(node.value), NOTHING)
        return bool(held) and all(isinstance(atom, Instance) for atom in held)

    @functools.cached_property
    def _filled(self) -> frozenset[str]:
        """The attributes of which the file sets items."""
        return frozenset(
            each.value.attr.value
            for each in self.on.tree.every(cst.Subscript)
            if isinstance(each.value, cst.Attribute)
            and isinstance(self.on.tree.parent(each), cst.AssignTarget)
        )

    def _of_program(
        self, held: Value, key: Key | None, indices: list[Operand], state: State
    ) -> Value:
        """Return what objects and classes of the program give for an index."""
        found: set[Atom] = set()
        for atom in held:
            if isinstance(atom, Instance):
                argument = join(*(part for _, part in indices)) if indices else UNKNOWN
                found |= self.on.calls.objects.special(atom, "__getitem__", [argument], state)
            elif isinstance(atom, Class):
                found |= self.on.program.classes.subscripted(atom.place, key, state)
        return frozenset(found)

    def _files_in(
        self, node: cst.Subscript, others: Value, state: State, *, is_text: bool
    ) -> frozenset[Host]:
        """Return what of some values is as large as a file after this: a text gives all that is
        kept under it, so does whatever an archive is asked for, a slice perhaps most of it, and a
        permutation all of it.
        """
        files = frozenset(a for a in others if isinstance(a, Host) and a.from_file)
        named = frozenset(atom for atom in files if atom.is_archive)
        if named and not self._names_all(node):
            named = frozenset()
        is_kept = is_text or (
            files == others and (self._is_share(node, state) or self._is_permuted(node, state))
        )
        return files if is_kept else named

    def _names_all(self, node: cst.Subscript) -> bool:
        """Return whether a key may be that of a whole part of an archive, `f[split]`, not one that
        is made for each item, as in `f[str(i)]` and `f[self.keys[i]]`.
        """
        index = node.slice[0].slice
        key = index.value if isinstance(index, cst.Index) else None
        if isinstance(key, cst.Name):
            bound = self.on.names.sole_definition(key)
            is_given = isinstance(bound, cst.Param)
            within = self.on.tree.around(node, cst.FunctionDef)
            is_item = within is not None and within.name.value in _GIVING_ITEMS
            if isinstance(bound, cst.For | cst.CompFor):
                return isinstance(bound.target, cst.Name)
            return is_given and not is_item
        return isinstance(key, cst.Attribute)

    def _is_share(self, node: cst.Subscript, state: State) -> bool:
        """Return whether a slice takes a share of a file, as large as all of it may be:
        `data[: int(0.9 * len(data))]`, and what is left of it.
        """
        index = node.slice[0].slice
        if len(node.slice) != 1 or not isinstance(index, cst.Slice) or index.step is not None:
            return False
        bounds = [bound for bound in (index.lower, index.upper) if bound is not None]
        if len(bounds) != 1:
            return False
        names = self.on.names
        bound = names.sole_value(bounds[0]) or bounds[0]
        if (
            index.lower is not None
            and isinstance(bound, cst.BinaryOperation)
            and isinstance(bound.operator, cst.Subtract)
        ):
            # So many items at the end.
            return False
        is_share, hops = False, 0
        pending: list[cst.CSTNode] = [bound]
        while pending:
            part = pending.pop()
            if isinstance(part, cst.Call) and names.qualified(part.func) == "builtins.min":
                return False
            of = _measured(part, names)
            if of is not None:
                is_share |= is_file(self.on.evaluate(of, state))
                continue
            said = names.sole_value(part) if hops < _MOST_NAMES_IN_BOUNDS else None
            hops += said is not None
            pending += [said] if said is not None else children(part)
        return is_share

    def _is_permuted(self, node: cst.Subscript, state: State) -> bool:
        """Return whether an index takes all items of a file in another order, or a share of these:
        `data[order]` and `data[order[: int(0.9 * len(data))]]`.
        """
        index = node.slice[0].slice
        if len(node.slice) != 1 or not isinstance(index, cst.Index):
            return False
        names = self.on.names
        order = names.sole_value(index.value) or index.value
        if isinstance(order, cst.Subscript):
            if not self._is_share(order, state):
                return False
            order = names.sole_value(order.value) or order.value
        if not isinstance(order, cst.Call) or len(order.args) != 1:
            return False
        of = _measured(_first_axis(order.args[0].value), names)
        is_order = (dotted(order.func) or "").rpartition(".")[2] in _ORDERS
        return is_order and of is not None and is_file(self.on.evaluate(of, state))

    def _bounds(self, node: cst.Subscript, state: State) -> Part | None:
        """Return the bounds and the step of a slice; None where one of them is not known."""
        index = node.slice[0].slice
        if len(node.slice) != 1 or not isinstance(index, cst.Slice):
            return None
        numbers: list[int | None] = []
        for bound in (index.lower, index.upper, index.step):
            number = integer_value(bound)
            if number is None and bound is not None:
                number = number_of(self.on.evaluate(bound, state))
            if number is None and bound is not None:
                return None
            numbers.append(number)
        return numbers[0], numbers[1], numbers[2]

    def _known_slice(self, held: Value, node: cst.Subscript, state: State) -> Sequence | None:
        """Return the part of a list of known length that a slice with known bounds takes."""
        only = sole(held)
        if not isinstance(only, Sequence) or only.items is None:
            return None
        part = self._bounds(node, state)
        if part is None:
            return None
        return of_items(only.items[slice(*part)] if part[2] != 0 else ())

    def _is_text(self, node: cst.Subscript) -> bool:
        """Return whether something is indexed by a text that is put together, or one of several.

        `f[f"{split}/x"]`, and `f[name]` in a loop over names, or over the keys of a dict.
        """
        part = node.slice[0].slice if len(node.slice) == 1 else None
        index = part.value if isinstance(part, cst.Index) else None
        if isinstance(index, cst.Name):
            names = self.on.names
            if is_bound_as_text(index, names):
                return True
            return bool(texts_of(index, names)) or is_key(index, names, dotted(node.value))
        return isinstance(index, cst.FormattedString)

    def _part_of_lists(self, node: cst.Subscript, lists: Value) -> Sequence:
        """Return a part of one of several lists of which is not known what it takes."""
        return Sequence(None, element_of(lists), self.on.targets.made(node))

    def _indexed(
        self, node: cst.Subscript, held: Value, indices: list[Operand], state: State
    ) -> Value:
        place = self.on.index(node.value)
        if any(True for _, index in indices for _ in arrays(index)):
            self.on.operations.computed(
                self.on.index(node), indices, state, UseKind.COMPUTED, in_loop=self.on.in_loop
            )
        return self.on.operations.computed(
            self.on.index(node),
            [
                (place, without_parts(held)),
                *[(i, v) for i, v in indices if any(True for _ in arrays(v))],
            ],
            state,
            UseKind.INDEXED,
            in_loop=self.on.in_loop,
            judged=1,
            certain=not _may_be_whole(node),
        )

    def key(self, node: cst.BaseExpression, held: Value) -> Key | None:
        """Return the key that an expression, which has a value, certainly is: a text, a number."""
        number = integer_value(node)
        only = sole(held)
        if number is None and isinstance(only, Plain):
            if only.member is not None:
                return only.member
            return only.number if only.text is None else only.text
        return number

    def key_of(self, node: cst.Subscript, state: State) -> Key | None:
        """Return the key in `container[key]`; None where it is not known."""
        if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return None
        index = node.slice[0].slice.value
        if isinstance(index, _TEXTS) or _is_text_method(index):
            return self.key(index, self.on.evaluate(index, state))
        return integer_value(index)


def _is_text_method(index: cst.BaseExpression) -> bool:
    """Return whether an index is a text in other letters: `table[name.lower()]`."""
    return (
        isinstance(index, cst.Call)
        and not index.args
        and isinstance(index.func, cst.Attribute)
        and index.func.attr.value in TEXT_METHODS
    )


def _items_of_rows(rows: Value) -> Value:
    """Return rows of what may be a tree, which then are items of it, split as nobody knows."""
    found: set[Atom] = set()
    for atom in rows:
        if isinstance(atom, Array):
            sharding = atom.sharding and replace(atom.sharding, replicated=False, spec=None)
            found.add(replace(atom, sharding=sharding, may_be_tree=True))
        else:
            found.add(atom)
    return frozenset(found)


def _are_empty(held: Value) -> bool:
    """Return whether a value is a dict in which there is nothing."""
    return bool(held) and all(
        isinstance(atom, Mapping) and not atom.items and not atom.element for atom in held
    )


def _named_by_text(held: Value) -> tuple[Value, Value]:
    """Return the trees, and the rest, of what may be asked for an item by a text.

    That is a dict, where there may be one, and no array.
    """
    left = frozenset(atom for atom in held if not isinstance(atom, Array)) or held
    trees = frozenset(atom for atom in left if isinstance(atom, AnyTree))
    return trees, left - trees


def _are_texts(held: Value) -> bool:
    return bool(held) and all(isinstance(atom, Plain) and atom.text is not None for atom in held)


def _arrays_of(tree: AnyTree) -> Value:
    """Return what a tree is that is one array."""
    found = frozenset(atom for atom in tree.leaf if isinstance(atom, Array | Host))
    return found or value(tree)


def _as_doubtful(found: Value, own: list[Array], held: Value) -> Value:
    """Return what is in an array that is perhaps not there, and so is perhaps not there either."""
    if own and DOUBT in held and ANYTHING not in held:
        return found - UNKNOWN | DOUBTFUL
    return found


def _part_of_devices(held: Value, part: Part | None) -> Value | None:
    """Return a part of a list of devices; None where the bounds of the slice are not known."""
    only = sole(held)
    if not isinstance(only, DeviceList) or part is None:
        return None
    devices = MeshDevices(only.platform, only.part).sliced(part)
    return None if devices is None else value(replace(only, part=devices.part))


def _part_of_grid(
    grid: DeviceGrid, node: cst.Subscript, key: Key | None, part: Part | None
) -> Value:
    """Return a part of an array of devices: of which devices, only of those in one row is known.

    Or one of the rows, where the shape is known.
    """
    if isinstance(key, int):
        rows = rows_of(grid) or []
        return value(rows[key]) if -len(rows) <= key < len(rows) else NOTHING
    if grid.shape is None or len(grid.shape) != 1 or len(node.slice) != 1:
        return value(DeviceGrid(None))
    if part is None:
        is_slice = isinstance(node.slice[0].slice, cst.Slice)
        return value(DeviceGrid(None, (None,) if is_slice else None))
    return value(DeviceGrid(None if grid.devices is None else grid.devices.sliced(part), (None,)))


def _is_grid(node: cst.BaseExpression) -> bool:
    """Return whether an expression is named like what makes coordinates of its slices."""
    return isinstance(node, cst.Attribute) and node.attr.value in {"mgrid", "ogrid"}


def _is_array(index: Value) -> bool:
    """Return whether an index is an array, which lists do not take, and dicts hardly ever."""
    sure = frozenset(atom for atom in index if atom != DOUBT)
    return bool(sure) and all(isinstance(atom, Array | Host) for atom in sure)


def _kept_under(key: Key | None, container: Atom) -> bool | None:
    """Return whether a dict has an item of a key; None where that is not known."""
    if not isinstance(container, Mapping):
        return None
    if key is not None and key in dict(container.items):
        return True
    is_absent = not container.element and (key is not None or not container.items)
    return False if is_absent else None


def _is_whole(node: cst.Subscript) -> bool:
    """Return whether an index takes everything: `x[:]`, `x[...]`, `x[()]` give the array itself."""
    if len(node.slice) != 1:
        return False
    part = node.slice[0].slice
    if isinstance(part, cst.Slice):
        return (
            (part.lower is None or integer_value(part.lower) == 0)
            and (part.upper is None or _is_length(part.upper, node.value))
            and (part.step is None or integer_value(part.step) == 1)
        )
    if isinstance(part, cst.Index):
        inner = part.value
        return isinstance(inner, cst.Ellipsis) or (
            isinstance(inner, cst.Tuple) and not inner.elements
        )
    return False


def _measured(node: cst.CSTNode, names: Names) -> cst.Name | cst.Attribute | None:
    """Return the `x` of `len(x)`, `x.shape` and `x.size`."""
    of: cst.CSTNode | None = None
    if isinstance(node, cst.Attribute) and node.attr.value in {"shape", "size"}:
        of = node.value
    elif isinstance(node, cst.Call) and names.qualified(node.func) == "builtins.len" and node.args:
        of = node.args[0].value
    return of if isinstance(of, cst.Name | cst.Attribute) else None


def _first_axis(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return `x.shape` of `x.shape[0]`; of all else, the expression itself."""
    is_first = (
        isinstance(node, cst.Subscript)
        and len(node.slice) == 1
        and isinstance(node.slice[0].slice, cst.Index)
        and integer_value(node.slice[0].slice.value) == 0
    )
    return node.value if is_first and isinstance(node, cst.Subscript) else node


def _is_length(node: cst.BaseExpression, of: cst.BaseExpression) -> bool:
    """Return whether an expression is `len(x)` or `x.shape[0]` of another."""
    text = dotted(of)
    if isinstance(node, cst.Call):
        given = [argument.value for argument in node.args]
        return dotted(node.func) == "len" and bool(text) and list(map(dotted, given)) == [text]
    return isinstance(node, cst.Subscript) and dotted(node.value) == f"{text}.shape"


def _may_be_whole(node: cst.Subscript) -> bool:
    """Return whether an index is `x[:n]`: for an `n` that is large enough, JAX gives `x` itself."""
    part = node.slice[0].slice
    return (
        len(node.slice) == 1
        and isinstance(part, cst.Slice)
        and (part.lower is None or integer_value(part.lower) == 0)
        and part.step is None
    )
