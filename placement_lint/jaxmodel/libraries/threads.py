"""Python's threads: what a class that derives from `threading.Thread` has of it."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Library

THREAD = "threading.Thread"

LIBRARY = Library(classes={THREAD: frozenset({"start"})})
