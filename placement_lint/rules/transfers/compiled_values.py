"""Which calls run a compiled function by what the called expression is when the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.rules.transfers.jitted_calls import JITS, is_pmapped
from placement_lint.semantic.elsewhere import effects_of

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_WORDS = frozenset(name.rpartition(".")[2] for name in JITS)


def is_compiled_elsewhere(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression surely is a compiled function that `jitted` does not find: one
    of another file, of `jax.pmap`, or by its value.
    """
    is_named = ctx.name(function) is not None or isinstance(function, cst.Attribute)
    effects = effects_of(function, ctx) if is_named else None
    if (effects is not None and effects.is_compiled) or is_pmapped(function, ctx):
        return True
    return is_compiled_by_type(function, ctx) or is_compiled_by_value(function, ctx)


def is_compiled_by_type(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is surely a compiled function by what the files of the run bind
    it to, or pass for it: a parameter, or what objects hold.
    """
    if not isinstance(function, cst.Attribute | cst.Name):
        return False
    if isinstance(function, cst.Attribute) and function.attr.value in ctx.module.fact(_set_outside):
        return False
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.known_types import COMPILED, KnownTypes

    return ctx.module.fact(KnownTypes).of(function) == COMPILED


def _set_outside(facts: ModuleFacts) -> set[str]:
    """Return the attributes that a file sets of other objects than `self`."""
    return {
        each.target.attr.value
        for each in facts.tree.every(cst.AssignTarget)
        if isinstance(each.target, cst.Attribute)
        and not (isinstance(each.target.value, cst.Name) and each.target.value.value == "self")
    }


def is_compiled_by_value(function: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is surely a compiled function, which no device was chosen for.

    It went through objects, containers or functions, or comes from another file.
    """
    if not isinstance(function, cst.Attribute | cst.Name | cst.Subscript):
        return False
    if ctx.name(function) is not None and not ctx.module.has_siblings:
        return False
    if not ctx.module.has_siblings and not ctx.may_say(_WORDS):
        return False
    if isinstance(function, cst.Name) and any(
        isinstance(binding.node, cst.For | cst.CompFor) for binding in ctx.names.bindings(function)
    ):
        # Each iteration may call another one.
        return False
    from placement_lint.placement.domain.values import NONE, Computation

    held = ctx.flow.value(function) - NONE
    return bool(held) and all(
        isinstance(atom, Computation) and atom.is_staged and not atom.places_arguments
        for atom in held
    )
