"""Whether an array may be in the memory of the host, where a program uses more than one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.sharded_operations import SPLIT_ALIKE, SPLIT_ALIKE_METHODS
from placement_lint.rules.meshes.shardings import MEMORIES, calls_at
from placement_lint.semantic.followed import bound_before
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.dotted import said

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_CREATORS = frozenset(
    f"jax.numpy.{name}" for name in "arange empty eye full identity linspace ones tri zeros".split()
)
_SAME_ARRAY = SPLIT_ALIKE_METHODS | {"ravel", "reshape", "transpose"}
_NAMING = frozenset({"MemorySpace", "TransferToMemoryKind", "memory_kind", "with_memory_kind"})
_OF_POLICIES = frozenset({"offload_dst", "offload_src"})
"""Arguments of policies for recomputing: what these move is back before anything else reads it."""
_POLICIES = "jax.checkpoint_policies."
_BRINGING = (
    "device", "fetch", "hbm", "host", "load", "memory", "offload", "pinned", "restore", "stream",
)  # fmt: skip
"""Words of what is there to bring an array from one memory to another."""
_MOST_STEPS = 6
"""Of a value that is computed element by element of another one."""


def uses_host_memory(ctx: Context) -> bool:
    """Return whether a file that is interpreted with this one may put an array into the memory of
    the host, from where a sharding may take it.
    """
    return any(facts.fact(_uses_host_memory) for facts in ctx.module.siblings.values())


def _uses_host_memory(facts: ModuleFacts) -> bool:
    """Return whether the code of a file names another memory than that of the devices.

    But for what `jax.checkpoint` is to keep there.
    """
    if not facts.says(*MEMORIES):
        return False
    tree = facts.tree
    for name in tree.every(cst.Name):
        parent = tree.parent(name)
        if name.value in _NAMING and not _names_own_memory(parent, facts):
            return True
        if name.value == "Space" and isinstance(parent, cst.Attribute | cst.ImportAlias):
            return True
    return any(
        string_value(each) == "pinned_host" and not _is_of_policy(each, facts)
        for each in tree.every(cst.SimpleString)
    )


def _names_own_memory(parent: cst.CSTNode | None, facts: ModuleFacts) -> bool:
    """Return whether a word is of `memory_kind="device"`, or of `s.with_memory_kind("device")`."""
    if isinstance(parent, cst.Arg):
        return string_value(parent.value) == "device"
    call = None if parent is None else facts.tree.parent(parent)
    if not isinstance(parent, cst.Attribute) or not isinstance(call, cst.Call):
        return False
    return call.func is parent and [string_value(each.value) for each in call.args] == ["device"]


def _is_of_policy(text: cst.SimpleString, facts: ModuleFacts) -> bool:
    argument = facts.tree.parent(text)
    if not isinstance(argument, cst.Arg):
        return False
    if argument.keyword is not None and argument.keyword.value in _OF_POLICIES:
        return True
    call = facts.tree.parent(argument)
    name = facts.names.qualified(call.func) if isinstance(call, cst.Call) else None
    return (name or "").startswith(_POLICIES)


def is_on_device(node: cst.Call, ctx: Context) -> bool:
    """Return whether what a call of `jax.device_put` is given surely is in the device's memory.

    It was made or computed there in this function; or it is an argument that is there in each
    call, of a function without a word of other memories.
    """
    arguments = Arguments(node)
    operand, target = arguments.get(0, "x"), arguments.get(1, "device")
    if operand is None or target is None:
        return False
    if _is_made_on_device(operand, ctx):
        return True
    if not all(call.is_on_device for call in calls_at(node, ctx)):
        return False
    made = bound_before(operand, ctx) if isinstance(operand, cst.Name) else operand
    if isinstance(made, cst.BinaryOperation | cst.Call):
        # It is computed here, and no argument that others may pass from another memory.
        return True
    function = ctx.function(node)
    named = [*ctx.tree.names_in(target), *ctx.tree.names_in(operand)]
    words = [said(each).lower() for each in named]
    words += [function.name.value.lower()] if isinstance(function, cst.FunctionDef) else []
    return not any(bringing in word for word in words for bringing in _BRINGING)


def _is_made_on_device(operand: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an array was made in this function, in the memory of the device.

    Beside an array in another memory JAX would refuse it.
    """
    following: list[cst.BaseExpression] = [operand]
    for _ in range(_MOST_STEPS):
        if not following:
            break
        made: cst.CSTNode | None = following.pop(0)
        if isinstance(made, cst.Name):
            made = bound_before(made, ctx)
        if isinstance(made, cst.BinaryOperation):
            following += [made.left, made.right]
        elif isinstance(made, cst.Call):
            name = ctx.called(made) or ""
            is_creator = name in _CREATORS or name.startswith("jax.random.")
            if is_creator and Arguments(made).get(None, "device") is None:
                return True
            if name in SPLIT_ALIKE and made.args:
                following.append(made.args[0].value)
            elif isinstance(made.func, cst.Attribute) and made.func.attr.value in _SAME_ARRAY:
                following.append(made.func.value)
    return False
