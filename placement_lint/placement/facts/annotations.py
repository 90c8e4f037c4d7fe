"""What annotations say of parameters, fields and variables: arrays of JAX, of NumPy, devices."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.calls import is_none, string_value
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.names import BindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.syntax.names import Binding, Names
    from placement_lint.syntax.tree import Tree


class Annotated(enum.Enum):
    """What a thing is by its annotation."""

    ARRAY = enum.auto()
    """An array of JAX, or a tracer in its place."""
    NUMPY = enum.auto()
    DEVICE = enum.auto()


_NAMED = {
    "chex.ArrayDevice": Annotated.ARRAY,
    "chex.ArrayNumpy": Annotated.NUMPY,
    "chex.PRNGKey": Annotated.ARRAY,
    "jax.Array": Annotated.ARRAY,
    "jax.Device": Annotated.DEVICE,
    "jax.numpy.ndarray": Annotated.ARRAY,
    "jaxtyping.Array": Annotated.ARRAY,
    "jaxtyping.PRNGKeyArray": Annotated.ARRAY,
    "numpy.ndarray": Annotated.NUMPY,
    "numpy.typing.NDArray": Annotated.NUMPY,
}
_OF_TYPE = frozenset(
    f"jaxtyping.{name}"
    for name in (
        "Bool", "Complex", "Complex128", "Complex64", "Float", "Float16", "Float32", "Float64",
        "Inexact", "Int", "Int16", "Int32", "Int64", "Int8", "Integer", "Key", "Num", "Real",
        "Shaped", "UInt", "UInt16", "UInt32", "UInt64", "UInt8", "BFloat16",
    )
)  # fmt: skip
"""What is written around a type of array: `Float[Array, "b d"]`."""
_PLAIN = frozenset(
    f"builtins.{name}" for name in ("bool", "bytes", "complex", "float", "int", "str")
)
_FUNCTIONS = frozenset({
    "collections.abc.Callable", "flax.nnx.GraphDef", "optax.GradientTransformation",
    "optax.GradientTransformationExtraArgs", "typing.Callable",
})  # fmt: skip
"""Types of functions, and of what only holds functions: no object of them holds an array."""
_AROUND = frozenset({"typing.Annotated", "typing.ClassVar", "typing.Final"})
_LISTS = frozenset({"iterable", "list", "sequence"})
_DICTS = frozenset({"dict", "mapping"})
"""Names of types, in small letters, of which items are typed."""
_SHORTEST = 3
"""Characters of a name that stands for one kind of thing in a file."""
_LONGEST = 200
"""Characters of an annotation that is written as a string."""


def annotated(annotation: cst.Annotation | None, names: Names) -> Annotated | None:
    """Return what an annotation says; None where it says nothing, or allows several things."""
    return None if annotation is None else _said(annotation.annotation, names)


def annotated_or_none(annotation: cst.Annotation | None, names: Names) -> Annotated | None:
    """Return what an annotation says of a thing that may also be None: `jax.Device | None`."""
    others = [each for each in alternatives(annotation, names) if not is_none(each)]
    return _said(others[0], names) if len(others) == 1 else None


def annotated_items(
    annotation: cst.Annotation | None, names: Names
) -> tuple[Annotated, bool] | None:
    """Return what an annotation says of the items of a list, or of the values of a dict: then True.

    None where it says nothing of them, or allows something else.
    """
    every = [without_metadata(each, names) for each in alternatives(annotation, names)]
    items = item_type(every[0], names) if len(every) == 1 else None
    said = None if items is None else _said(items[0], names)
    return None if items is None or said is None else (said, items[1])


def _said(node: cst.BaseExpression, names: Names) -> Annotated | None:
    """Return what a type in an annotation says."""
    for _ in range(3):
        if not isinstance(node, cst.Subscript):
            break
        outer = names.qualified(node.value)
        first = node.slice[0].slice
        if outer in _NAMED:
            node = node.value
        elif (outer in _OF_TYPE or outer in _AROUND) and isinstance(first, cst.Index):
            node = first.value
        else:
            return None
    if isinstance(node, cst.SimpleString):
        return _quoted(string_value(node) or "", names)
    if not isinstance(node, cst.Name | cst.Attribute):
        return None
    return _NAMED.get(names.qualified(node) or "")


def allows_none(annotation: cst.Annotation | None, names: Names) -> bool:
    """Return whether an annotation says that something may be None: `Device | None`."""
    return any(is_none(each) for each in alternatives(annotation, names))


def is_plain(annotation: cst.Annotation | None, names: Names) -> bool:
    """Return whether an annotation says that something is a number or text of Python, or None."""
    every = [*alternatives(annotation, names)]
    return any(not is_none(each) for each in every) and all(
        is_none(each)
        or (isinstance(each, cst.Name | cst.Attribute) and names.qualified(each) in _PLAIN)
        for each in every
    )


def is_function(annotation: cst.Annotation | None, names: Names) -> bool:
    """Return whether an annotation says that something is a function, or made of such, or None."""
    every = [each for each in alternatives(annotation, names) if not is_none(each)]
    named = (each.value if isinstance(each, cst.Subscript) else each for each in every)
    return bool(every) and all(names.qualified(each) in _FUNCTIONS for each in named)


def alternatives(annotation: cst.Annotation | None, names: Names) -> Iterator[cst.BaseExpression]:
    """Yield the types that an annotation allows, each by itself: None for one that is optional."""
    pending: list[cst.BaseExpression] = [] if annotation is None else [annotation.annotation]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.BinaryOperation):
            pending += [node.left, node.right]
            continue
        outer = names.qualified(node.value) if isinstance(node, cst.Subscript) else None
        if isinstance(node, cst.Subscript) and outer in {"typing.Optional", "typing.Union"}:
            parts = (each.slice for each in node.slice)
            pending += [part.value for part in parts if isinstance(part, cst.Index)]
            if outer == "typing.Optional":
                yield cst.Name("None")
            continue
        yield node


def without_metadata(node: cst.BaseExpression, names: Names) -> cst.BaseExpression:
    """Return the type in `Annotated[X, …]` and `Final[X]`; any other as it is."""
    if isinstance(node, cst.Subscript) and names.qualified(node.value) in _AROUND:
        first = node.slice[0].slice
        return first.value if isinstance(first, cst.Index) else node
    return node


def item_type(node: cst.BaseExpression, names: Names) -> tuple[cst.BaseExpression, bool] | None:
    """Return the type of the items of `list[X]`, or of the values of `dict[str, X]`: then True."""
    if not isinstance(node, cst.Subscript):
        return None
    outer = (names.qualified(node.value) or "").rpartition(".")[2].lower()
    parts = [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]
    if outer in _LISTS and len(parts) == 1:
        return parts[0], False
    return (parts[1], True) if outer in _DICTS and len(parts) == 2 else None


def _quoted(text: str, names: Names) -> Annotated | None:
    """Return what a dotted name says that is written as a string: `"jax.Array"`."""
    parts = text.strip().split(".")
    if len(text) > _LONGEST or not all(part.isidentifier() for part in parts):
        return None
    first = names.module_scope.bindings.get(parts[0], [])
    if len(first) != 1 or first[0].kind is not BindingKind.IMPORT or first[0].target is None:
        return None
    return _NAMED.get(".".join([first[0].target, *parts[1:]]))


def bound_as(binding: Binding, names: Names) -> Annotated | None:
    """Return what a parameter or a variable is by the annotation with which it is bound."""
    if isinstance(binding.node, cst.Param | cst.AnnAssign):
        return annotated(binding.node.annotation, names)
    return None


def is_bound_as_text(name: cst.Name, names: Names) -> bool:
    """Return whether a variable is a parameter that is a text by its annotation."""
    bound = names.sole_definition(name)
    said = bound.annotation if isinstance(bound, cst.Param) else None
    return said is not None and names.qualified(said.annotation) == "builtins.str"


def is_bound_as_device(binding: Binding, names: Names) -> bool:
    """Return whether a parameter or a variable is a device by its annotation, or None."""
    if not isinstance(binding.node, cst.Param | cst.AnnAssign):
        return False
    return annotated_or_none(binding.node.annotation, names) is Annotated.DEVICE


def classes_by_parameter(tree: Tree, names: Names) -> dict[str, cst.BaseExpression]:
    """Return by the names of parameters what annotates them, where a file has one class for each.

    Not of names of one or two letters, which stand for anything.
    """
    found: dict[str, cst.BaseExpression] = {}
    several: set[str] = set()
    for param in tree.every(cst.Param):
        name, annotation = param.name.value, param.annotation
        if annotation is None or len(name) < _SHORTEST:
            continue
        node = annotation.annotation
        known = found.setdefault(name, node)
        if not isinstance(node, cst.Name | cst.Attribute) or dotted(known) != dotted(node):
            several.add(name)
    return {
        name: node
        for name, node in found.items()
        if name not in several and names.qualified(node) not in _PLAIN
    }


_CASTING = frozenset({"typing.cast", "typing_extensions.cast"})


def stated_types(
    function: cst.FunctionDef, tree: Tree, names: Names
) -> Iterator[cst.BaseExpression]:
    """Yield the names of the classes that a function says of what it has, other than parameters:
    `cast(State, x)`, `state: State = x`, `case State(rate=rate)`.
    """
    for node in tree.every(cst.Call, cst.AnnAssign, cst.MatchClass, below=function.body):
        if isinstance(node, cst.AnnAssign):
            said: cst.CSTNode | None = None if node.value is None else node.annotation.annotation
        elif isinstance(node, cst.MatchClass):
            said = node.cls
        else:
            is_cast = bool(node.args) and names.qualified(node.func) in _CASTING
            said = node.args[0].value if is_cast else None
        if isinstance(said, cst.Name | cst.Attribute):
            yield said


def field_annotations(cls: cst.ClassDef) -> dict[str, cst.Annotation]:
    """Return the annotations of the fields in the body of a class: the first of each."""
    found: dict[str, cst.Annotation] = {}
    for line in cls.body.body:
        for child in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(child, cst.AnnAssign) and isinstance(child.target, cst.Name):
                found.setdefault(child.target.value, child.annotation)
    return found
