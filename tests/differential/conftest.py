"""The oracle, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.differential.oracle_client import OracleClient


@pytest.fixture(scope="session")
def oracle() -> OracleClient:
    """Give a process in which programs run under JAX."""
    from tests.differential.oracle_client import shared_oracle

    return shared_oracle()
