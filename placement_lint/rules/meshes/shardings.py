"""What the rules of meshes share: the shardings in a value, and what a program is aware of."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.sharding import AxisType, Mesh, Sharding, Spec
from placement_lint.prefilter.mesh_names import (
    MAKERS_OF_MESHES,
    MAKERS_OF_SHARDINGS,
    MAKERS_OF_SPECS,
)
from placement_lint.semantic.set_attributes import may_set_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from placement_lint.jaxmodel.versions import TargetVersions
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

EXPLICIT_BY_DEFAULT = "0.9.0"
"""From this version of JAX on, `jax.make_mesh` makes Explicit axes unless told otherwise (measured
on 0.8.1 and 0.9.0.1)."""

MEMORIES = (
    b"memory_kind", b"pinned_host", b"memory.Space", b"TransferToMemoryKind", b"MemorySpace",
)  # fmt: skip
_OF_MESHES = (Mesh, Sharding, Spec)
_MOST_NAMES = 16
_MOST_MADE = 3
"""Meshes and specs of one value that are shown."""
_COMPILE_TIME = (b"ensure_compile_time_eval", b"core.eval_context")
_ASKING = ("trac", "concrete", "jit", "aval", "abstract")


class Auto(enum.Enum):
    """Whether the axes of a mesh that matter are Auto, for the versions that are meant."""

    YES = enum.auto()
    PERHAPS = enum.auto()
    """It is not known, or so for some of the versions only."""
    NO = enum.auto()


def calls_at(node: cst.CSTNode, ctx: Context) -> frozenset[ShardedCall]:
    """Return every execution of a call, with what it was given."""
    return ctx.flow.record.sharded_calls.at(ctx.tree.index(node))


def may_know_meshes(ctx: Context) -> bool:
    """Return whether the axes of a mesh may be known in a file: if it does what makes one.

    A file is executed for itself only then, and so it is for what follows.
    """
    return ctx.may_say(MAKERS_OF_MESHES)


def may_know_specs(ctx: Context) -> bool:
    """Return whether a spec may be known in a file."""
    return ctx.may_say(MAKERS_OF_SPECS)


def may_know_shardings(ctx: Context) -> bool:
    """Return whether a named sharding may be known in a file, be it that of an array."""
    return ctx.may_say(MAKERS_OF_SHARDINGS | MAKERS_OF_MESHES)


def may_know_devices(ctx: Context) -> bool:
    """Return whether a device may be known in a file, or a list of some."""
    from placement_lint.semantic.expressed_words import annotated_words

    return ctx.may_say(_GIVING_DEVICES) or "Device" in annotated_words(ctx.module)


def is_unknown_alone(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether executing a file for itself says nothing of an expression: it is an attribute
    that no object of the file has, nor one of JAX's.
    """
    return (
        not ctx.module.is_executed
        and isinstance(node, cst.Attribute)
        and node.attr.value not in _KNOWN_ATTRIBUTES
        and not may_set_attribute(ctx.module, node.attr.value)
    )


def may_split(ctx: Context) -> bool:
    """Return whether it may be known in a file how an array is split."""
    return may_know_specs(ctx) and ctx.may_say(MAKERS_OF_SHARDINGS)


_GIVING_DEVICES = frozenset({
    "create_device_mesh", "device", "devices", "jax_default_device", "local_devices",
})  # fmt: skip
_KNOWN_ATTRIBUTES = frozenset({
    "T", "abstract_mesh", "at", "axis_names", "devices", "init",
    "jax_default_device", "mesh", "mT", "sharding", "spec", "update", "value",
})  # fmt: skip
"""What the interpreter knows of objects of libraries; see `engine.classes`."""


def leaves(held: Value, depth: int = 4) -> Iterator[Atom]:
    """Yield the things in a value that are no lists, tuples or dicts of others."""
    from placement_lint.placement.domain.values import Mapping, Sequence

    for atom in held:
        if isinstance(atom, Sequence | Mapping) and depth:
            parts = atom.parts()
            if isinstance(atom, Sequence) and atom.items is not None:
                parts = list(atom.items)
            for part in parts:
                yield from leaves(part, depth - 1)
        else:
            yield atom


def is_auto(mesh: Mesh | None, axes: frozenset[str], target: TargetVersions) -> Auto:
    """Return whether some axes of a mesh are Auto; those of all of it where none is named."""
    if mesh is None:
        return Auto.PERHAPS
    types = frozenset(map(mesh.type_of, axes)) if axes else mesh.every_type
    if AxisType.EXPLICIT in types:
        return Auto.NO
    if None in types:
        return Auto.PERHAPS
    if AxisType.BY_VERSION not in types or not target.reaches(EXPLICIT_BY_DEFAULT):
        return Auto.YES
    return Auto.NO if target.all_reach(EXPLICIT_BY_DEFAULT) else Auto.PERHAPS


def made_at(
    node: cst.CSTNode, ctx: Context, *held: Sharding | Mesh | None
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where meshes, and the specs of shardings, are made, as what is related to a node.

    Not what is inside of the node.
    """
    found: dict[Place, str] = {}
    for each in held:
        mesh = each.mesh if isinstance(each, Sharding) else each
        spec = each.spec if isinstance(each, Sharding) else None
        if mesh is not None and mesh.made is not None:
            found.setdefault(mesh.made, "the mesh is made here")
        if spec is not None and spec.made is not None:
            found.setdefault(spec.made, "the spec")
    return related_places(node, ctx, found)


def made_of(node: cst.CSTNode, ctx: Context, *held: Value) -> list[tuple[cst.CSTNode, str, str]]:
    """Return where the meshes and specs in values are made, as what is related to a node.

    Several specs may be written alike: they come in the order of the program.
    """
    found: dict[Place, str] = {}
    for each in held:
        of_meshes = (atom for atom in leaves(each) if isinstance(atom, _OF_MESHES))
        for atom in sorted(of_meshes, key=_made_order)[:_MOST_MADE]:
            if isinstance(atom, Spec) and atom.made is not None:
                found.setdefault(atom.made, "the spec")
            for made, module, what in () if isinstance(atom, Spec) else made_at(node, ctx, atom):
                found.setdefault(ctx.module.siblings[module].flow.module.place(made), what)
    return related_places(node, ctx, found)


def _made_order(atom: Atom) -> tuple[tuple[Place, ...], str, str]:
    """Return the key by which meshes, specs and shardings come in the order of the program."""
    made = [getattr(each, "made", None) for each in _parts(atom)]
    return tuple(place for place in made if place is not None), str(atom), repr(atom)


def _parts(atom: Atom) -> tuple[Atom | None, ...]:
    return (atom.mesh, atom.spec) if isinstance(atom, Sharding) else (atom,)


def related_places(
    node: cst.CSTNode, ctx: Context, found: Mapping[Place, str]
) -> list[tuple[cst.CSTNode, str, str]]:
    """Return places, each with what is there, as what is related to a node that they are not in."""
    related: list[tuple[cst.CSTNode, str, str]] = []
    for place, what in found.items():
        facts = ctx.module.siblings.get(place.module)
        if facts is None:
            continue
        made = facts.tree.nodes[place.node]
        if facts is not ctx.module or not ctx.tree.is_inside(made, node):
            related.append((made, place.module, what))
    return related


def sharding_of_one(atom: Atom) -> Sharding | None:
    """Return how one array is split; None for what may be a tree, of which an index takes a part
    and iterating gives the items, or the keys.
    """
    from placement_lint.placement.domain.values import Array

    return atom.sharding if isinstance(atom, Array) and not atom.may_be_tree else None


def axes_of(sharding: Sharding) -> frozenset[str]:
    """Return the axes that a sharding surely names."""
    return frozenset(() if sharding.spec is None else sharding.spec.axes())


def names_memories(ctx: Context, *, elsewhere: bool = False) -> bool:
    """Return whether the file, or one that is interpreted with it, knows more than one memory.

    Then an array may be in that of the host, and a sharding be there to take it out of it.
    `elsewhere`: any other file of its programs.
    """
    if elsewhere:
        return _says(ctx, MEMORIES, elsewhere=True)
    siblings = ctx.module.siblings.values()
    return any(facts.says(*MEMORIES) for facts in siblings) or says(ctx, *MEMORIES)


def may_run_at_compile_time(ctx: Context, *, elsewhere: bool = False) -> bool:
    """Return whether the file, or another one of its programs, has code that runs at once while
    what is around it is traced.
    """
    return _says(ctx, _COMPILE_TIME, elsewhere=elsewhere)


def _says(ctx: Context, words: tuple[bytes, ...], *, elsewhere: bool) -> bool:
    if elsewhere:
        return ctx.module.run.mentions(ctx.module.path, *words)
    return says(ctx, *words)


def says(ctx: Context, *words: bytes) -> bool:
    """Return whether the file has one of these words, in code or elsewhere."""
    return ctx.module.says(*words)


def depends_on_tracing(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a condition around a node may ask whether it is traced; or a handler is."""
    from placement_lint.semantic.enclosing import (
        ancestors_in_function,
        mentions_word,
        passed_exits,
    )

    for child, ancestor in ancestors_in_function(node, ctx):
        if isinstance(ancestor, cst.ExceptHandler | cst.ExceptStarHandler):
            return True
        if (
            isinstance(ancestor, cst.If | cst.IfExp)
            and child is not ancestor.test
            and mentions_word(ancestor.test, _ASKING, ctx)
        ):
            return True
    return any(mentions_word(each.test, _ASKING, ctx) for each in passed_exits(node, ctx))


def name_at(node: cst.CSTNode, ctx: Context, held: Value | None) -> str | None:
    """Return the one name that stands for a mesh or a sharding where a node is; None: there is
    none. Without a value: for any mesh.
    """
    every = ctx.module.fact(_named).get(held, [])
    if len(every) > _MOST_NAMES:
        return None
    found = {name for name, assigned in every if _is_in_force(assigned, node, ctx)}
    return found.pop() if len(found) == 1 else None


def _named(facts: ModuleFacts) -> dict[Value | None, list[tuple[str, cst.Assign]]]:
    """Return the names that are bound to a mesh or a sharding, by it; under None, to any mesh."""
    found: dict[Value | None, list[tuple[str, cst.Assign]]] = {}
    for assigned in facts.tree.every(cst.Assign):
        held = facts.flow.value(assigned.value)
        if len(held) != 1 or not all(isinstance(atom, Mesh | Sharding) for atom in held):
            continue
        for target in assigned.targets:
            if isinstance(target.target, cst.Name):
                entry = (target.target.value, assigned)
                found.setdefault(held, []).append(entry)
                if all(isinstance(atom, Mesh) for atom in held):
                    found.setdefault(None, []).append(entry)
    return found


def _is_in_force(assigned: cst.CSTNode, node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether what is assigned is seen at a node: of the file, or of its body above it."""
    scope = ctx.names.scope(assigned)
    is_of_file = scope is ctx.names.module_scope
    if scope is not ctx.names.scope(node) and not is_of_file:
        return False
    in_same_body = scope is ctx.names.scope(node)
    return not in_same_body or ctx.tree.index(assigned) < ctx.tree.index(node)


def split_over(held: Value, *, partly: bool = False) -> Sharding | None:
    """Return how the arrays in a value surely are split; None where one of them may not be.

    `partly`: some of a tree may be whole on the mesh, as the small ones often are.
    """
    from placement_lint.placement.domain.contents import arrays
    from placement_lint.placement.domain.values import Array
    from placement_lint.rules.commitment.commitment_lost import is_certain

    found = list(arrays(held))
    known = [
        array.sharding
        for array in found
        if array.sharding is not None
        and array.sharding.is_named
        and array.sharding.spec is not None
        and array.sharding.spec.splits
    ]
    on_mesh = [array for array in found if array.sharding is not None and array.sharding.spec]
    is_tree = not any(isinstance(atom, Array) for atom in held)
    is_sure = len(on_mesh if partly and is_tree else known) == len(found) and is_certain(held)
    return min(known, key=str) if known and is_sure else None
