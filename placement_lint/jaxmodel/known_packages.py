"""Packages that are known by their names, none of which is a file of the program."""

from __future__ import annotations

import sys

LIBRARY_PREFIXES = ("builtins.", "jax.", "numpy.")
"""How the qualified names begin of what is known best: functions, types and constants that no file
of the program defines, and that call nothing of it but what they are given."""

NOT_OF_PROGRAM = frozenset(sys.stdlib_module_names) | {"jax", "numpy"}
"""Packages of which no file of a program passes on a name."""

KNOWN_PACKAGES = NOT_OF_PROGRAM | {
    "absl", "chex", "einops", "equinox", "flax", "haiku", "jaxlib", "jaxtyping",
    "ml_collections", "optax", "orbax", "pytest", "scipy", "tensorflow", "torch",
    "typing_extensions",
}  # fmt: skip
"""Packages of which no file of most programs passes on a name: that they are linted themselves is
seldom."""
