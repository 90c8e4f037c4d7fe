"""Shardings as they are written out, where nothing else says what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names

_SPECS = frozenset({"jax.P", "jax.sharding.PartitionSpec"})


def splits_nothing(sharding: cst.BaseExpression, names: Names) -> bool:
    """Return whether an expression is `NamedSharding(mesh, PartitionSpec())`."""
    if not isinstance(sharding, cst.Call) or names.qualified(sharding.func) not in NAMED_SHARDINGS:
        return False
    spec = Arguments(sharding).get(1, "spec")
    return isinstance(spec, cst.Call) and not spec.args and names.qualified(spec.func) in _SPECS
