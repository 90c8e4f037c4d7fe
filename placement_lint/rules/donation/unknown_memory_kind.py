"""JDP811."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.mixtures import called_for, is_called
from placement_lint.rules.donation.memory_kinds import KINDS, WORDS, may_fail, named_kind
from placement_lint.rules.meshes.wrong_calls import passing, tests_before
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.definitions import parameter_named
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.context import Context
    from placement_lint.rules.meshes.wrong_calls import WrongCall
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_MEANT = {
    "cpu": "pinned_host", "host": "pinned_host", "ram": "pinned_host", "host_pinned": "pinned_host",
    "accelerator": "device", "cuda": "device", "default": "device", "gpu": "device",
    "hbm": "device", "tpu": "device", "tpu_hbm": "device", "vram": "device",
}  # fmt: skip
"""What is meant by other words for a memory."""
_CUTOFF = 0.5


class UnknownMemoryKind(Rule):
    """A memory kind that no backend has, such as `"host"`.

    ## What it does
    Finds `memory_kind="host"` of `NamedSharding` and `SingleDeviceSharding`,
    `sharding.with_memory_kind("pinned")` and `TransferToMemoryKind("hbm")`, if the string is none
    of `"device"`, `"pinned_host"` and `"unpinned_host"`; also if it comes from a variable, a
    default value or another function. A call that passes the string to a function which uses it is
    reported in place of that use.

    ## Why is this bad?
    JAX raises `ValueError: Could not find memory addressable by device cpu` when the sharding is
    made. It does not check the strings earlier, and the name of `jax.memory.Space.Host` suggests
    that there is a kind `"host"`.

    ## Example
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    on_host = NamedSharding(mesh, PartitionSpec(), memory_kind="host")
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    on_host = NamedSharding(mesh, PartitionSpec(), memory_kind="pinned_host")
    ```

    ## Fix safety
    Safe: the code raises as it is. The fix writes the nearest kind: `"pinned_host"` for `"host"`
    and `"cpu"`, and `"device"` for `"gpu"` or `"hbm"`. Unsafe in a call that passes the string to
    a function, which may use it for something else as well.

    ## What it does not flag
    The three kinds, although not every backend supports each of them: `"pinned_host"` is missing on
    CPUs before JAX 0.7.1. A string that may be one of several, or that comes from a configuration
    or from the device itself (`device.default_memory().kind`). Policies of `jax.checkpoint`. A
    ValueError that is caught or expected.

    ## Verified by
    The proof makes a sharding of the memory kind `"host"`, which raises ValueError. With
    `"pinned_host"` it works, and an array is put there.

    ## References
    - [jax-ml/jax#22346](https://github.com/jax-ml/jax/issues/22346),
      [#24521](https://github.com/jax-ml/jax/issues/24521)
    - Measured on JAX 0.4.30, 0.5.3, 0.6.2, 0.7.2, 0.10.2 and 0.12.0.1
    """

    code, name = "JDP811", "unknown-memory-kind"
    advice = "Name one of the memory kinds `device`, `pinned_host` and `unpinned_host`"
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    holds_on_any_mesh = True
    needs = AllOf(Jax(), AnyOf(*WORDS))

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        for facts in ctx.module.siblings.values():
            for made, kind, one in facts.fact(_passed_on):
                if one.there.module is ctx.module:
                    is_inside = ctx.tree.contains(made) and ctx.tree.is_inside(made, one.call)
                    there = (
                        [] if is_inside else [(made, facts.path, "the memory kind is used here")]
                    )
                    _report(one.argument, kind, ctx, there)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        given = named_kind(node, ctx)
        if given is None:
            return
        kinds = _kinds(given, ctx)
        if len(kinds) != 1 or None in kinds or may_fail(node, ctx) or _is_asked(given, node, ctx):
            return
        for kind in kinds:
            if kind is not None and kind not in KINDS and not passing(given, ctx, kind):
                _report(given, kind, ctx)


def _report(
    given: cst.BaseExpression,
    kind: str,
    ctx: Context,
    related: Sequence[tuple[cst.CSTNode, str, str]] = (),
    applicability: Applicability = Applicability.SAFE,
) -> None:
    meant = _nearest(kind)
    instead = f', "{meant}" is meant' if meant else ""
    ctx.report(
        given,
        f'no device has the memory kind "{kind}"{instead}: ValueError',
        fix=None if meant is None else _plan(given, meant, applicability),
        related=related,
    )


def _kinds(given: cst.BaseExpression, ctx: Context) -> set[str | None]:
    """Return the strings that an argument may be; None among them where it may be another one."""
    from placement_lint.placement.domain.values import Plain

    written = string_value(followed(given, ctx))
    if written is not None:
        return {written}
    held = ctx.flow.value(given)
    kinds = {atom.text if isinstance(atom, Plain) else None for atom in held} or {None}
    default = _default(given, ctx) if kinds == {None} else None
    return kinds if default is None else {default}


def _default(given: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the text that a parameter is where nothing in the program calls its function."""
    param = parameter_named(given, ctx.names)
    default = None if param is None else string_value(param.default)
    function = None if param is None or default is None else ctx.tree.around(param, cst.FunctionDef)
    if function is None or function is not ctx.function(given):
        return None
    called = called_for(function, ctx)
    # What it is passed on to may call it with another one.
    is_used = bool(ctx.names.uses(called.name.value, ctx.names.scope(called)))
    return None if is_used or is_called(function, ctx) else default


def _passed_on(facts: ModuleFacts) -> list[tuple[cst.CSTNode, str, WrongCall]]:
    """Return the calls of the program that pass an unknown kind to what uses it in a file."""
    from placement_lint.rules.context import Context

    found: dict[int, tuple[cst.CSTNode, str, WrongCall]] = {}
    ctx = Context(facts, UnknownMemoryKind, [])
    for call in facts.tree.every(cst.Call) if facts.says(*WORDS) else ():
        given = named_kind(call, ctx)
        if given is None or string_value(given) is not None or may_fail(call, ctx):
            continue
        if _is_asked(given, call, ctx) or _is_chosen(given, ctx):
            continue
        kinds = {kind for kind in _kinds(given, ctx) if kind is not None and kind not in KINDS}
        passed = ((kind, one) for kind in sorted(kinds) for one in passing(given, ctx, kind))
        for kind, one in passed:
            if one.is_sure and not may_fail(one.call, one.there):
                found.setdefault(id(one.call), (call, kind, one))
    return [*found.values()]


def _is_asked(given: cst.BaseExpression, call: cst.Call, ctx: Context) -> bool:
    """Return whether a condition around a call asks for the name that it is given: then another
    one may have been taken care of before.
    """
    name = dotted(given)
    if not name:
        return False
    return any(
        dotted(part) == name for test in tests_before(call, ctx) for part in ctx.tree.names_in(test)
    )


def _is_chosen(given: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a name may stand for something else than what is passed, which a condition
    may have refused: `kind if kind in kinds else "device"`.
    """
    if not isinstance(given, cst.Name):
        return False
    is_conditional = isinstance(followed(given, ctx), cst.IfExp | cst.BooleanOperation)
    return is_conditional or len([*ctx.names.bindings(given)]) > 1


def _nearest(kind: str) -> str | None:
    word = kind.strip().lower().replace("-", "_").replace(" ", "_")
    if word in _MEANT:
        return _MEANT[word]
    near = difflib.get_close_matches(word, KINDS, n=1, cutoff=_CUTOFF)
    return near[0] if near else None


def _plan(given: cst.BaseExpression, meant: str, applicability: Applicability) -> FixPlan | None:
    if string_value(given) is None:
        return None

    def build(editor: Editor) -> list[Edit]:
        return [editor.replace(given, f'"{meant}"')]

    return FixPlan(applicability, f'Write "{meant}"', build)
