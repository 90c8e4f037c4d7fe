"""JDP508."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Severity
from placement_lint.jaxmodel.environment import MISSPELLED_VARIABLES, UNREAD_OPTIONS
from placement_lint.jaxmodel.startup import (
    ALLOCATORS,
    DEAD_VARIABLES,
    EXPANDED_PLATFORM,
    NO_PREALLOCATION,
    PLATFORM_NAMES,
    PREALLOCATION,
)
from placement_lint.prefilter.conditions import SETS_VARIABLES, AllOf, AnyOf, Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.startup.programs import imports_jax
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.syntax.calls import Arguments, string_value
from placement_lint.syntax.environ import Setting, settings

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_OLD_FRACTION, _FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
_XLA_FLAGS, _TF_XLA_FLAGS = "XLA_FLAGS", "TF_XLA_FLAGS"
_FLAG = re.compile(r"(?:^|\s)--(xla_\w+)")
_ALLOCATOR, _PREALLOCATE = "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_PREALLOCATE"


class InertEnvironmentVariable(Rule):
    """An environment variable that has no effect, or that has a value with an unintended effect.

    ## What it does
    Finds settings of `JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE`, `…_HOST_TO_DEVICE` and
    `…_DEVICE_TO_HOST`; of `JAX_CUDA_VISIBLE_DEVICES`, `JAX_ROCM_VISIBLE_DEVICES`,
    `JAX_CPU_ENABLE_ASYNC_DISPATCH` and other option names that JAX does not read; of
    `XLA_PYTHON_CLIENT_MEM_FRACTION` together with `XLA_CLIENT_MEM_FRACTION`; of `JAX_PLATFORMS`
    (and the option `jax_platforms`) with `gpu` or an upper-case name; of `TF_XLA_FLAGS` with flags
    of XLA, in a file that imports JAX; and invalid values of `XLA_PYTHON_CLIENT_PREALLOCATE`,
    `XLA_PYTHON_CLIENT_ALLOCATOR` and the memory fractions. It also finds common misspellings, such
    as `JAX_PLATFORM` and `XLA_PYTHON_CLIENT_MEM_FRAC`, in a file that imports JAX.

    ## Why is this bad?
    The variables for transfer guards by direction are documented and read, but overwritten at once:
    the guard is not in effect. Most options of JAX can be set by a variable of the same name, but
    not those that it defines as flags. `JAX_PLATFORMS=gpu` means CUDA, ROCm *and* others, all of
    which must be available, so it fails on every machine; `cuda` is meant. XLA's own flags
    (`--xla_…`) are read from `XLA_FLAGS`; `TF_XLA_FLAGS` belongs to TensorFlow. The name of an
    allocator in `…_PREALLOCATE` enables preallocation, as every value except `false` does. Setting
    both memory fractions raises ValueError.

    ## Example
    ```python
    import os

    os.environ["JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE"] = "disallow"
    os.environ["JAX_PLATFORMS"] = "gpu"
    ```

    ## Use instead
    ```python
    import os

    os.environ["JAX_PLATFORMS"] = "cuda"
    import jax

    jax.config.update("jax_transfer_guard_device_to_device", "disallow")
    ```

    ## Fix safety
    No fix: only the author knows which kind of GPU, which allocator, or which of two fractions is
    meant.

    ## What it does not flag
    `TF_XLA_FLAGS` with TensorFlow's own flags, `--tf_xla_…`. `JAX_TRANSFER_GUARD`, which works, and
    the options by direction. `cuda`, `cuda,cpu`, names of plug-ins. `platform` as the *allocator*.
    Values that are not literals. A failure that is expected. A misspelling that the file also
    reads, or has in another string: then it is a variable of the program itself; tests.

    ## Verified by
    The proof sets the variable and then the option for device-to-device transfers, and reads which
    guard is in effect. The other claims were measured on JAX 0.4.30 to 0.12 or read in jaxlib's
    `xla_client.py`.

    ## References
    - [jax-ml/jax#25315](https://github.com/jax-ml/jax/issues/25315) and
      [#12335](https://github.com/jax-ml/jax/issues/12335): `JAX_PLATFORMS=gpu`
    - [Transfer guard](https://docs.jax.dev/en/latest/transfer_guard.html)
    - [GPU memory](https://docs.jax.dev/en/latest/gpu_memory_allocation.html)
    """

    code, name = "JDP508", "inert-environment-variable"
    advice = "Remove it, or set the variable that has the intended effect: see the page of the rule"
    severity = Severity.ERROR
    follows_arrays = False
    needs = AnyOf(
        AllOf(
            SETS_VARIABLES,
            AnyOf(
                *(name.encode() for name in sorted(DEAD_VARIABLES.keys() | UNREAD_OPTIONS)),
                AllOf(Jax(), _TF_XLA_FLAGS.encode()),
                AllOf(Jax(), AnyOf(*(name.encode() for name in MISSPELLED_VARIABLES))),
                b"JAX_PLATFORMS", b"MEM_FRACTION", _ALLOCATOR.encode(), _PREALLOCATE.encode(),
            ),
        ),
        b"jax_platforms",
    )  # fmt: skip

    def visit_Assign(self, node: cst.Assign, ctx: Context) -> None:
        _check_variables(node, ctx)

    def visit_AugAssign(self, node: cst.AugAssign, ctx: Context) -> None:
        _check_variables(node, ctx)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `os.environ.setdefault` and its like, and `jax.config.update`."""
        _check_variables(node, ctx)
        if ctx.is_call(node, "jax.config.update"):
            arguments = Arguments(node)
            if string_value(arguments.get(0, "name")) == "jax_platforms":
                problem = _platforms("jax_platforms", string_value(arguments.get(1, "val")))
                if problem is not None and not failure_is_expected(node, ctx):
                    ctx.report(node, problem)


def _check_variables(node: cst.Assign | cst.AugAssign | cst.Call, ctx: Context) -> None:
    for setting in settings(node, ctx.names):
        added = node.value if isinstance(node, cst.AugAssign) else None
        problem = _problem(setting, added, ctx)
        if problem is not None and not failure_is_expected(node, ctx):
            ctx.report(node, problem)


def _problem(setting: Setting, added: cst.BaseExpression | None, ctx: Context) -> str | None:
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
        return _platforms(name, value)
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
    """Return that nothing reads a variable, unless the program itself may do so."""
    name = setting.name
    is_read = any(
        name in node.value and node is not setting.key
        for node in ctx.tree.every(cst.SimpleString)
        if not _is_key(node, name, ctx)
    )
    if is_read or ctx.module.is_test or not ctx.module.fact(imports_jax):
        return None
    return f"{name} is ignored: nothing reads it; the variable is {MISSPELLED_VARIABLES[name]}"


def _is_key(node: cst.SimpleString, name: str, ctx: Context) -> bool:
    """Return whether a string names a variable that is set there."""
    for statement in ctx.tree.ancestors(node):
        if isinstance(statement, cst.Assign | cst.AugAssign | cst.Call):
            return any(
                each.key is node and each.name == name for each in settings(statement, ctx.names)
            )
    return False


def _platforms(name: str, value: str | None) -> str | None:
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
