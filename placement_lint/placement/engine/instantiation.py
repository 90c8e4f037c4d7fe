"""Objects of the classes of the program: made by a call, or like others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.libraries import method_of
from placement_lint.jaxmodel.libraries.flax import VARIABLE
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.placement.domain.ordering import in_order
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import (
    ANYTHING,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Atom,
    LibraryMethod,
    Mapping,
    Plain,
    Sequence,
    Value,
    join,
    value,
)
from placement_lint.placement.engine.arguments import CallArguments, sort_arguments
from placement_lint.placement.facts.generated_fields import (
    FIELDS,
    converter,
    default_method,
    is_model,
    is_not_passed,
    last_step,
    may_change_fields,
    only_initial,
)
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State
    from placement_lint.placement.engine.arguments import Fields
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.placement.facts.module import Module


class Instantiation:
    """Makes objects of the classes of the program, and calls their methods."""

    def __init__(self, expressions: Evaluator) -> None:
        self.on = expressions
        self.names = expressions.names

    def passed(self, node: cst.Call, state: State) -> CallArguments:
        """Evaluate the arguments of a call, for a function of the program."""
        given: list[tuple[cst.Arg, Value]] = []
        for argument in node.args:
            # A generator expression is consumed by the function, if it does so.
            held = self.on.evaluate(argument.value, state)
            if argument.star == "*":
                held = self.on.program.functions.consumed(held, state)
            given.append((argument, held))
        return sort_arguments(given)

    def called_class(
        self, node: cst.CSTNode, cls: Place, passed: CallArguments, state: State
    ) -> Value:
        """Call a class, by its metaclass if that says what a call does."""
        classes = self.on.program.classes
        function = classes.metaclasses.method(cls, "__call__")
        if function is None:
            return self._instantiated(node, cls, passed, state)
        given = self._method_called(function, value(Class(cls)), passed, state, node)
        # What is kept for each of several classes: a class gives its own objects.
        own = frozenset(
            atom for atom in given if isinstance(atom, Instance) and cls in classes.bases(atom.cls)
        )
        others = frozenset(atom for atom in given - own if not isinstance(atom, Instance))
        return own | others if own else given

    def _instantiated(
        self, node: cst.CSTNode, cls: Place, passed: CallArguments, state: State
    ) -> Value:
        """Make an object: run its initializer, or set the fields of a dataclass."""
        program = self.on.program
        fields = program.classes.tuple_fields(cls)
        if program.classes.library_class(cls) == VARIABLE and not program.classes.method(
            cls, "__init__"
        ):
            variable = LibraryMethod(VARIABLE, Plain())
            return self.on.calls.library_method(node, variable, passed, state)
        typed = program.classes.collections.typed_dict(cls, passed)
        if typed is not None:
            return value(replace(typed, site=self.on.targets.made(node)))
        maker = program.classes.method(cls, "__new__")
        if fields is not None and maker is None:
            return self.named_tuple(cls, fields, passed, state)
        if maker is not None and (made := self._made_by(maker, node, cls, passed, state)):
            return made
        instance = Instance(cls, self.on.module.place(node), nth=program.nth)
        self._initialize(instance, node, passed, state)
        return value(instance)

    def _made_by(
        self, maker: Place, node: cst.CSTNode, cls: Place, passed: CallArguments, state: State
    ) -> Value | None:
        """Return the objects that the `__new__` of a class gives; None where they are not known.

        They may have been there before. Python runs the initializer of each of that class.
        """
        program = self.on.program
        earlier = state.copy()
        made = self._method_called(maker, value(Class(cls)), passed, state, node)
        if not made or not all(
            isinstance(atom, Instance) and cls in program.classes.bases(atom.cls) for atom in made
        ):
            return None
        for atom in in_order(made):
            if isinstance(atom, Instance):
                self._initialize(atom, node, passed, state, earlier)
        return made

    def instances(
        self, node: cst.CSTNode, classes: Value, passed: CallArguments, state: State
    ) -> Value | None:
        """Make objects as `type.__call__(cls)` does, of all classes of a value; None where it may
        be something else.
        """
        if not classes or not all(isinstance(atom, Class) for atom in classes):
            return None
        made = (
            self._instantiated(node, atom.place, passed, state)
            for atom in in_order(classes)
            if isinstance(atom, Class)
        )
        return join(*made)

    def new_objects(self, node: cst.CSTNode, classes: Value, state: State) -> Value:
        """Make objects without their initializers: `object.__new__(cls)`."""
        program = self.on.program
        found: set[Atom] = set()
        for atom in classes:
            if not isinstance(atom, Class) or program.classes.library_class(atom.place):
                found.add(ANYTHING)
                continue
            made_now = program.classes.metaclasses.new(atom.place)
            if made_now is not None:
                found.add(made_now)
                continue
            instance = Instance(atom.place, self.on.module.place(node), nth=program.nth)
            program.objects.made(instance)
            program.classes.collections.make(instance, state, again=self.on.repeats)
            found.add(instance)
        return frozenset(found)

    def _initialize(
        self,
        instance: Instance,
        node: cst.CSTNode,
        passed: CallArguments,
        state: State,
        earlier: State | None = None,
    ) -> None:
        """Run the initializer of an object. `earlier`: what held before `__new__` gave it."""
        program, cls = self.on.program, instance.cls
        is_new = earlier is None
        if is_new:
            program.objects.made(instance)
        there_before = (state if earlier is None else earlier).variables
        before = {
            name: held
            for name in program.objects.attribute_names(instance)
            if (held := there_before.get((instance, name))) is not None
        }
        collections = program.classes.collections
        if is_new:
            collections.make(instance, state, again=self.on.repeats)
        initializer = program.classes.method(cls, "__init__")
        fields = program.classes.fields(cls) if initializer is None else None
        if initializer is not None:
            self._method_called(initializer, value(instance), passed, state)
        elif fields is not None:
            self._set_fields(instance, fields, passed, state)
        elif (inherited := self._inherited(instance, "__init__")) is not None:
            self.on.calls.library_method(node, inherited, passed, state)
        else:
            collections.initialize(instance, passed, state)
        for name, held in before.items():
            # Another object that was made here before may still be in use.
            now = state.variables.get((instance, name))
            if now is not None and now != held:
                state.variables[instance, name] = join(held, now)

    def named_tuple(
        self, cls: Place | None, fields: Fields, passed: CallArguments, state: State
    ) -> Value:
        items = tuple(self._fields(cls, fields, passed, state).values())
        names = tuple(name for name, _ in fields)
        return value(Sequence(items, join(*items) if items else NOTHING, None, names, cls))

    def _set_fields(
        self, instance: Instance, fields: Fields, passed: CallArguments, state: State
    ) -> None:
        program = self.on.program
        made_by = self._generated(instance.cls)
        found = self._fields(instance.cls, fields, passed, state)
        if any(map(self._may_change_fields, program.classes.bases(instance.cls))):
            found = dict.fromkeys(found, UNKNOWN)
        for name, given in found.items():
            held = program.containers.owned(given, instance, again=self.on.repeats)
            program.bind((instance, name), held, state)
            program.objects.named_attribute(instance, name)
        self._set_by_methods(instance, fields, passed, state)
        after = made_by and program.classes.method(instance.cls, last_step(made_by))
        if after:
            initial = [name for each in reversed(made_by) for name in only_initial(*each)]
            given_once = CallArguments([found.get(name, UNKNOWN) for name in initial])
            self._method_called(after, value(instance), given_once, state)

    def _generated(self, cls: Place) -> list[tuple[Module, cst.ClassDef]]:
        """Return a class and its bases, as far as their initializers are generated."""
        program = self.on.program
        return [
            (program.module_of(place), node)
            for place in program.classes.bases(cls)
            if program.classes.generates_initializer(place)
            and isinstance(node := program.node(place), cst.ClassDef)
        ]

    def _may_change_fields(self, cls: Place) -> bool:
        node = self.on.program.node(cls)
        module = self.on.program.module_of(cls)
        return isinstance(node, cst.ClassDef) and may_change_fields(module, node)

    def _set_by_methods(
        self, instance: Instance, fields: Fields, passed: CallArguments, state: State
    ) -> None:
        """Set the fields that nobody passes and whose defaults methods give: `@name.default`."""
        program = self.on.program
        if passed.rest is not None or passed.more is not None:
            return
        for name, default in fields[len(passed.positional) :]:
            if not isinstance(default, cst.Call) or _passed_as(name, passed) is not None:
                continue
            for place in program.classes.bases(instance.cls):
                module, node = program.module_of(place), program.node(place)
                method = default_method(node, name) if isinstance(node, cst.ClassDef) else None
                if method is not None:
                    function, given = module.place(method), CallArguments([])
                    held = self._method_called(function, value(instance), given, state)
                    program.bind((instance, name), held, state)
                    break

    def _fields(
        self, cls: Place | None, fields: Fields, passed: CallArguments, state: State
    ) -> dict[str, Value]:
        found: dict[str, Value] = {}
        position = -1
        for name, default in fields:
            if self._is_not_passed(cls, name, default):
                found[name] = self._field_default(cls, default, state)
                continue
            position += 1
            by_name = _passed_as(name, passed)
            if by_name is not None:
                held = by_name
            elif position < len(passed.positional):
                held = passed.positional[position]
            elif passed.rest is not None or passed.more is not None:
                given = [v for v in (passed.rest, passed.more) if v is not None]
                if default is not None:
                    given.append(self._field_default(cls, default, state))
                held = join(*given)
            else:
                held = self._field_default(cls, default, state)
            found[name] = self._converted(cls, default, held, state)
        return found

    def _converted(
        self, cls: Place | None, default: cst.BaseExpression | None, held: Value, state: State
    ) -> Value:
        """Return what a field holds that is converted: `field(converter=…)`."""
        if cls is None or default is None:
            return held
        there = self.on.program.expressions(self._module_of(cls, default))
        by = converter(there.module, default)
        if by is None:
            return held
        given = CallArguments([held])
        name = there.names.qualified(by)
        if name is not None and name.startswith(LIBRARY_PREFIXES):
            return there.calls.with_given(default, name, given, state)
        return there.calls.objects.called_with(by, there.evaluate(by, state), given, state)

    def _is_not_passed(
        self, cls: Place | None, name: str, default: cst.BaseExpression | None
    ) -> bool:
        if cls is None:
            return False
        if name.startswith("_") and any(is_model(*each) for each in self._generated(cls)):
            return True
        return default is not None and is_not_passed(self._module_of(cls, default), default)

    def _module_of(self, cls: Place, default: cst.BaseExpression) -> Module:
        """Return the file in which the default of a field is written: that of a base, perhaps."""
        program = self.on.program
        modules = [program.module_of(place) for place in program.classes.bases(cls)]
        return next((each for each in modules if each.tree.contains(default)), modules[0])

    def _field_default(
        self, cls: Place | None, default: cst.BaseExpression | None, state: State
    ) -> Value:
        """Return what a field of a dataclass is that nobody passes."""
        if default is None:
            return PLAIN
        if cls is None:
            return PLAIN if _is_constant(default) else UNKNOWN
        there = self.on.program.expressions(self._module_of(cls, default))
        if _is_constant(default):
            return there.evaluate(default, state)
        name = there.names.qualified(default.func) if isinstance(default, cst.Call) else None
        if not isinstance(default, cst.Call) or name not in {*FIELDS, *_FACTORIES}:
            # One for all objects: what the class's body found.
            return there.record.values.get(there.index(default), UNKNOWN)
        arguments = Arguments(default)
        factory = arguments.get(0 if name in _FACTORIES else None, "default_factory", "factory")
        if factory is None:
            given = arguments.get(None, "default")
            return UNKNOWN if given is None else self._field_default(cls, given, state)
        named = there.names.qualified(factory) or ""
        made = _EMPTY.get(named)
        if made is not None:
            return value(replace(made, site=there.targets.made(factory)))
        if named in _LISTS:
            return value(_LISTS[named])
        held = there.evaluate(factory, state)
        return there.calls.objects.called_with(factory, held, CallArguments([]), state)

    def like(self, node: cst.Call, held: Value, passed: CallArguments, state: State) -> Value:
        """Return other objects like these, with the fields that are passed by keyword."""
        if passed.more is not None or passed.rest is not None:
            return UNKNOWN
        program = self.on.program
        found: set[Atom] = set()
        for atom in held:
            fields = program.classes.fields(atom.cls) if isinstance(atom, Instance) else None
            if not isinstance(atom, Instance) or fields is None:
                for each in passed.keywords.values():
                    self.on.escapes(each, state)
                found.add(ANYTHING)
                continue
            given = {
                name: passed.keywords[name]
                if name in passed.keywords
                else program.classes.attribute(value(atom), name, state)
                for name, _ in fields
            }
            found |= self._instantiated(node, atom.cls, CallArguments([], given), state)
        return frozenset(found)

    def _method_called(
        self,
        function: Place,
        receiver: Value,
        passed: CallArguments,
        state: State,
        node: cst.CSTNode | None = None,
    ) -> Value:
        numbered = passed.numbered(1)
        numbered[0] = receiver
        return self.on.program.functions.call(
            function,
            numbered,
            state,
            bound=True,
            rest=passed.rest,
            more=passed.more,
            call=None if node is None else self.on.module.place(node),
        )

    def _inherited(self, instance: Instance, name: str) -> LibraryMethod | None:
        """Return the method that an object has of a library, where no class of ours has it."""
        classes = self.on.program.classes
        if classes.method(instance.cls, name) is not None:
            return None
        method = method_of(classes.library_class(instance.cls) or "", name)
        return None if method is None else LibraryMethod(method, instance)


_FACTORIES = frozenset({"attr.Factory", "attrs.Factory"})
"""What a default is that a call makes for each object."""
_EMPTY: dict[str, Mapping | Sequence] = {
    "builtins.dict": Mapping((), NOTHING),
    "builtins.list": Sequence((), NOTHING),
}
"""What the usual factories of a field make."""
_LISTS = {
    "jax.devices": DeviceList(None),
    "jax.local_devices": DeviceList(None, is_local=True),
}


def _passed_as(name: str, passed: CallArguments) -> Value | None:
    """Return what is passed for a field by its name; attrs drops the underscores before that."""
    held = passed.keywords.get(name)
    return passed.keywords.get(name.lstrip("_")) if held is None else held


def _is_constant(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer | cst.Float | cst.SimpleString) or (
        isinstance(node, cst.Name) and node.value in {"None", "True", "False"}
    )
