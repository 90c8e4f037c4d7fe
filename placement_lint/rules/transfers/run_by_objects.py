"""What runs when a method of an object runs: also of the objects that it holds, in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain import program_values, values
from placement_lint.placement.domain.contents import iterated_of
from placement_lint.placement.domain.program_values import Instance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.interpreter import Program

_MOST_FUNCTIONS = 64
"""Functions that one object leads to."""
_ITEM = "__getitem__"


@dataclass(frozen=True)
class CalledMethod:
    """A function that runs."""

    place: Place
    receiver: Instance | None = None
    """The object whose method it is."""


def run_by(
    given: Iterable[Atom], methods: tuple[str, ...], program: Program
) -> Iterator[CalledMethod]:
    """Yield what runs when something is called, or one of these methods of an object.

    What an object holds counts where it is the only thing that may be held under its name.
    """
    pending = [each for atom in given for each in _called(atom, methods, program)]
    seen = {*pending}
    while pending and len(seen) <= _MOST_FUNCTIONS:
        run = pending.pop(0)
        yield run
        for each in _run_inside(run, program):
            if each not in seen:
                seen.add(each)
                pending.append(each)


def objects_of(owner: Atom, program: Program) -> list[Instance]:
    """Return the objects that one stands for: in a method that nothing calls, all of its class."""
    if not isinstance(owner, Instance):
        return []
    made = program.now.instances.get(owner.cls, {})
    return [*made] if owner.site == owner.cls and made else [owner]


def attribute_of(owner: Atom, name: str, program: Program) -> Value:
    """Return what objects hold under a name, or their method: of each one, if it is one thing."""
    found: set[Atom] = set()
    for instance in objects_of(owner, program):
        held = program.now.final.get((instance, name))
        method = program.classes.method(instance.cls, name)
        if held:
            only = values.sole(held)
            found |= set() if only is None else {only}
        elif method is not None:
            found.add(values.Method(method, instance))
    return frozenset(found)


def _called(atom: Atom, methods: tuple[str, ...], program: Program) -> Iterator[CalledMethod]:
    """Yield what calling a value runs, or one of these methods of an object."""
    while isinstance(atom, values.Partial):
        atom = atom.function
    if isinstance(atom, program_values.Function):
        yield CalledMethod(atom.place)
    elif isinstance(atom, values.Closure):
        yield CalledMethod(atom.function)
    elif isinstance(atom, values.Method):
        yield CalledMethod(
            atom.function, atom.receiver if isinstance(atom.receiver, Instance) else None
        )
    elif isinstance(atom, Instance):
        found = (program.classes.method(atom.cls, name) for name in methods)
        yield from (CalledMethod(place, atom) for place in found if place is not None)


def _run_inside(run: CalledMethod, program: Program) -> Iterator[CalledMethod]:
    """Yield what a function calls of other files, and of the object whose method it is."""
    node = program.node(run.place)
    if not isinstance(node, cst.FunctionDef):
        return
    yield from _called_elsewhere(run.place, node, program)
    parameters = [*node.params.posonly_params, *node.params.params]
    if run.receiver is not None and parameters and not node.decorators:
        own = parameters[0].name.value
        yield from _called_of_object(run.place, node, (own, run.receiver), program)


def _called_elsewhere(
    place: Place, node: cst.FunctionDef, program: Program
) -> Iterator[CalledMethod]:
    """Yield the functions of other files that a function calls by their names."""
    module = program.module_of(place)
    for call in module.tree.every(cst.Call, below=node.body):
        if module.tree.around(call, cst.FunctionDef) is node:
            only = values.sole(module.record.values.get(module.tree.index(call.func), frozenset()))
            if isinstance(only, program_values.Function) and only.place.module != place.module:
                yield CalledMethod(only.place)


def _called_of_object(
    place: Place, node: cst.FunctionDef, receiver: tuple[str, Instance], program: Program
) -> Iterator[CalledMethod]:
    """Yield what a method calls of its object, and of what that holds.

    `receiver`: what the method calls its object, and the object.
    """
    tree, (own, owner) = program.module_of(place).tree, receiver
    loops = {
        loop.target.value: loop.iter
        for loop in tree.every(cst.For, cst.CompFor, below=node.body)
        if isinstance(loop.target, cst.Name)
    }
    for each in tree.every(cst.Call, cst.Subscript, below=node.body):
        if tree.around(each, cst.FunctionDef) is not node:
            continue
        methods, called = (_ITEM,), values.NOTHING
        if isinstance(each, cst.Subscript):
            held = _held(each.value, own, owner, program)
            called = frozenset(atom for atom in held if isinstance(atom, Instance))
        elif isinstance(each, cst.Call):
            methods, called = ("__call__",), _held(each.func, own, owner, program)
            if isinstance(each.func, cst.Name) and each.func.value in loops:
                called = iterated_of(_held(loops[each.func.value], own, owner, program))
        for atom in called:
            yield from _called(atom, methods, program)


def _held(node: cst.BaseExpression, own: str, owner: Instance, program: Program) -> Value:
    """Return what `self.x`, `self.x.y` and so on surely is, of one object."""
    if isinstance(node, cst.Name):
        return values.value(owner) if node.value == own else values.NOTHING
    if not isinstance(node, cst.Attribute):
        return values.NOTHING
    held = _held(node.value, own, owner, program)
    found = (attribute_of(atom, node.attr.value, program) for atom in held)
    return frozenset().union(*found)
