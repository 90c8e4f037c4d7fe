"""Files of safetensors that are opened for JAX, and what is read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context


def reads_of(node: cst.Call, ctx: Context) -> Iterator[tuple[cst.Call, Context]]:
    """Yield the calls that read tensors from what a `safe_open` gives, each with its file."""
    opened = Place(ctx.flow.module.name, ctx.tree.index(node))
    for module in ctx.flow.program.modules.values():
        for place in sorted(module.record.reads.get(opened, ())):
            there = ctx.beside(place.module)
            call = module.tree.nodes[place.node]
            if there is not None and isinstance(call, cst.Call):
                yield call, there
