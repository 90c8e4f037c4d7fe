"""Run by tests in a process of its own: sets variables at one of three times, and looks around.

    python -m tests.jaxmodel.environment_child WHEN VARIABLES

WHEN is `before` the import of JAX, `between` it and the start of the backend, or `after` that.
VARIABLES is a JSON object. It prints a JSON object: the version, the options of `jax.config` when
everything is over, how many devices there are, what JAX looked up in `os.environ` while it was
imported, and what a GPU plugin that is initialised at the end would be told.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(when: str, variables: dict[str, str]) -> None:
    """Set the variables at a time, and print what is seen."""
    looked_up: set[str] = set()
    mapping: Any = type(os.environ)
    get, contains = mapping.__getitem__, mapping.__contains__

    def watched_get(self: Any, key: str) -> str:
        looked_up.add(key)
        value: str = get(self, key)
        return value

    def watched_contains(self: Any, key: str) -> bool:
        looked_up.add(key)
        return bool(contains(self, key))

    if when == "before":
        os.environ.update(variables)
    mapping.__getitem__, mapping.__contains__ = watched_get, watched_contains
    import jax

    mapping.__getitem__, mapping.__contains__ = get, contains
    if when == "between":
        os.environ.update(variables)
    count = len(jax.devices())
    if when == "after":
        os.environ.update(variables)
        count = len(jax.devices())
    from jaxlib import xla_client

    seen = {
        "version": jax.__version__,
        "options": {name: repr(value) for name, value in jax.config.values.items()},
        "devices": count,
        "looked_up": sorted(name for name in looked_up if name.startswith("JAX_")),
        "plugin": {
            name: repr(value)
            for name, value in xla_client.generate_pjrt_gpu_plugin_options().items()
        },
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
