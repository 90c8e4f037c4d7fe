from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("pygls") is None:
    # The development extra has it: this is for whoever tests an installation without.
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _no_leftovers(recwarn: pytest.WarningsRecorder) -> None:
    """Let warnings of the client's own transports be: they are not what is tested."""
