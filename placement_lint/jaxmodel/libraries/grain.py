"""grain: measured with 0.2.18."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

_OF_BOTH = frozenset({"batch", "filter", "map", "map_with_index", "random_map", "seed"})
_OF_MAPS = frozenset({"repeat", "shuffle", "slice", "to_iter_dataset"})

LIBRARY = Library(
    classes={
        "grain.IterDataset": _OF_BOTH | {"mp_prefetch"},
        "grain.MapDataset": _OF_BOTH | _OF_MAPS,
    },
)
