"""haiku: measured with 0.0.17, on JAX 0.6.2 and 0.10.2."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

_OF_FUNCTIONS = frozenset({"apply", "init"})

LIBRARY = Library(
    classes={
        "haiku.Transformed": _OF_FUNCTIONS,
        "haiku.TransformedWithState": _OF_FUNCTIONS,
    },
)
