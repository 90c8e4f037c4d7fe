"""Words by which a placement comes in, or is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import said, saying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.syntax.tree import Tree

_WORDS = frozenset(
    """
    _committed addressable_data addressable_devices addressable_shards array asarray backend
    backends block_until_ready client committed copy_to_host_async default_backend default_device
    device device_buffer device_buffers device_get device_kind device_put device_put_replicated
    device_put_sharded devices format from_dlpack global_shards in_shardings is_committed
    jax_default_device layout live_arrays local_devices memory_kind on_device_size_in_bytes
    out_shardings platform platforms pmap set_mesh sharding shardings to_device to_dlpack
    unsafe_buffer_pointer use_mesh with_memory_kind with_sharding_constraint
    """.split()
)
"""Names, attributes and texts of what makes a placement, or of what rules ask where it is used."""


def placing_words(tree: Tree) -> Sequence[int]:
    """Return the places of a module where one of the words is, in order, or another name that the
    file has for what has such a name: `from jax import device_put as put`.
    """
    words = _WORDS | _aliases(tree)
    return [tree.index(node) for node in tree.every(*saying()) if said(node) in words]


def _aliases(tree: Tree) -> set[str]:
    """Return the names by which imports, and assignments of the module, name the same things."""
    renamed: list[cst.CSTNode] = [
        each.asname.name
        for statement in tree.every(cst.Import, cst.ImportFrom)
        for each in ([] if isinstance(statement.names, cst.ImportStar) else statement.names)
        if each.asname is not None and said(each) in _WORDS
    ]
    for line in tree.module.body:
        for each in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(each, cst.Assign) and said(each.value) in _WORDS:
                renamed += (one.target for one in each.targets if isinstance(one.target, cst.Name))
    return {said(node) for node in renamed}
