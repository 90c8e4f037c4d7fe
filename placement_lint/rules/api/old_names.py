"""Where a file uses old parts of JAX, and what can be written instead."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit
from placement_lint.jaxmodel.removed import OLD_APIS, Access, OldApi
from placement_lint.jaxmodel.versions import TargetVersions, written
from placement_lint.placement.domain import values
from placement_lint.prefilter.array_names import MAKES_ARRAYS
from placement_lint.prefilter.conditions import (
    GAP,
    AllOf,
    AnyOf,
    ArgumentMatches,
    Enters,
    InImport,
    Jax,
    Needs,
    Pattern,
    ReadOfValue,
    Uses,
)
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.semantic.version_guards import deprecation_is_known, is_guarded
from placement_lint.syntax.definitions import class_of_receiver, parameter_named
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.import_statements import imported_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.names import Binding

_CONFIG = "jax.config"
_STILL_NAMES = frozenset({_CONFIG, "jax.memory"})
"""Modules that went, where the attribute of the same name stayed: `from jax import memory`."""
_NAMED = frozenset({Access.NAME, Access.CALL, Access.MODULE})
_CONVERTING = frozenset({"jax.numpy.array", "jax.numpy.asarray"})
_MESH = "jax.sharding.Mesh"
_MESHES = frozenset({_MESH, "jax.make_mesh"})
_ENTERED_MESH = (
    rb"(?<![\w.])with\b(?:[^:#]{0,99},)?[\s\\(]{0,40}"
    rb"[\w.]{0,80}mesh\w{0,40}[\s\\)]{0,40}(?:[,:]|as\b|if\b)"
)
"""A variable or an attribute that is entered, and is named like a mesh."""
_ARRAY = "jax.Array."
_RENAMED_BEHIND = frozenset({"device_local_layout"})
"""Attributes of what an old attribute gave, that what the new one gives has not (measured: that of
`x.layout` on 0.6.2 is `x.format.layout` on 0.7.2 to 0.12)."""

_MOST_RELATED = 10

_ROWS = [api for api in OLD_APIS if api.is_placement]
_BY_NAME: dict[str, list[OldApi]] = {}
for _api in _ROWS:
    if _api.use in {Access.NAME, Access.CALL, Access.MODULE}:
        _BY_NAME.setdefault(_api.name, []).append(_api)
_ARGUMENTS = {api.name: api for api in _ROWS if api.use is Access.ARGUMENT}
_ENTERED = {api.name: api for api in _ROWS if api.use is Access.ENTER}
_OF_ARRAYS = {
    api.name.removeprefix(_ARRAY): api
    for api in _ROWS
    if api.use in {Access.ARRAY_ATTRIBUTE, Access.ARRAY_CALL}
}


_WITH_MESHES = (
    "jax.experimental.maps", "jax.experimental.mesh_utils", "jax.experimental.pjit",
    "jax.experimental.shard_map", "jax.sharding", "jax.shard_map",
)  # fmt: skip
"""What a file imports whose meshes are those of JAX."""
_OTHER_MESHES = frozenset({
    "bpy", "dolfin", "dolfinx", "firedrake", "gmsh", "meshio", "open3d", "pymesh", "pytorch3d",
    "pyvista", "torch", "trimesh",
})  # fmt: skip
"""Packages with meshes of another kind."""
_ONLY_OF_ARRAYS = frozenset({"device_buffers"})
"""Attributes whose names say that what they are read of is an array."""


@dataclass(frozen=True)
class Hit:
    """One use of an old part of JAX."""

    api: OldApi
    node: cst.CSTNode
    """The name as it is used, or the imported name."""
    spelled: str
    """What stands there."""
    is_certain: bool = True
    """False: only the name of an attribute says that it is one of an array."""


def is_removed(api: OldApi, target: TargetVersions) -> bool:
    return target.reaches(api.removed)


def is_deprecated(api: OldApi, target: TargetVersions) -> bool:
    """Return whether the versions warn of it, all still have it, and something can be done."""
    if is_removed(api, target) or not target.reaches(api.deprecated):
        return False
    if target.all_reach(api.deprecated):
        return True
    # Where old versions are meant too, what is to be used in its stead must be in all of them.
    if api.replacement_since is not None:
        return target.all_reach(api.replacement_since)
    return api.replacement is not None


def needs_of(rows: Iterable[OldApi]) -> Needs:
    placing = [api for api in rows if api.is_placement]
    named = [api.name for api in placing if api.use in _NAMED and api.name not in _STILL_NAMES]
    others = [_needs(api) for api in placing if api.name not in named]
    return AllOf(Jax(), AnyOf(Uses(*named, *(f"{name}.*" for name in named)), *others))


def needs_of_arrays(rows: Iterable[OldApi]) -> Needs:
    """Return the condition that a file reads an attribute that rows say of arrays."""
    return AnyOf(*(_read(api) for api in rows if api in _OF_ARRAYS.values()))


def _read(api: OldApi) -> ReadOfValue:
    return ReadOfValue(api.name.rpartition(".")[2], called=api.use is Access.ARRAY_CALL)


def _needs(api: OldApi) -> Needs:
    """Return a condition that few files without a use meet, for what is no plain name."""
    function, _, last = api.name.rpartition(".")
    if api.name in _STILL_NAMES:
        word = last.encode()
        return InImport(rb"\bjax" + GAP + rb"\." + GAP + word + rb"\b", word=word)
    if api.use is Access.ENTER:
        called = AllOf(Uses(*_MESHES), Pattern(rb"\bwith\b[^:#]{1,200}mesh", word=b"mesh"))
        return AnyOf(Enters(*_MESHES), called, Pattern(_ENTERED_MESH, word=b"mesh"))
    if api.use in {Access.ARRAY_ATTRIBUTE, Access.ARRAY_CALL}:
        read = _read(api)
        return read if last in _ONLY_OF_ARRAYS else AllOf(read, MAKES_ARRAYS)
    bound = AllOf(Uses("functools.partial"), Uses(function), Pattern(rf"\b{last}\b".encode()))
    return AnyOf(ArgumentMatches((function,), rf"\b{last}\b"), bound)


# -- finding ------------------------------------------------------------------------------------


def hits_of_import(
    node: cst.Import | cst.ImportFrom,
    ctx: Context,
    applies: Callable[[OldApi, TargetVersions], bool],
) -> Iterator[Hit]:
    for alias, target in imported(node):
        api = _row_of(target, node, applies, ctx.target)
        if api is not None and not is_guarded(node, ctx):
            yield Hit(api, alias.name, target)


def hit_of_chain(
    node: cst.Attribute, ctx: Context, applies: Callable[[OldApi, TargetVersions], bool]
) -> Hit | None:
    """Return the old part that a whole attribute chain leads to, or into."""
    parent = ctx.parent(node)
    if isinstance(parent, cst.Attribute):
        return None
    name = ctx.name(node)
    if name is None or not name.startswith("jax."):
        return None
    called = isinstance(parent, cst.Call) and parent.func is node
    found: OldApi | None = None
    for prefix in _prefixes(name):
        for api in _BY_NAME.get(prefix, ()):
            fits = (
                api.use is Access.NAME
                or (api.use is Access.CALL and called and prefix == name)
                or (api.use is Access.MODULE and api.name not in _STILL_NAMES)
            )
            if fits and applies(api, ctx.target):
                found = api
    if found is None or _comes_by_import(node, ctx) or is_guarded(node, ctx):
        return None
    inner: cst.BaseExpression = node
    while isinstance(inner, cst.Attribute) and ctx.name(inner) != found.name:
        inner = inner.value
    if isinstance(inner, cst.Name):
        # A variable: what it is set to was the use.
        return None
    return Hit(found, inner, dotted(inner))


def hit_of_call(
    node: cst.Call, ctx: Context, applies: Callable[[OldApi, TargetVersions], bool]
) -> Hit | None:
    """Return the old part that a call uses: a function by its bare name, an argument, a method."""
    name = ctx.called(node)
    if name is None:
        return None
    for api in _BY_NAME.get(name, ()) if isinstance(node.func, cst.Name) else ():
        is_call = api.use is Access.CALL and applies(api, ctx.target)
        if is_call and not is_guarded(node, ctx):
            return Hit(api, node.func, dotted(node.func))
    if name == "functools.partial" and node.args:
        name = ctx.name(node.args[0].value)
    for argument in node.args:
        if argument.keyword is None:
            continue
        old = _ARGUMENTS.get(f"{name}.{argument.keyword.value}")
        if old is not None and applies(old, ctx.target) and not is_guarded(node, ctx):
            return Hit(old, argument, f"{argument.keyword.value}=")
    return None


def hit_of_array(
    node: cst.Attribute, ctx: Context, applies: Callable[[OldApi, TargetVersions], bool]
) -> Hit | None:
    """Return the old attribute that is read of what certainly is an array."""
    api = _OF_ARRAYS.get(node.attr.value)
    if api is None or not applies(api, ctx.target):
        return None
    parent = ctx.parent(node)
    is_called = isinstance(parent, cst.Call) and parent.func is node
    if api.use is Access.ARRAY_CALL and not is_called:
        return None
    is_array = _is_array(node.value, ctx)
    if not (is_array or _is_named_as_of_array(node, ctx)) or is_guarded(node, ctx):
        return None
    shown: cst.CSTNode = node
    if api.use is Access.ARRAY_CALL and parent is not None:
        shown = parent
    spelled = f".{node.attr.value}" + ("()" if shown is parent else "")
    return Hit(api, shown, spelled, is_certain=is_array)


def _is_named_as_of_array(node: cst.Attribute, ctx: Context) -> bool:
    """Return whether an attribute has a name that only arrays have, of what may be one.

    Not where the file itself has something of the name, or sets it.
    """
    if node.attr.value not in _ONLY_OF_ARRAYS or node.attr.value in ctx.module.fact(_own_names):
        return False
    if ctx.name(node.value) is not None or class_of_receiver(node.value, ctx.names) is not None:
        return False
    held = ctx.flow.value(node.value) - values.DOUBTFUL
    return all(isinstance(atom, values.Anything | values.AnyTree) for atom in held)


def _own_names(facts: ModuleFacts) -> frozenset[str]:
    """Return what a file defines, or sets as an attribute, of the names that only arrays have."""
    found = {each.name.value for each in facts.tree.every(cst.FunctionDef)}
    for target in facts.tree.every(cst.AssignTarget):
        if isinstance(target.target, cst.Attribute):
            found.add(target.target.attr.value)
    for annotated in facts.tree.every(cst.AnnAssign):
        found.add(dotted(annotated.target).rpartition(".")[2])
    return frozenset(found & _ONLY_OF_ARRAYS)


def _is_array(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression certainly is an array, wherever that may be.

    Where something is converted of which nothing is known, it is one in any case.
    """
    if ctx.flow.is_array(node):
        return True
    arrays = ctx.flow.value(node) - values.DOUBTFUL
    return bool(arrays) and all(
        isinstance(array, values.Array)
        and array.origin is not None
        and array.origin.created.module == ctx.flow.module.name
        and ctx.called(ctx.tree.nodes[array.origin.created.node]) in _CONVERTING
        for array in arrays
    )


def hits_of_with(
    node: cst.With, ctx: Context, applies: Callable[[OldApi, TargetVersions], bool]
) -> Iterator[Hit]:
    """Yield the items of a `with` that are entered in an old way."""
    api = _ENTERED.get(_MESH)
    if api is None or not applies(api, ctx.target):
        return
    for item in node.items:
        if _is_mesh(item.item, ctx) and not is_guarded(node, ctx):
            yield Hit(api, item.item, "entering a mesh by `with`")


def _is_mesh(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether something certainly is a mesh: by what made it, or by its annotation.

    Or the one or the other thing, of which one is.
    """
    if isinstance(node, cst.IfExp):
        return _is_mesh(node.body, ctx) or _is_mesh(node.orelse, ctx)
    # It needs LibCST, which a run that parses nothing does not import.
    from placement_lint.semantic.known_types import MESH, KnownTypes

    known = ctx.module.fact(KnownTypes).of(node)
    return known == MESH or (known is None and _is_called_mesh(node, ctx))


def _is_called_mesh(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a parameter without annotation is called a mesh, where the file has JAX's.

    Or an attribute of the object, which is set to one.
    """
    from placement_lint.semantic.own_attributes import own_attribute

    if isinstance(node, cst.Attribute):
        own = own_attribute(node, ctx)
        return own is not None and not isinstance(own, cst.Attribute) and _is_called_mesh(own, ctx)
    if not isinstance(node, cst.Name) or not node.value.endswith("mesh"):
        return False
    parameter = parameter_named(node, ctx.names)
    if parameter is None or parameter.annotation is not None:
        return False
    return ctx.module.fact(_imports_meshes)


def _imports_meshes(facts: ModuleFacts) -> bool:
    """Return whether a file imports what arrays are split by, and nothing else that has meshes."""
    targets = [
        binding.target
        for bindings in facts.names.module_scope.bindings.values()
        for binding in bindings
        if binding.target is not None
    ]
    return any(each.startswith(_WITH_MESHES) for each in targets) and not any(
        each.partition(".")[0] in _OTHER_MESHES for each in targets
    )


def imported(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[cst.ImportAlias, str]]:
    """Yield the names that a statement imports, each with its qualified name."""
    if not isinstance(node.names, cst.ImportStar):
        yield from zip(node.names, imported_names(node), strict=True)


def _row_of(
    target: str,
    node: cst.Import | cst.ImportFrom,
    applies: Callable[[OldApi, TargetVersions], bool],
    versions: TargetVersions,
) -> OldApi | None:
    found: OldApi | None = None
    for prefix in _prefixes(target):
        for api in _BY_NAME.get(prefix, ()):
            if api.use is Access.CALL or not applies(api, versions):
                continue
            # `from jax import config` is the object, and goes on working.
            if api.name not in _STILL_NAMES or _module_of(node, target) == api.name:
                found = api
    return found


def _module_of(node: cst.Import | cst.ImportFrom, target: str) -> str:
    return dotted(node.module) if isinstance(node, cst.ImportFrom) and node.module else target


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    for count in range(2, len(parts) + 1):
        yield ".".join(parts[:count])


def _comes_by_import(node: cst.Attribute, ctx: Context) -> bool:
    """Return whether a chain begins with a name whose import is reported already, or guarded."""
    root: cst.BaseExpression = node
    while isinstance(root, cst.Attribute):
        root = root.value
    name = root.value if isinstance(root, cst.Name) else ""
    owner = ctx.names.owner(name, ctx.names.scope(root))
    known = ctx.module.fact(_reported_imports)
    key = (id(owner), name)
    if key not in known:
        known[key] = owner is not None and _is_import_reported(owner.bindings[name], ctx)
    return known[key]


def _reported_imports(_facts: ModuleFacts) -> dict[tuple[int, str], bool]:
    """Make the store of one file: whether an import of a variable is reported, or guarded."""
    return {}


def _is_import_reported(bindings: list[Binding], ctx: Context) -> bool:
    for binding in bindings:
        statement = ctx.module.import_statement(binding.node)
        if not isinstance(statement, cst.Import | cst.ImportFrom):
            continue
        for alias, target in imported(statement):
            if alias is not binding.node:
                continue
            is_old = any(
                api.use is not Access.CALL
                and api.name != _CONFIG
                and (is_removed(api, ctx.target) or is_deprecated(api, ctx.target))
                for prefix in _prefixes(target)
                for api in _BY_NAME.get(prefix, ())
            )
            if is_old or (target != "jax" and is_guarded(statement, ctx)):
                return True
    return False


# -- messages and fixes -------------------------------------------------------------------------


def advice(api: OldApi, target: TargetVersions) -> str:
    """Return what to do, with the separator before it; empty if nothing is known."""
    new = api.replacement
    if new is not None and (api.replacement_since is None or target.reaches(api.replacement_since)):
        what = f".{new}" if api.name.startswith(_ARRAY) else new
        return f": use {what}" + (f" ({api.advice})" if api.advice else "")
    return f": use {api.advice}" if api.advice else ""


def confidence(version: str | None, target: TargetVersions) -> Confidence:
    """Return how certain it is, by whether all versions that a file is meant for are that far."""
    return Confidence.DEFINITE if target.all_reach(version) else Confidence.LIKELY


def partly_supported(version: str | None, target: TargetVersions) -> str:
    """Return a remark where not all of the versions are that far."""
    if target.all_reach(version):
        return ""
    return f" (the project supports {written(target.lowest)} to {written(target.highest)})"


def plan(hit: Hit, ctx: Context) -> FixPlan | None:
    """Return the fix where something else can be written in the same place."""
    api = hit.api
    new = api.replacement
    if new is None or not (
        api.replacement_since is None or ctx.target.all_reach(api.replacement_since)
    ):
        return None
    if api.name.startswith(_ARRAY):
        return _array_plan(hit, new, ctx)
    if isinstance(hit.node, cst.Arg):
        return _keyword_plan(hit.node, new)
    if not isinstance(hit.node, cst.Attribute):
        return None
    spelled = ctx.spell(new, hit.node)
    if spelled is None or new.startswith(("jax.extend.", "jax.experimental.")):
        # `import jax` does not bring these along.
        return None
    if not _does_the_same(hit.node, api, ctx):
        return None
    return FixPlan(
        _level(api),
        f"Use {new} instead",
        lambda editor: [editor.replace(hit.node, spelled)],
    )


def import_plan(node: cst.Import | cst.ImportFrom, hit: Hit, ctx: Context) -> FixPlan | None:
    """Return the fix of an import of one name: the new one, under the name that the file uses."""
    api, new = hit.api, hit.api.replacement
    if (
        new is None
        or hit.spelled != api.name
        or not isinstance(node, cst.ImportFrom)
        or isinstance(node.names, cst.ImportStar)
        or len(node.names) != 1
        or not (api.replacement_since is None or ctx.target.all_reach(api.replacement_since))
    ):
        return None
    alias = node.names[0]
    bound = dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name)
    scope = ctx.names.scope(node)
    known, key = ctx.module.fact(_checked_uses), (id(scope), bound, api.name)
    if key not in known:
        # Once for all imports of the name: each of them has the same uses.
        uses = ctx.names.uses(bound, scope)
        known[key] = all(_does_the_same(use, api, ctx) for use in uses) and (
            bool(uses) or not api.is_entered
        )
    if not known[key]:
        return None
    module, _, name = new.rpartition(".")

    def build(editor: Editor) -> list[Edit] | None:
        if editor.has_comment(editor.spans.inner(node)):
            return None
        under = "" if name == bound else f" as {bound}"
        return [editor.replace(node, f"from {module} import {name}{under}")]

    return FixPlan(_level(api), f"Import {new} instead", build)


def _checked_uses(_facts: ModuleFacts) -> dict[tuple[int, str, str], bool]:
    """Return which names that scopes bind to old parts are only used in ways that stay the same."""
    return {}


def _level(api: OldApi) -> Applicability:
    return Applicability.UNSAFE if api.same_without else Applicability.SAFE


def _does_the_same(node: cst.CSTNode, api: OldApi, ctx: Context) -> bool:
    """Whether the replacement does what a use of the old part does: a call, or a decorator."""
    if api.is_entered:
        made = ctx.parent(node)
        return (
            isinstance(made, cst.Call)
            and made.func is node
            and isinstance(ctx.parent(made), cst.WithItem)
        )
    if not api.same_without:
        return True
    call = parent = ctx.parent(node)
    if isinstance(parent, cst.Arg):
        call = ctx.parent(parent)
        if not isinstance(call, cst.Call) or not ctx.is_call(call, "functools.partial"):
            return False
    if not isinstance(call, cst.Call):
        return isinstance(parent, cst.Decorator)
    positional = [argument for argument in call.args if argument.keyword is None]
    return (
        len(positional) <= (1 if call is parent else 2)
        and not any(argument.star for argument in call.args)
        and not any(
            argument.keyword is not None and argument.keyword.value in api.same_without
            for argument in call.args
        )
    )


def _array_plan(hit: Hit, new: str, ctx: Context) -> FixPlan | None:
    behind = ctx.parent(hit.node)
    if isinstance(behind, cst.Attribute) and behind.attr.value in _RENAMED_BEHIND:
        return None

    def build(editor: Editor) -> list[Edit] | None:
        node = hit.node
        attribute = node.func if isinstance(node, cst.Call) else node
        if not isinstance(attribute, cst.Attribute):
            return None
        _, start = editor.spans.outer(attribute.value)
        _, end = editor.spans.inner(node)
        if editor.has_comment((start, end)):
            return None
        return [editor.replace_offsets(start, end, f".{new}")]

    return FixPlan(Applicability.SAFE, f"Use .{new} instead", build)


def _keyword_plan(argument: cst.Arg, new: str) -> FixPlan:
    def build(editor: Editor) -> list[Edit]:
        start, _ = editor.spans.inner(argument)
        keyword = argument.keyword
        return [editor.replace_offsets(start, start + len(keyword.value if keyword else ""), new)]

    return FixPlan(Applicability.SAFE, f"Pass {new} instead", build)


class OldApiRule(Rule):
    """What the two rules about old parts of JAX share: where they look."""

    follows_callers = True
    once: ClassVar[frozenset[str]] = frozenset()
    """The parts of which one finding a file says all: they are used all over a program, and given
    up in all of it at once."""

    warns: ClassVar[bool] = False
    """Whether JAX warns, which can be ignored."""

    @staticmethod
    def applies(api: OldApi, target: TargetVersions) -> bool:
        """Return whether the rule is about a part, for the versions that a file is meant for."""
        raise NotImplementedError

    @staticmethod
    def version(api: OldApi) -> str | None:
        raise NotImplementedError

    def is_known(self, node: cst.CSTNode, ctx: Context) -> bool:
        """Return whether the author has seen to the warning that the rule is about."""
        return self.warns and deprecation_is_known(node, ctx)

    def message(self, hit: Hit, target: TargetVersions) -> str:
        raise NotImplementedError

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        """Report each of the parts in `once` at its first use only."""
        found: dict[str, list[tuple[int, Hit]]] = {}
        for each, hit in self._hits_of_once(ctx) if self.once else ():
            if hit is not None and hit.api.name in self.once and not self.is_known(each, ctx):
                found.setdefault(hit.api.name, []).append((ctx.tree.index(each), hit))
        for places in found.values():
            first, *others = (hit for _, hit in sorted(places, key=itemgetter(0)))
            self._report(first, ctx, None, others)

    def visit_Attribute(self, node: cst.Attribute, ctx: Context) -> None:
        """Check `jax.device_put_sharded`, and attributes of arrays."""
        self._report_use(hit_of_chain(node, ctx, self.applies), ctx)
        self._report_use(hit_of_array(node, ctx, self.applies), ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        self._report_use(hit_of_call(node, ctx, self.applies), ctx)

    def visit_With(self, node: cst.With, ctx: Context) -> None:
        for hit in hits_of_with(node, ctx, self.applies):
            self._report_use(hit, ctx)

    def _hits_of_once(self, ctx: Context) -> Iterator[tuple[cst.CSTNode, Hit | None]]:
        for block in ctx.tree.every(cst.With):
            for hit in hits_of_with(block, ctx, self.applies):
                yield block, hit
        for statement in ctx.names.import_statements:
            for hit in hits_of_import(statement, ctx, self.applies):
                yield statement, hit
        lasts = frozenset(name.rpartition(".")[2] for name in self.once)
        for chain in ctx.tree.every(cst.Attribute):
            is_whole = not isinstance(ctx.parent(chain), cst.Attribute)
            if is_whole and not lasts.isdisjoint(dotted(chain).split(".")):
                yield chain, hit_of_chain(chain, ctx, self.applies)

    def _check_import(self, node: cst.Import | cst.ImportFrom, ctx: Context) -> None:
        for hit in hits_of_import(node, ctx, self.applies):
            if hit.api.name not in self.once and not self.is_known(node, ctx):
                self._report(hit, ctx, import_plan(node, hit, ctx))

    visit_Import = visit_ImportFrom = _check_import

    def _report_use(self, hit: Hit | None, ctx: Context) -> None:
        if hit is not None and hit.api.name not in self.once and not self.is_known(hit.node, ctx):
            self._report(hit, ctx, plan(hit, ctx))

    def _report(
        self, hit: Hit, ctx: Context, fix: FixPlan | None, others: Sequence[Hit] = ()
    ) -> None:
        more = f" ({len(others)} more in this file)" if others else ""
        ctx.report(
            hit.node,
            self.message(hit, ctx.target) + more,
            fix=fix,
            confidence=(
                confidence(self.version(hit.api), ctx.target)
                if hit.is_certain
                else Confidence.LIKELY
            ),
            related=[
                (each.node, ctx.module.path, f"{each.spelled} here too")
                for each in others[:_MOST_RELATED]
            ],
        )
