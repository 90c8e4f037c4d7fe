"""The fields of classes whose initializers are generated: dataclasses, attrs, pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.placement.facts.decorators import decorator_name
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.facts.module import Module

Field: TypeAlias = "tuple[str, cst.BaseExpression | None]"
"""The name of a field, and the expression of its default."""

FIELDS = frozenset({
    "attr.attrib", "attr.field", "attr.ib", "attrs.field", "dataclasses.field", "equinox.field",
    "flax.struct.field", "pydantic.Field", "pydantic.PrivateAttr", "pydantic.dataclasses.Field",
})  # fmt: skip
"""What describes a field, with its default."""
_UNANNOTATED = frozenset({"attr.attrib", "attr.field", "attr.ib", "attrs.field"})
_CONFIGURATION = "model_config"
_PRIVATE = "pydantic.PrivateAttr"
_VALIDATORS = frozenset({
    "pydantic.field_validator", "pydantic.model_validator", "pydantic.root_validator",
    "pydantic.validate_call", "pydantic.validator",
})  # fmt: skip


def members(node: cst.ClassDef) -> Iterator[cst.CSTNode]:
    """Yield the statements of the body of a class, small ones one by one."""
    for child in node.body.body:
        if isinstance(child, cst.SimpleStatementLine):
            yield from child.body
        else:
            yield child


def own_fields(module: Module, node: cst.ClassDef) -> list[Field]:
    """Return the fields that the body of a class describes, in order."""
    found: list[Field] = []
    for child in members(node):
        if isinstance(child, cst.AnnAssign):
            if isinstance(child.target, cst.Name) and not _is_no_field(module, child):
                found.append((child.target.value, child.value))
        elif isinstance(child, cst.Assign) and isinstance(child.value, cst.Call):
            target = child.targets[0].target
            if (
                isinstance(target, cst.Name)
                and module.names.qualified(child.value.func) in _UNANNOTATED
            ):
                found.append((target.value, child.value))
    return found


def only_initial(module: Module, node: cst.ClassDef) -> list[str]:
    """Return the fields of a class that only its initializer gets: `InitVar`."""
    return [
        child.target.value
        for child in members(node)
        if isinstance(child, cst.AnnAssign)
        and isinstance(child.target, cst.Name)
        and _annotated_as(module, child) == "dataclasses.InitVar"
    ]


def is_not_passed(module: Module, default: cst.BaseExpression | None) -> bool:
    """Return whether a field is no argument of the initializer: `field(init=False)`."""
    if not isinstance(default, cst.Call):
        return False
    qualified = module.names.qualified(default.func)
    init = Arguments(default).get(None, "init")
    return qualified == _PRIVATE or (
        qualified in FIELDS and isinstance(init, cst.Name) and init.value == "False"
    )


def converter(module: Module, default: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """Return the function by which the initializer converts what is passed for a field."""
    if not isinstance(default, cst.Call) or module.names.qualified(default.func) not in FIELDS:
        return None
    return Arguments(default).get(None, "converter")


def default_method(node: cst.ClassDef, name: str) -> cst.FunctionDef | None:
    """Return the method that gives the default of a field: `@name.default`."""
    for child in members(node):
        for decorator in child.decorators if isinstance(child, cst.FunctionDef) else ():
            made = decorator.decorator
            if (
                isinstance(made, cst.Attribute)
                and made.attr.value == "default"
                and isinstance(made.value, cst.Name)
                and made.value.value == name
            ):
                return child if isinstance(child, cst.FunctionDef) else None
    return None


def last_step(generated: list[tuple[Module, cst.ClassDef]]) -> str:
    """Return the method that a generated initializer calls at its end.

    `generated`: the class and its bases, as far as these have such initializers.
    """
    names = [
        decorator_name(module, each) or ""
        for module, node in generated[:1]
        for each in node.decorators
    ]
    if any(name.startswith(("attr.", "attrs.")) for name in names):
        return "__attrs_post_init__"
    is_one = any(is_model(module, node) for module, node in generated)
    return "model_post_init" if is_one else "__post_init__"


def may_change_fields(module: Module, node: cst.ClassDef) -> bool:
    """Return whether a class has functions that change what is passed for its fields."""
    return any(
        decorator_name(module, each) in _VALIDATORS
        for child in members(node)
        if isinstance(child, cst.FunctionDef)
        for each in child.decorators
    )


def is_model(module: Module, node: cst.ClassDef) -> bool:
    """Return whether a class is a model of pydantic, whose private attributes are not passed."""
    return any(
        (module.names.qualified(base.value) or "").startswith("pydantic.") for base in node.bases
    )


def _is_no_field(module: Module, child: cst.AnnAssign) -> bool:
    """Return whether an annotation is `ClassVar[…]` or `KW_ONLY`, or that of the settings."""
    is_configuration = isinstance(child.target, cst.Name) and child.target.value == _CONFIGURATION
    return is_configuration or _annotated_as(module, child) in {
        "dataclasses.KW_ONLY", "typing.ClassVar",
    }  # fmt: skip


def _annotated_as(module: Module, child: cst.AnnAssign) -> str | None:
    annotation = child.annotation.annotation
    return module.names.qualified(
        annotation.value if isinstance(annotation, cst.Subscript) else annotation
    )
