"""Python's context variables: the methods of a `contextvars.ContextVar`."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

CONTEXT_VARIABLE = "contextvars.ContextVar"

LIBRARY = Library(classes={CONTEXT_VARIABLE: frozenset({"get", "reset", "set"})})
