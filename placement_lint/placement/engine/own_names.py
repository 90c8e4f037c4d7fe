"""What functions and classes of the program are called: `function.__name__`, by which registries
keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.program_values import Class, Function
from placement_lint.placement.domain.values import Closure, Computation, Method, Plain, value

if TYPE_CHECKING:
    from placement_lint.placement.domain.values import Atom, Value
    from placement_lint.placement.engine.protocols import Interpreter

NAME = "__name__"


def own_name(atom: Atom, program: Interpreter) -> Value | None:
    """Return what `__name__` of a function or a class holds; None where it may be another one.

    `functools.wraps` gives the name of what is wrapped, as other decorators that are called may;
    what `jax.jit` and the like give is called as its function is.
    """
    place = None
    if isinstance(atom, Class | Function):
        place = atom.place
    elif isinstance(atom, Closure | Method | Computation):
        place = atom.function
    node = None if place is None else program.node(place)
    if place is None or not isinstance(node, cst.ClassDef | cst.FunctionDef):
        return None
    if isinstance(node, cst.FunctionDef) and any(
        isinstance(each.decorator, cst.Call) for each in node.decorators
    ):
        return None
    is_renamed = any(name == NAME for _, name in program.module_of(place).attributes_set)
    return None if is_renamed else value(Plain(node.name.value))
