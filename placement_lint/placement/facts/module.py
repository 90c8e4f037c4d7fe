"""One module of the program, as the interpreter sees it."""

from __future__ import annotations

import copy
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import DONATING
from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS
from placement_lint.placement.domain.places import Place
from placement_lint.placement.domain.record import Record
from placement_lint.placement.facts.carried_names import Carried, carried
from placement_lint.placement.facts.compiled import Compiled
from placement_lint.placement.facts.cpu_pin import pins_cpu
from placement_lint.placement.facts.placing_words import placing_words
from placement_lint.placement.facts.replaced_functions import ReplacedFunctions
from placement_lint.placement.facts.traced import Traced
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.definitions import is_generator, named_function
from placement_lint.syntax.dotted import dotted, said
from placement_lint.syntax.import_statements import star_import
from placement_lint.syntax.names import ScopeKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_OF_SHARDINGS = re.compile(r"(?i)\bPS?\b|mesh|partition|shard|spec")
_PUTTING = frozenset({"default_device", "device_put"})


@dataclass(eq=False)
class Module:
    """A parsed module: its tree and names, what is traced in it, and what was seen of it."""

    name: str
    """What places in it and other modules refer to it by: in a run, the path of its file."""
    tree: Tree
    names: Names
    record: Record = field(default_factory=Record)
    accelerator: bool = True
    """False: it is known from elsewhere that the program only ever runs on the CPU."""
    pins: bool | None = None
    """Whether it pins the program to the CPU, where that is known by more than its own text."""
    is_open: bool = False
    """Whether code that is not of the run may import what is in it."""

    def __post_init__(self) -> None:
        """Look for traced functions, and for what pins the program to the CPU."""
        self.traced = Traced(self.tree, self.names)
        self.compiled = Compiled(self.tree, self.names)
        pins = self.pins
        if pins is None:
            pins = self.accelerator and pins_cpu(self.tree, self.names)
        self.has_accelerator = self.accelerator and not pins
        """Whether the system default is an accelerator."""
        self.star_imports: list[str] = []
        """The modules from which the names that nothing here binds may come, in order."""
        if self.names.module_scope.has_star_import:
            found = map(star_import, self.tree.nodes)
            self.star_imports = [module for module in found if module is not None]

    @cached_property
    def attributes_set(self) -> Counter[tuple[Place | None, str]]:
        """How many statements set attributes to something other than None, by the class around
        them, if there is one, and their names.
        """
        found: Counter[tuple[Place | None, str]] = Counter()
        for node in self.tree.every(cst.Attribute):
            target: cst.CSTNode = node
            around = self.tree.parent(node)
            while isinstance(around, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
                target, around = around, self.tree.parent(around)
            is_set = isinstance(around, cst.AssignTarget | cst.AsName) or (
                isinstance(around, cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor)
                and around.target is target
            )
            given = self.tree.parent(around) if isinstance(around, cst.AssignTarget) else around
            held = given.value if isinstance(given, cst.Assign | cst.AnnAssign) else node
            if is_set and held is not None and not is_none(held):
                cls = self.tree.around(node, cst.ClassDef)
                found[None if cls is None else self.place(cls), node.attr.value] += 1
        return found

    @cached_property
    def setting_calls(self) -> dict[str, list[cst.Call]]:
        """The calls `name.set(x)` and `module.name.set(x)`, by the name."""
        found: dict[str, list[cst.Call]] = {}
        for call in self.tree.every(cst.Call):
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == "set":
                name = dotted(call.func.value).rpartition(".")[2]
                found.setdefault(name, []).append(call)
        return found

    @cached_property
    def names_given(self) -> dict[str, set[str | None]]:
        """The names that a variable of a module, or an attribute, is bound to as well, by its name.

        As in `too = module.name` and `from module import name as too`; None among them: it is
        passed on to something else.
        """
        found: dict[str, set[str | None]] = {}
        for node in self.tree.every(cst.Name, cst.Attribute):
            parent = self.tree.parent(node)
            if isinstance(parent, cst.Attribute | cst.AssignTarget):
                continue
            if isinstance(node, cst.Name):
                owner = self.names.owner(node.value, self.names.scope(node))
                if owner is None or owner.kind not in {ScopeKind.MODULE, ScopeKind.CLASS}:
                    continue
            given = found.setdefault(dotted(node).rpartition(".")[2], set())
            if isinstance(parent, cst.Assign | cst.AnnAssign):
                given.update(_bound(node, parent))
            else:
                given.add(self._parameter_for(parent) if isinstance(parent, cst.Arg) else None)
        for statement in self.names.import_statements:
            if isinstance(statement, cst.Import) or isinstance(statement.names, cst.ImportStar):
                continue
            for alias in statement.names:
                if alias.asname is not None:
                    found.setdefault(dotted(alias.name), set()).add(dotted(alias.asname.name))
        return found

    def _parameter_for(self, argument: cst.Arg) -> str | None:
        """Return the name of the parameter of a function of the module that an argument is for."""
        call = self.tree.parent(argument)
        function = named_function(call.func, self.names) if isinstance(call, cst.Call) else None
        if not isinstance(call, cst.Call) or function is None or argument.star:
            return None
        if argument.keyword is not None:
            return argument.keyword.value
        parameters = [*function.params.posonly_params, *function.params.params]
        passed = zip(parameters, call.args, strict=False)
        return next((each.name.value for each, given in passed if given is argument), None)

    @cached_property
    def reads_through(self) -> frozenset[str]:
        """The qualified names in functions that import through DLPack.

        Where their modules are of the run, these are read: what is imported may be a NumPy array
        that another file makes, which need not mention JAX.
        """
        found: set[str] = set()
        for node in self.tree.every(cst.Name, cst.Attribute):
            name = self.names.qualified(node) or dotted(node)
            if name.rpartition(".")[2] != "from_dlpack":
                continue
            body: cst.CSTNode = self.tree.module
            for ancestor in self.tree.ancestors(node):
                if isinstance(ancestor, cst.FunctionDef):
                    body = ancestor
            parts = self.tree.every(cst.Name, cst.Attribute, below=body)
            found.update(self.names.qualified(part) or "" for part in parts)
        return frozenset(found)

    def again(self) -> Module:
        """Return the same module, of which nothing was seen yet."""
        module = copy.copy(self)
        module.record = Record()
        return module

    def place(self, node: cst.CSTNode) -> Place:
        return Place(self.name, self.tree.index(node))

    def is_generator(self, function: cst.FunctionDef) -> bool:
        key = id(function)
        if key not in self._generators:
            self._generators[key] = is_generator(function, self.names)
        return self._generators[key]

    def names_placement(self, function: cst.CSTNode) -> bool:
        """Return whether a function has a word of placements itself, whatever it calls."""
        return self.tree.has_below(self._placing_words, function)

    @cached_property
    def _placing_words(self) -> Sequence[int]:
        return placing_words(self.tree)

    def mentions_meshes(self, function: cst.CSTNode | None = None) -> bool:
        """Return whether a function has a name of meshes in it, or anything in the file has."""
        return self.tree.has_below(self._words_of_meshes, function or self.tree.module)

    @cached_property
    def _words_of_meshes(self) -> Sequence[int]:
        named = self.tree.every(cst.Name, cst.Attribute, cst.ImportAlias)
        return [self.tree.index(node) for node in named if "mesh" in said(node).lower()]

    @cached_property
    def replaced(self) -> ReplacedFunctions:
        """What the module puts in the place of functions of JAX."""
        return ReplacedFunctions(self.tree, self.names)

    def is_given_as_mesh(self, node: cst.BaseExpression) -> bool:
        """Return whether what an expression names is what a sharding of the same code is over:
        `NamedSharding(loader.mesh, spec)`. Of another type it would raise.
        """
        return self._object(node) in self._given_as_meshes

    @cached_property
    def _given_as_meshes(self) -> frozenset[tuple[int, str] | None]:
        given = (
            Arguments(call).get(0, "mesh")
            for call in self.tree.every(cst.Call)
            if self.names.qualified(call.func) in NAMED_SHARDINGS
        )
        return frozenset(self._object(each) for each in given if each is not None) - {None}

    def _object(self, node: cst.BaseExpression) -> tuple[int, str] | None:
        """Return the name of what a dotted name stands for, with the scope that binds its root."""
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        text = dotted(node)
        if not text or not isinstance(root, cst.Name):
            return None
        return id(self.names.owner(root.value, self.names.scope(root))), text

    def repeats_items(self, function: cst.CSTNode) -> bool:
        """Return whether a function repeats a list that is written out: `(None,) * (ndim - 1)`."""
        return self.tree.has_below(self._repeated, function)

    @cached_property
    def _repeated(self) -> Sequence[int]:
        return [
            self.tree.index(node)
            for node in self.tree.every(cst.BinaryOperation)
            if isinstance(node.operator, cst.Multiply)
            and isinstance(node.left, cst.List | cst.Tuple)
        ]

    @cached_property
    def keeps_positions(self) -> bool:
        """Whether a call is given the positions of donated arguments by an attribute or a dict."""
        return any(
            isinstance(each.value, cst.Attribute | cst.Subscript | cst.Name)
            if each.keyword is not None and each.keyword.value.startswith("donate")
            else each.star == "**" and self._compiles(each)
            for each in self.tree.every(cst.Arg)
        )

    def _compiles(self, argument: cst.Arg) -> bool:
        call = self.tree.parent(argument)
        return isinstance(call, cst.Call) and self.names.qualified(call.func) in DONATING

    def takes_devices(self, function: cst.CSTNode) -> bool:
        """Return whether a function takes some of a list of devices by a number that has a name.

        `jax.devices()[:n]`, `jax.devices()[rank]`.
        """
        key = id(function)
        if key not in self._taking:
            self._taking[key] = any(
                _is_named(part.slice[0].slice) and _lists_devices(part.value)
                for part in self.tree.every(cst.Subscript, below=function)
            )
        return self._taking[key]

    def says_donation(self, function: cst.CSTNode) -> bool:
        """Return whether a function, or the class of an initializer, compiles what donates."""
        if not self.keeps_positions:
            return False
        key = id(function)
        if key not in self._donating:
            around = self.tree.around(function, cst.ClassDef)
            is_initializer = (
                isinstance(function, cst.FunctionDef) and function.name.value == "__init__"
            )
            below = around if is_initializer and around is not None else function
            self._donating[key] = any(
                each.star == "**" or (each.keyword is not None and "donate" in each.keyword.value)
                for each in self.tree.every(cst.Arg, below=below)
            )
        return self._donating[key]

    def makes_shardings(self, body: cst.CSTNode) -> bool:
        """Return whether the body of a loop has a word of meshes, specs or shardings in it."""
        key = id(body)
        if key not in self._making:
            self._making[key] = any(
                _OF_SHARDINGS.search(said(node)) is not None
                for node in self.tree.every(cst.Name, cst.Attribute, below=body)
            )
        return self._making[key]

    def carried(self, loop: cst.For | cst.While) -> Carried | None:
        """Return what the iterations of a loop hand on to one another; None: not known."""
        key = id(loop)
        if key not in self._carried:
            self._carried[key] = carried(self.tree, self.names, loop)
        return self._carried[key]

    def puts_arrays(self, function: cst.CSTNode) -> bool:
        """Return whether a function has a word in it of where arrays are put."""
        key = id(function)
        if key not in self._putting:
            self._putting[key] = any(
                (self.names.qualified(node) or dotted(node)).rpartition(".")[2] in _PUTTING
                for node in self.tree.every(cst.Name, cst.Attribute, below=function)
            )
        return self._putting[key]

    scopes_inside: dict[int, set[int]] = field(default_factory=dict, init=False)
    """For each function: the scopes, by id, of it and of what is defined in it."""
    _generators: dict[int, bool] = field(default_factory=dict, init=False)
    _carried: dict[int, Carried | None] = field(default_factory=dict, init=False)
    _taking: dict[int, bool] = field(default_factory=dict, init=False)
    _making: dict[int, bool] = field(default_factory=dict, init=False)
    _putting: dict[int, bool] = field(default_factory=dict, init=False)
    _donating: dict[int, bool] = field(default_factory=dict, init=False)


def _is_named(index: cst.BaseSlice) -> bool:
    return isinstance(index, cst.Slice) or (
        isinstance(index, cst.Index) and isinstance(index.value, cst.Name | cst.Attribute)
    )


def _lists_devices(node: cst.BaseExpression) -> bool:
    listed = node.func if isinstance(node, cst.Call) else node
    return isinstance(listed, cst.Name | cst.Attribute) and "devices" in said(listed).lower()


def _bound(node: cst.CSTNode, statement: cst.Assign | cst.AnnAssign) -> Iterator[str | None]:
    """Yield the names that an assignment binds to an expression; None: to something else."""
    if statement.value is not node:
        return
    targets = (
        [each.target for each in statement.targets]
        if isinstance(statement, cst.Assign)
        else [statement.target]
    )
    for target in targets:
        yield dotted(target).rpartition(".")[2] or None
