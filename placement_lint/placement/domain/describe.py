"""What is known of a value, in words: for `--reveal`, and for whoever hovers over a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.placement.domain.library_values import (
    AbstractArray,
    DeviceList,
    Dispatched,
    Executor,
    Getter,
    LibraryFunction,
    Optimizer,
    Pickled,
)
from placement_lint.placement.domain.program_values import Class, External, Function, Instance
from placement_lint.placement.domain.sharding import DeviceGrid, Mesh, Sharding, Spec
from placement_lint.placement.domain.values import (
    Anything,
    AnyTree,
    Array,
    Closure,
    Computation,
    Container,
    ContextFactory,
    Coroutine,
    DefaultDeviceContext,
    Future,
    Generator,
    Host,
    Lazy,
    LibraryMethod,
    Method,
    Partial,
    Plain,
    Sequence,
    TheDevice,
    Thread,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Atom, Value

_DEPTH = 3


def describe(
    held: Value, where: Callable[[Place], str], depth: int = _DEPTH, *, array: str = "a JAX array"
) -> str:
    """Return what a value may be. `where` writes a place as `file:line`.

    `array`: what is written for the arrays on a mesh that it may be itself: `bf16[512, 4096]`.
    """
    known = sorted(
        {
            _array(atom, where, array) if isinstance(atom, Array) else _describe(atom, where, depth)
            for atom in held
            if not isinstance(atom, Anything)
        }
    )
    if len(known) < len(held) and any(isinstance(atom, Anything) for atom in held):
        known.append("unknown")
    return " or ".join(known) if known else "nothing"


def _describe(atom: Atom, where: Callable[[Place], str], depth: int) -> str:
    if isinstance(atom, Container):
        if not depth:
            return "a container"
        kind = "a sequence" if isinstance(atom, Sequence) else "a mapping"
        parts = (
            frozenset().union(*(atom.items or (atom.element,)))
            if isinstance(atom, Sequence)
            else atom.element.union(*(held for _, held in atom.items))
        )
        return f"{kind} of ({describe(parts, where, depth - 1)})" if parts else f"{kind}, empty"
    if isinstance(atom, AnyTree):
        return f"a tree of ({describe(atom.leaf, where, depth - 1)})" if depth else "a tree"
    if isinstance(atom, TheDevice):
        return "a device" if atom.device is None else f"the device {atom.device}"
    if isinstance(atom, Mesh):
        return f"a mesh {atom}"
    if isinstance(atom, Spec):
        return f"the spec {atom}"
    if isinstance(atom, Sharding) and (atom.is_named or atom.is_of_host):
        return f"a sharding on {atom}"
    if isinstance(atom, DefaultDeviceContext):
        devices = sorted(str(device or "unknown") for device in atom.devices)
        return f"a context in which the default device is {' or '.join(devices)}"
    if isinstance(atom, Coroutine):
        return f"a coroutine that gives ({describe(atom.result, where, depth - 1)})"
    if isinstance(atom, Function | Class):
        kind = "a function" if isinstance(atom, Function) else "a class"
        return f"{kind} defined at {where(atom.place)}"
    if isinstance(atom, Instance):
        return f"an object of the class at {where(atom.cls)}"
    if isinstance(atom, External):
        return f"{atom.name} of {atom.module}"
    return _NAMES.get(type(atom), "a context manager")


_NAMES: dict[type, str] = {
    AbstractArray: "the description of an array",
    Computation: "a function that computes on the default device",
    ContextFactory: "what makes a context manager",
    DeviceGrid: "an array of devices",
    DeviceList: "a list of devices",
    Dispatched: "a function that dispatches by type",
    Executor: "an executor",
    Future: "a future",
    Generator: "a generator",
    Getter: "a getter",
    Lazy: "an iterator",
    LibraryFunction: "a function of a library",
    LibraryMethod: "a method of a library",
    Host: "a NumPy array",
    Method: "a method",
    Optimizer: "an optimizer",
    Closure: "a function that a decorator made",
    Partial: "a partial",
    Pickled: "a pickle",
    Plain: "no array",
    Sharding: "a sharding",
    Thread: "a thread",
}


def _array(array: Array, where: Callable[[Place], str], what: str) -> str:
    made = "" if array.origin is None else f", made at {where(array.origin.created)}"
    if array.sharding is not None:
        return f"{what} on {array.sharding}{made}"
    state = "committed to" if array.committed else "uncommitted on"
    device = "an unknown device" if array.device is None else str(array.device)
    return f"a JAX array, {state} {device}{made}"
