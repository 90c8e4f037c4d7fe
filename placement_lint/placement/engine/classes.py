"""The classes of a program: their bases, methods, attributes and fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries import library_class_named, method_of
from placement_lint.placement.domain.contents import element_of
from placement_lint.placement.domain.keys import Member
from placement_lint.placement.domain.library_values import LibraryFunction, Optimizer
from placement_lint.placement.domain.ordering import linearized
from placement_lint.placement.domain.platform_names import PlatformName
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.sharding import Mesh, Sharding, Spec
from placement_lint.placement.domain.state import State, Variable, initial_state, variable
from placement_lint.placement.domain.values import (
    ANYTHING,
    HOST,
    NONE,
    NOTHING,
    UNFOLLOWED,
    UNKNOWN,
    AnyTree,
    Array,
    Closure,
    Host,
    LibraryMethod,
    Mapping,
    Method,
    NamedTupleType,
    Partial,
    Plain,
    Sequence,
    TheDevice,
    Value,
    is_unfollowed,
    join,
    sole,
    value,
)
from placement_lint.placement.engine.abstract_classes import AbstractClasses
from placement_lint.placement.engine.arguments import CallArguments, device_or_none
from placement_lint.placement.engine.attribute_hooks import AttributeHooks
from placement_lint.placement.engine.collection_classes import CollectionClasses
from placement_lint.placement.engine.meshes import mesh_attribute
from placement_lint.placement.engine.metaclasses import Metaclasses
from placement_lint.placement.engine.narrowing import is_known
from placement_lint.placement.engine.own_names import NAME, own_name
from placement_lint.placement.engine.placed_results import of_decorators
from placement_lint.placement.facts.annotations import (
    Annotated,
    annotated,
    annotated_or_none,
    field_annotations,
)
from placement_lint.placement.facts.decorators import (
    CLASS_DECORATORS,
    accessor_kind,
    decorator_name,
    generates_initializer,
    generates_initializers_below,
    is_enumeration,
    is_enumeration_of_strings,
    is_property,
    keeps_signature,
    method_kind,
)
from placement_lint.placement.facts.generated_fields import members, own_fields
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom
    from placement_lint.placement.engine.protocols import Interpreter
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Names


_MODELS = frozenset({
    "equinox.Module", "flax.linen.Module", "flax.nnx.Module", "haiku.Module",
})  # fmt: skip
_PLAIN_BASES = _MODELS | {
    "abc.ABC", "builtins.object", "enum.Enum", "enum.IntEnum", "enum.StrEnum", "typing.Generic",
    "typing.NamedTuple", "typing_extensions.Generic",
}  # fmt: skip
"""What does not make objects of other classes instances of a class."""
_WITH_TRUTH = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "typing.NamedTuple"})
"""Of these, objects may be false."""
_OF_NO_CLASS = (Array, Class, Function, Host, Mapping, Method, TheDevice)
"""What is no object of a class of the program."""
_MAX_BASES = 100
"""Classes that one derives from, in any number of steps."""


class Classes:
    """Finds what classes, their bases and their objects have by a name."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self.collections = CollectionClasses(program)
        self.abstract = AbstractClasses(program)
        self.metaclasses = Metaclasses(program)
        self._hooks = AttributeHooks(program)
        self._bases: dict[Place, list[Place]] = {}
        self._named: dict[Place, list[Place]] = {}
        """The bases that classes name themselves."""
        self._methods: dict[Place, dict[str, Place]] = {}
        self._setters: dict[Place, dict[str, Place]] = {}
        self._plain: dict[Place, bool] = {}
        self._generating_below: dict[Place, bool] = {}
        """Whether classes that derive from one get their initializers from their fields."""
        self._library: dict[Place, str | None] = {}
        self._closures: dict[Place, Closure | Instance | None] = {}
        """What decorators of the program make of methods, where that matters."""
        self._annotations: dict[Place, dict[str, cst.Annotation]] = {}

    def is_namespace(self, instance: Instance) -> bool:
        """Return whether an object is of no class of the program: a library made it."""
        return not isinstance(self._program.node(instance.cls), cst.ClassDef)

    def bases(self, cls: Place) -> list[Place]:
        """Return a class and its bases in the program, in the order in which Python looks there.

        Not more than anybody writes: what is beyond those is not known.
        """
        if cls not in self._bases:
            # A base may be named by an attribute of the class, of which nothing is known yet.
            self._bases[cls] = [cls]
            found: dict[Place, None] = {}
            level = [cls]
            while level and len(found) < _MAX_BASES:
                found.update(dict.fromkeys(level))
                below = (base for place in level for base in self.named_bases(place))
                level = [place for place in dict.fromkeys(below) if place not in found]
            if len(found) < _MAX_BASES:
                named = self.named_bases(cls)
                found = dict.fromkeys([cls, *linearized([*map(self.bases, named), named])])
            self._bases[cls] = [*found][:_MAX_BASES]
        return self._bases[cls]

    def named_bases(self, cls: Place) -> list[Place]:
        """Return the classes that a class names as its bases."""
        found = self._named.get(cls)
        if found is None:
            found = self._named[cls] = self._bases_in(cls, initial_state())
        return found

    def _bases_in(self, cls: Place, state: State) -> list[Place]:
        module, node = self._program.module_of(cls), self._program.node(cls)
        held: list[Value] = []
        for base in node.bases if isinstance(node, cst.ClassDef) else ():
            named = self._program.expressions(module).evaluate(_generic(base.value), state)
            read = (
                self._program.linking.loaded(atom, state)
                for atom in named
                if isinstance(atom, External)
            )
            held += [named, *read]
        return [atom.place for each in held for atom in each if isinstance(atom, Class)]

    def _see_bases(self, cls: Place, state: State) -> None:
        """Note the bases of a class where it is made: what decorates them has been called."""
        if not self._has_plain_bases(cls):
            known = self._bases_in(cls, state)
            if known != self._named.get(cls):
                self._named[cls] = known
                self._bases.pop(cls, None)

    def method(self, cls: Place, name: str) -> Place | None:
        """Return the method of a class, or of its bases in the program, with a name."""
        for place in self.bases(cls):
            found = self._methods_of(place).get(name)
            if found is not None:
                rebound = self._program.linking.rebound
                replaced = rebound and self.variable(place, name) in rebound
                return None if replaced else found
        return None

    def registered(self, cls: Place, state: State) -> None:
        """Call the `__init_subclass__` of a base in the program, as Python does for a new class.

        Before that, it calls the functions of its metaclass.
        """
        self._see_bases(cls, state)
        self.metaclasses.made(cls, state)
        module, node = self._program.module_of(cls), self._program.node(cls)
        bases = self.bases(cls)[1:] if isinstance(node, cst.ClassDef) and node.bases else []
        found = (self._methods_of(place).get("__init_subclass__") for place in bases)
        function = next((each for each in found if each is not None), None)
        if function is None or not isinstance(node, cst.ClassDef):
            return
        arguments: dict[int | str, Value] = {0: value(Class(cls))}
        for each in node.keywords:
            if each.keyword is not None and each.keyword.value != "metaclass":
                held = self._program.expressions(module).evaluate(each.value, state)
                arguments[each.keyword.value] = held
        self._program.functions.call(function, arguments, state, bound=True)

    def _methods_of(self, cls: Place) -> dict[str, Place]:
        if cls not in self._methods:
            module, node = self._program.module_of(cls), self._program.node(cls)
            body = [*members(node)] if isinstance(node, cst.ClassDef) else []
            self._methods[cls] = {
                child.name.value: module.place(child)
                for child in body
                if isinstance(child, cst.FunctionDef) and not accessor_kind(child)
            }
            self._setters[cls] = {
                child.name.value: module.place(child)
                for child in body
                if isinstance(child, cst.FunctionDef) and accessor_kind(child) == "setter"
            }
        return self._methods[cls]

    def setter(self, cls: Place, name: str) -> Place | None:
        """Return the function that assigning to a property of a class calls."""
        for place in self.bases(cls):
            self._methods_of(place)
            found = self._setters[place].get(name)
            if found is not None:
                return found
        return None

    def keeps_class(self, module: Module, decorator: cst.Decorator) -> bool:
        """Return whether a class is, after a decorator, what it was before."""
        return decorator_name(module, decorator) in CLASS_DECORATORS

    def attribute(self, held: Value, name: str, state: State) -> Value:
        """Read an attribute of objects, classes and modules of the program."""
        found: list[Value] = []
        for atom in held:
            if isinstance(atom, Instance):
                found.append(self._instance_attribute(atom, name, state))
            elif len(held) > 1 and atom in NONE and not name.startswith("__"):
                # Reading it of None raises.
                continue
            elif isinstance(atom, External):
                found.append(value(External(atom.module, f"{atom.name}.{name}")))
            elif isinstance(atom, Sequence) and name in atom.names and atom.items is not None:
                found.append(atom.items[atom.names.index(name)])
            elif name == "_fields" and (fields := self._names_of_fields(atom)):
                found.append(fields)
            elif isinstance(atom, Sequence | AnyTree) and (method := _method(atom, name)):
                found.append(value(LibraryMethod(method, atom)))
            elif isinstance(atom, Sequence) and atom.cls is not None:
                found.append(self._tuple_attribute(atom, atom.cls, name, state))
            elif name == NAME and (own := own_name(atom, self._program)):
                found.append(own)
            elif isinstance(atom, Class):
                found.append(self._class_attribute(atom, name, state))
            elif isinstance(atom, Mesh | Sharding | Spec):
                found.append(mesh_attribute(atom, name))
            elif isinstance(atom, Plain) and (held_by := self._of_member(atom, name, state)):
                found.append(held_by)
            elif isinstance(atom, Plain) and name == "value":
                # Strings have none: it is a member of an enumeration of strings.
                text = atom.text if atom.member is None else atom.member.text
                found.append(UNKNOWN if text is None else value(Plain(text)))
            elif isinstance(atom, TheDevice) and name == "platform":
                found.append(value(PlatformName()))
            elif isinstance(atom, Optimizer) and name == "init":
                found.append(value(replace(atom, is_init=True)))
            elif isinstance(atom, Optimizer) and name == "update":
                found.append(value(LibraryMethod("optax.GradientTransformation.update", atom)))
            else:
                found.append(UNFOLLOWED if is_unfollowed(atom) else UNKNOWN)
        return join(*found) if found else UNKNOWN

    def _of_member(self, member: Plain, name: str, state: State) -> Value | None:
        """Read a method or a property of a member of an enumeration; None: it has no such."""
        cls = None if member.member is None else member.member.cls
        function = None if cls is None else self.method(cls, name)
        if function is None:
            return None
        module, node = self._program.module_of(function), self._program.node(function)
        if isinstance(node, cst.FunctionDef) and is_property(module, node):
            return self._program.functions.call(function, {0: value(member)}, state, bound=True)
        return value(Method(function, member))

    def _tuple_attribute(self, held: Sequence, cls: Place, name: str, state: State) -> Value:
        """Read a method, a property or a constant of the class of a named tuple."""
        function = self.method(cls, name)
        if function is None:
            return self.class_variable(cls, name, state)
        module, node = self._program.module_of(function), self._program.node(function)
        if isinstance(node, cst.FunctionDef) and is_property(module, node):
            return self._program.functions.call(function, {0: value(held)}, state, bound=True)
        return value(Method(function, held))

    def tuple_fields(self, cls: Place) -> list[tuple[str, cst.BaseExpression | None]] | None:
        """Return the fields of a named tuple's class, with defaults; None for another class."""
        for place in self.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            for base in node.bases if isinstance(node, cst.ClassDef) else ():
                if module.names.qualified(base.value) == "typing.NamedTuple":
                    return self.fields(place)
                made: Value = NOTHING
                if isinstance(base.value, cst.Call):
                    made = self._program.expressions(module).evaluate(base.value, initial_state())
                for atom in made:
                    if isinstance(atom, NamedTupleType) and not atom.defaults:
                        return [(name, None) for name in atom.names]
        return None

    def _names_of_fields(self, atom: Atom) -> Value | None:
        """Return `_fields` of a named tuple, or of its class; None of all else."""
        names = atom.names if isinstance(atom, Sequence | NamedTupleType) else ()
        if isinstance(atom, Class):
            names = tuple(name for name, _ in self.tuple_fields(atom.place) or ())
        texts = tuple(value(Plain(name)) for name in names)
        return value(Sequence(texts, join(*texts))) if texts else None

    def _class_attribute(self, cls: Class, name: str, state: State) -> Value:
        function = self.method(cls.place, name)
        if function is None:
            held = self.class_variable(cls.place, name, state)
            return self._of_type(cls, name, state) if held == UNKNOWN else held
        module, node = self._program.module_of(function), self._program.node(function)
        if isinstance(node, cst.FunctionDef):
            kind = method_kind(module, node)
            closure = self._decorated(function, state)
            if isinstance(closure, Closure):
                return value(
                    replace(closure, receiver=value(cls)) if kind == "classmethod" else closure
                )
            if closure is not None:
                return self._hooks.got(closure, NONE, cls.place, name, state) or UNKNOWN
            if kind == "classmethod":
                return value(Method(function, cls))
            if module.traced.computation(node) is not None:
                return self._program.linking.defined(module, node)
        return value(Function(function))

    def _of_type(self, cls: Class, name: str, state: State) -> Value:
        """Return what a class has by a name of its type, or of a library."""
        by_metaclass = self.metaclasses.attribute(cls, name, state)
        if by_metaclass is not None:
            return by_metaclass
        if name == "__new__" and self.tuple_fields(cls.place) is None:
            return value(LibraryFunction("builtins.object.__new__"))
        if name == "__subclasses__":
            return value(LibraryMethod("builtins.type.__subclasses__", cls))
        return self._library_method(cls, name)

    def _instance_attribute(self, instance: Instance, name: str, state: State) -> Value:
        if (hooked := self._hooks.by_hook(instance, name, state)) is not None:
            return hooked
        if name == "__class__" and not self.is_namespace(instance):
            return value(Class(instance.cls))
        key: Variable = (instance, name)
        held = state.variables.get(key)
        self._program.functions.note_read(key, held or None)
        if held is None and self._program.now.made(instance):
            held = self._program.now.final.get(key)
        if held:
            return self.as_annotated(instance.cls, name, held)
        function = self.method(instance.cls, name)
        if function is None:
            return self._inherited_attribute(instance, name, state)
        return self._method_attribute(instance, name, function, state)

    def _inherited_attribute(self, instance: Instance, name: str, state: State) -> Value:
        """Return an attribute that no method of the program and no assignment gives an object."""
        is_field = any(name in self._own_annotations(c) for c in self.bases(instance.cls))
        held = self.class_variable(instance.cls, name, state)
        inherited = _bound(held, instance, is_field=is_field)
        if (described := self._described(instance, name, inherited, state)) is not None:
            return described
        if inherited == UNKNOWN and (made := self._hooks.made_property(instance, name, state)):
            return made
        if inherited == UNKNOWN:
            inherited = self._library_method(instance, name)
        if inherited == UNKNOWN:
            inherited = self._hooks.delegated(instance, name, state)
        if inherited == UNKNOWN and self.collections.reads_items(instance, state):
            inherited = element_of(self.collections.items(frozenset({instance}), state), name)
        return self.as_annotated(instance.cls, name, inherited)

    def _method_attribute(
        self, instance: Instance, name: str, function: Place, state: State
    ) -> Value:
        """Return the attribute of an object that a method of its class is, or computes."""
        module, node = self._program.module_of(function), self._program.node(function)
        if isinstance(node, cst.FunctionDef) and is_property(module, node):
            held = self.decorated(function, state)
            if held:
                decorators = self._program.functions.context_decorators
                return decorators.call(module, node, held, CallArguments([value(instance)]), state)
            return self._program.functions.call(function, {0: value(instance)}, state, bound=True)
        closure = self._decorated(function, state)
        by_descriptor = self._hooks.got(closure, value(instance), instance.cls, name, state)
        if by_descriptor is not None:
            return by_descriptor
        if isinstance(closure, Closure) and isinstance(node, cst.FunctionDef):
            receiver = {"staticmethod": NOTHING, "classmethod": value(Class(instance.cls))}.get(
                method_kind(module, node), value(instance)
            )
            return value(replace(closure, receiver=receiver))
        computation = module.traced.computation(node) if isinstance(node, cst.FunctionDef) else None
        if computation is None or not isinstance(node, cst.FunctionDef):
            return value(Method(function, instance))
        if method_kind(module, node) == "staticmethod":
            return self._program.linking.defined(module, node)
        bound = replace(
            computation,
            # The object itself is passed before all that the call passes.
            usage=None if computation.usage is None else computation.usage.bound(),
            of=value(Function(function)),
            bound=(value(instance),),
            function=function if module.traced.keeps_arguments(node) else None,
            shardings=of_decorators(module, node),
            donated_by=function if computation.donates else None,
        )
        return value(bound)

    def descriptor(self, instance: Instance, name: str, method: str, state: State) -> Place | None:
        """Return the method of a descriptor that an attribute of an object goes through, if any.

        `__set_name__` is called first, as Python did when it made the class.
        """
        held = self.class_variable(instance.cls, name, state)
        only = sole(held)
        function = self.method(only.cls, method) if isinstance(only, Instance) else None
        if function is None or not isinstance(only, Instance):
            return None
        self._hooks.name(only, instance.cls, name, state)
        return function

    def _described(
        self, instance: Instance, name: str, descriptor: Value, state: State
    ) -> Value | None:
        """Return what a descriptor gives for an attribute of an object; None: there is none."""
        function = self.descriptor(instance, name, "__get__", state)
        if function is None:
            return None
        given = (descriptor, value(instance), value(Class(instance.cls)))
        arguments: dict[int | str, Value] = dict(enumerate(given))
        return self._program.functions.call(function, arguments, state, bound=True)

    def decorated(self, function: Place, state: State) -> Value:
        """Return the function that a decorator of the program makes of a method, if one does."""
        held = self._decorated(function, state)
        return value(held) if isinstance(held, Closure) else NOTHING

    def _decorated(self, function: Place, state: State) -> Closure | Instance | None:
        """Return what a decorator of the program makes of a method; None: what calls it alike.

        An object with a `__get__` stands for what that gives. Where that takes what variables
        hold, such as a decorator that is a method of an object, these are those of `state`.
        """
        if function in self._closures:
            return self._closures[function]
        self._closures[function] = None
        module, node = self._program.module_of(function), self._program.node(function)
        if not isinstance(node, cst.FunctionDef):
            return None
        if all(keeps_signature(module, each) for each in node.decorators):
            return None
        objects = self._program.expressions(module).calls.objects
        for known in (initial_state(), state.copy()):
            held = sole(objects.decorated(node, known))
            if isinstance(held, Closure) or (
                isinstance(held, Instance) and self.method(held.cls, "__get__") is not None
            ):
                self._closures[function] = held
                break
        return self._closures[function]

    def as_annotated(self, cls: Place, name: str, held: Value) -> Value:
        """Return what a field holds, where nobody knows that but its annotation."""
        if held != UNKNOWN:
            return held
        if self.annotated_field(cls, name) is Annotated.NUMPY:
            return HOST
        return device_or_none() if self.is_device_field(cls, name) else held

    def annotated_field(self, cls: Place, name: str) -> Annotated | None:
        """Return what a field of a class is by its annotation."""
        return self._of_field(cls, name, annotated)

    def is_device_field(self, cls: Place, name: str) -> bool:
        """Return whether a field of a class is a device by its annotation, or None."""
        return self._of_field(cls, name, annotated_or_none) is Annotated.DEVICE

    def _of_field(
        self,
        cls: Place,
        name: str,
        said_by: Callable[[cst.Annotation | None, Names], Annotated | None],
    ) -> Annotated | None:
        for place in self.bases(cls):
            annotation = self._own_annotations(place).get(name)
            said = said_by(annotation, self._program.module_of(place).names)
            if said is not None:
                return said
        return None

    def _own_annotations(self, cls: Place) -> dict[str, cst.Annotation]:
        if cls not in self._annotations:
            node = self._program.node(cls)
            self._annotations[cls] = (
                field_annotations(node) if isinstance(node, cst.ClassDef) else {}
            )
        return self._annotations[cls]

    def base_names(self, cls: Place) -> Iterator[str]:
        """Yield the qualified names of what a class and its bases derive from."""
        for place in self.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            for base in node.bases if isinstance(node, cst.ClassDef) else ():
                name = module.names.qualified(base.value)
                if name is not None:
                    yield name

    def is_model(self, cls: Place) -> bool:
        """Return whether a class derives from the modules of a library, which compiled code calls.

        That has their arrays for arguments, however the program takes them out of an object.
        """
        return not _MODELS.isdisjoint(self.base_names(cls))

    def library_class(self, cls: Place) -> str | None:
        """Return the class of a library that a class derives from, of which methods are known.

        Or, of an object that a library's class makes, that class.
        """
        if cls not in self._library:
            node, names = self._program.node(cls), self._program.module_of(cls).names
            made_by = names.qualified(node.func) if isinstance(node, cst.Call) else None
            own = () if made_by is None else (made_by,)
            known = map(library_class_named, (*own, *self.base_names(cls)))
            self._library[cls] = next((each for each in known if each is not None), None)
        return self._library[cls]

    def _library_method(self, of: Instance | Class, name: str) -> Value:
        """Return a method that a class of the program has of a library; else an unknown value."""
        cls = self.library_class(of.cls if isinstance(of, Instance) else of.place)
        method = None if cls is None else method_of(cls, name)
        return UNKNOWN if method is None else value(LibraryMethod(method, of))

    def positional(self, cls: Place) -> tuple[str, ...]:
        """Return the attributes that a pattern takes by position: `case Pair(a, b)`."""
        for place in self.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            scope = module.names.scope(node.body) if isinstance(node, cst.ClassDef) else None
            bindings = scope.bindings.get("__match_args__") if scope is not None else None
            if bindings:
                listed = bindings[0].value if len(bindings) == 1 else None
                parts = listed.elements if isinstance(listed, cst.Tuple) else ()
                return tuple(string_value(part.value) or "" for part in parts)
        return tuple(name for name, _ in self.fields(cls) or ())

    def subscripted(self, cls: Place, key: Key | None, state: State) -> Value:
        """Return `Class[key]`: a member of an enumeration, or the class itself, a generic one."""
        names = self.base_names(cls)
        if any(name.startswith("enum.") for name in names):
            return self.class_variable(cls, key, state) if isinstance(key, str) else UNKNOWN
        node = self._program.node(cls)
        has_own = isinstance(node, cst.ClassDef) and any(each.keyword for each in node.keywords)
        if has_own or self.method(cls, "__class_getitem__") is not None:
            return UNKNOWN
        return value(Class(cls))

    def is_instance(self, atom: Atom, cls: Place) -> bool | None:
        """Return whether a thing is an object of a class of the program; None: not known."""
        own = atom.cls if isinstance(atom, Instance | Sequence) else None
        if own is not None:
            if cls in self.bases(own):
                return True
            return False if self.is_plain(own) and self.is_plain(cls) else None
        is_list = isinstance(atom, Sequence) and not (atom.names or atom.library)
        is_other = is_list or isinstance(atom, _OF_NO_CLASS) or is_known(atom)
        return False if is_other and self.is_plain(cls) else None

    def is_plain(self, cls: Place) -> bool:
        """Return whether all is known of what a class derives from: no protocol, no metaclass."""
        if cls not in self._plain:
            self._plain[cls] = all(map(self._has_plain_bases, self.bases(cls)))
        return self._plain[cls]

    def is_always_true(self, cls: Place) -> bool:
        """Return whether each object of a class is true: it has no length, and no `__bool__`."""
        return (
            self.is_plain(cls)
            and _WITH_TRUTH.isdisjoint(self.base_names(cls))
            and self.method(cls, "__bool__") is None
            and self.method(cls, "__len__") is None
        )

    def _has_plain_bases(self, cls: Place) -> bool:
        module, node = self._program.module_of(cls), self._program.node(cls)
        if not isinstance(node, cst.ClassDef) or node.keywords:
            return False
        bases = (module.names.qualified(_generic(base.value)) for base in node.bases)
        others = [name for name in bases if name not in _PLAIN_BASES]
        return len(others) == len(self.named_bases(cls)) and (
            "__subclasshook__" not in self._methods_of(cls)
        )

    def class_variable(self, cls: Place, name: str, state: State) -> Value:
        """Return what a class itself has by a name, or a base."""
        for place in self.bases(cls):
            module, node = self._program.module_of(place), self._program.node(place)
            if not isinstance(node, cst.ClassDef):
                continue
            scope = module.names.scope(node.body)
            if name in scope.bindings and is_enumeration(module, node):
                bindings = scope.bindings[name]
                text = string_value(bindings[0].value) if len(bindings) == 1 else None
                if text is not None and is_enumeration_of_strings(module, node):
                    return value(Plain(text))
                member = Member(f"{place.module}:{place.node}.{name}", text, cls)
                return value(Plain(member=member))
            if name in scope.bindings or variable(scope, name) in self._program.linking.rebound:
                return self._program.linking.variable_of(module, scope, name, state)
        return UNKNOWN

    def variable(self, cls: Place, name: str) -> Variable:
        """Return the variable that an attribute of a class is."""
        module, node = self._program.module_of(cls), self._program.node(cls)
        if not isinstance(node, cst.ClassDef):
            raise TypeError(cls)
        return variable(module.names.scope(node.body), name)

    def is_described(self, instance: Instance, name: str, state: State) -> bool:
        """Return whether a class may have a descriptor, which assigning to an attribute calls."""
        if name in dict(self.fields(instance.cls) or ()):
            return False
        for place in self.bases(instance.cls):
            module, node = self._program.module_of(place), self._program.node(place)
            if not isinstance(node, cst.ClassDef):
                continue
            bindings = module.names.scope(node.body).bindings.get(name, [])
            if any(isinstance(binding.value, cst.Call) for binding in bindings):
                return ANYTHING in self.class_variable(instance.cls, name, state)
        return False

    def fields(self, cls: Place) -> list[tuple[str, cst.BaseExpression | None]] | None:
        """Return the fields of a dataclass or a named tuple in order, with their defaults."""
        found: dict[str, cst.BaseExpression | None] = {}
        generated = False
        for place in reversed(self.bases(cls)):
            node = self._program.node(place)
            if isinstance(node, cst.ClassDef) and self.generates_initializer(place):
                generated = True
                found.update(own_fields(self._program.module_of(place), node))
        return list(found.items()) if generated else None

    def generates_initializer(self, cls: Place) -> bool:
        """Return whether a class gets its `__init__` from its annotated fields."""
        module, node = self._program.module_of(cls), self._program.node(cls)
        if not isinstance(node, cst.ClassDef):
            return False
        if generates_initializer(module, node):
            return True
        above = self.bases(cls)
        for place in above:
            # Of a long chain of classes, each is looked at once.
            if place not in self._generating_below:
                base = self._program.node(place)
                self._generating_below[place] = isinstance(
                    base, cst.ClassDef
                ) and generates_initializers_below(self._program.module_of(place), base)
        return any(map(self._generating_below.__getitem__, above))


def _generic(base: cst.BaseExpression) -> cst.BaseExpression:
    """Return a base without its types: `Base[int]` has the methods of `Base`."""
    return base.value if isinstance(base, cst.Subscript) else base


def _method(atom: Sequence | AnyTree, name: str) -> str | None:
    return method_of(atom.library if isinstance(atom, Sequence) else atom.cls, name)


def _bound(held: Value, instance: Instance, *, is_field: bool) -> Value:
    """Return what a class has by a name, as an object gives it: methods are bound to it.

    `is_field`: it is the default of a field, which an object has itself.
    """
    bound: set[Atom] = set()
    for atom in held:
        if isinstance(atom, Partial) and atom.is_method and isinstance(atom.function, Function):
            method = Method(atom.function.place, instance)
            bound.add(replace(atom, function=method, is_method=False))
        elif isinstance(atom, Function) and not is_field:
            bound.add(Method(atom.place, instance))
        elif isinstance(atom, Closure) and not is_field and not atom.receiver:
            bound.add(replace(atom, receiver=value(instance)))
        else:
            bound.add(atom)
    return frozenset(bound)
