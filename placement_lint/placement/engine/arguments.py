"""The arguments of a call, and what the parameters hold that they are passed to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.placement.domain.contents import iterated_of
from placement_lint.placement.domain.keys import ordered, sorted_items
from placement_lint.placement.domain.program_values import Class, Instance
from placement_lint.placement.domain.values import (
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Mapping,
    Plain,
    Sequence,
    TheDevice,
    Value,
    join,
    sole,
    value,
)
from placement_lint.placement.facts.annotations import (
    Annotated,
    annotated,
    annotated_items,
    annotated_or_none,
)
from placement_lint.placement.facts.decorators import method_kind
from placement_lint.syntax.calls import is_none

if TYPE_CHECKING:
    from collections import abc

    from placement_lint.placement.domain.record import Record
    from placement_lint.placement.domain.values import NamedTupleType
    from placement_lint.placement.facts.module import Module


Operand: TypeAlias = "tuple[int, Value]"
"""The place of an expression, and what it may be."""

Fields: TypeAlias = "list[tuple[str, cst.BaseExpression | None]]"
"""The names of what a dataclass or a named tuple holds, each with its default."""


@dataclass
class CallArguments:
    """The arguments of a call, evaluated."""

    positional: list[Value]
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: Value | None = None
    """What further positional ones are; None: there are no more."""
    more: Value | None = None
    """What further ones of other names are, by keyword; None: there are no more."""

    def every(self) -> list[Value]:
        others = (self.rest or UNKNOWN, self.more or NOTHING)
        return [*self.positional, *self.keywords.values(), *others]

    def numbered(self, first: int = 0) -> dict[int | str, Value]:
        """Return them by position, counted from `first`, and by keyword."""
        found: dict[int | str, Value] = dict(enumerate(self.positional, first))
        found.update(self.keywords)
        return found

    def given_before(
        self, bound: abc.Sequence[Value], by_name: abc.Iterable[tuple[str, Value]]
    ) -> CallArguments:
        """Return them behind what was bound before."""
        return CallArguments(
            [*bound, *self.positional], {**dict(by_name), **self.keywords}, self.rest, self.more
        )


def sort_arguments(arguments: abc.Iterable[tuple[cst.Arg, Value]]) -> CallArguments:
    """Sort the arguments of a call, of which iterators are consumed already."""
    found = CallArguments([])
    for argument, held in arguments:
        only = sole(held)
        if argument.star == "*":
            items = only.items if isinstance(only, Sequence) else None
            if found.rest is None and items is not None:
                found.positional += items
            else:
                found.rest = join(*filter(None, (found.rest, iterated_of(held) or UNKNOWN)))
        elif argument.star == "**":
            more = UNKNOWN
            if isinstance(only, Mapping):
                found.keywords.update({k: v for k, v in only.items if isinstance(k, str)})
                more = only.element
            if more:
                found.more = more if found.more is None else join(found.more, more)
        elif argument.keyword is not None:
            found.keywords[argument.keyword.value] = held
        elif found.rest is not None:
            found.rest = join(found.rest, held)
        else:
            found.positional.append(held)
    return found


def bind_parameters(
    module: Module,
    node: cst.FunctionDef | cst.Lambda,
    arguments: dict[int | str, Value],
    *,
    record: Record,
    rest: Value | None,
    more: Value | None,
    bound: bool,
) -> dict[str, Value]:
    """Return what each parameter of a function holds that is called with arguments.

    `record`: that of the code that runs now, in which the defaults are. `rest`: what further
    positional arguments there are; `more`: what those by keyword are whose names are not known.
    `bound`: the first argument is the receiver.
    """
    params = node.params
    if bound and isinstance(node, cst.FunctionDef):
        arguments = _as_method_gets(module, node, arguments)
    left = dict(arguments)
    bound_to: dict[str, Value] = {}
    for position, param in enumerate((*params.posonly_params, *params.params)):
        name = param.name.value
        key = position if position in arguments else name
        bound_to[name] = (
            left.pop(key) if key in left else _default(module, record, param, rest, more)
        )
    for param in params.kwonly_params:
        name = param.name.value
        bound_to[name] = (
            left.pop(name) if name in left else _default(module, record, param, None, more)
        )
    bound_to |= _bound_to_stars(params, left, rest, more)
    for name, held in parameters_as_annotated(module, params).items():
        if bound_to[name] == UNKNOWN:
            bound_to[name] = held
    makes = _makes_meshes(module, node) or module.takes_devices(node) or module.repeats_items(node)
    if not makes and not module.says_donation(node):
        # Else each number would be another way to call it.
        bound_to = {name: without_numbers(held) for name, held in bound_to.items()}
    return bound_to


def _as_method_gets(
    module: Module, method: cst.FunctionDef, arguments: dict[int | str, Value]
) -> dict[int | str, Value]:
    """Return what a method gets that is called with arguments, of which the first is its object."""
    kind = method_kind(module, method)
    if kind == "staticmethod":
        return {
            (key - 1 if isinstance(key, int) else key): held
            for key, held in arguments.items()
            if key != 0
        }
    return {**arguments, 0: _class_of(arguments[0])} if kind == "classmethod" else arguments


def _bound_to_stars(
    params: cst.Parameters, left: dict[int | str, Value], rest: Value | None, more: Value | None
) -> dict[str, Value]:
    """Return what `*args` and `**kwargs` hold, of the arguments that no other parameter takes."""
    found: dict[str, Value] = {}
    if isinstance(params.star_arg, cst.Param):
        extra = [left[key] for key in sorted(key for key in left if isinstance(key, int))]
        if rest is not None:
            star = Sequence(None, join(*extra, rest))
        else:
            star = Sequence(tuple(extra), join(*extra) if extra else NOTHING)
        found[params.star_arg.name.value] = value(star)
    if params.star_kwarg is not None:
        named = {key: held for key, held in left.items() if isinstance(key, str)}
        found[params.star_kwarg.name.value] = value(
            Mapping(sorted_items(named.items()), more or NOTHING, order=ordered(named))
        )
    return found


def _makes_meshes(module: Module, node: cst.FunctionDef | cst.Lambda) -> bool:
    """Return whether a function may make a mesh of a number that it is given, or its object may."""
    if module.mentions_meshes(node):
        return True
    if not isinstance(node, cst.FunctionDef) or node.name.value != "__init__":
        return False
    around = module.tree.around(node, cst.ClassDef)
    return around is not None and module.mentions_meshes(around)


def without_numbers(held: Value) -> Value:
    """Return a value in which nothing is known of numbers, nor of those in a tuple of them."""
    only = sole(held)
    if isinstance(only, Plain):
        return held if only.number is None else PLAIN
    if isinstance(only, Sequence) and only.site is None and only.items:
        items = tuple(PLAIN if _is_number(item) else item for item in only.items)
        if items != only.items:
            return value(replace(only, items=items, element=join(*items)))
    return held


def _is_number(held: Value) -> bool:
    only = sole(held)
    return isinstance(only, Plain) and only.number is not None


def parameters_as_annotated(module: Module, params: cst.Parameters) -> dict[str, Value]:
    """Return what parameters hold by their annotations, of those where these say anything."""
    said = {
        param.name.value: _as_annotated(param, module)
        for param in (*params.posonly_params, *params.params, *params.kwonly_params)
        if param.annotation is not None
    }
    return {name: held for name, held in said.items() if held is not None}


def _as_annotated(param: cst.Param, module: Module) -> Value | None:
    """Return what a parameter holds by its annotation; it may be None by its default."""
    names, annotation, default = module.names, param.annotation, param.default
    held = _AS_ANNOTATED.get(annotated(annotation, names))
    if held is not None and (default is None or not is_none(default)):
        return held
    items = annotated_items(annotation, names) if default is None else None
    if items is not None and items[0] is Annotated.NUMPY:
        return value(Mapping((), HOST) if items[1] else Sequence(None, HOST))
    is_device = annotated_or_none(annotation, names) is Annotated.DEVICE
    return device_or_none() if is_device else None


def device_or_none() -> Value:
    """Return a device that is not known, or None."""
    return value(TheDevice(None)) | NONE


_AS_ANNOTATED: dict[Annotated | None, Value] = {
    Annotated.NUMPY: HOST,
    Annotated.DEVICE: value(TheDevice(None)),
}


def _default(
    module: Module,
    record: Record,
    param: cst.Param,
    rest: Value | None,
    more: Value | None,
) -> Value:
    passed = [held for held in (rest, more) if held is not None]
    if param.default is None:
        return join(*passed) if passed else UNKNOWN
    default = module.tree.index(param.default)
    held = record.values.get(default)
    if held is None:
        held = module.record.values.get(default, UNKNOWN)
    return join(held, *passed) if passed else held


def _class_of(held: Value) -> Value:
    return value(*[Class(atom.cls) if isinstance(atom, Instance) else atom for atom in held])


def with_defaults(made: NamedTupleType, passed: CallArguments) -> CallArguments:
    """Return the arguments of a named tuple, with what its items are that are not passed."""
    keywords = dict(passed.keywords)
    others = [held for held in (passed.rest, passed.more) if held is not None]
    last = len(made.names) - len(made.defaults)
    for position, default in enumerate(made.defaults, last):
        if position >= len(passed.positional):
            keywords.setdefault(made.names[position], join(default, *others))
    return replace(passed, keywords=keywords)
