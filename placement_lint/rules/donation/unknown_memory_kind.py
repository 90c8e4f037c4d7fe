"""JDP811."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.donation.memory_kinds import KINDS, WORDS, may_fail, named_kind
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import string_value

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context
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
    default value or another function.

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
    and `"cpu"`, and `"device"` for `"gpu"` or `"hbm"`.

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
    needs = AllOf(Jax(), AnyOf(*WORDS))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        given = named_kind(node, ctx)
        if given is None:
            return
        kind = _text(given, ctx)
        if kind is None or kind in KINDS or may_fail(node, ctx):
            return
        meant = _nearest(kind)
        instead = f', "{meant}" is meant' if meant else ""
        ctx.report(
            given,
            f'no device has the memory kind "{kind}"{instead}: ValueError',
            fix=None if meant is None else _plan(given, meant),
        )


def _text(given: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the one string that an argument surely is."""
    from placement_lint.placement.domain.values import Plain, sole

    written = string_value(followed(given, ctx))
    if written is not None:
        return written
    only = sole(ctx.flow.value(given))
    return only.text if isinstance(only, Plain) else None


def _nearest(kind: str) -> str | None:
    word = kind.strip().lower().replace("-", "_").replace(" ", "_")
    if word in _MEANT:
        return _MEANT[word]
    near = difflib.get_close_matches(word, KINDS, n=1, cutoff=_CUTOFF)
    return near[0] if near else None


def _plan(given: cst.BaseExpression, meant: str) -> FixPlan | None:
    if string_value(given) is None:
        return None

    def build(editor: Editor) -> list[Edit]:
        return [editor.replace(given, f'"{meant}"')]

    return FixPlan(Applicability.SAFE, f'Write "{meant}"', build)
