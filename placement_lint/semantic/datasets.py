"""What a data loader of PyTorch is given: the datasets in it, and the functions that they apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.beside import definition_beside
from placement_lint.semantic.functions import calls_inside
from placement_lint.semantic.own_attributes import is_set_by_class, own_attribute, own_class
from placement_lint.semantic.returned import given_by
from placement_lint.semantic.written_tables import choices, is_taken, listed_items, registered
from placement_lint.syntax.calls import Arguments, is_none
from placement_lint.syntax.collection_methods import COPYING
from placement_lint.syntax.definitions import (
    applied,
    class_named,
    function_of,
    initializer,
    parameter_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.semantic.file_view import FileView

DATASET_METHODS = ("__getitem__", "__getitems__", "__iter__")
"""The methods of a dataset that the workers of a loader call."""

_TORCH = "torch.utils.data."
_OF_ONE = frozenset({f"{_TORCH}Subset", f"{_TORCH}dataset.Subset"})
_OF_SEVERAL = frozenset(f"{_TORCH}{name}" for name in ("ConcatDataset", "ChainDataset"))
_SPLITTING = f"{_TORCH}random_split"
_IN_ORDER = frozenset(f"torchvision.transforms.{part}Compose" for part in ("", "v2."))
_REDUCE = "functools.reduce"
_OF_STEPS = frozenset({"Chain", "Compose", "Pipeline", "Sequential"})
"""Names of classes of which an object calls the functions that it is given, one after the other."""
_OF_FUNCTION = frozenset(f"torchvision.transforms.{part}Lambda" for part in ("", "v2."))
_OF_ITEMS = (
    "augment", "augmentation", "augmentations", "augment_fn", "map_fn", "normalize", "preprocess",
    "preprocess_fn", "process_fn", "tokenize", "tokenize_fn", "transform", "transform_fn",
    "transforms",
)  # fmt: skip
"""How parameters of a dataset that is not known end: what each item goes through, by convention."""
_MOST = 16
"""Datasets and functions in one another."""


def datasets_in(node: cst.BaseExpression, view: FileView) -> Iterator[cst.BaseExpression]:
    """Yield the datasets in an expression: itself, or what it splits, cuts or joins."""
    return _taken_apart(node, _parts_of_dataset, view)


def _taken_apart(
    node: cst.BaseExpression,
    parts_of: Callable[[cst.BaseExpression, FileView], list[cst.BaseExpression] | None],
    view: FileView,
) -> Iterator[cst.BaseExpression]:
    """Yield what an expression is put together of, in order.

    `parts_of` gives None for what is in one piece.
    """
    pending = [node]
    for _ in range(_MOST):
        if not pending:
            return
        each = pending.pop()
        each = _split(each, view) or given_by(each, view)
        parts = parts_of(each, view)
        if parts is None:
            yield each
        else:
            pending += reversed(parts)


def _parts_of_dataset(made: cst.BaseExpression, view: FileView) -> list[cst.BaseExpression] | None:
    name = view.called(made) if isinstance(made, cst.Call) else None
    if not isinstance(made, cst.Call) or name is None:
        return None
    if name in _OF_ONE or name == _SPLITTING:
        inner = Arguments(made).get(0, "dataset")
        return [] if inner is None else [inner]
    return listed_items(Arguments(made).get(0, "datasets"), view) if name in _OF_SEVERAL else None


def _split(node: cst.BaseExpression, view: FileView) -> cst.BaseExpression | None:
    """Return the call of `random_split` of which a name is one of the results."""
    if not isinstance(node, cst.Name):
        return None
    bound = view.names.sole_definition(node)
    if not isinstance(bound, cst.Assign) or not isinstance(bound.value, cst.Call):
        return None
    return bound.value if view.called(bound.value) == _SPLITTING else None


def applied_by(
    dataset: cst.BaseExpression, view: FileView
) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield what a dataset is made with and applies to its items, and whether that is certain.

    Of a class of this file: an argument that its initializer keeps, once, in an attribute, and
    that a method which the workers call calls. Of another one: what is passed as `transform`, or
    by another name of what items go through.
    """
    made = given_by(dataset, view)
    if not isinstance(made, cst.Call):
        return
    classes = [*classes_made_by(made, view)]
    for cls, is_sure in classes:
        for each in _kept_and_called(made, cls, view):
            yield from ((step, is_sure) for step in steps_of(each, view))
        for each in _own_and_called(made, cls, view):
            is_own = is_sure and not is_taken(each)
            for chosen, is_certain in choices(each, view):
                yield from ((step, is_certain and is_own) for step in steps_of(chosen, view))
    if classes:
        return
    for argument in made.args:
        if argument.keyword is None:
            is_applied = not argument.star and _is_of_steps(argument.value, view)
        else:
            is_applied = _is_of_items(argument.keyword.value)
        if is_applied:
            yield from ((step, False) for step in steps_of(argument.value, view))


def classes_made_by(
    made: cst.BaseExpression, view: FileView
) -> Iterator[tuple[cst.ClassDef, bool]]:
    """Yield the classes of this file of which a call makes an object, and whether that is certain:
    it may be one of a table, `DATASETS[name](root)`.
    """
    if not isinstance(made, cst.Call):
        return
    for each, is_certain in choices(made.func, view):
        cls = class_named(each, view.names)
        if cls is not None:
            yield cls, is_certain
    for found in registered(made.func, view):
        if isinstance(found, cst.ClassDef):
            yield found, False


def _is_of_items(parameter: str) -> bool:
    """Return whether what is passed for a parameter of a dataset is applied to its items."""
    return any(parameter == each or parameter.endswith(f"_{each}") for each in _OF_ITEMS)


def _is_of_steps(given: cst.BaseExpression, view: FileView) -> bool:
    """Return whether an argument is made by `Compose(…)` or the like: it is for the items."""
    made = given_by(given, view)
    name = view.called(made) if isinstance(made, cst.Call) else None
    return name is not None and (name in _IN_ORDER or name.rpartition(".")[2] in _OF_STEPS)


def steps_of(node: cst.BaseExpression, view: FileView) -> Iterator[cst.BaseExpression]:
    """Yield the functions of which one is put together: `Compose([f, Lambda(g)])`."""
    return _taken_apart(node, _parts_of_transform, view)


def _parts_of_transform(
    made: cst.BaseExpression, view: FileView
) -> list[cst.BaseExpression] | None:
    if not isinstance(made, cst.Call):
        return None
    name = view.called(made)
    if name in _OF_FUNCTION:
        inner = Arguments(made).get(0, "lambd")
        return [] if inner is None else [inner]
    if name in _IN_ORDER:
        return listed_items(Arguments(made).get(0, "transforms"), view)
    cls = class_named(made.func, view.names)
    if cls is not None:
        return _kept_and_looped_over(made, cls, ("__call__",), view) or None
    beside = None if name is None else definition_beside(view.module, name)
    if beside is not None and isinstance(beside[0], cst.ClassDef):
        # Rules import this module where LibCST may not be needed; a view of a file loads it.
        from placement_lint.semantic.file_view import FileView

        there = FileView(beside[1])
        found = _kept_and_looped_over(made, beside[0], ("__call__",), view, there)
        if found:
            return found
    is_of_steps = (name or "").rpartition(".")[2] in _OF_STEPS
    return _given_steps(made, view) if is_of_steps else None


def _given_steps(made: cst.Call, view: FileView) -> list[cst.BaseExpression] | None:
    """Return the functions that an object is made of which calls them in order, by its name."""
    given = [argument.value for argument in made.args if not argument.star]
    only = given_by(given[0], view) if len(given) == 1 else None
    return listed_items(only, view) if isinstance(only, cst.List | cst.Tuple) else given or None


def _kept_and_called(
    made: cst.Call, cls: cst.ClassDef, view: FileView
) -> Iterator[cst.BaseExpression]:
    """Yield the arguments of the call that makes a dataset which its methods call.

    Or of which they call each item, in a loop.
    """
    yield from _given_as(made, cls, _parameters_called(cls, view), view)
    yield from _kept_and_looped_over(made, cls, DATASET_METHODS, view)


def _own_and_called(
    made: cst.Call, cls: cst.ClassDef, view: FileView
) -> Iterator[cst.BaseExpression]:
    """Yield what a dataset has of itself and its methods call: what it takes from a table, makes,
    or has in place of an argument that is not given: `transform or DEFAULT`, or its default.
    """
    for method in methods_of(cls, DATASET_METHODS):
        for call in calls_inside(method, view):
            kept = own_attribute(call.func, view) if isinstance(call.func, cst.Attribute) else None
            either = [] if kept is None else alternatives(kept)
            parameters = [p for each in either if (p := parameter_named(each, view.names))]
            names = {parameter.name.value for parameter in parameters}
            if names and any(_given_as(made, cls, names, view)):
                continue
            for each in either:
                if is_taken(each) or isinstance(each, cst.Call) or len(either) > 1:
                    yield each
            yield from (p.default for p in parameters if p.default and not is_none(p.default))


def alternatives(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the two of `given or DEFAULT`, or of a conditional expression; else a node itself."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
        return [node.left, node.right]
    return [node.body, node.orelse] if isinstance(node, cst.IfExp) else [node]


def _kept_and_looped_over(
    made: cst.Call,
    cls: cst.ClassDef,
    methods: tuple[str, ...],
    view: FileView,
    there: FileView | None = None,
) -> list[cst.BaseExpression]:
    """Return the items of the arguments that make an object, which its methods call in a loop, or
    by `functools.reduce`. `there`: the file of the class, if that is another one.
    """
    there = there or view
    looped = {
        parameter
        for method in methods_of(cls, methods)
        for each in _called_in_turn(method, there)
        if (parameter := _kept_parameter(each, there)) is not None
    }
    lists = _given_as(made, cls, looped, there)
    return [*_given_one_by_one(made, cls, looped, there)] + [
        item for each in lists for item in listed_items(each, view)
    ]


def _called_in_turn(method: cst.FunctionDef, view: FileView) -> Iterator[cst.BaseExpression]:
    """Yield what a method takes functions from, and calls them one after the other."""
    for loop in view.tree.every(cst.For, below=method):
        if _calls_each(loop, view):
            yield loop.iter
    for call in view.tree.every(cst.Call, below=method):
        steps = call.args[1] if len(call.args) > 1 and view.called(call) == _REDUCE else None
        if steps is not None and not steps.star and _calls_step(call.args[0].value, view):
            yield steps.value


def _calls_step(given: cst.BaseExpression, view: FileView) -> bool:
    """Return whether a function calls its second argument: `lambda x, step: step(x)`."""
    folding = function_of(given, view.names)
    if folding is None or len(folding.params.params) != 2:
        return False
    step = folding.params.params[1].name.value
    inside = (folding.body, *view.tree.descendants(folding.body))
    return any(isinstance(each, cst.Call) and _is_called(each, step) for each in inside)


def _is_called(call: cst.Call, name: str) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == name


def _given_one_by_one(
    made: cst.Call, cls: cst.ClassDef, parameters: set[str], view: FileView
) -> list[cst.BaseExpression]:
    """Return what a call that makes an object gives for its `*steps`, if that is among them."""
    function = initializer(cls, view.names)
    more = None if function is None else function.params.star_arg
    if function is None or not isinstance(more, cst.Param) or more.name.value not in parameters:
        return []
    return [*Arguments(made).positional[len(function.params.params) - 1 :]]


def _given_as(
    made: cst.Call, cls: cst.ClassDef, parameters: set[str], view: FileView
) -> Iterator[cst.BaseExpression]:
    """Yield what a call that makes an object gives for these parameters."""
    arguments = Arguments(made)
    names = _parameters(cls, view)
    for number, name in enumerate(names):
        given = arguments.get(number, name) if name in parameters else None
        if given is not None and not is_none(given):
            yield given


def _parameters(cls: cst.ClassDef, view: FileView) -> list[str]:
    """Return the names of what a class is made with, in order."""
    function = initializer(cls, view.names)
    if function is not None and function.name.value == "__init__":
        parameters = (*function.params.params[1:], *function.params.kwonly_params)
        return [each.name.value for each in parameters]
    return [*_fields(cls, view)]


def _fields(cls: cst.ClassDef, view: FileView) -> dict[str, cst.Annotation]:
    """Return the fields of a dataclass that has its own ones alone: what it is made with."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.placement.facts.annotations import field_annotations

    names = (view.name(applied(each.decorator, view.names)[0]) for each in cls.decorators)
    is_record = any((name or "").endswith("dataclass") for name in names)
    above = (class_named(base.value, view.names) for base in cls.bases)
    return field_annotations(cls) if is_record and not any(above) else {}


def _parameters_called(cls: cst.ClassDef, view: FileView) -> set[str]:
    """Return the parameters of the initializer that methods call which the workers call."""
    return {
        parameter
        for method in methods_of(cls, DATASET_METHODS)
        for call in calls_inside(method, view)
        if (parameter := _kept_parameter(call.func, view)) is not None
    }


def methods_of(cls: cst.ClassDef, names: tuple[str, ...]) -> Iterator[cst.FunctionDef]:
    """Yield the methods of these names that a class has itself."""
    for statement in cls.body.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value in names:
            yield statement


def _kept_parameter(node: cst.BaseExpression, view: FileView) -> str | None:
    """Return the parameter of the initializer that an attribute of the object is, if given."""
    if not isinstance(node, cst.Attribute):
        return None
    kept = own_attribute(node, view)
    owner = own_class(node.value, view)
    name = node.attr.value
    if kept is None and owner is not None and not is_set_by_class(owner, name, view):
        return name if name in _fields(owner, view) else None
    if isinstance(kept, cst.Call) and view.called(kept) in COPYING and len(kept.args) == 1:
        kept = kept.args[0].value
    every = () if kept is None else alternatives(kept)
    found = (parameter_named(each, view.names) for each in every)
    return next((each.name.value for each in found if each is not None), None)


def _calls_each(loop: cst.For, view: FileView) -> bool:
    """Return whether a loop calls what it takes in turn: `for step in steps: x = step(x)`.

    Or gives it to a function of the file that does.
    """
    target = loop.target
    return isinstance(target, cst.Name) and any(
        _is_called(call, target.value) or _is_called_by(call, target.value, view)
        for call in view.tree.every(cst.Call, below=loop.body)
    )


def _is_called_by(call: cst.Call, name: str, view: FileView) -> bool:
    """Return whether a call passes a name to a function of the file that calls what it is given."""
    function = function_of(call.func, view.names)
    if function is None:
        return False
    arguments = Arguments(call)
    parameters = [*function.params.posonly_params, *function.params.params]
    given = {
        each.name.value: arguments.get(at, each.name.value) for at, each in enumerate(parameters)
    }
    passed = {
        parameter
        for parameter, each in given.items()
        if isinstance(each, cst.Name) and each.value == name
    }
    return any(
        isinstance(inner, cst.Call) and any(_is_called(inner, each) for each in passed)
        for inner in (function.body, *view.tree.descendants(function.body))
    )
