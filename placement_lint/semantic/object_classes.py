"""The classes of which objects are, as the text of one file says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.own_attributes import is_set_by_class, own_attribute
from placement_lint.semantic.returned import given_by
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import (
    BARE_BASES,
    PARTIAL,
    class_named,
    class_of_receiver,
    function_of,
    method_of_class,
    parameter_named,
)

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView
    from placement_lint.syntax.definitions import Function

SUPER = "builtins.super"
_STATIC = "builtins.staticmethod"

_STEPS = 6
"""Names and attributes that lead to the call that makes an object."""


def class_of_object(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression | None:
    """Return what names the class of an object, perhaps a function that makes it; None: not known.

    An object is what a name is bound to once, what `self.name` is set to once in its class, what
    `d.setdefault(key, Class())` gives, what a function of the file returns that makes it, or a
    parameter that is annotated with its class.
    """
    for _ in range(_STEPS):
        node = given_by(node, view)
        if isinstance(node, cst.Attribute):
            made = own_attribute(node, view)
            if made is None:
                return None
            node = made
        elif isinstance(node, cst.Call):
            made = _kept_by(node)
            if made is None:
                return node.func
            node = made
        else:
            return _annotation(node, view)
    return None


def _kept_by(call: cst.Call) -> cst.BaseExpression | None:
    """Return the second argument of `d.setdefault(key, Class())`."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "setdefault":
        return None
    return Arguments(call).get(1)


def _annotation(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression | None:
    """Return the annotation of a parameter."""
    parameter = parameter_named(node, view.names)
    if parameter is None or parameter.annotation is None:
        return None
    return parameter.annotation.annotation


def method_of_object(node: cst.BaseExpression, view: FileView) -> cst.FunctionDef | None:
    """Return the method of a class of this file that an expression surely is, perhaps a partial."""
    for _ in range(_STEPS):
        node = given_by(node, view)
        if not isinstance(node, cst.Call) or view.called(node) != PARTIAL:
            break
        inner = Arguments(node).get(0, "func")
        if inner is None:
            return None
        node = inner
    if not isinstance(node, cst.Attribute):
        return None
    found = _method(class_of_object(node.value, view), node.attr.value, view)
    return found or _of_passed(node, view)


def _of_passed(node: cst.Attribute, view: FileView) -> cst.FunctionDef | None:
    """Return the method of a parameter that all calls of a function give an object of one class."""
    parameter = parameter_named(given_by(node.value, view), view.names)
    if parameter is None or parameter.annotation is not None:
        return None
    # What `self` has may be that of a class that derives from its own.
    is_own = class_of_receiver(node.value, view.names) is not None
    return None if is_own else method_by_type(node, view)


def method_by_type(node: cst.Attribute, view: FileView) -> cst.FunctionDef | None:
    """Return the method of a class of this file that an attribute is, by the type of its object."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import KnownTypes

    types = view.module.fact(KnownTypes)
    known = types.of(node.value)
    cls = None if known is None else types.class_here(known)
    return None if cls is None else method_of_class(cls, node.attr.value, view.names)


def called_method(node: cst.BaseExpression, view: FileView) -> cst.FunctionDef | None:
    """Return the method that calling an expression runs: of an object of a class of this file.

    `loader.read` runs `read`, and an object that is called itself its `__call__`.
    """
    if view.name(node) is not None:
        return None
    method = method_of_object(node, view)
    return method or _method(class_of_object(node, view), "__call__", view)


def class_called(node: cst.BaseExpression, view: FileView) -> cst.ClassDef | None:
    """Return the class of the object that an expression is, or whose method it is."""
    if view.name(node) is not None:
        return None
    is_method = method_of_object(node, view) is not None
    receiver = node.value if is_method and isinstance(node, cst.Attribute) else node
    return class_named(class_of_object(receiver, view), view.names)


def overriding_function(
    node: cst.BaseExpression, cls: cst.ClassDef | None, view: FileView
) -> Function | None:
    """Return the function that `self.name` is, there or in a base, of an object of a class of this
    file: a method, or what the class keeps, `name = staticmethod(function)`.
    """
    if not isinstance(node, cst.Attribute) or not _is_of_class(node, cls, view):
        return None
    method = None if cls is None else method_of_class(cls, node.attr.value, view.names)
    return method or function_of(kept_by_class(node, cls, view), view.names)


def kept_by_class(
    node: cst.BaseExpression, cls: cst.ClassDef | None, view: FileView
) -> cst.BaseExpression | None:
    """Return what `self.name` is that a class keeps, or a base of it, and no object sets: a
    function perhaps, of a `staticmethod` what that is given.
    """
    if not isinstance(node, cst.Attribute) or not _is_of_class(node, cls, view):
        return None
    name, above = node.attr.value, cls
    for _ in range(_STEPS):
        if above is None or is_set_by_class(above, name, view):
            return None
        bound = view.names.scope(above.body).bindings.get(name, [])
        if bound:
            kept = bound[0].value if len(bound) == 1 else None
            is_static = isinstance(kept, cst.Call) and view.called(kept) == _STATIC
            return kept.args[0].value if isinstance(kept, cst.Call) and is_static else kept
        above = class_named(above.bases[0].value, view.names) if above.bases else None
    return None


def _is_of_class(node: cst.Attribute, cls: cst.ClassDef | None, view: FileView) -> bool:
    """Return whether an attribute is one of an object of a class: in its methods or a base's."""
    owner = None if cls is None else class_of_receiver(node.value, view.names)
    above = cls
    for _ in range(_STEPS):
        if owner is None or above is None:
            return False
        bases = [class_named(base.value, view.names) for base in above.bases]
        if owner is above or owner in bases:
            return True
        above = bases[0] if bases else None
    return False


def method_of_super(node: cst.BaseExpression, view: FileView) -> cst.FunctionDef | None:
    """Return the method that `super().name` is, where the first base has it in this file."""
    if not isinstance(node, cst.Attribute) or not view.is_call(node.value, SUPER):
        return None
    cls = view.tree.around(node, cst.ClassDef)
    bases = () if cls is None else (each.value for each in cls.bases)
    first = next((each for each in bases if view.name(each) not in BARE_BASES), None)
    return _method(first, node.attr.value, view)


def _method(made: cst.BaseExpression | None, name: str, view: FileView) -> cst.FunctionDef | None:
    cls = class_named(made, view.names)
    return None if cls is None else method_of_class(cls, name, view.names)
