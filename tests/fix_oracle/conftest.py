"""The process that runs programs, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fix_oracle.client import WatchClient


@pytest.fixture(scope="package")
def oracle() -> Iterator[WatchClient]:
    """Give a process in which programs run under JAX, with several accelerators and hosts."""
    from tests.fix_oracle.client import WatchClient

    client = WatchClient()
    yield client
    client.close()
