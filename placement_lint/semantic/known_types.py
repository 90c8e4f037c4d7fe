"""The types of expressions, as annotations, constructors and what functions return say them.

Nothing is executed. Other files of the run are asked for what they define.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.attribute_types import attributes_of
from placement_lint.semantic.called_from import attributes_by_name
from placement_lint.semantic.compiled_functions import (
    compiles,
    is_compiled,
    is_compiled_where_defined,
)
from placement_lint.semantic.own_attributes import derived_classes
from placement_lint.semantic.program_queries import KnownType
from placement_lint.syntax.calls import Arguments, is_none, string_value
from placement_lint.syntax.collection_methods import COPYING
from placement_lint.syntax.definitions import (
    CACHES,
    PARTIAL,
    PROPERTIES,
    applied,
    class_of_receiver,
    is_generator,
    keeps_fields,
    named_function,
    only_says_type,
    returns_of,
)
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.names import Binding, Names

MESH = KnownType("jax.sharding.Mesh")
COMPILED = KnownType("jax.stages.Wrapped")
"""A compiled function, for the device of its arguments."""
NOT_PASSED = KnownType("")
"""What a call passes for a parameter that it leaves out."""
_MADE_BY = {"jax.make_mesh": MESH, MESH.name: MESH}
"""What calls of libraries give; the constructor stands for its class in annotations as well."""
_TAKING = {
    "flax.linen.logical_to_mesh_sharding": (1, "mesh", MESH),
    "flax.nnx.get_named_sharding": (1, "mesh", MESH),
    "jax.experimental.shard_map.shard_map": (1, "mesh", MESH),
    "jax.sharding.NamedSharding": (0, "mesh", MESH),
    "jax.shard_map": (None, "mesh", MESH),
}
"""What raises for an argument of another type."""
_STEPS = 12
"""Names, attributes and calls that lead from an expression to what says its type."""
_MOST_PLACES = 24
"""Assignments of one attribute, returns of one function: beyond them its type is not known."""
_MOST_USES = 64
"""Uses of one variable, calls of one function: others are not looked at."""
_LONGEST = 200
"""Characters of an annotation that is written as a string."""
_TUPLES = frozenset({"builtins.tuple", "typing.Tuple"})
_OPTIONAL = "typing.Optional"
_UNIONS = frozenset({_OPTIONAL, "typing.Union"})
_AROUND = frozenset({"typing.Annotated", "typing.ClassVar", "typing.Final"})
_SELF = frozenset({"typing.Self", "typing_extensions.Self"})
_METHOD_DECORATORS = (
    frozenset({"builtins.classmethod", "builtins.staticmethod"}) | PROPERTIES | CACHES
)


@dataclass(frozen=True)
class _Field:
    """A parameter, or a field of a class."""

    place: int | None
    name: str
    default: cst.BaseExpression | None


class KnownTypes:
    """The types of expressions of one file. None everywhere: it is not known."""

    def __init__(self, facts: ModuleFacts) -> None:
        self._facts = facts
        self._names: Names = facts.names
        self._tree = facts.tree
        self._attributes: dict[int, dict[str, list[cst.CSTNode | None]]] = {}
        self._parameters: dict[tuple[int, int], KnownType | None] = {}

    def of(self, node: cst.BaseExpression, steps: int = _STEPS) -> KnownType | None:
        """Return the type of an expression; that of what is not None, where it may be None."""
        if steps <= 0:
            return None
        if isinstance(node, cst.Name):
            return self._of_name(node, steps)
        if isinstance(node, cst.Attribute):
            return self._of_attribute(node, steps, called=False)
        if isinstance(node, cst.Call):
            return self._of_call(node, steps)
        if isinstance(node, cst.IfExp):
            return self._common((node.body, node.orelse), steps)
        if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
            # `callbacks or []`
            either = (node.left, node.right)
            return self._common([each for each in either if not _is_empty(each)], steps)
        if isinstance(node, cst.Tuple | cst.List):
            parts = [each.value for each in node.elements]
            if any(isinstance(each, cst.StarredElement) for each in node.elements):
                return None
            kind = "builtins.tuple" if isinstance(node, cst.Tuple) else "builtins.list"
            return KnownType(kind, items=tuple(self.of(x, steps - 1) for x in parts))
        return None

    def exported(self, name: str, *, called: bool) -> KnownType | None:
        """Return the type of what the file defines by a dotted name, or of what calling it gives.

        It is a function, a class, an attribute of one, or a variable.
        """
        top, _, below = name.partition(".")
        inner = self._facts.fact(_inner_classes).classes.get(top) if below else None
        if inner is not None:
            return self.member(inner, below, _STEPS, called=called)
        bindings = self._names.module_scope.bindings.get(top, [])
        if not bindings or below.count("."):
            return None
        bound = bindings[0]
        if bound.kind is BindingKind.IMPORT and len(bindings) == 1:
            onward = f"{bound.target}.{below}" if below else bound.target
            return self._elsewhere(onward or "", called=called)
        if isinstance(bound.node, cst.ClassDef) and len(bindings) == 1:
            if below:
                return self.member(bound.node, below, _STEPS, called=called)
            return self._class(bound.node) if called else None
        if isinstance(bound.node, cst.FunctionDef) and len(bindings) == 1:
            if called or below:
                return self._returned(bound.node, _STEPS) if not below else None
            return self._of_function(bound.node)
        found = self._of_bindings(bindings, top, _STEPS)
        if below and found is not None:
            return self._of_member(found, below, _STEPS, called=called)
        return None if called else found

    # -- expressions ------------------------------------------------------------------------------

    def _of_name(self, node: cst.Name, steps: int) -> KnownType | None:
        bindings = self._names.bindings(node)
        found = self._of_bindings(bindings, node.value, steps) if bindings else None
        if found is None and len(bindings) == 1:
            return self._taken(self._names.uses(node.value, self._names.scope(node)))
        return found

    def _of_bindings(self, bindings: Iterable[Binding], name: str, steps: int) -> KnownType | None:
        found: set[KnownType | None] = set()
        for binding in bindings:
            if binding.value is not None and is_none(binding.value):
                continue
            found.add(self.of_binding(binding, name, steps - 1))
            if None in found or len(found) > 1:
                return None
        return found.pop() if found else None

    def of_binding(self, binding: Binding, name: str = "", steps: int = _STEPS) -> KnownType | None:
        """Return the type of what a binding gives a name, which may be one of several."""
        bound = binding.node
        if binding.kind is BindingKind.IMPORT:
            return self._elsewhere(binding.target or "", called=False)
        if isinstance(bound, cst.Param):
            key = id(bound), steps
            if key not in self._parameters:
                # What leads back to it while it is looked for says nothing.
                self._parameters[key] = None
                self._parameters[key] = self._of_parameter(bound, steps)
            return self._parameters[key]
        if isinstance(bound, cst.FunctionDef):
            return self._of_function(bound)
        if isinstance(bound, cst.AnnAssign):
            said = self.annotated(bound.annotation.annotation, steps)
            if said is not None:
                return said
        if binding.kind is BindingKind.ASSIGNMENT and binding.value is not None:
            return self.of(binding.value, steps)
        if isinstance(bound, cst.Assign):
            return self._unpacked(bound, name, steps)
        return None

    def _unpacked(self, bound: cst.Assign, name: str, steps: int) -> KnownType | None:
        """Return the type of one of the names of a tuple that something is assigned to."""
        for target in bound.targets:
            if not isinstance(target.target, cst.Tuple):
                continue
            for place, element in enumerate(target.target.elements):
                if isinstance(element, cst.StarredElement):
                    return None
                if isinstance(element.value, cst.Name) and element.value.value == name:
                    whole = self.of(bound.value, steps)
                    items = () if whole is None else whole.items
                    return items[place] if len(items) == len(target.target.elements) else None
        return None

    def _of_parameter(self, param: cst.Param, steps: int) -> KnownType | None:
        if param.annotation is not None:
            said = self.annotated(param.annotation.annotation, steps)
            if said is not None:
                return said
        parameters = self._tree.parent(param)
        function = None if parameters is None else self._tree.parent(parameters)
        if not isinstance(function, cst.FunctionDef) or not isinstance(parameters, cst.Parameters):
            return None
        cls, name = self._class_around(function), param.name.value
        names = [each.name.value for each in (*parameters.posonly_params, *parameters.params)]
        how = {self._names.qualified(each.decorator) for each in function.decorators}
        is_bound = cls is not None and "builtins.staticmethod" not in how
        if cls is not None and is_bound and names[:1] == [name]:
            return None if "builtins.classmethod" in how else self._class(cls)
        place = names.index(name) - is_bound if name in names else None
        return self._passed(function, cls, _Field(place, name, param.default), steps)

    def _of_function(self, function: cst.FunctionDef) -> KnownType | None:
        return COMPILED if is_compiled_where_defined(function, self._names) else None

    def _taken(self, uses: Sequence[cst.CSTNode]) -> KnownType | None:
        """Return the type of what is given to something that takes no other type."""
        return next(filter(None, map(self._taken_at, uses[:_MOST_USES])), None)

    def _taken_at(self, use: cst.CSTNode) -> KnownType | None:
        argument = self._tree.parent(use)
        call = self._tree.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(call, cst.Call):
            return None
        taking = _TAKING.get(self._names.qualified(call.func) or "")
        if taking is None or Arguments(call).get(taking[0], taking[1]) is not use:
            return None
        return taking[2]

    def _passed(
        self,
        function: cst.FunctionDef | None,
        cls: cst.ClassDef | None,
        field: _Field,
        steps: int,
    ) -> KnownType | None:
        """Return the type of what every call of a function passes for a parameter.

        Without a function: of a class that has no method which makes its objects.
        """
        called = "__init__" if function is None else function.name.value
        uses: Sequence[cst.CSTNode]
        if function is not None and cls is None:
            uses = self._names.uses(called, self._names.scope(function))
        elif cls is not None and called == "__init__":
            uses = [*self._made(cls)]
            # In a class method, `cls` is called.
            uses += [
                call.func
                for call in self._tree.every(cst.Call, below=cls)
                if isinstance(call.func, cst.Name) and call.func.value == "cls"
            ]
        else:
            owners = {"self", "cls", "" if cls is None else cls.name.value}
            uses = [
                each
                for each in self._facts.fact(attributes_by_name).get(called, [])
                if isinstance(each.value, cst.Name) and each.value.value in owners
            ]
        found: set[KnownType | None] = set()
        for use in uses[:_MOST_USES]:
            passed = self.passed_at(use, field.place, field.name, steps)
            found |= self._default(field, steps) if NOT_PASSED in passed else passed
            if None in found or len(found) > 1:
                return None
        of = cls if called == "__init__" else function if cls is None else None
        if of is not None and found <= {COMPILED}:
            found |= self._passed_elsewhere(of, field, steps)
        return found.pop() if len(found) == 1 else None

    def _made(self, cls: cst.ClassDef) -> Iterator[cst.CSTNode]:
        """Yield the uses of a class, and of those of the file that have its initializer, which may
        make objects.
        """
        pending, seen = [cls], {id(cls)}
        while pending:
            each = pending.pop()
            heirs = [
                derived
                for derived in self._facts.fact(derived_classes).get(id(each), ())
                if "__init__" not in self._names.scope(derived.body).bindings
            ]
            bases = {id(base.value) for derived in heirs for base in derived.bases}
            for use in self._names.uses(each.name.value, self._names.scope(each)):
                is_call = not isinstance(self._tree.parent(use), cst.Attribute)
                if is_call and id(use) not in bases and not only_says_type(use, self._tree):
                    yield use
            pending += (derived for derived in heirs if id(derived) not in seen)
            seen.update(map(id, heirs))

    def passed_at(
        self, use: cst.CSTNode, place: int | None, name: str, steps: int = _STEPS
    ) -> set[KnownType | None]:
        """Return the type of what a use of a function passes for a parameter; nothing of `None`.

        `NOT_PASSED` where it is a call that passes nothing for it. An import that gives it another
        name is one that may pass anything.
        """
        if not self._tree.contains(use):
            return {None}
        call, first = self._tree.parent(use), 0
        if isinstance(call, cst.Arg):
            # functools.partial(function, …)
            call, first = self._tree.parent(call), 1
        if not isinstance(call, cst.Call) or not (
            self._names.qualified(call.func) == PARTIAL if first else call.func is use
        ):
            return {None}
        arguments = Arguments(call)
        given = arguments.get(None if place is None else place + first, name)
        if given is None:
            return {None if first or arguments.is_open else NOT_PASSED}
        return set() if is_none(given) else {self.of(given, steps - 1)}

    def _passed_elsewhere(
        self, of: cst.FunctionDef | cst.ClassDef, field: _Field, steps: int
    ) -> set[KnownType | None]:
        """Return the types of what calls in other files pass for a parameter."""
        only = self._names.module_scope.sole_binding(of.name.value)
        if only is None or only.node is not of:
            return set()
        name, path = of.name.value, self._facts.path
        found = {*self._facts.run.passed_types(path, name, field.place, field.name)}
        return found - {NOT_PASSED} | self._default(field, steps) if NOT_PASSED in found else found

    def _default(self, field: _Field, steps: int) -> set[KnownType | None]:
        """Return the type of the default of a parameter; nothing of `None`."""
        if field.default is None:
            return {None}
        return set() if is_none(field.default) else {self.of(field.default, steps - 1)}

    def _of_attribute(self, node: cst.Attribute, steps: int, *, called: bool) -> KnownType | None:
        """Return the type of an attribute, or of what calling it gives."""
        cls = self._class_named(node.value) or class_of_receiver(node.value, self._names)
        if cls is not None:
            return self.member(cls, node.attr.value, steps - 1, called=called)
        qualified = self._names.qualified(node)
        if qualified is not None:
            return self._elsewhere(qualified, called=called)
        owner = self.of(node.value, steps - 1)
        if owner is None:
            return None
        return self._of_member(owner, node.attr.value, steps - 1, called=called)

    def _of_member(
        self, owner: KnownType, name: str, steps: int, *, called: bool
    ) -> KnownType | None:
        if not owner.path:
            return None
        if owner.path != self._facts.path:
            return self._facts.run.object_type(
                self._facts.path, f"{owner.name}.{name}", called=called, file=owner.path
            )
        cls = self.class_here(owner)
        return None if cls is None else self.member(cls, name, steps, called=called)

    def class_here(self, known: KnownType) -> cst.ClassDef | None:
        """Return the class of this file that a type is."""
        if known.path != self._facts.path:
            return None
        only = self._names.module_scope.sole_binding(known.name)
        cls = None if only is None else only.node
        cls = cls or self._facts.fact(_inner_classes).classes.get(known.name)
        return cls if isinstance(cls, cst.ClassDef) else None

    def _of_call(self, node: cst.Call, steps: int) -> KnownType | None:
        func = node.func
        if is_compiled(node, self._names):
            return COMPILED
        if self._names.qualified(func) == PARTIAL:
            inner = Arguments(node).get(0, "func")
            return COMPILED if inner is not None and self.of(inner, steps - 1) == COMPILED else None
        if isinstance(func, cst.Attribute):
            known = _MADE_BY.get(self._names.qualified(func) or "")
            return known or self._of_attribute(func, steps, called=True)
        if not isinstance(func, cst.Name):
            return None
        if self._names.qualified(func) in COPYING and len(node.args) == 1:
            return self.of(node.args[0].value, steps - 1)
        cls = self._class_named(func)
        if cls is not None:
            return self._class(cls)
        only = self._names.sole_binding(func)
        if only is not None and isinstance(only.node, cst.FunctionDef):
            return self._returned(only.node, steps - 1)
        if only is not None and isinstance(only.value, cst.Call):
            return self._of_result(only.value, steps - 1)
        qualified = self._names.qualified(func)
        return None if qualified is None else self._elsewhere(qualified, called=True)

    def _of_result(self, made: cst.Call, steps: int) -> KnownType | None:
        """Return the type of what a compiled function gives: `step = jax.jit(update)`."""
        if not is_compiled(made, self._names):
            return None
        function = named_function(Arguments(made).get(0, "fun", "func"), self._names)
        return self._returned(function, steps) if isinstance(function, cst.FunctionDef) else None

    def _elsewhere(self, qualified: str, *, called: bool) -> KnownType | None:
        if called and qualified in _MADE_BY:
            return _MADE_BY[qualified]
        return self._facts.run.object_type(self._facts.path, qualified, called=called)

    def _common(self, nodes: Iterable[cst.BaseExpression], steps: int) -> KnownType | None:
        """Return the one type of all that are not None."""
        found: set[KnownType | None] = set()
        for node in nodes:
            if not is_none(node):
                found.add(self.of(node, steps - 1))
                if None in found or len(found) > 1:
                    return None
        return found.pop() if found else None

    # -- functions and classes --------------------------------------------------------------------

    def _returned(self, function: cst.FunctionDef, steps: int) -> KnownType | None:
        decorators = {
            self._names.qualified(applied(each.decorator, self._names)[0] or each.decorator)
            for each in function.decorators
            if not compiles(each.decorator, self._names)
        }
        if steps <= 0 or function.asynchronous is not None or not decorators <= _METHOD_DECORATORS:
            return None
        if function.returns is not None:
            said = self.annotated(function.returns.annotation, steps - 1)
            if said is not None and (not said.items or None not in said.items):
                return said
        if is_generator(function, self._names):
            return None
        returned = returns_of(function, self._names)
        given = [each.value for each in returned if each.value is not None]
        return self._common(given, steps - 1) if len(given) <= _MOST_PLACES else None

    def _class(self, cls: cst.ClassDef) -> KnownType | None:
        only = self._names.module_scope.sole_binding(cls.name.value)
        if only is not None and only.node is cls:
            return KnownType(cls.name.value, self._facts.path)
        inner = self._facts.fact(_inner_classes).names.get(id(cls))
        return None if inner is None else KnownType(inner, self._facts.path)

    def _class_named(self, node: cst.BaseExpression) -> cst.ClassDef | None:
        """Return the class of this file that a name is, or `cls` in one of its methods."""
        if not isinstance(node, cst.Name):
            return None
        bound = self._names.sole_definition(node)
        if isinstance(bound, cst.ClassDef):
            return bound
        if not isinstance(bound, cst.Param) or node.value != "cls":
            return None
        parameters = self._tree.parent(bound)
        return None if parameters is None else self._class_around(self._tree.parent(parameters))

    def _class_around(self, function: cst.CSTNode | None) -> cst.ClassDef | None:
        """Return the class that a function is a method of."""
        block = None if function is None else self._tree.parent(function)
        cls = None if block is None else self._tree.parent(block)
        return cls if isinstance(cls, cst.ClassDef) and block is cls.body else None

    def member(
        self, cls: cst.ClassDef, name: str, steps: int = _STEPS, *, called: bool = False
    ) -> KnownType | None:
        """Return the type of an attribute of the objects of a class, or of what a method gives."""
        if steps <= 0:
            return None
        if id(cls) not in self._attributes:
            self._attributes[id(cls)] = attributes_of(cls, self._facts)
        places = self._attributes[id(cls)].get(name)
        if places is not None:
            found = self._of_places(name, places, steps, called=called)
            if called or not isinstance(places[0], cst.Annotation) or not keeps_fields(cls):
                return found
            # What sets it later may not do so each time.
            return self._of_field(cls, name, steps) if found in {None, COMPILED} else found
        for base in cls.bases:
            above = self._of_annotation(base.value, steps - 1)
            found = (
                None if above is None else self._of_member(above, name, steps - 1, called=called)
            )
            if found is not None:
                return found
        return None

    def _of_field(self, cls: cst.ClassDef, name: str, steps: int) -> KnownType | None:
        """Return the type of what calls of a class give for a field that it only declares."""
        fields = [
            each
            for line in cls.body.body
            for each in (line.body if isinstance(line, cst.SimpleStatementLine) else ())
            if isinstance(each, cst.AnnAssign)
        ]
        names = [each.target.value for each in fields if isinstance(each.target, cst.Name)]
        if names.count(name) != 1:
            return None
        # The fields of a base come before.
        above = {self._names.qualified(each.value) for each in cls.bases} - {"typing.NamedTuple"}
        place = names.index(name)
        field = _Field(None if above else place, name, fields[place].value)
        return self._passed(None, cls, field, steps)

    def _of_places(
        self, name: str, places: list[cst.CSTNode | None], steps: int, *, called: bool
    ) -> KnownType | None:
        if len(places) > _MOST_PLACES or None in places:
            return None
        annotations = [each for each in places if isinstance(each, cst.Annotation)]
        said = {self.annotated(each.annotation, steps - 1) for each in annotations} - {None}
        if said:
            return None if called or len(said) > 1 else said.pop()
        classes = [each for each in places if isinstance(each, cst.ClassDef)]
        if classes:
            return self._class(classes[0]) if called and len(places) == 1 else None
        functions = [each for each in places if isinstance(each, cst.FunctionDef)]
        is_only = len(places) == 1
        if functions and is_only and not called and (made := self._of_function(functions[0])):
            return made
        if functions:
            is_property = any(
                self._names.qualified(each.decorator) in PROPERTIES
                for each in functions[0].decorators
            )
            is_one = is_only and is_property is not called
            return self._returned(functions[0], steps - 1) if is_one else None
        if called:
            return None
        given = [each for each in places if isinstance(each, cst.BaseExpression)]
        taken = [
            each
            for each in self._facts.fact(attributes_by_name).get(name, [])
            if isinstance(each.value, cst.Name) and each.value.value in {"self", "cls"}
        ]
        return self._common(given, steps) or self._taken(taken)

    # -- annotations ------------------------------------------------------------------------------

    def annotated(self, node: cst.BaseExpression, steps: int = _STEPS) -> KnownType | None:
        """Return what an annotation says that is not None."""
        found = {
            self._of_annotation(each, steps)
            for each in self._alternatives(node)
            if not is_none(each)
        }
        return found.pop() if len(found) == 1 else None

    def _alternatives(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        pending = [node]
        while pending:
            each = pending.pop()
            outer = self._names.qualified(each.value) if isinstance(each, cst.Subscript) else None
            if isinstance(each, cst.BinaryOperation):
                pending += [each.left, each.right]
            elif isinstance(each, cst.Subscript) and (outer in _UNIONS or outer in _AROUND):
                parts = each.slice if outer in _UNIONS else each.slice[:1]
                pending += [x.slice.value for x in parts if isinstance(x.slice, cst.Index)]
            else:
                yield each

    def _of_annotation(self, node: cst.BaseExpression, steps: int) -> KnownType | None:
        if isinstance(node, cst.SimpleString):
            return self._quoted(string_value(node) or "")
        if isinstance(node, cst.Subscript):
            if self._names.qualified(node.value) not in _TUPLES:
                return None
            parts = [x.slice.value for x in node.slice if isinstance(x.slice, cst.Index)]
            items = tuple(self.annotated(each, steps - 1) for each in parts)
            return KnownType("builtins.tuple", items=items)
        if not isinstance(node, cst.Name | cst.Attribute):
            return None
        qualified = self._names.qualified(node)
        if qualified in _SELF:
            around = self._tree.around(node, cst.ClassDef)
            return None if around is None else self._class(around)
        cls = self._class_named(node)
        if cls is not None:
            return self._class(cls)
        # What calling a class gives is an object of it.
        return None if qualified is None else self._elsewhere(qualified, called=True)

    def _quoted(self, text: str) -> KnownType | None:
        """Return the class that a dotted name is which is written as a string."""
        first, dot, rest = text.strip().partition(".")
        bound = self._names.module_scope.sole_binding(first)
        if len(text) > _LONGEST or bound is None:
            return None
        if bound.kind is BindingKind.IMPORT and bound.target is not None:
            return self._elsewhere(f"{bound.target}{dot}{rest}", called=True)
        if isinstance(bound.node, cst.ClassDef) and not rest:
            return self._class(bound.node)
        return None


def _is_empty(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Tuple | cst.List) and not node.elements


@dataclass
class _InnerClasses:
    """The classes of a file that are not at its top, by names that no other file can write."""

    names: dict[int, str] = field(default_factory=dict)
    classes: dict[str, cst.ClassDef] = field(default_factory=dict)


def _inner_classes(facts: ModuleFacts) -> _InnerClasses:
    found = _InnerClasses()
    for number, cls in enumerate(facts.tree.every(cst.ClassDef)):
        name = f"{cls.name.value}#{number}"
        found.names[id(cls)] = name
        found.classes[name] = cls
    return found
