"""What is wrong with environment variables of JAX and XLA, or with their values, wherever set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.environment import MISSPELLED_VARIABLES, UNREAD_OPTIONS
from placement_lint.jaxmodel.startup import (
    ALLOCATORS,
    DEAD_VARIABLES,
    EXPANDED_PLATFORM,
    NO_PREALLOCATION,
    PLATFORM_NAMES,
    PREALLOCATION,
)
from placement_lint.rules.startup.programs import imports_jax
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.environ import Setting, settings

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_OLD_FRACTION, _FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
_XLA_FLAGS, _TF_XLA_FLAGS = "XLA_FLAGS", "TF_XLA_FLAGS"
_WORD = re.compile(r"\w+")
_FLAG = re.compile(r"(?:^|\s)--(xla_\w+)")
_ALLOCATOR, _PREALLOCATE = "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_PREALLOCATE"


def problem_of(setting: Setting, added: cst.BaseExpression | None, ctx: Context) -> str | None:
    """Return what is wrong with a variable, or with its value, in words; None: nothing is known.

    `added`: what is added to the value that it has.
    """
    name, value = setting.name, string_value(setting.value)
    if name in DEAD_VARIABLES:
        if value == "":
            return None
        return (
            f"{name} is ignored: JAX overwrites it by JAX_TRANSFER_GUARD; "
            f'jax.config.update("{DEAD_VARIABLES[name]}", …) works'
        )
    if name in UNREAD_OPTIONS:
        option = f'; jax.config.update("{name.lower()}", …) works'
        return (
            f"{name} is ignored: JAX has an option of this name, and does not read it here{option}"
        )
    if name in MISSPELLED_VARIABLES:
        return _misspelled(setting, ctx)
    if name == "JAX_PLATFORMS":
        return problem_of_platforms(name, value)
    if name == _TF_XLA_FLAGS:
        return _flags_for_tensorflow(setting.value or added, ctx)
    if name == _PREALLOCATE and value is not None:
        if value in NO_PREALLOCATION | PREALLOCATION:
            return None
        hint = f"; the allocator is {_ALLOCATOR}" if value.lower() in ALLOCATORS else ""
        return (
            f'"{value}" turns {_PREALLOCATE} on: everything but "false", "False" and "0" does{hint}'
        )
    if name == _ALLOCATOR and value is not None and value and value.lower() not in ALLOCATORS:
        return f'{_ALLOCATOR} has no value "{value}": ValueError where there is a GPU'
    if name in {_FRACTION, _OLD_FRACTION}:
        if value and not _is_number(value):
            return f'{name} must be a number such as "0.5", not "{value}": ValueError'
        if name == _OLD_FRACTION and ctx.module.fact(_sets_new_fraction):
            return f"{_OLD_FRACTION} and {_FRACTION} are both set: ValueError where there is a GPU"
    return None


def _misspelled(setting: Setting, ctx: Context) -> str | None:
    """Return that nothing reads a variable, unless the program itself may do so.

    The name of the right variable has the wrong one in it, and says nothing of it.
    """
    name = setting.name
    is_read = any(
        _says(node, name) and node is not setting.key
        for node in ctx.tree.every(cst.SimpleString)
        if not _is_key(node, name, ctx)
    )
    if is_read or ctx.module.is_test or not ctx.module.fact(imports_jax):
        return None
    return f"{name} is ignored: nothing reads it; the variable is {MISSPELLED_VARIABLES[name]}"


def _says(node: cst.SimpleString, name: str) -> bool:
    """Return whether a string has a name in it, as a word of its own."""
    if name not in node.value:
        return False
    text = node.evaluated_value
    return name in _WORD.findall(text if isinstance(text, str) else text.decode("latin-1"))


def _is_key(node: cst.SimpleString, name: str, ctx: Context) -> bool:
    """Return whether a string names a variable that is set there."""
    for statement in ctx.tree.ancestors(node):
        if isinstance(statement, cst.Assign | cst.AugAssign | cst.Call):
            return any(
                each.key is node and each.name == name for each in settings(statement, ctx.names)
            )
    return False


def problem_of_platforms(name: str, value: str | None) -> str | None:
    """Return what is wrong with a list of platforms, in words."""
    for platform in (value or "").split(","):
        if platform == EXPANDED_PLATFORM:
            return (
                f'{name} "{EXPANDED_PLATFORM}" asks for CUDA, ROCm and others at once: '
                'RuntimeError; "cuda" or "rocm" is meant'
            )
        if platform not in PLATFORM_NAMES and platform.strip().lower() in PLATFORM_NAMES:
            return (
                f'{name}: "{platform}" raises RuntimeError; platform names are lower case: use '
                f'"{platform.strip().lower()}"'
            )
    return None


def _flags_for_tensorflow(value: cst.BaseExpression | None, ctx: Context) -> str | None:
    """Return that JAX does not see the flags of XLA in a value, if there are any."""
    if value is None or not ctx.module.fact(imports_jax):
        return None
    texts = (string_value(node) for node in (value, *ctx.tree.descendants(value)))
    flag = next((match for text in texts if text and (match := _FLAG.search(text))), None)
    if flag is None:
        return None
    return f"--{flag[1]} is ignored: TF_XLA_FLAGS is TensorFlow's; JAX reads {_XLA_FLAGS}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sets_new_fraction(facts: ModuleFacts) -> bool:
    return any(
        setting.name == _FRACTION and string_value(setting.value) != ""
        for node in facts.tree.every(cst.Assign, cst.AugAssign, cst.Call)
        for setting in settings(node, facts.names)
    )
