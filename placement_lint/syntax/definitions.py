"""Which function of its own file an expression surely stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Container

    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

Function: TypeAlias = "cst.FunctionDef | cst.Lambda"

PARTIAL = "functools.partial"
CACHES = frozenset({"functools.cache", "functools.cached_property", "functools.lru_cache"})
"""Decorators after which a later call may give what the first one gave."""
PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
"""Decorators after which reading a method calls it."""
_MAX_NESTING = 8
_MOST_BASES = 32
_BINDING = frozenset({"classmethod", "staticmethod"})
BARE_BASES = frozenset({"abc.ABC", "builtins.object", "typing.Generic", "typing.Protocol"})
"""Bases that have no methods of their own that a program calls by name."""


def named_function(node: cst.BaseExpression | None, names: Names) -> Function | None:
    """Return the function that an expression surely is: a lambda, or a name for a function.

    The name must be bound by one `def`, or one assignment of a lambda, and by nothing else.
    """
    if isinstance(node, cst.Lambda):
        return node
    if not isinstance(node, cst.Name) or not names.tree.contains(node):
        return None
    only = names.sole_binding(node)
    if only is None:
        return None
    if isinstance(only.node, cst.FunctionDef):
        return only.node
    return only.value if isinstance(only.value, cst.Lambda) else None


def parameter_named(node: cst.CSTNode | None, names: Names) -> cst.Param | None:
    """Return the parameter that a name is, which nothing else in its function binds again."""
    bound = names.sole_definition(node)
    return bound if isinstance(bound, cst.Param) else None


def class_named(node: cst.CSTNode | None, names: Names) -> cst.ClassDef | None:
    """Return the class of this file that a name is, which nothing else binds."""
    bound = names.sole_definition(node)
    return bound if isinstance(bound, cst.ClassDef) else None


def returns_of(function: cst.FunctionDef, names: Names) -> list[cst.Return]:
    """Return the `return` statements of a function itself, not of functions that it defines."""
    scope = names.scope(function.body)
    every = names.tree.every(cst.Return, below=function.body)
    return [each for each in every if names.scope(each) is scope]


Assigning: TypeAlias = (
    "cst.AsName | cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.CompFor | cst.For"
    " | cst.NamedExpr"
)


def assigned_by(node: cst.CSTNode, tree: Tree) -> Assigning | None:
    """Return what assigns to an expression, alone or as one of several; None: it is only read."""
    child = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.AsName | cst.AssignTarget):
            return parent
        if isinstance(
            parent, cst.AnnAssign | cst.AugAssign | cst.CompFor | cst.For | cst.NamedExpr
        ):
            return parent if parent.target is child else None
        if not isinstance(parent, cst.Element | cst.List | cst.StarredElement | cst.Tuple):
            return None
        child = parent
    return None


def texts_of(node: cst.Name, names: Names) -> list[str]:
    """Return the texts that a variable goes through: `for name in ("images", "labels")`.

    They are written in the loop itself, in what a name in it was assigned, in the default of a
    parameter, or in what pytest passes to a test: `@pytest.mark.parametrize("name", ["gpu"])`. Of
    anything else there are none.
    """
    bound = names.sole_definition(node)
    is_loop = isinstance(bound, cst.For | cst.CompFor) and isinstance(bound.target, cst.Name)
    listed = bound.iter if is_loop and isinstance(bound, cst.For | cst.CompFor) else None
    if isinstance(bound, cst.Param):
        listed = _parametrized(node, names)
    if isinstance(listed, cst.Name):
        first = names.sole_binding(listed)
        listed = None if first is None else first.value
        if first is not None and isinstance(first.node, cst.Param):
            listed = first.node.default
    if not isinstance(listed, cst.Tuple | cst.List):
        return []
    texts = [string_value(each.value) for each in listed.elements]
    return [text for text in texts if text is not None] if None not in texts else []


def _parametrized(node: cst.Name, names: Names) -> cst.BaseExpression | None:
    """Return the values of a parameter that `pytest.mark.parametrize` passes, one after another."""
    function = names.tree.around(node, cst.FunctionDef)
    for decorator in () if function is None else function.decorators:
        call = decorator.decorator
        if isinstance(call, cst.Call) and names.qualified(call.func) == _PARAMETRIZE:
            given = [argument.value for argument in call.args if not argument.star]
            if len(given) > 1 and string_value(given[0]) == node.value:
                return given[1]
    return None


_PARAMETRIZE = "pytest.mark.parametrize"
_MAX_KEY_STEPS = 4
"""Calls around what is iterated: `sorted(set(params.keys()))`."""
_KEEPING_ITEMS = frozenset({
    "builtins.iter", "builtins.list", "builtins.reversed", "builtins.set", "builtins.sorted",
    "builtins.tuple",
})  # fmt: skip


def is_key(node: cst.Name, names: Names, container: str) -> bool:
    """Return whether a variable goes through the keys of a dict, or through parts of a text.

    `for name in params.keys()`, `for name, leaf in params.items()`, `for part in path.split("/")`,
    and `for name in params`, where it is `params`, the `container`, that is asked for its item.
    """
    bindings = names.bindings(node)
    loops = [each.node for each in bindings if isinstance(each.node, cst.For | cst.CompFor)]
    return bool(loops) and len(loops) == len(bindings) and all(
        _gives_keys(loop.iter, loop.target, node.value, names, container) for loop in loops
    )  # fmt: skip


def _gives_keys(
    iterated: cst.BaseExpression,
    target: cst.BaseExpression,
    name: str,
    names: Names,
    container: str,
) -> bool:
    for _ in range(_MAX_KEY_STEPS):
        is_call = isinstance(iterated, cst.Call) and bool(iterated.args)
        called = names.qualified(iterated.func) if isinstance(iterated, cst.Call) else None
        if is_call and called in _KEEPING_ITEMS and isinstance(iterated, cst.Call):
            iterated = iterated.args[0].value
        elif is_call and called == "builtins.enumerate" and isinstance(iterated, cst.Call):
            if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
                return False
            iterated, target = iterated.args[0].value, target.elements[1].value
        elif isinstance(iterated, cst.Subscript) and isinstance(iterated.slice[0].slice, cst.Slice):
            iterated = iterated.value
        else:
            break
    method = None
    if isinstance(iterated, cst.Call) and isinstance(iterated.func, cst.Attribute):
        method = iterated.func.attr.value
    if method == "items":
        first = target.elements[0].value if isinstance(target, cst.Tuple) else None
        return isinstance(first, cst.Name) and first.value == name
    if not isinstance(target, cst.Name) or target.value != name:
        return False
    return method in {"keys", "rsplit", "split"} or (
        bool(container) and dotted(iterated) == container
    )


INITIALIZERS = frozenset({"__init__", "__post_init__"})
"""The methods that making an object of a class calls; the second one, of a dataclass."""


def initializer_of(node: cst.BaseExpression | None, names: Names) -> cst.FunctionDef | None:
    """Return the method that calling a class of this file surely runs, if the class has it itself.

    The name must be bound by one `class`, and by nothing else.
    """
    made = None if node is None or not names.tree.contains(node) else class_named(node, names)
    return None if made is None else initializer(made, names)


def initializer(cls: cst.ClassDef, names: Names) -> cst.FunctionDef | None:
    """Return the method of a class that making an object of it runs."""
    is_dataclass = any(
        (names.qualified(_applied(each.decorator)) or "").endswith("dataclass")
        for each in cls.decorators
    )
    wanted = "__post_init__" if is_dataclass else "__init__"
    if cls.decorators and not is_dataclass:
        return None
    for statement in cls.body.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value == wanted:
            return statement
    return None


def inherited_initializer(cls: cst.ClassDef, names: Names) -> cst.FunctionDef | None:
    """Return what `initializer` does, or that of a base class where all of them are of the file."""
    own = initializer(cls, names)
    return own if own is not None or cls.decorators else method_of_class(cls, "__init__", names)


def field_default(cls: cst.ClassDef, name: str) -> cst.BaseExpression | None:
    """Return the default of a field that a class declares: `split: str = "train"`."""
    for line in cls.body.body:
        field = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if (
            isinstance(field, cst.AnnAssign)
            and isinstance(field.target, cst.Name)
            and field.target.value == name
        ):
            return field.value
    return None


def keeps_fields(cls: cst.ClassDef) -> bool:
    """Return whether an object of a class is made of the fields that a call gives, as far as the
    class itself says: it has no method that makes objects.
    """
    return not any(
        isinstance(each, cst.FunctionDef) and each.name.value in {*INITIALIZERS, "__new__"}
        for each in cls.body.body
    )


def _applied(decorator: cst.BaseExpression) -> cst.BaseExpression:
    return decorator.func if isinstance(decorator, cst.Call) else decorator


def is_generator(function: cst.FunctionDef, names: Names, below: cst.CSTNode | None = None) -> bool:
    """Whether a function yields, anywhere or below a node in it; generators inside of it aside."""
    scope = names.scope(function.body)
    found = names.tree.every(cst.Yield, below=function if below is None else below)
    return any(names.scope(node) is scope for node in found)


def function_of(
    node: cst.BaseExpression | None,
    names: Names,
    through: Container[str] = (),
    *,
    or_overriding: bool = False,
) -> Function | None:
    """Return the function of this file that runs when an expression is called, if that is sure.

    What `named_function` knows; a method by `self.name`, and a static one by `Class.name`; any of
    these as the first argument of `functools.partial`, or of a function whose qualified name is in
    `through`. A method or what is in a `partial` has parameters that its calls do not pass.
    `or_overriding`: also a method where objects of other classes of the file have their own.
    """
    for _ in range(_MAX_NESTING):
        if not isinstance(node, cst.Call):
            break
        name = names.qualified(node.func)
        if name != PARTIAL and (name is None or name not in through):
            return None
        node = Arguments(node).get(0, "func", "fun", "f")
    if isinstance(node, cst.Attribute):
        own = own_method(node, names)
        if own is not None:
            return own if or_overriding or not _is_overridden(node, names) else None
        return _static_method(node, names)
    return named_function(node, names)


def _is_overridden(node: cst.Attribute, names: Names) -> bool:
    """Return whether a class of the file has its own method in the place of `self.name`."""
    owner = class_of_receiver(node.value, names)
    pending, seen = [] if owner is None else [owner], set[int]()
    while pending:
        for derived in names.derived.get(id(pending.pop()), ()):
            if node.attr.value in names.scope(derived.body).bindings:
                return True
            if id(derived) not in seen:
                seen.add(id(derived))
                pending.append(derived)
    return False


def _static_method(node: cst.Attribute, names: Names) -> cst.FunctionDef | None:
    """Return the method that `Class.name` is, where it is a static one."""
    owner = class_named(node.value, names)
    method = None if owner is None else method_of_class(owner, node.attr.value, names)
    return method if method is not None and is_static(method, names) else None


def handed_back(
    function: cst.FunctionDef, position: int = 0, keyword: str = "x"
) -> tuple[cst.Call, int] | None:
    """Return the call that a function does nothing but hand back the result of.

    With the position of the parameter that this call is given, first or at a position.
    """
    if not only_binds(function) or function.asynchronous:
        return None
    lines = [each for each in function.body.body if not _is_docstring(each)]
    line = lines[0] if len(lines) == 1 else None
    last = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
    inner = last.value if isinstance(last, cst.Return) else None
    if not isinstance(inner, cst.Call):
        return None
    given = Arguments(inner).get(position, keyword)
    parameters = [each.name.value for each in function.params.params]
    if not isinstance(given, cst.Name) or given.value not in parameters:
        return None
    return inner, parameters.index(given.value)


def _is_docstring(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    line = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(line, cst.Expr) and isinstance(
        line.value, cst.SimpleString | cst.ConcatenatedString
    )


def only_caches(decorator: cst.Decorator, names: Names) -> bool:
    """Return whether the first call of a decorated function executes its body, and returns that."""
    return names.qualified(applied(decorator.decorator, names)[0] or decorator) in CACHES


def applied(
    node: cst.BaseExpression, names: Names
) -> tuple[cst.BaseExpression | None, list[Arguments]]:
    """Return what calls and `functools.partial` are applied to, with the arguments of each.

    `jax.jit` for `jax.jit`, `jax.jit(…)` and `partial(jax.jit, …)(…)`; None for `partial()`. A
    partial may have a name: `jitted = partial(jax.jit, …)`.
    """
    calls: list[Arguments] = []
    made: cst.BaseExpression | None = node
    while (call := made if isinstance(made, cst.Call) else _partial_named(made, names)) is not None:
        if len(calls) > _MAX_NESTING:
            return None, calls
        calls.append(Arguments(call))
        is_partial = names.qualified(call.func) == PARTIAL
        made = calls[-1].get(0, "func") if is_partial else call.func
    return made, calls


def _partial_named(node: cst.BaseExpression | None, names: Names) -> cst.Call | None:
    """Return the call of `functools.partial` that a name is bound to, and to nothing else."""
    if not isinstance(node, cst.Name) or not names.tree.contains(node):
        return None
    made = names.sole_value(node)
    is_partial = isinstance(made, cst.Call) and names.qualified(made.func) == PARTIAL
    return made if is_partial and isinstance(made, cst.Call) else None


def transforming(call: cst.Call, names: Names) -> str | None:
    """Return the qualified name of what a call gives a function to: `jax.jit` for `jax.jit(f)`, and
    for `jitted(f)` if that is a `functools.partial` of it which passes nothing by position.
    """
    name = names.qualified(call.func)
    if name is not None or _partial_named(call.func, names) is None:
        return name
    made, calls = applied(call.func, names)
    if made is None or any(each.is_open or len(each.positional) > 1 for each in calls):
        return name
    return names.qualified(made)


def own_method(node: cst.Attribute, names: Names) -> cst.FunctionDef | None:
    """Return the method that `self.name` is, where the class around it has one of that name.

    The class, or the base of it that has the name, must bind it once. A subclass may still have
    its own.
    """
    owner = class_of_receiver(node.value, names)
    return None if owner is None else method_of_class(owner, node.attr.value, names)


def method_of_class(cls: cst.ClassDef, name: str, names: Names) -> cst.FunctionDef | None:
    """Return the method that objects of a class have by a name, its own or that of a base.

    None where a base that comes before is no class of this file: it may have another one.
    """
    pending, seen = [cls], set[int]()
    while pending and len(seen) < _MOST_BASES:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        found = names.scope(each.body).bindings.get(name, [])
        if found:
            only = found[0].node if len(found) == 1 else None
            return only if isinstance(only, cst.FunctionDef) else None
        for base in reversed(each.bases):
            above = class_named(base.value, names)
            if above is not None:
                pending.append(above)
            elif names.qualified(base.value) not in BARE_BASES:
                return None
    return None


def class_of_receiver(node: cst.BaseExpression, names: Names) -> cst.ClassDef | None:
    """Return the class of which a name stands for an object: `self`, in a method of it.

    `self` is whatever the first parameter of the method is called, and also in functions inside of
    it.
    """
    tree = names.tree
    parameter = parameter_named(node, names) if tree.contains(node) else None
    if parameter is None:
        return None
    parameters = tree.parent(parameter)
    method = None if parameters is None else tree.parent(parameters)
    if not isinstance(method, cst.FunctionDef) or _first_parameter(method) is not parameter:
        return None
    return class_of_method(method, names)


def class_of_method(function: cst.FunctionDef, names: Names) -> cst.ClassDef | None:
    """Return the class of which a function is a method whose first parameter is an object, or the
    class.
    """
    owner = names.scope(function).node
    decorators = (names.qualified(each.decorator) for each in function.decorators)
    if not isinstance(owner, cst.ClassDef) or "builtins.staticmethod" in decorators:
        return None
    return owner


def class_passed_to(function: Function, names: Names) -> cst.ClassDef | None:
    """Return the class around a class method, which it is passed: that, or one derived from it."""
    is_passed = _is_decorated_by(function, "builtins.classmethod", names)
    owner = names.scope(function).node if is_passed else None
    return owner if isinstance(owner, cst.ClassDef) else None


def is_static(function: Function, names: Names) -> bool:
    """Return whether a function is a static method: its first parameter is like any other."""
    return _is_decorated_by(function, "builtins.staticmethod", names)


def needs_no_object(function: Function, names: Names) -> bool:
    """Return whether a method is called without an object: a static one, or one of the class."""
    return is_static(function, names) or class_passed_to(function, names) is not None


def is_as_written(function: Function, names: Names) -> bool:
    """Return whether calling a function executes its body: `staticmethod` alone may decorate it."""
    decorators = function.decorators if isinstance(function, cst.FunctionDef) else ()
    return not decorators or (len(decorators) == 1 and is_static(function, names))


def only_binds(function: cst.FunctionDef) -> bool:
    """Return whether nothing decorates a function but `classmethod` or `staticmethod`."""
    names = (each.decorator for each in function.decorators)
    return all(isinstance(n, cst.Name) and n.value in _BINDING for n in names)


def _is_decorated_by(function: Function, name: str, names: Names) -> bool:
    decorators = function.decorators if isinstance(function, cst.FunctionDef) else ()
    return any(names.qualified(each.decorator) == name for each in decorators)


def _first_parameter(function: cst.FunctionDef) -> cst.Param | None:
    parameters = [*function.params.posonly_params, *function.params.params]
    return parameters[0] if parameters else None


def only_says_type(use: cst.CSTNode, tree: Tree) -> bool:
    """Return whether the name of a class is only part of an annotation, which does not call it."""
    if not tree.contains(use) or isinstance(tree.parent(use), cst.Call):
        return False
    return tree.around(use, cst.Annotation) is not None


def is_left_open(node: cst.CSTNode) -> bool:
    """Return whether a function does nothing itself, so that subclasses say what it does."""
    if not isinstance(node, cst.FunctionDef):
        return False
    return all(
        isinstance(statement, cst.Pass | cst.Raise)
        or (
            isinstance(statement, cst.Expr)
            and isinstance(statement.value, cst.Ellipsis | cst.BaseString)
        )
        for line in node.body.body
        for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    )
