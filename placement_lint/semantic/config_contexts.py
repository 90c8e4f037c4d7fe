"""JAX's configuration contexts, also where the program enters them by managers of its own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.config_states import CONFIG_CONTEXTS
from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import derived_classes, own_attribute
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.definitions import (
    PARTIAL,
    PROPERTIES,
    class_named,
    class_of_method,
    function_of,
    method_of_class,
    returns_of,
)
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts

_GENERATORS = frozenset({"contextlib.asynccontextmanager", "contextlib.contextmanager"})
_STACKS = ("contextlib.AsyncExitStack", "contextlib.ExitStack")
_PLAIN: list[list[str]] = [[], ["builtins.staticmethod"], ["builtins.classmethod"]]
"""The decorators of functions that give what their body returns."""
_GETTERS = [[each] for each in PROPERTIES]
_MOST_MANAGERS = 4
"""Context managers of the program that enter one another."""


@dataclass(frozen=True)
class EnteredContext:
    """A configuration context that entering an object enters, and leaves with it."""

    name: str
    """Its qualified name."""
    call: cst.Call
    """The call of JAX that makes it."""
    view: FileView
    """The file of that call."""
    through: str = ""
    """What the program calls its own manager that enters it; "" for the context itself."""
    is_object: bool = False
    """It is an object of a class of the program."""

    @property
    def spelled(self) -> str:
        """It, as a message names it."""
        return f"{self.name} in `{self.through}`" if self.through else self.name


def context_of(node: cst.BaseExpression, view: FileView) -> EnteredContext | None:
    """Return the configuration context that `with node:` enters; None where it may be none.

    JAX's own; under `functools.partial`; what a function or a property of the program returns or,
    as a generator for `contextlib.contextmanager`, yields in; an object of a class that enters it.
    A context with the value None is none: it leaves all as it was.
    """
    return _context_of(node, view, _MOST_MANAGERS)


def entered_by(block: cst.With, view: FileView) -> tuple[cst.WithItem, EnteredContext] | None:
    """Return the first item of a `with` that enters a configuration context, and which one."""
    found = _entered_by(block, view, _MOST_MANAGERS)
    if found is None:
        given = [(item, _given(item.item, view)) for item in block.items]
        found = next(((item, entered) for item, entered in given if entered is not None), None)
    return found


def given_context(node: cst.BaseExpression, view: FileView) -> EnteredContext | None:
    """Return what `context_of` does, or the context of a default device that is surely held: by a
    variable, an attribute, or what a function of the program gives.
    """
    return context_of(node, view) or _given(node, view)


def _given(node: cst.BaseExpression, view: FileView) -> EnteredContext | None:
    made = node.func if isinstance(node, cst.Call) else node
    if not isinstance(made, cst.Name | cst.Attribute):
        return None
    from placement_lint.placement.domain.state import SYSTEM
    from placement_lint.placement.domain.values import DefaultDeviceContext

    held = view.flow.value(node)
    places = [
        atom.expression
        for atom in held
        if isinstance(atom, DefaultDeviceContext) and atom.devices and atom.devices != SYSTEM
    ]
    known = [place for place in places if place is not None]
    if not known or len(known) != len(held):
        return None
    beside = view.module.siblings.get(min(known).module)
    if beside is None:
        return None
    from placement_lint.semantic.file_view import FileView

    there = FileView(beside)
    call = beside.tree.around(beside.tree.nodes[min(known).node], cst.Call)
    if call is None or not there.is_call(call, "jax.default_device"):
        return None
    return EnteredContext("jax.default_device", call, there, dotted(made))


def _entered_by(
    block: cst.With, view: FileView, managers: int
) -> tuple[cst.WithItem, EnteredContext] | None:
    for item in block.items:
        entered = _context_of(item.item, view, managers)
        if entered is not None:
            return item, entered
    return None


def _context_of(node: cst.BaseExpression, view: FileView, managers: int) -> EnteredContext | None:
    node = _meant(node, view)
    if isinstance(node, cst.Attribute) and managers:
        return _entered_by_property(node, view, managers - 1)
    if not isinstance(node, cst.Call) or not managers:
        return None
    maker, value = _meant(node.func, view), Arguments(node).get(0, "new_val")
    if isinstance(maker, cst.Call) and view.called(maker) == PARTIAL:
        return _of_partial(maker, node, value, view)
    if view.name(maker) in CONFIG_CONTEXTS:
        return _of_jax(maker, value, node, view)
    return _entered_by_own(node, maker, view, managers)


def _of_partial(
    partial: cst.Call, call: cst.Call, value: cst.BaseExpression | None, there: FileView
) -> EnteredContext | None:
    """Return what `host()` enters where `host = partial(jax.default_device, cpu)`, in its file.

    `value`: the device where the call gives it, and not the partial.
    """
    given = Arguments(partial)
    value = given.get(1, "new_val") or value
    return _of_jax(given.get(0, "func"), value, partial, there, dotted(call.func))


def _of_jax(
    function: cst.BaseExpression | None,
    value: cst.BaseExpression | None,
    call: cst.Call,
    view: FileView,
    through: str = "",
) -> EnteredContext | None:
    name = view.name(function)
    if name is None or name not in CONFIG_CONTEXTS or _is_none(name, value, view):
        return None
    return EnteredContext(name, call, view, through)


def _is_none(name: str, value: cst.BaseExpression | None, view: FileView) -> bool:
    """Return whether a context is given None, also by way of variables."""
    if value is None or is_none(value):
        return is_none(value)
    if is_none(followed(value, view)):
        return True
    from placement_lint.placement.domain.values import NONE

    # A device that is a parameter, or what a function of the program gives.
    is_device = name == "jax.default_device" and not isinstance(value, cst.Subscript)
    return is_device and view.flow.value(value) == NONE


def _meant(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression:
    """Return what a name or an attribute of the object stands for."""
    node = followed(node, view) if isinstance(node, cst.Name) else node
    value = own_attribute(node, view) if isinstance(node, cst.Attribute) else None
    return value or node


def _entered_by_property(
    node: cst.Attribute, view: FileView, managers: int
) -> EnteredContext | None:
    """Return the context that a property of an object of the program gives."""
    method, there = _method(node, view)
    if method is None or [there.name(each.decorator) for each in method.decorators] not in _GETTERS:
        return None
    inner = _returned_by(method, there, managers)
    if inner is None:
        return None
    return EnteredContext(inner.name, inner.call, inner.view, dotted(node))


def _entered_by_own(
    call: cst.Call, maker: cst.BaseExpression, view: FileView, managers: int
) -> EnteredContext | None:
    made: cst.CSTNode | None = function_of(maker, view.names) or class_named(maker, view.names)
    there = view
    if made is None and (name := view.name(maker)) is not None:
        made, there = _defined_beside(name, view)
        partial = _value_of(made)
        if isinstance(partial, cst.Call) and there.called(partial) == PARTIAL:
            is_bound = Arguments(partial).get(1, "new_val") is not None
            # What the call gives is an expression of another file than the partial.
            return _of_partial(partial, call, None, there) if is_bound or not call.args else None
    if made is None and isinstance(maker, cst.Attribute):
        made, there = _method(maker, view)
    inner: EnteredContext | None = None
    if isinstance(made, cst.ClassDef):
        inner = _entered_by_object(made, there, managers - 1)
    elif isinstance(made, cst.FunctionDef | cst.Lambda):
        inner = _entered_by_function(made, there, managers - 1)
        if inner is not None and not _is_chosen(inner, made, call):
            return None
    if inner is None:
        return None
    is_object = isinstance(made, cst.ClassDef)
    return EnteredContext(inner.name, inner.call, inner.view, dotted(maker), is_object)


def _defined_beside(name: str, view: FileView) -> tuple[cst.CSTNode | None, FileView]:
    """Return what another file binds a name to at its top level, and that file."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    found = definition_beside(view.module, name)
    return (None, view) if found is None else (found[0], FileView(found[1]))


def _value_of(statement: cst.CSTNode | None) -> cst.BaseExpression | None:
    """Return what a statement assigns to a name, or to several names alike."""
    if isinstance(statement, cst.AnnAssign):
        return statement.value
    is_whole = isinstance(statement, cst.Assign) and all(
        isinstance(each.target, cst.Name) for each in statement.targets
    )
    return statement.value if isinstance(statement, cst.Assign) and is_whole else None


def _method(node: cst.Attribute, view: FileView) -> tuple[cst.FunctionDef | None, FileView]:
    """Return the method that an expression surely is, of an object or a class, and its file."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    found = _class_of(node.value, view)
    cls, facts = (None, view.module) if found is None else found
    if not isinstance(cls, cst.ClassDef):
        return None, view
    name = node.attr.value
    below = facts.fact(derived_classes).get(id(cls), ())
    if any(name in facts.names.scope(each.body).bindings for each in below):
        # The object may be one of a class that has another method.
        return None, view
    return method_of_class(cls, name, facts.names), FileView(facts)


def _class_of(
    node: cst.BaseExpression, view: FileView
) -> tuple[cst.CSTNode | None, ModuleFacts] | None:
    """Return the class that an expression is, or is an object of, and its file."""
    from placement_lint.semantic.known_types import KnownTypes

    known = view.module.fact(KnownTypes).of(node)
    if known is not None:
        facts = view.module.siblings.get(known.path)
        bound = () if facts is None else facts.names.module_scope.bindings.get(known.name, ())
        return None if facts is None or len(bound) != 1 else (bound[0].node, facts)
    if (cls := class_named(node, view.names)) is not None:
        return cls, view.module
    name = view.name(node)
    return None if name is None else definition_beside(view.module, name)


def _entered_by_function(
    function: cst.FunctionDef | cst.Lambda, view: FileView, managers: int
) -> EnteredContext | None:
    if isinstance(function, cst.Lambda):
        return _context_of(function.body, view, managers)
    decorators = [view.name(each.decorator) for each in function.decorators]
    own = view.names.scope(function.body)
    yields = [
        node for node in view.tree.every(cst.Yield, below=function) if view.names.scope(node) is own
    ]
    if yields:
        if len(decorators) != 1 or decorators[0] not in _GENERATORS:
            return None
        held = [_held_at(each, function, view, managers) for each in yields]
        return held[0] if None not in held else None
    if decorators not in _PLAIN or function.asynchronous is not None:
        return None
    return _returned_by(function, view, managers)


def _returned_by(function: cst.FunctionDef, view: FileView, managers: int) -> EnteredContext | None:
    """Return the context that the body of a function gives by its only `return`, at its end."""
    last = function.body.body[-1]
    statement = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    if not isinstance(statement, cst.Return) or returns_of(function, view.names) != [statement]:
        return None
    return None if statement.value is None else _context_of(statement.value, view, managers)


def _held_at(
    suspension: cst.Yield, function: cst.FunctionDef, view: FileView, managers: int
) -> EnteredContext | None:
    """Return the context that is in effect while a generator function waits at a `yield`."""
    held: EnteredContext | None = None
    for node in view.ancestors(suspension):
        if node is function:
            return held
        if not _is_always_executed(node):
            return None
        if isinstance(node, cst.With) and held is None:
            entered = _entered_by(node, view, managers)
            held = None if entered is None else entered[1]
            held = held or _held_by_stack(node, suspension, view, managers)
    return held


def _held_by_stack(
    block: cst.With, suspension: cst.Yield, view: FileView, managers: int
) -> EnteredContext | None:
    """Return the context that was entered on the stack of a `with ExitStack() as stack:` before a
    place in it, on every way there.
    """
    names = {
        item.asname.name.value
        for item in block.items
        if item.asname is not None
        and isinstance(item.asname.name, cst.Name)
        and view.is_call(item.item, *_STACKS)
    }
    end = view.tree.index(suspension)
    for call in view.tree.every(cst.Call, below=block.body) if names else ():
        entered = _entered_on(call, names)
        if entered is None or view.tree.index(call) > end:
            continue
        below = itertools.takewhile(lambda each: each is not block, view.ancestors(call))
        if all(map(_is_always_executed, below)):
            context = _context_of(entered, view, managers)
            if context is not None:
                return context
    return None


def _entered_on(call: cst.Call, stacks: set[str]) -> cst.BaseExpression | None:
    """Return what a call enters on one of some stacks: `stack.enter_context(cm)`."""
    method = call.func
    if not isinstance(method, cst.Attribute) or method.attr.value != "enter_context":
        return None
    is_ours = isinstance(method.value, cst.Name) and method.value.value in stacks
    return Arguments(call).get(0, "cm") if is_ours else None


def _entered_by_object(cls: cst.ClassDef, view: FileView, managers: int) -> EnteredContext | None:
    found = view.names.scope(cls.body).bindings.get("__enter__", [])
    method = found[0].node if len(found) == 1 else None
    if not isinstance(method, cst.FunctionDef):
        return None
    for context in _contexts_entered(method, view):
        entered = _context_of(context, view, managers)
        if entered is not None:
            return entered
    return None


def _contexts_entered(method: cst.FunctionDef, view: FileView) -> Iterator[cst.BaseExpression]:
    """Yield what a method always enters by hand, or on a stack."""
    for call in view.tree.every(cst.Call, below=method):
        function = call.func
        if not isinstance(function, cst.Attribute):
            continue
        below = itertools.takewhile(lambda each: each is not method, view.ancestors(call))
        if not all(map(_is_always_executed, below)):
            continue
        if function.attr.value == "__enter__":
            yield _set_in(method, function.value, view) or function.value
        elif function.attr.value == "enter_context":
            entered = Arguments(call).get(0, "cm")
            if entered is not None:
                yield entered


def _set_in(
    method: cst.FunctionDef, node: cst.BaseExpression, view: FileView
) -> cst.BaseExpression | None:
    """Return what a method itself sets an attribute to, once."""
    text = dotted(node) if isinstance(node, cst.Attribute) else ""
    found = [
        each.value
        for each in view.tree.every(cst.Assign, below=method)
        if text and any(dotted(target.target) == text for target in each.targets)
    ]
    return found[0] if len(found) == 1 else None


def _is_always_executed(node: cst.CSTNode) -> bool:
    """Return whether what is directly in a node is executed where the node is."""
    certain = (
        cst.BaseSmallStatement, cst.BaseSuite, cst.SimpleStatementLine, cst.Try, cst.With,
        cst.Arg, cst.Await, cst.Call,
    )  # fmt: skip
    return isinstance(node, certain)


def _is_chosen(
    entered: EnteredContext, function: cst.FunctionDef | cst.Lambda, call: cst.Call
) -> bool:
    """Return whether a call certainly says a value where the function leaves it to its caller."""
    given = Arguments(entered.call).get(0, "new_val")
    by_place = [*function.params.posonly_params, *function.params.params]
    parameters = [*by_place, *function.params.kwonly_params]
    names = [each.name.value for each in parameters]
    if not isinstance(given, cst.Name) or given.value not in names:
        return True
    place = names.index(given.value)
    is_method = isinstance(function, cst.FunctionDef) and (
        class_of_method(function, entered.view.names) is not None
    )
    position = place - is_method if place < len(by_place) else None
    passed = Arguments(call).get(position, given.value) or parameters[place].default
    return passed is not None and not is_none(passed)
