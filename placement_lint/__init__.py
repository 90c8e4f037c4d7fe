"""placement-lint: find, explain, mend and prove device-placement mistakes in JAX code."""

from __future__ import annotations

__version__ = "0.1.0"
