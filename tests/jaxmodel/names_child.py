"""Prints the public names of what the transfer table speaks of, as one JSON object.

Run as a program: `python -m tests.jaxmodel.names_child`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import warnings
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax

NAMESPACES = """
jax jax.debug jax.dlpack jax.experimental jax.image jax.lax jax.lax.linalg jax.nn
jax.nn.initializers jax.numpy jax.numpy.fft jax.numpy.linalg jax.ops jax.random jax.scipy.fft
jax.scipy.linalg jax.scipy.signal jax.scipy.special jax.tree jax.tree_util
numpy numpy.fft numpy.linalg safetensors.flax
""".split()


def public_names(namespace: str) -> list[str]:
    """Give the public names of a module, other modules left out; none where it is not there."""
    if importlib.util.find_spec(namespace.partition(".")[0]) is None:
        return []
    module = importlib.import_module(namespace)
    return [name for name in dir(module) if name[0] != "_" and _is_own(module, name)]


def _is_own(module: Any, name: str) -> bool:
    try:
        return not inspect.ismodule(getattr(module, name))
    except AttributeError:
        return False


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {namespace: public_names(namespace) for namespace in NAMESPACES}
    found["jax.Array"] = dir(type(jax.numpy.ones(3)))
    print(json.dumps({"jax": jax.__version__, "names": found}))
