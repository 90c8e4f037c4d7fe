"""A file that names no library that makes arrays is not executed for what rules ask of arrays."""

from __future__ import annotations

import sys

import libcst as cst
import pytest

from placement_lint.jaxmodel.transfer import TABLE
from placement_lint.placement.overlays.registry import models_by_name, models_of_objects
from placement_lint.semantic.model import ARRAY_LIBRARIES, ModuleFacts

INDEXED = "def f(x, i):\n    with default_device(0):\n        return x[i]\n\n\nf([1], 0)\n"


def is_executed(text: str) -> bool:
    facts = ModuleFacts(cst.parse_module(text), "a.py")
    assert not [*facts.array_flow.uses()]
    return "flow" in vars(facts)


@pytest.mark.parametrize("imported", ["", "import numpy as np\n", "from .device import x\n"])
def test_nothing_is_executed(imported: str) -> None:
    assert not is_executed(imported + INDEXED)


@pytest.mark.parametrize(
    "imported",
    [
        "import jax\n",
        "import numpy, jax.numpy as jnp\n",
        "def g():\n    from jax import numpy\n",
        "import flax.linen as nn\n",
        "import importlib\njax = importlib.import_module('jax')\n",
    ],
)
def test_what_may_make_arrays_is_executed(imported: str) -> None:
    assert is_executed(imported + INDEXED)


def test_what_was_executed_for_others_is_asked() -> None:
    facts = ModuleFacts(cst.parse_module(INDEXED), "a.py")
    assert facts.flow is facts.array_flow


def test_the_libraries_are_those_of_the_tables_and_models() -> None:
    """What reads files, makes batches or keeps settings gives NumPy arrays, or what it is given."""
    known = {*TABLE, *models_by_name(), *models_of_objects()}
    packages = {name.partition(".")[0] for name in known}
    others = {"numpy", "cloudpickle", "grain", "h5py", "joblib", "torch", *sys.stdlib_module_names}
    others |= {"attr", "attrs", "ml_collections", "omegaconf", "typing_extensions"}
    assert packages - others == ARRAY_LIBRARIES
