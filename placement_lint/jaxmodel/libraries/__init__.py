"""What the functions of other packages do with arrays: a module each, which is found by itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement_lint.jaxmodel.effects import Library


@functools.cache
def libraries() -> tuple[Library, ...]:
    """Return the `LIBRARY` of every module of this package, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").LIBRARY for name in names)


@functools.cache
def _classes() -> dict[str, frozenset[str]]:
    """Return the methods whose models are known, by the class of a library."""
    return {name: methods for each in libraries() for name, methods in each.classes.items()}


@functools.cache
def _class_names() -> dict[str, str]:
    """Return the classes of libraries by all names that they have."""
    also = {alias: name for each in libraries() for alias, name in each.aliases.items()}
    return {name: name for name in _classes()} | also


def library_class_named(qualified: str) -> str | None:
    """Return the class of a library that a qualified name is of; None: none that is known."""
    return _class_names().get(qualified)


def method_of(cls: str, name: str) -> str | None:
    """Return the qualified name of a method of a class of a library; None: none that is known."""
    return f"{cls}.{name}" if name in _classes().get(cls, ()) else None


@functools.cache
def _array_attributes() -> dict[str, dict[str, str]]:
    return {name: held for each in libraries() for name, held in each.array_attributes.items()}


def array_attribute_of(cls: str, name: str) -> str | None:
    """Return the class of what holds the array that an attribute of an object is, "" where that is
    the array itself; None: of what the attribute is, nothing is known.
    """
    return _array_attributes().get(cls, {}).get(name)


@functools.cache
def classes_without_other_arrays() -> frozenset[str]:
    """Return the classes of which all attributes that are arrays are known."""
    return frozenset().union(*(each.without_others for each in libraries()))


def methods() -> frozenset[str]:
    """Return the qualified names of all methods that must have a model."""
    return frozenset(f"{cls}.{name}" for cls, names in _classes().items() for name in names)
