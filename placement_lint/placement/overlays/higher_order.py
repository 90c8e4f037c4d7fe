"""Functions that are given to others, which call them: `map(f, xs)`, `sorted(xs, key=f)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS, SHARD_MAPS
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.contents import arrays, committed_to, element_of, iterated_of
from placement_lint.placement.domain.library_values import DeviceList, LibraryFunction
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.sharding import Sharding, Spec
from placement_lint.placement.domain.state import ANY_DEVICE, DefaultDevice
from placement_lint.placement.domain.values import (
    ANYTHING,
    HOST,
    NOTHING,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Computation,
    Host,
    Mapping,
    Partial,
    Plain,
    Sequence,
    TheDevice,
    TreeStructure,
    Value,
    join,
    limited,
    sole,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments
from placement_lint.placement.engine.pytrees import is_leaf, tree_of
from placement_lint.placement.overlays.jax_sharding import (
    ASSEMBLING,
    assembled,
    made_by_bound,
    place_of,
    put_to,
    saw_put,
)
from placement_lint.placement.overlays.like_creators import made_like
from placement_lint.placement.overlays.registry import LibraryCall, models
from placement_lint.placement.overlays.trees_of_shardings import put_to_each
from placement_lint.syntax.calls import is_none

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from placement_lint.placement.domain.keys import Member
    from placement_lint.placement.domain.values import Atom

_COMPUTING = frozenset({Effect.COMPUTE, Effect.COPY, Effect.SAMPLE})
_HANDING = frozenset({Effect.IDENTITY, Effect.CONVERT, Effect.COPY})
"""Without an array, a copy is one of something else, as a conversion is."""
_OPERATORS = "operator."
_PLAIN_CALLS = frozenset({
    "builtins.bool", "builtins.float", "builtins.id", "builtins.int", "builtins.len",
    "builtins.print", "builtins.repr", "builtins.str", "builtins.type",
})  # fmt: skip
_WITH_MESHES = frozenset((*NAMED_SHARDINGS, *SHARD_MAPS))
_MAX_LEAVES = 16
"""Different leaves of one tree that a function is applied to one by one."""


def apply(
    call: LibraryCall, function: cst.BaseExpression, held: Value, given: list[tuple[int, Value]]
) -> Value:
    """Call a function, which an expression gives, with arguments, each with its place."""
    name = call.on.names.qualified(function)
    row = call.on.names.table.get(name or "")
    if row is None and not (name or "").startswith((*LIBRARY_PREFIXES, _OPERATORS)):
        only = sole(held)
        bound = library_call_of(only) if only is not None else None
        if bound is not None:
            return applied_to(call, bound, given)
        if isinstance(only, Computation):
            objects = call.on.calls.objects
            return objects.computed_with(call.node, only, given, call.state)
        passed = CallArguments([part for _, part in given])
        return call.called(held, passed)
    if name == "jax.device_put":
        return _put(call, CallArguments([part for _, part in given]))
    return _named(call, name or "", given)


@dataclass(frozen=True)
class BoundFunction:
    """A function of a library, with the arguments that `functools.partial` gave it."""

    name: str
    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


def library_call_of(atom: Atom) -> BoundFunction | None:
    """Return the function of a library that calling a thing calls; None for all else."""
    if isinstance(atom, LibraryFunction):
        return BoundFunction(atom.name)
    if isinstance(atom, Partial) and isinstance(atom.function, LibraryFunction):
        return BoundFunction(atom.function.name, atom.positional, atom.keywords)
    return None


def applied_to(call: LibraryCall, function: BoundFunction, given: list[tuple[int, Value]]) -> Value:
    """Call a function of a library with arguments that are evaluated already, with their places."""
    # At the call itself is what it gives.
    place = call.index(call.node.func)
    positional = [*((place, held) for held in function.positional), *given]
    keywords = dict(function.keywords)
    passed = CallArguments([held for _, held in positional], keywords)
    if function.name == "jax.device_put":
        return _put(call, passed)
    if function.name in ASSEMBLING:
        return assembled(function.name, passed)
    if function.name in _WITH_MESHES:
        return made_by_bound(call, function.name, passed)
    named = [(place, held) for held in keywords.values()]
    return _named(call, function.name, [*positional, *named])


def _put(call: LibraryCall, passed: CallArguments) -> Value:
    """`jax.device_put(x, d)`, where neither is written out."""
    target = passed.positional[1] if len(passed.positional) > 1 else passed.keywords.get("device")
    if len(passed.positional) == 1 and not passed.keywords:
        # Arrays stay where they are, and others go to the default device.
        leaf = passed.positional[0]
        kept = frozenset(atom for atom in leaf if isinstance(atom, Array | AnyTree | Anything))
        is_data = all(isinstance(atom, Host | Plain) for atom in leaf - kept)
        made = call.created() if is_data else UNKNOWN
        return kept if len(kept) == len(leaf) else kept | made
    if not passed.positional or target is None:
        for held in passed.every():
            call.escapes(held)
        return UNKNOWN
    held = passed.positional[0]
    call.on.operations.touch(held)
    sharding = place_of(target)
    devices = {atom.device if isinstance(atom, TheDevice) else None for atom in target}
    saw_put(call, held)
    placed = put_to(call, held, devices, sharding)
    call.program.objects.supersede(held, placed, call.state)
    return placed


def _named(call: LibraryCall, name: str, given: list[tuple[int, Value]]) -> Value:
    """Call the function of a library with a name."""
    if name == "functools.update_wrapper" and given:
        return given[0][1]
    row = call.on.names.table.get(name)
    has_array = any(isinstance(atom, Array) for _, part in given for atom in part)
    if name in _PLAIN_CALLS or (row is not None and row.effect is Effect.PLAIN):
        return PLAIN
    if (row is not None and row.effect is Effect.HOST) or (
        name.startswith("numpy.") and name not in _NUMPY_MOVING
    ):
        return HOST
    computes = name in _NUMPY_MOVING or name.startswith(_OPERATORS)
    if (computes or (row is not None and row.effect in _COMPUTING)) and has_array:
        # What asks for a part of a container computes on no array.
        certain = row is None or name not in transfer.SHAPE_PRESERVING_WHEN_EQUAL
        return call.computed(given, certain=certain)
    if row is not None and row.effect in _HANDING and given:
        return _same(call, given[0][1])
    if name in transfer.LIKE_CREATORS and len(given) == 1:
        return made_like(call, call.created(), given[0][1], keeps_type=True)
    for _, part in given:
        call.escapes(part)
    return UNKNOWN


def _same(call: LibraryCall, held: Value) -> Value:
    """Hand an array back; make one of all else."""
    kept = frozenset(atom for atom in held if isinstance(atom, Array))
    if any(isinstance(atom, Anything) for atom in held):
        # What a pickle holds is converted because it is NumPy's.
        kept = frozenset(a for a in kept if a.origin is None or a.origin.is_apart)
    if len(kept) == len(held):
        return held
    known = not any(isinstance(atom, Anything) for atom in held)
    made = call.created(certain=known)
    return limited(kept | made)


@models("builtins.map", lazy=True)
def map_(call: LibraryCall) -> Value:
    """`map(f, xs, ys)`: calls f where what it gives is consumed."""
    parts = call.values()
    if call.arguments.is_open or len(call.node.args) < 2:
        for part in parts:
            call.escapes(part)
        return UNKNOWN
    if call.on.iteration.is_kept(call.node) and not call.on.calls.is_at_once(call.node):
        blocks = call.state.blocks
        call.state.blocks = (*blocks, DefaultDevice(ANY_DEVICE, inherited=True))
        result = _mapped(call, parts)
        call.state.blocks = blocks
        return result
    return _mapped(call, parts)


def _mapped(call: LibraryCall, parts: list[Value]) -> Value:
    function, *given = (argument.value for argument in call.node.args)
    few = None
    if len(given) == 1 and isinstance(sole(parts[1]), DeviceList | Sequence):
        few = call.on.iteration.each(given[0], parts[1], call.state)
    if few is not None:
        place = call.index(given[0])
        with call.on.loop(repeats=False):
            found = [
                apply(call, function, parts[0], [(place, item)])
                for item in call.on.iteration.rounds(few)
            ]
        return value(Sequence(tuple(found), join(*found)))
    with call.on.loop():
        elements = [
            (call.index(argument.value), call.element(argument.value, part))
            for argument, part in zip(call.node.args[1:], parts[1:], strict=True)
        ]
        result = apply(call, function, parts[0], elements)
    return value(Sequence(None, result))


@models("builtins.filter", lazy=True)
def filter_(call: LibraryCall) -> Value:
    parts = call.values()
    if len(parts) != 2:
        return UNKNOWN
    given = call.node.args[1].value
    with call.on.loop():
        element = call.element(given, parts[1])
        if not is_none(call.node.args[0].value):
            place = call.index(given)
            apply(call, call.node.args[0].value, parts[0], [(place, element)])
    return value(Sequence(None, element))


@models("builtins.max", "builtins.min", "builtins.sorted")
def ordered(call: LibraryCall) -> Value:
    name = call.name
    several = name != "builtins.sorted" and sum(a.keyword is None for a in call.node.args) > 1
    elements: list[Value] = []
    compared: list[tuple[int, Value]] = []
    for argument in call.node.args:
        held = call.argument(argument.value)
        if argument.keyword is not None:
            continue
        only = sole(held)
        items = [held] if several else only.items if isinstance(only, Sequence) else None
        if not argument.star and all(isinstance(a, Array) for item in items or () for a in item):
            # Of tuples nobody knows how much is compared.
            compared.append((call.index(argument.value), held))
        if argument.star == "*":
            elements.append(iterated_of(held) or UNKNOWN)
        else:
            elements.append(held if several else call.element(argument.value, held))
    element = join(*elements) if elements else UNKNOWN
    if call.arguments.get(None, "key") is None:
        call.on.operations.compare(call.index(call.node), compared)
    if call.on.supposed is not None:
        # They are compared with one another.
        call.on.supposed.followed(element, call.state.default.devices)
    key = call.arguments.get(None, "key")
    if key is not None and not is_none(key):
        function = call.on.record.values.get(call.index(key), UNKNOWN)
        place = call.index(call.node.args[0].value)
        with call.on.loop():
            apply(call, key, function, [(place, element)])
    if name == "builtins.sorted":
        return value(Sequence(None, element))
    default = call.arguments.get(None, "default")
    return element if default is None else join(element, call.evaluate(default))


@models("functools.reduce")
def reduce(call: LibraryCall) -> Value:
    """`functools.reduce(f, xs, first)`: calls f with what it gave, and the next element."""
    parts = call.values()
    if len(call.arguments.positional) < 2 or call.arguments.is_open:
        for part in parts:
            call.escapes(part)
        return UNKNOWN
    given = call.node.args[1].value
    place = call.index(given)
    first = place if len(parts) < 3 else call.index(call.node.args[2].value)
    listed_now = call.on.iteration.listed(parts[1], call.state)
    items = call.on.iteration.each(given, listed_now, call.state)
    if items is not None:
        total, *rest = (*parts[2:], *items)
        with call.on.loop(repeats=False):
            for item in rest:
                operands = [(first, total), (place, item)]
                total = apply(call, call.node.args[0].value, parts[0], operands)
                first = place
        return total
    with call.on.loop():
        element = call.element(given, parts[1])
        result = parts[2] if len(parts) > 2 else element
        for _ in range(2):
            once = apply(
                call, call.node.args[0].value, parts[0], [(first, result), (place, element)]
            )
            result = join(result, once)
            if len(parts) > 2:
                # What it gave comes in the place of the first value, as by a loop that binds it.
                call.on.record.saw_value(first, result)
    listed = sole(parts[1])
    is_run = isinstance(listed, Sequence) and bool(listed.items) and len(parts) > 2
    return once if is_run else result


@models(
    "jax.tree.reduce", "jax.tree.reduce_associative", "jax.tree_util.tree_reduce",
    "jax.tree_util.tree_reduce_associative",
)  # fmt: skip
def tree_reduce(call: LibraryCall) -> Value:
    """`jax.tree.reduce(f, tree, first)`: calls f with what it gave, and the next leaf."""
    function, tree = call.arguments.get(0, "function", "operation"), call.arguments.get(1, "tree")
    held = [(argument.value, call.argument(argument.value)) for argument in call.node.args]
    is_other_leaf = call.arguments.get(3, "is_leaf") is not None
    if function is None or tree is None or call.arguments.is_open or is_other_leaf:
        for _, each in held:
            call.escapes(each)
        return UNKNOWN
    given = dict(held)
    leaves = [*call.program.trees.leaves(given[tree], call.state)]
    if not leaves:
        return UNKNOWN
    place, leaf = call.index(tree), join(*leaves)
    start = call.arguments.get(2, "initializer", "identity")
    first = place if start is None else call.index(start)
    total = result = leaf if start is None else given[start]
    for _ in range(2):
        result = apply(call, function, given[function], [(first, total), (place, leaf)])
        total = join(total, result)
    return result if start is not None else total


@models("jax.tree.transpose", "jax.tree_util.tree_transpose")
def tree_transpose(call: LibraryCall) -> Value:
    """`jax.tree.transpose(outer, inner, tree)`: the same arrays, in another tree."""
    held = call.values()
    if len(held) != 3 or call.arguments.is_open:
        return UNKNOWN
    leaves = [*call.program.trees.leaves(held[2], call.state)]
    return tree_of(join(*leaves)) if leaves else UNKNOWN


@models("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map")
def tree_map(call: LibraryCall) -> Value:
    """`jax.tree.map(f, tree, *rest)`: a tree like the first one, of what f gives."""
    return _over_leaves(call, ())


@models("jax.tree.map_with_path", "jax.tree_util.tree_map_with_path")
def tree_map_with_path(call: LibraryCall) -> Value:
    """`jax.tree.map_with_path(f, tree, *rest)`: f is given the path of each leaf first."""
    return _over_leaves(call, (PLAIN,))


def _over_leaves(call: LibraryCall, before: tuple[Value, ...]) -> Value:
    """Apply a function to each leaf; `before`: what it is given before the leaf."""
    listed = _only_star(call)
    if listed is None and (call.arguments.is_open or len(call.arguments.positional) < 2):
        for argument in call.node.args:
            call.escapes(call.argument(argument.value))
        return UNKNOWN
    function = call.arguments.positional[0]
    held = call.argument(function)
    trees = [(call.index(tree), call.argument(tree)) for tree in call.arguments.positional[1:]]
    if listed is not None:
        each = call.element(listed, call.argument(listed))
        trees = [(call.index(listed), each)] * 2
    for keyword in call.arguments.keywords.values():
        call.evaluate(keyword)
    of = call.program.trees
    if call.on.names.qualified(function) == "jax.device_put" and len(trees) == 2 and not before:
        placed = put_to_each(call, trees[0][1], trees[1][1])
        if placed is not None:
            return placed
        put = _put_by(call, trees[1][1])
        if put is not None:
            return of.rebuilt(trees[0][1], put, call.place, call.state, is_put=True)
    rest = [(place, _every_leaf(call, tree)) for place, tree in trees[1:]]
    place, first = trees[0]
    known: dict[tuple[Value, ...], Value] = {}
    paths = [(call.index(function), each) for each in before]

    def mapped(leaf: Value, rest: list[tuple[int, Value]] = rest) -> Value:
        given = (leaf, *(held for _, held in rest))
        if given not in known:
            known[given] = apply(call, function, held, [*paths, (place, leaf), *rest])
        return known[given]

    leaves = set(of.leaves(first, call.state))
    parts = of.spread(first, call.state)
    if parts is not first:
        call.on.record.saw_tree(place, parts)
    every = _every_array(parts)
    are_specs = all(isinstance(atom, Sharding | Spec) for leaf in leaves for atom in leaf)
    if call.arguments.get(None, "is_leaf") is not None and not (leaves and are_specs):
        return tree_of(mapped(tree_of(every)))
    if len(leaves) > _MAX_LEAVES:
        return tree_of(mapped(every))
    side = _by_shardings(call, parts, trees[1:], mapped)
    if side is not None:
        call.program.objects.supersede(first, side, call.state)
        return side
    # What is not known may be a tree as well as one array.
    unknown = frozenset(a for a in first if a == ANYTHING or isinstance(a, External))
    made = of.rebuilt(first - unknown, mapped, call.place, call.state)
    call.program.objects.supersede(first, made, call.state)
    return made | tree_of(mapped(unknown)) if unknown else made


def _by_shardings(
    call: LibraryCall,
    tree: Value,
    others: list[tuple[int, Value]],
    mapped: Callable[[Value, list[tuple[int, Value]]], Value],
) -> Value | None:
    """Map the leaves of a dict, each with the sharding or the spec that others have at its key.

    None where these are none, or have one for all.
    """
    only = sole(tree)
    if not isinstance(only, Mapping) or only.element or not others:
        return None
    leaves = {leaf for _, other in others for leaf in call.program.trees.leaves(other, call.state)}
    if not 1 < len(leaves) <= _MAX_LEAVES or len(only.items) > _MAX_LEAVES:
        return None
    if not all(isinstance(atom, Sharding | Spec) for leaf in leaves for atom in leaf):
        return None

    def over(held: Value, beside: list[tuple[int, Value]]) -> Value | None:
        whole, maps = sole(held), [(index, sole(other)) for index, other in beside]
        if not isinstance(whole, Mapping):
            is_one = all(atom is not None and is_leaf(atom) for _, atom in maps)
            return mapped(held, beside) if is_one else None
        pairs: list[tuple[str | int | Member, Value]] = []
        for key, part in whole.items:
            given = [(i, dict(one.items).get(key)) for i, one in maps if isinstance(one, Mapping)]
            found = [(index, other) for index, other in given if other]
            made = over(part, found) if len(found) == len(beside) else None
            if made is None:
                return None
            pairs.append((key, made))
        return None if whole.element else value(Mapping(tuple(pairs), NOTHING))

    return over(tree, others)


def _only_star(call: LibraryCall) -> cst.BaseExpression | None:
    """Return `trees` of `jax.tree.map(f, *trees)`, where nothing else is passed."""
    given = call.node.args
    is_star = len(given) == 2 and given[1].star == "*" and given[0].star == ""
    return given[1].value if is_star and given[0].keyword is None else None


def _put_by(call: LibraryCall, shardings: Value) -> Callable[[Value], Value] | None:
    """Return what `jax.device_put` does with a leaf, by one of the shardings in a tree."""
    targets = {atom for leaf in call.program.trees.leaves(shardings, call.state) for atom in leaf}
    named = {each for each in targets if isinstance(each, Sharding) and each.is_named}
    meshes = {each.mesh for each in named}
    if not named or named != targets or len(meshes) != 1:
        return None
    sharding = named.pop() if len(named) == 1 else Sharding(mesh=meshes.pop(), is_named=True)
    by = frozenset({call.place})
    return lambda leaf: committed_to(leaf, {None}, by, sharding)


@models("jax.tree.leaves", "jax.tree_util.tree_leaves")
def tree_leaves(call: LibraryCall) -> Value:
    """`jax.tree.leaves(tree)`: a list of the leaves."""
    return _leaves(call, _tree(call))


@models("jax.tree.flatten", "jax.tree_util.tree_flatten")
def tree_flatten(call: LibraryCall) -> Value:
    """`jax.tree.flatten(tree)`: the leaves, and the structure."""
    tree = _tree(call)
    return _taken_apart(call, tree, _leaves(call, tree))


@models("jax.tree.leaves_with_path", "jax.tree_util.tree_leaves_with_path")
def tree_leaves_with_path(call: LibraryCall) -> Value:
    """`jax.tree.leaves_with_path(tree)`: a list of the leaves, each with its path."""
    return _with_paths(_leaves(call, _tree(call)))


@models("jax.tree.flatten_with_path", "jax.tree_util.tree_flatten_with_path")
def tree_flatten_with_path(call: LibraryCall) -> Value:
    """`jax.tree.flatten_with_path(tree)`: the leaves with their paths, and the structure."""
    tree = _tree(call)
    return _taken_apart(call, tree, _with_paths(_leaves(call, tree)))


@models("jax.tree.structure", "jax.tree_util.tree_structure")
def tree_structure(call: LibraryCall) -> Value:
    """`jax.tree.structure(tree)`: how the leaves are put together."""
    return value(TreeStructure(_tree(call)))


@models("jax.tree.unflatten", "jax.tree_util.tree_unflatten")
def tree_unflatten(call: LibraryCall) -> Value:
    """`jax.tree.unflatten(structure, leaves)`: a tree of that structure, of these leaves."""
    leaves = call.arguments.get(1, "leaves")
    structure = sole(call.argument(call.arguments.get(0, "treedef")))
    if leaves is None or call.arguments.is_open:
        for argument in call.node.args:
            call.escapes(call.argument(argument.value))
        return UNKNOWN
    leaf = call.element(leaves, call.argument(leaves)) or UNKNOWN
    if not isinstance(structure, TreeStructure) or leaf == UNKNOWN:
        return tree_of(leaf)
    trees = call.program.trees
    return trees.rebuilt(structure.tree, lambda _: leaf, call.place, call.state)


def _taken_apart(call: LibraryCall, tree: Value, leaves: Value) -> Value:
    """Return the leaves of a tree, and its structure."""
    call.program.objects.take_apart(tree, call.state)
    structure = value(TreeStructure(tree))
    return value(Sequence((leaves, structure), join(leaves, structure)))


def _with_paths(leaves: Value) -> Value:
    """Return a list of pairs, of a path and one of the leaves in a list."""
    leaf = element_of(leaves)
    return value(Sequence(None, value(Sequence((PLAIN, leaf), join(PLAIN, leaf)))))


def _tree(call: LibraryCall) -> Value:
    held = call.values()
    return held[0] if held else UNKNOWN


def _leaves(call: LibraryCall, tree: Value) -> Value:
    leaves = [*call.program.trees.leaves(tree, call.state)]
    return value(Sequence(None, join(*leaves) if leaves else NOTHING))


def _every_leaf(call: LibraryCall, tree: Value) -> Value:
    """Return what a leaf of a tree may be: one of its arrays, shardings or specs, or NumPy's."""
    of = call.program.trees
    found = _every_array(of.spread(tree, call.state))
    if found != UNKNOWN:
        return found
    leaves = [*of.leaves(tree, call.state)]
    atoms = [atom for leaf in leaves for atom in leaf]
    if atoms and all(isinstance(atom, Sharding | Spec) for atom in atoms):
        return join(*leaves)
    if not atoms or not all(isinstance(atom, Host) for atom in atoms):
        return UNKNOWN
    return TENSOR if any(atom in TENSOR for atom in atoms) else HOST


def _every_array(tree: Value) -> Value:
    """Return what a leaf of a tree may be: one of its arrays, where it has any."""
    return frozenset(arrays(tree)) or UNKNOWN


_NUMPY_MOVING = transfer.NUMPY_DISPATCHING | transfer.NUMPY_MOVING_TO_HOST
