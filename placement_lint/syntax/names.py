"""What a name means: scopes, bindings, and names resolved to the qualified name they stand for.

A rule acts only on `Known`. Whatever shadows a name (a parameter, a loop target, a walrus, `del`,
an `except … as`, a second import) ends the knowledge: silence is better than a guess.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.transfer import TABLE
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.import_statements import (
    MISSING_MODULE,
    member,
    source_module,
    star_import,
)
from placement_lint.syntax.marimo_cells import is_cell

if TYPE_CHECKING:
    from placement_lint.jaxmodel.effects import Row
    from placement_lint.syntax.tree import Tree

_BUILTINS = frozenset(dir(builtins))
_ALWAYS_BUILTINS = frozenset({
    "classmethod", "enumerate", "isinstance", "len", "property", "staticmethod", "super",
})  # fmt: skip
"""What no module gives another meaning, for a star import to bring."""
_MAX_ATTRIBUTES = 100
"""Attributes of one another that a name is followed through."""
_IMPORT_CALLS = frozenset({"importlib.import_module", "pytest.importorskip"})
_Comprehension = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.StarredDictComp)
_Import = (cst.Import, cst.LazyImport)
_ImportFrom = (cst.ImportFrom, cst.LazyImportFrom)


@dataclass(frozen=True)
class Known:
    """A name that provably stands for this qualified name."""

    name: str


@dataclass(frozen=True)
class Ambiguous:
    """A name that stands for one of these, depending on which binding ran."""

    names: frozenset[str]


@dataclass(frozen=True)
class Unknown:
    """A name about which nothing is known."""


Resolution: TypeAlias = Known | Ambiguous | Unknown
UNKNOWN = Unknown()


class BindingKind(enum.Enum):
    """How a name comes to be bound."""

    IMPORT = enum.auto()
    ASSIGNMENT = enum.auto()
    """A plain `name = value`, whose value may be resolved in turn."""
    ABSENT = enum.auto()
    """`name = None` where an import failed: code that uses the name has the imported thing."""
    FUNCTION = enum.auto()
    CLASS = enum.auto()
    PARAMETER = enum.auto()
    OTHER = enum.auto()
    """Anything else: loop targets, unpacking, with, except, match, walrus, augmented."""
    DELETION = enum.auto()


@dataclass(frozen=True, eq=False)
class Binding:
    """One place at which a name is bound."""

    kind: BindingKind
    node: cst.CSTNode
    """The statement or the part of it that binds: an import alias, an assignment, a parameter."""
    target: str | None = None
    """For an import: the qualified name; a leading dot for each level of a relative one."""
    value: cst.BaseExpression | None = None
    """For an assignment: what is assigned."""


class ScopeKind(enum.Enum):
    """The kinds of scope that Python has."""

    MODULE = enum.auto()
    CLASS = enum.auto()
    FUNCTION = enum.auto()
    COMPREHENSION = enum.auto()


@dataclass(eq=False)
class Scope:
    """One scope, its parent, and what is bound in it."""

    kind: ScopeKind
    node: cst.CSTNode
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    has_star_import: bool = False

    def sole_binding(self, name: str) -> Binding | None:
        """Return the binding of a name that this scope binds once; None for any other."""
        bindings = self.bindings.get(name, ())
        return bindings[0] if len(bindings) == 1 else None


ExportResolver: TypeAlias = Callable[[str], "str | None"]
"""Given a qualified name in a module of the project, what that name was imported from, if known."""


class Names:
    """The name table of one module."""

    def __init__(
        self,
        tree: Tree,
        exports: ExportResolver | None = None,
        table: Mapping[str, Row] = TABLE,
    ) -> None:
        """Build the scopes. `exports` resolves names re-exported by other modules of the run."""
        self.table = table
        """What functions of libraries do with arrays, by qualified name: the transfer table, with
        the models of the settings of this file."""
        self.tree = tree
        self.module_scope = Scope(ScopeKind.MODULE, tree.module, None)
        self._exports = exports
        self._scopes: list[Scope] = []
        self._by_scope: dict[tuple[int, str], Resolution] = {}
        self._by_node: dict[int, str | None] = {}
        self._resolving: set[tuple[int, str]] = set()
        self._uses: dict[tuple[int, str], list[cst.Name]] | None = None
        self._aliases: dict[int, dict[str, list[str]]] = {}
        self.has_cells = False
        self.cells: set[int] = set()
        """The functions that are cells of a marimo notebook, as `id`: the module is their scope."""
        _ScopeBuilder(self).build()

    @cached_property
    def import_statements(self) -> list[cst.Import | cst.ImportFrom]:
        """Every import statement, in source order."""
        return [*self.tree.every(cst.Import, cst.ImportFrom)]

    @cached_property
    def declared_names(self) -> frozenset[str]:
        """The names that are declared `global` or `nonlocal` anywhere."""
        return frozenset(
            name for scope in self.scopes() for name in (*scope.global_names, *scope.nonlocal_names)
        )

    @cached_property
    def derived(self) -> dict[int, list[cst.ClassDef]]:
        """The classes of the file that derive from each one of it, by its `id`."""
        found: dict[int, list[cst.ClassDef]] = {}
        for cls in self.tree.every(cst.ClassDef):
            for base in cls.bases:
                above = self.sole_definition(base.value)
                if isinstance(above, cst.ClassDef):
                    found.setdefault(id(above), []).append(cls)
        return found

    @cached_property
    def loose_names(self) -> frozenset[str]:
        """The names that are used somewhere and bound by nothing that is seen there."""
        return frozenset(
            node.value
            for node in self.tree.every(cst.Name)
            if self.owner(node.value, self.scope(node)) is None
        )

    def row(self, node: cst.CSTNode) -> Row | None:
        """Return what is known of the library function that a node names; None: nothing."""
        return self.table.get(self.qualified(node) or "")

    # -- what a node means ------------------------------------------------------------------

    def scopes(self) -> list[Scope]:
        """Return every scope of the module, each once."""
        return [*{id(scope): scope for scope in self._scopes}.values()]

    def scope(self, node: cst.CSTNode) -> Scope:
        """Return the scope in which a node is evaluated."""
        return self._scopes[self.tree.index(node)]

    def qualified(self, node: cst.CSTNode) -> str | None:
        """Return the qualified name of a name or of an attribute chain, if it is Known."""
        key = id(node)
        try:
            return self._by_node[key]
        except KeyError:
            resolution = self.resolve(node)
            name = resolution.name if isinstance(resolution, Known) else None
            self._by_node[key] = name
            return name

    def resolve(self, node: cst.CSTNode) -> Resolution:
        """Resolve a name or an attribute chain; a call or subscript in the chain is Unknown."""
        attributes: list[str] = []
        # Everything asks this, and `isinstance` is slow for LibCST's types: they are abstract ones.
        while type(node) is cst.Attribute:
            if len(attributes) == _MAX_ATTRIBUTES:
                return UNKNOWN
            attributes.append(node.attr.value)
            node = node.value
        if type(node) is not cst.Name or not self.tree.contains(node):
            return UNKNOWN
        base = self.lookup(node.value, self.scope(node))
        if not attributes:
            return base
        suffix = "." + ".".join(reversed(attributes))
        if isinstance(base, Known):
            return self._follow_export(base.name + suffix)
        if isinstance(base, Ambiguous):
            return Ambiguous(frozenset(name + suffix for name in base.names))
        return UNKNOWN

    def lookup(self, name: str, scope: Scope) -> Resolution:
        """Resolve a name as code in this scope sees it."""
        owner = self.owner(name, scope)
        if owner is None:
            if self.module_scope.has_star_import:
                return self._star_exported(name)
            return Known(f"builtins.{name}") if name in _BUILTINS else UNKNOWN
        key = (id(owner), name)
        if key not in self._by_scope:
            if key in self._resolving:
                return UNKNOWN
            self._resolving.add(key)
            self._by_scope[key] = self._judge(owner.bindings[name])
            self._resolving.discard(key)
        return self._by_scope[key]

    def owner(self, name: str, scope: Scope) -> Scope | None:
        """Return the scope whose binding code in `scope` sees under this name."""
        current: Scope | None = scope
        first = True
        while current is not None:
            if name in current.global_names:
                return self.module_scope if name in self.module_scope.bindings else None
            visible = first or current.kind is not ScopeKind.CLASS
            if visible and name not in current.nonlocal_names and name in current.bindings:
                return current
            # A comprehension in a class body sees the class only in its first iterable, and that
            # is evaluated in the class scope itself.
            first = False
            current = current.parent
        return None

    def bindings(self, node: cst.Name) -> list[Binding]:
        """Return every binding of the name that a node refers to."""
        owner = self.owner(node.value, self.scope(node))
        return [] if owner is None else owner.bindings[node.value]

    def sole_binding(self, node: cst.CSTNode | None) -> Binding | None:
        """Return the binding of a name that is bound once; None for any other, or for no name."""
        if not isinstance(node, cst.Name):
            return None
        owner = self.owner(node.value, self.scope(node))
        return None if owner is None else owner.sole_binding(node.value)

    def sole_definition(self, node: cst.CSTNode | None) -> cst.CSTNode | None:
        """Return the `def`, `class`, parameter or statement that alone binds a name."""
        only = self.sole_binding(node)
        return None if only is None else only.node

    def sole_value(self, node: cst.CSTNode | None) -> cst.BaseExpression | None:
        """Return the expression that is assigned to a name that is bound once."""
        only = self.sole_binding(node)
        return None if only is None else only.value

    def trim(self) -> None:
        """Free what is quickly found out again: memory is wanted for other files."""
        self._by_node = {}
        self._uses = None

    def uses(self, name: str, scope: Scope) -> list[cst.Name]:
        """Return every name in the file that stands for what this one stands for in a scope.

        In source order, where it is read, assigned and deleted alike; not `def`, `class`, imports
        and parameters, which the tree has no names for.
        """
        if self._uses is None:
            self._uses = {}
            for node in self.tree.every(cst.Name):
                owner = self.owner(node.value, self.scope(node))
                self._uses.setdefault((id(owner), node.value), []).append(node)
        return self._uses.get((id(self.owner(name, scope)), name), [])

    def aliases(self, scope: Scope) -> dict[str, list[str]]:
        """Return the names bound in a scope itself that are Known, by what they stand for."""
        if id(scope) not in self._aliases:
            found: dict[str, list[str]] = {}
            for name in scope.bindings:
                resolution = self.lookup(name, scope)
                if isinstance(resolution, Known):
                    found.setdefault(resolution.name, []).append(name)
            self._aliases[id(scope)] = found
        return self._aliases[id(scope)]

    # -- judging ----------------------------------------------------------------------------

    def _judge(self, bindings: list[Binding]) -> Resolution:
        resolutions: set[Resolution] = set()
        for binding in bindings:
            if binding.kind is BindingKind.IMPORT and binding.target is not None:
                resolutions.add(self._follow_export(binding.target))
            elif binding.kind is BindingKind.ASSIGNMENT and binding.value is not None:
                resolutions.add(self._assigned(binding.value))
            elif binding.kind is not BindingKind.ABSENT:
                resolutions.add(UNKNOWN)
        if len(resolutions) == 1:
            return resolutions.pop()
        if not resolutions or UNKNOWN in resolutions:
            return UNKNOWN
        names: set[str] = set()
        for resolution in resolutions:
            if isinstance(resolution, Known):
                names.add(resolution.name)
            elif isinstance(resolution, Ambiguous):
                names |= resolution.names
        return Ambiguous(frozenset(names))

    def _assigned(self, value: cst.BaseExpression) -> Resolution:
        if isinstance(value, cst.Name | cst.Attribute):
            return self.resolve(value)
        if isinstance(value, cst.Call) and value.args and self.tree.contains(value.func):
            module = value.args[0].value
            if self.qualified(value.func) in _IMPORT_CALLS and isinstance(module, cst.SimpleString):
                name = module.evaluated_value
                if isinstance(name, str) and not name.startswith("."):
                    return Known(name)
        return UNKNOWN

    def _star_exported(self, name: str) -> Resolution:
        """Resolve a name that nothing binds but, perhaps, `from … import *`; the last one does."""
        if name in _ALWAYS_BUILTINS:
            return Known(f"builtins.{name}")
        if self._exports is None or name.startswith("_"):
            return UNKNOWN
        for module in self.star_imports:
            exported = self._exports(member(module, name))
            if exported is not None:
                return Known(exported)
        return UNKNOWN

    @cached_property
    def star_imports(self) -> list[str]:
        """The modules of all star imports, the last one first."""
        found = map(star_import, self.import_statements)
        return [module for module in found if module is not None][::-1]

    def _follow_export(self, name: str) -> Resolution:
        if self._exports is not None:
            exported = self._exports(name)
            if exported is not None:
                return Known(exported)
        return Known(name)


class _ScopeBuilder:
    """One pass over the flat tree that gives each node its scope and each scope its bindings."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.tree = names.tree
        self.moved: dict[int, Scope] = {}
        """Nodes, by id, that are evaluated in another scope than their parent."""
        self.nonlocal_bindings: list[tuple[Scope, str, Binding]] = []

    def build(self) -> None:
        nodes, parents = self.tree.nodes, self.tree.parents
        scopes, moved = self.names._scopes, self.moved
        binders = _BINDERS
        for index, node in enumerate(nodes):
            scope = moved.get(id(node)) if moved else None
            if scope is None:
                scope = scopes[parents[index]] if index else self.names.module_scope
            scopes.append(scope)
            binder = binders.get(type(node))
            if binder is not None:
                binder(self, node, scope)
        for scope, name, binding in self.nonlocal_bindings:
            owner = self.names.owner(name, scope)
            if owner is not None:
                owner.bindings[name].append(binding)

    # -- helpers ----------------------------------------------------------------------------

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if name in scope.global_names:
            scope = self.names.module_scope
        elif name in scope.nonlocal_names:
            # The function around may bind the name further down: its scope is not known yet.
            self.nonlocal_bindings.append((scope, name, binding))
            return
        scope.bindings.setdefault(name, []).append(binding)

    def bind_target(
        self, scope: Scope, target: cst.CSTNode, node: cst.CSTNode, kind: BindingKind
    ) -> None:
        stack = [target]
        while stack:
            current = stack.pop()
            if isinstance(current, cst.Name):
                self.bind(scope, current.value, Binding(kind, node))
            elif isinstance(current, cst.Tuple | cst.List):
                stack.extend(element.value for element in reversed(current.elements))

    def enter(self, kind: ScopeKind, node: cst.CSTNode, parent: Scope) -> Scope:
        return Scope(kind, node, parent)

    # -- one method a node type ---------------------------------------------------------------

    def function(self, node: cst.FunctionDef, scope: Scope) -> None:
        if self.names.has_cells and is_cell(node):
            # The names in its body are those of the module, and so are its parameters.
            self.names.cells.add(id(node))
            return
        self.bind(scope, node.name.value, Binding(BindingKind.FUNCTION, node))
        inner = self.enter(ScopeKind.FUNCTION, node, scope)
        self.type_parameters(node.type_parameters, inner)
        self.parameters(node.params, inner)
        self.moved[id(node.body)] = inner

    def lambda_(self, node: cst.Lambda, scope: Scope) -> None:
        inner = self.enter(ScopeKind.FUNCTION, node, scope)
        self.parameters(node.params, inner)
        self.moved[id(node.body)] = inner

    def parameters(self, params: cst.Parameters, inner: Scope) -> None:
        every = [*params.posonly_params, *params.params, *params.kwonly_params]
        every += [
            param for param in (params.star_arg, params.star_kwarg) if isinstance(param, cst.Param)
        ]
        for param in every:
            self.bind(inner, param.name.value, Binding(BindingKind.PARAMETER, param))

    def type_parameters(self, parameters: cst.TypeParameters | None, inner: Scope) -> None:
        for parameter in parameters.params if parameters else ():
            self.bind(inner, parameter.param.name.value, Binding(BindingKind.OTHER, parameter))

    def class_(self, node: cst.ClassDef, scope: Scope) -> None:
        self.bind(scope, node.name.value, Binding(BindingKind.CLASS, node))
        inner = self.enter(ScopeKind.CLASS, node, scope)
        self.type_parameters(node.type_parameters, inner)
        self.moved[id(node.body)] = inner

    def comprehension(self, node: cst.CSTNode, scope: Scope) -> None:
        inner = self.enter(ScopeKind.COMPREHENSION, node, scope)
        first = node.for_in  # type: ignore[attr-defined]
        for child in ("elt", "key", "value", "for_in"):
            part = getattr(node, child, None)
            if part is not None:
                self.moved[id(part)] = inner
        self.moved[id(first.iter)] = scope

    def comprehension_for(self, node: cst.CompFor, scope: Scope) -> None:
        self.bind_target(scope, node.target, node, BindingKind.OTHER)

    def named_expression(self, node: cst.NamedExpr, scope: Scope) -> None:
        while scope.kind is ScopeKind.COMPREHENSION and scope.parent is not None:
            scope = scope.parent
        self.bind_target(scope, node.target, node, BindingKind.OTHER)

    def assignment(self, node: cst.Assign, scope: Scope) -> None:
        absent = self.is_import_fallback(node)
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                kind = BindingKind.ABSENT if absent else BindingKind.ASSIGNMENT
                binding = Binding(kind, node, value=node.value)
                self.bind(scope, target.target.value, binding)
            else:
                self.bind_target(scope, target.target, node, BindingKind.OTHER)

    def is_import_fallback(self, node: cst.Assign) -> bool:
        """Return whether this is `name = None` in the handler of a failed import."""
        if not (isinstance(node.value, cst.Name) and node.value.value == "None"):
            return False
        for ancestor in self.tree.ancestors(node):
            if isinstance(ancestor, cst.ExceptHandler):
                if ancestor.type is None:
                    return True
                types = (
                    [element.value for element in ancestor.type.elements]
                    if isinstance(ancestor.type, cst.Tuple)
                    else [ancestor.type]
                )
                return any(
                    isinstance(kind, cst.Name) and f"builtins.{kind.value}" in MISSING_MODULE
                    for kind in types
                )
            if isinstance(ancestor, cst.FunctionDef | cst.ClassDef):
                return False
        return False

    def annotated(self, node: cst.AnnAssign, scope: Scope) -> None:
        if isinstance(node.target, cst.Name):
            if node.value is not None:
                binding = Binding(BindingKind.ASSIGNMENT, node, value=node.value)
                self.bind(scope, node.target.value, binding)
            elif scope.kind is ScopeKind.FUNCTION:
                self.bind(scope, node.target.value, Binding(BindingKind.OTHER, node))

    def augmented(self, node: cst.AugAssign, scope: Scope) -> None:
        self.bind_target(scope, node.target, node, BindingKind.OTHER)

    def loop(self, node: cst.For, scope: Scope) -> None:
        self.bind_target(scope, node.target, node, BindingKind.OTHER)

    def with_item(self, node: cst.WithItem, scope: Scope) -> None:
        if node.asname is not None:
            self.bind_target(scope, node.asname.name, node, BindingKind.OTHER)

    def handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler, scope: Scope) -> None:
        if node.name is not None:
            self.bind_target(scope, node.name.name, node, BindingKind.OTHER)

    def deletion(self, node: cst.Del, scope: Scope) -> None:
        self.bind_target(scope, node.target, node, BindingKind.DELETION)

    def global_(self, node: cst.Global, scope: Scope) -> None:
        scope.global_names.update(item.name.value for item in node.names)

    def nonlocal_(self, node: cst.Nonlocal, scope: Scope) -> None:
        scope.nonlocal_names.update(item.name.value for item in node.names)

    def match_name(self, node: cst.MatchAs | cst.MatchStar, scope: Scope) -> None:
        if node.name is not None:
            self.bind(scope, node.name.value, Binding(BindingKind.OTHER, node))

    def match_rest(self, node: cst.MatchMapping, scope: Scope) -> None:
        if node.rest is not None:
            self.bind(scope, node.rest.value, Binding(BindingKind.OTHER, node))

    def type_alias(self, node: cst.TypeAlias, scope: Scope) -> None:
        self.bind(scope, node.name.value, Binding(BindingKind.OTHER, node))

    def import_(self, node: cst.Import, scope: Scope) -> None:
        for alias in node.names:
            name = dotted(alias.name)
            self.names.has_cells |= name == "marimo"
            if alias.asname is not None:
                binding = Binding(BindingKind.IMPORT, alias, name)
                self.bind(scope, _as_name(alias.asname), binding)
            else:
                top = name.partition(".")[0]
                self.bind(scope, top, Binding(BindingKind.IMPORT, alias, top))

    def import_from(self, node: cst.ImportFrom, scope: Scope) -> None:
        if isinstance(node.names, cst.ImportStar):
            scope.has_star_import = True
            self.names.module_scope.has_star_import = True
            return
        module = source_module(node)
        for alias in node.names:
            name = dotted(alias.name)
            bound = _as_name(alias.asname) if alias.asname is not None else name
            self.bind(scope, bound, Binding(BindingKind.IMPORT, alias, member(module, name)))


def _as_name(asname: cst.AsName) -> str:
    return asname.name.value if isinstance(asname.name, cst.Name) else ""


_BINDERS: dict[type[cst.CSTNode], Callable[[_ScopeBuilder, Any, Scope], None]] = {
    cst.AnnAssign: _ScopeBuilder.annotated,
    cst.Assign: _ScopeBuilder.assignment,
    cst.AugAssign: _ScopeBuilder.augmented,
    cst.ClassDef: _ScopeBuilder.class_,
    cst.CompFor: _ScopeBuilder.comprehension_for,
    cst.Del: _ScopeBuilder.deletion,
    cst.ExceptHandler: _ScopeBuilder.handler,
    cst.ExceptStarHandler: _ScopeBuilder.handler,
    cst.For: _ScopeBuilder.loop,
    cst.FunctionDef: _ScopeBuilder.function,
    cst.Global: _ScopeBuilder.global_,
    cst.Lambda: _ScopeBuilder.lambda_,
    cst.MatchAs: _ScopeBuilder.match_name,
    cst.MatchMapping: _ScopeBuilder.match_rest,
    cst.MatchStar: _ScopeBuilder.match_name,
    cst.NamedExpr: _ScopeBuilder.named_expression,
    cst.Nonlocal: _ScopeBuilder.nonlocal_,
    cst.TypeAlias: _ScopeBuilder.type_alias,
    cst.WithItem: _ScopeBuilder.with_item,
    **dict.fromkeys(_Comprehension, _ScopeBuilder.comprehension),
    **dict.fromkeys(_Import, _ScopeBuilder.import_),
    **dict.fromkeys(_ImportFrom, _ScopeBuilder.import_from),
}
