"""Which calls run a function that `jax.jit` compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.devices.queries import is_cpu_device
from placement_lint.semantic.beside import definition_beside, transform_applied
from placement_lint.semantic.followed import assigned_value, followed
from placement_lint.semantic.own_attributes import attribute_of_class, own_attribute
from placement_lint.semantic.returned import only_return
from placement_lint.syntax.calls import Arguments, elements_or_self, integer_value, string_value
from placement_lint.syntax.definitions import applied, function_of, named_function, only_caches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.rules.context import Context
    from placement_lint.syntax.definitions import Function

JITS = frozenset({
    "jax.jit", "jax.experimental.pjit.pjit", "equinox.filter_jit", "flax.nnx.jit",
})  # fmt: skip
"""What compiles a function for the device of its arguments."""

_MOST_MAKERS = 2
"""Functions that return what another function makes, and are followed."""
_STATIC = frozenset({"static_argnums", "static_argnames"})
_DONATING = frozenset({"donate_argnums", "donate_argnames"})
_PLACING = frozenset({
    "backend", "device", "in_axis_resources", "in_shardings", "out_axis_resources", "out_shardings",
})  # fmt: skip


@dataclass(frozen=True)
class Jitted:
    """A compiled function, as the source makes it."""

    function: Function | None
    """What is compiled; None: not a function of this file."""
    static: frozenset[int | str] | None
    """Positions and names of its static parameters; None: which ones is not known."""
    is_placed: bool
    """It has an argument that says where its arguments or results are."""
    is_method: bool = False
    """Its first parameter is bound."""
    runs_on_host: bool = False
    """Its arguments place it on the CPU."""
    donated: frozenset[int | str] | None = frozenset()
    """Positions and names of the parameters that it may donate; None: which ones is not known."""

    def traced_arguments(self, call: cst.Call) -> list[cst.BaseExpression]:
        """Return the arguments of a call of it that are certainly no static ones."""
        return self._arguments_but(self.static, call)

    def kept_arguments(self, call: cst.Call) -> list[cst.BaseExpression]:
        """Return the arguments of a call of it that are certainly not donated."""
        return self._arguments_but(self.donated, call)

    def _arguments_but(
        self, these: frozenset[int | str] | None, call: cst.Call
    ) -> list[cst.BaseExpression]:
        if these is None or any(argument.star for argument in call.args):
            return []
        names = _parameters(self.function)
        if these and not names:
            return []
        fixed = {names[each] if isinstance(each, int) else each for each in these}
        return [value for name, value in self.by_parameter(call) if name not in fixed]

    def by_parameter(self, call: cst.Call) -> Iterator[tuple[str | None, cst.BaseExpression]]:
        """Yield the arguments of a call of it without stars, by parameter where that is known."""
        names = _parameters(self.function)
        for position, argument in enumerate(call.args, 1 if self.is_method else 0):
            keyword = None if argument.keyword is None else argument.keyword.value
            yield keyword or (names[position] if position < len(names) else None), argument.value


def jitted(function: cst.BaseExpression, ctx: Context) -> Jitted | None:
    """Return the compiled function that an expression surely is; None where it may be another.

    A name that only a decorated `def` binds, or only `jax.jit(…)`; `self.name`, decorated in the
    class around, or assigned there once; `jax.jit(…)` itself; what a function of the file returns,
    cached or not, if it always returns the same of these; one part of a tuple or a dict of them.
    """
    return _jitted(function, ctx, _MOST_MAKERS)


def jitted_elsewhere(function: cst.BaseExpression, ctx: Context) -> Jitted | None:
    """Return the compiled function that a name is which another file of the program defines."""
    name = ctx.name(function)
    found = None if name is None else definition_beside(ctx.module, name)
    there = None if found is None else ctx.beside(found[1].path)
    if found is None or there is None:
        return None
    node = found[0]
    if isinstance(node, cst.FunctionDef):
        return _decorated(node, there, is_method=False)
    value = node.value if isinstance(node, cst.Assign) and len(node.targets) == 1 else None
    return _jitted(value, there, _MOST_MAKERS) if isinstance(value, cst.Call) else None


def jitted_attribute(cls: cst.ClassDef, name: str, ctx: Context) -> Jitted | None:
    """Return the compiled function that an attribute of the objects of a class surely is, in a file
    of its own.
    """
    value = attribute_of_class(cls, name, ctx, or_none=True)
    return _jitted(value, ctx, _MOST_MAKERS) if isinstance(value, cst.Call) else None


def compiled_method(method: cst.FunctionDef, ctx: Context) -> Jitted | None:
    """Return the compiled function that decorators make of a method; None without such ones."""
    return _decorated(method, ctx, is_method=True)


def _jitted(function: cst.BaseExpression, ctx: Context, makers: int) -> Jitted | None:
    """Return the compiled function that an expression is, made through so many functions."""
    if isinstance(function, cst.Call):
        return _made_by(function, ctx) or _returned_by(function, ctx, makers)
    if isinstance(function, cst.Name):
        only = ctx.names.sole_binding(function)
        if only is None:
            return None
        if isinstance(only.node, cst.FunctionDef):
            return _decorated(only.node, ctx, is_method=False)
        if only.value is None:
            return _part_of_call(function, only.node, ctx, makers)
        if isinstance(only.value, cst.Call | cst.Subscript):
            return _jitted(only.value, ctx, makers)
        is_other_name = isinstance(only.value, cst.Name) and makers > 0
        return _jitted(only.value, ctx, makers - 1) if is_other_name else None
    if isinstance(function, cst.Subscript):
        return _item(function, ctx, makers)
    if isinstance(function, cst.Attribute):
        method = function_of(function, ctx.names)
        if isinstance(method, cst.FunctionDef):
            return _decorated(method, ctx, is_method=True)
        # What is called is not None.
        value = own_attribute(function, ctx, or_none=True)
        return _jitted(value, ctx, makers) if isinstance(value, cst.Call) else None
    return None


def _returned_by(call: cst.Call, ctx: Context, makers: int) -> Jitted | None:
    """Return the compiled function that a function of the file, or `self.make()`, returns."""
    maker = function_of(call.func, ctx.names)
    if makers == 0 or not isinstance(maker, cst.FunctionDef) or maker.asynchronous is not None:
        return None
    if not all(only_caches(each, ctx.names) for each in maker.decorators):
        return None
    only = only_return(maker, ctx)
    return None if only is None else _jitted(only, ctx, makers - 1)


def _part_of_call(name: cst.Name, bound: cst.CSTNode, ctx: Context, makers: int) -> Jitted | None:
    """Return the compiled function that `name, other = make()` binds to a name."""
    if not isinstance(bound, cst.Assign) or makers == 0 or len(bound.targets) != 1:
        return None
    literal = assigned_value(name, ctx)
    if literal is not None:
        return _jitted(literal, ctx, makers) if isinstance(literal, cst.Call) else None
    named = elements_or_self(bound.targets[0].target)
    made = _what_it_is(bound.value, ctx)
    parts = elements_or_self(made) if isinstance(made, cst.Tuple | cst.List) else []
    if len(parts) != len(named):
        return None
    found = [
        part
        for target, part in zip(named, parts, strict=True)
        if isinstance(target, cst.Name) and target.value == name.value
    ]
    return _jitted(found[0], ctx, makers - 1) if len(found) == 1 else None


def _item(node: cst.Subscript, ctx: Context, makers: int) -> Jitted | None:
    """Return the compiled function that a dict has under a key that is written out."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    key = string_value(index.value) if isinstance(index, cst.Index) else None
    if key is None or makers == 0:
        return None
    value: cst.BaseExpression | None = assigned_value(node.value, ctx)
    if isinstance(node.value, cst.Attribute):
        value = own_attribute(node.value, ctx)
    made = None if value is None else _what_it_is(value, ctx)
    if not isinstance(made, cst.Dict) or not _is_only_read(node.value, ctx):
        return None
    found = [
        each.value
        for each in made.elements
        if isinstance(each, cst.DictElement) and string_value(each.key) == key
    ]
    return _jitted(found[0], ctx, makers - 1) if len(found) == 1 else None


def _is_only_read(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether no item is set of what is known by a name; not known of attributes."""
    if not isinstance(node, cst.Name):
        return True
    owner = ctx.names.owner(node.value, ctx.names.scope(node))
    uses = [] if owner is None else ctx.names.uses(node.value, owner)
    parents = [(use, ctx.parent(use)) for use in uses]
    return not any(
        isinstance(parent, cst.Subscript)
        and parent.value is use
        and isinstance(ctx.parent(parent), cst.AssignTarget | cst.Del | cst.AugAssign)
        for use, parent in parents
    )


def _what_it_is(value: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return a value, or what the function of the file always returns that it is a call of."""
    if not isinstance(value, cst.Call):
        return value
    maker = function_of(value.func, ctx.names)
    if not isinstance(maker, cst.FunctionDef) or maker.asynchronous is not None:
        return None
    if not all(only_caches(each, ctx.names) for each in maker.decorators):
        return None
    returned = only_return(maker, ctx)
    if isinstance(returned, cst.Name):
        returned = assigned_value(returned, ctx)
    return returned


# -- how it is made ---------------------------------------------------------------------------


def _decorated(node: cst.FunctionDef, ctx: Context, *, is_method: bool) -> Jitted | None:
    if len(node.decorators) != 1 or node.asynchronous is not None:
        return None
    made, calls = applied(node.decorators[0].decorator, ctx.names)
    name, more = transform_applied(made, ctx.module)
    if name not in JITS or not all(map(_chooses_no_device, more)):
        return None
    return _described(node, [*calls, *more], ctx, is_method=is_method)


def _made_by(call: cst.Call, ctx: Context) -> Jitted | None:
    """Return what `jax.jit(f, …)` makes, or `functools.partial(jax.jit, …)(f)`."""
    maker, calls = applied(call.func, ctx.names)
    calls = [Arguments(call), *calls]
    given = calls[0].get(0, "fun")
    is_bound = any(len(each.positional) > 1 for each in calls[1:])
    name, more = transform_applied(maker, ctx.module)
    if name not in JITS or given is None or is_bound or not all(map(_chooses_no_device, more)):
        return None
    # A bound method, or a partial, has parameters that its calls do not pass.
    function = function_of(given, ctx.names) if isinstance(given, cst.Name | cst.Lambda) else None
    return _described(function, [*calls, *more], ctx)


def _chooses_no_device(arguments: Arguments) -> bool:
    """Return whether what a partial of another file passes says nothing of devices."""
    return not arguments.has_double_star and _PLACING.isdisjoint(arguments.keywords)


def _described(
    function: Function | None,
    every: Sequence[Arguments],
    ctx: Context,
    *,
    is_method: bool = False,
) -> Jitted:
    count = len(_parameters(function))
    static, donated = (_named_by(keywords, every, count) for keywords in (_STATIC, _DONATING))
    is_placed = runs_on_host = False
    for arguments in every:
        is_placed |= arguments.has_double_star or bool(_PLACING & arguments.keywords.keys())
        for place in (arguments.get(None, keyword) for keyword in ("backend", "device")):
            runs_on_host |= place is not None and is_cpu_device(place, ctx)
    return Jitted(function, static, is_placed, is_method, runs_on_host, donated)


def _named_by(
    keywords: frozenset[str], calls: Sequence[Arguments], count: int
) -> frozenset[int | str] | None:
    """Return the positions and names that some arguments give; None where one is not known.

    Nor is it where a position is none of so many parameters.
    """
    found: set[int | str] = set()
    for arguments in calls:
        for keyword in keywords & arguments.keywords.keys():
            constants = _constants(arguments.keywords[keyword])
            if constants is None:
                return None
            found |= constants
    if any(isinstance(each, int) and each >= count for each in found):
        return None
    return frozenset(found)


def _constants(node: cst.BaseExpression) -> set[int | str] | None:
    """Return the numbers and strings that are written out; None where something else is."""
    found: set[int | str] = set()
    for element in elements_or_self(node):
        text, number = string_value(element), integer_value(element)
        if text is not None:
            found.add(text)
        elif number is not None and number >= 0:
            found.add(number)
        else:
            return None
    return found


def _parameters(function: Function | None) -> list[str]:
    if function is None:
        return []
    parameters = [*function.params.posonly_params, *function.params.params]
    return [each.name.value for each in parameters]


def is_pmapped(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a function surely is one that `jax.pmap` gives, on devices of its choice."""
    made = followed(function, ctx)
    if not isinstance(made, cst.Call):
        defined = named_function(function, ctx.names)
        if not isinstance(defined, cst.FunctionDef) or len(defined.decorators) != 1:
            return False
        made = defined.decorators[0].decorator
    elif ctx.called(made) != "jax.pmap":
        return False
    of, calls = applied(made, ctx.names)
    return ctx.name(of) == "jax.pmap" and not any(
        each.is_open or {"backend", "devices"} & each.keywords.keys() for each in calls
    )
