"""The oracle, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.oracle_client import OracleClient


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleClient]:
    """Give a process in which programs run under JAX, for the tests of one file."""
    from tests.differential.oracle_client import OracleClient

    client = OracleClient()
    yield client
    client.close()
