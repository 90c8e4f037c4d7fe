"""Does with each row of the old APIs what warns or fails, and says what came of it.

Run as a program: `python -m tests.jaxmodel.removed_child`. It prints one JSON object: the version
of JAX, and for each row what it did, and whether its replacement is there.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import warnings
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

from placement_lint.jaxmodel.removed import OLD_APIS, Access, OldApi


def resolve(name: str) -> Any:
    """Give what a qualified name names; raises AttributeError or ModuleNotFoundError."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            if end == 1:
                raise
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def call_with(api: OldApi, argument: str) -> None:
    """Call the function of a row with one argument, beside those that it needs."""
    name = api.name.rpartition(".")[0]
    function = resolve(name)
    if name == "jax.make_mesh":
        function(axis_names=("a",), **{argument: (1,)})
        return
    if name != "jax.shard_map":
        function(**{argument: 0})
        return
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",))
    spec = jax.sharding.PartitionSpec("a")
    given: Any = frozenset() if argument == "auto" else False
    function(lambda x: x, mesh=mesh, in_specs=spec, out_specs=spec, **{argument: given})


def meet(api: OldApi) -> None:
    """Do what a program does with it."""
    last = api.name.rpartition(".")[2]
    if api.use is Access.NAME:
        resolve(api.name)
    elif api.use is Access.MODULE:
        # Where it was imported before, its warning is over.
        sys.modules.pop(api.name, None)
        importlib.import_module(api.name)
    elif api.use is Access.CALL:
        function = resolve(api.name)
        takes_function = api.name.startswith("jax.experimental.host_callback.")
        function(*([lambda *_: None, 1.0] if takes_function else []))
    elif api.use is Access.ARGUMENT:
        call_with(api, last)
    elif api.use is Access.ENTER:
        with resolve(api.name)(np.array(jax.devices()[:1]), ("a",)):
            pass
    else:
        read = getattr(jax.numpy.ones(3), last)
        if api.use is Access.ARRAY_CALL:
            read()


def outcome(api: OldApi) -> str:
    """Tell what comes of it: `silent`, `warns …`, `fails …`."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            meet(api)
        except (AttributeError, ImportError, NotImplementedError, TypeError) as error:
            return f"fails: {type(error).__name__}: {error}"
    return f"warns: {seen[-1].category.__name__}: {seen[-1].message}" if seen else "silent"


def has_replacement(api: OldApi) -> bool:
    """Tell whether the replacement is there, and silent."""
    text = api.replacement
    if text is None:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if api.use in {Access.ARRAY_ATTRIBUTE, Access.ARRAY_CALL}:
                getattr(jax.numpy.ones(3), text.partition("(")[0])
            elif api.use is Access.ARGUMENT:
                call_with(api, text)
            else:
                resolve(text)
    except (AttributeError, ImportError):
        return False
    return True


if __name__ == "__main__":
    found = {api.name: [outcome(api), has_replacement(api)] for api in OLD_APIS}
    print(json.dumps({"jax": jax.__version__, "rows": found}))
