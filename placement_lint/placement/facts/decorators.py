"""What the decorators of a function or a class make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.definitions import CACHES, PROPERTIES, is_generator

if TYPE_CHECKING:
    from placement_lint.placement.facts.module import Module

_TRANSPARENT_DECORATORS = frozenset({
    "abc.abstractmethod", "builtins.classmethod", "builtins.property", "builtins.staticmethod",
    "contextlib.asynccontextmanager", "contextlib.contextmanager", "functools.cache",
    "functools.cached_property", "functools.lru_cache", "functools.wraps", "jax.default_device",
    "jax.named_call", "jaxtyping.jaxtyped", "typing.final", "typing.no_type_check",
    "typing.overload", "typing.override", "typing_extensions.final", "typing_extensions.override",
})  # fmt: skip
_WITHOUT_END = ("contextlib.", "jax.")
"""Contexts of these do nothing at their end that is followed."""
_DATACLASSES = frozenset({
    "attr.attributes", "attr.attrs", "attr.dataclass", "attr.define", "attr.frozen",
    "attr.mutable", "attr.s", "attrs.define", "attrs.frozen", "attrs.mutable", "chex.dataclass",
    "dataclasses.dataclass", "flax.struct.dataclass", "pydantic.dataclasses.dataclass",
    "tree_math.struct",
})  # fmt: skip
_DATACLASS_BASES = frozenset({
    "equinox.Module", "flax.linen.Module", "flax.struct.PyTreeNode", "pydantic.BaseModel",
    "typing.NamedTuple",
})  # fmt: skip


CLASS_DECORATORS = _DATACLASSES | {
    "functools.total_ordering", "jax.tree_util.register_pytree_node_class", "typing.final",
    "jax.tree_util.register_dataclass",
}  # fmt: skip
"""Decorators after which a class is what it was."""


def decorator_name(module: Module, decorator: cst.Decorator) -> str | None:
    """Return the qualified name of a decorator, or of what it calls, `functools.partial` too."""
    node = decorator.decorator
    while isinstance(node, cst.Call):
        is_partial = module.names.qualified(node.func) == "functools.partial"
        node = node.args[0].value if is_partial and node.args else node.func
    return module.names.qualified(node)


def keeps_signature(module: Module, decorator: cst.Decorator) -> bool:
    """Return whether a function is called after a decorator as it was before."""
    return decorator_name(module, decorator) in _TRANSPARENT_DECORATORS


def makes_context(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether a generator function makes context managers."""
    return any(
        (decorator_name(module, decorator) or "").endswith("contextmanager")
        for decorator in node.decorators
    )


def goes_on(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether a function that makes context managers does anything after its `yield`."""
    statement: cst.CSTNode | None = node
    while statement is not None:
        if isinstance(statement, cst.With):
            names = [module.names.qualified(_called(item.item)) for item in statement.items]
            if not all((name or "").startswith(_WITHOUT_END) for name in names):
                return True
        elif not isinstance(statement, cst.FunctionDef):
            break
        body = statement.body.body
        *first, statement = body
        if any(is_generator(node, module.names, before) for before in first):
            return True
        if isinstance(statement, cst.SimpleStatementLine):
            *first, last = statement.body
            return bool(first) or not (
                isinstance(last, cst.Expr) and isinstance(last.value, cst.Yield)
            )
    return True


def _called(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.func if isinstance(node, cst.Call) else node


def hides_errors(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether a function that makes context managers may handle an error at its `yield`."""
    return any(
        not all(_raises(handler.body) for handler in inner.handlers)
        and is_generator(node, module.names, inner.body)
        for inner in module.tree.every(cst.Try, cst.TryStar, below=node)
    )


def _raises(suite: cst.BaseSuite) -> bool:
    """Return whether a block ends by raising."""
    last: cst.CSTNode = suite.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise)


def is_property(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether reading a method calls it."""
    return any(decorator_name(module, decorator) in PROPERTIES for decorator in node.decorators)


def caches(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether later calls may give what the first one gave, without running the body."""
    return any(decorator_name(module, decorator) in CACHES for decorator in node.decorators)


def is_cached_property(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether each object keeps what a method gave where it was first read."""
    return any(
        decorator_name(module, each) == "functools.cached_property" for each in node.decorators
    )


def accessor_kind(node: cst.FunctionDef) -> str:
    """Return "getter", "setter" or "deleter" for `@name.setter` on `def name`; else nothing."""
    for decorator in node.decorators:
        made = decorator.decorator
        if (
            isinstance(made, cst.Attribute)
            and isinstance(made.value, cst.Name)
            and made.value.value == node.name.value
        ):
            return made.attr.value
    return ""


def method_kind(module: Module, node: cst.FunctionDef) -> str:
    """Return "staticmethod", "classmethod" or "method"."""
    for decorator in node.decorators:
        name = decorator_name(module, decorator)
        if name in {"builtins.staticmethod", "builtins.classmethod"}:
            return name.removeprefix("builtins.")
    return "method"


def generates_initializer(module: Module, node: cst.ClassDef) -> bool:
    """Return whether a class gets its `__init__` from its annotated fields."""
    return any(
        decorator_name(module, decorator) in _DATACLASSES for decorator in node.decorators
    ) or any(module.names.qualified(base.value) in _DATACLASS_BASES for base in node.bases)


def generates_initializers_below(module: Module, node: cst.ClassDef) -> bool:
    """Return whether each class that derives from a class gets its `__init__` from its fields."""
    names = {module.names.qualified(base.value) for base in node.bases} - {"typing.NamedTuple"}
    return not names.isdisjoint(_DATACLASS_BASES)


def is_enumeration(module: Module, node: cst.ClassDef) -> bool:
    """Return whether the names in a class are members of an enumeration."""
    names = [module.names.qualified(base.value) for base in node.bases]
    return names == ["enum.Enum"] or is_enumeration_of_strings(module, node)


def is_enumeration_of_strings(module: Module, node: cst.ClassDef) -> bool:
    """Return whether the members of an enumeration are strings too."""
    names = [module.names.qualified(base.value) for base in node.bases]
    return names in (["builtins.str", "enum.Enum"], ["enum.StrEnum"])


def dispatches(module: Module, node: cst.FunctionDef) -> bool:
    """Return whether the type of the first argument decides which function is called."""
    names = [decorator_name(module, decorator) for decorator in node.decorators]
    return names == ["functools.singledispatch"]


NO_ARRAYS = frozenset({
    "builtins.bool", "builtins.dict", "builtins.float", "builtins.int", "builtins.list",
    "builtins.str", "builtins.tuple", "numpy.generic", "numpy.ndarray", "pathlib.Path",
})  # fmt: skip
"""Types that no JAX array has."""


def registered(
    module: Module, base: cst.FunctionDef
) -> list[tuple[cst.BaseExpression, cst.FunctionDef]] | None:
    """Return the functions that are registered for types with a dispatching one, in this module.

    Each with what names the type. None where that is not known of one.
    """
    found: list[tuple[cst.BaseExpression, cst.FunctionDef]] = []
    decorators: set[int] = set()
    for node in module.tree.every(cst.FunctionDef):
        for decorator in node.decorators:
            made = decorator.decorator
            called = made.func if isinstance(made, cst.Call) else made
            if not _registers(called, base):
                continue
            decorators.add(id(called))
            kind = _kind_of(node, made)
            if kind is None:
                return None
            found.append((kind, node))
    for name_of_it in module.tree.every(cst.Attribute):
        if _registers(name_of_it, base) and id(name_of_it) not in decorators:
            return None
    return found


def _registers(node: cst.CSTNode, base: cst.FunctionDef) -> bool:
    """Return whether an expression is `name.register` of a function."""
    return (
        isinstance(node, cst.Attribute)
        and node.attr.value == "register"
        and isinstance(node.value, cst.Name)
        and node.value.value == base.name.value
    )


def _kind_of(function: cst.FunctionDef, made: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the type for which a function is registered: the argument, or the annotation."""
    if isinstance(made, cst.Call):
        return made.args[0].value if made.args else None
    params = [*function.params.posonly_params, *function.params.params]
    annotation = params[0].annotation if params else None
    return None if annotation is None else annotation.annotation
