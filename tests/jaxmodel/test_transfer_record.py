"""The newest record of the matrix is of the table as it is."""

from __future__ import annotations

import pytest

from placement_lint.jaxmodel.transfer import ROWS
from tests.jaxmodel.environments import ENVIRONMENTS
from tests.jaxmodel.test_transfer import MEASURED
from tests.jaxmodel.transfer_record import FOLDER, SUFFIX, digest, newest_record

needs_a_record = pytest.mark.skipif(
    not any(FOLDER.glob(f"*{SUFFIX}")), reason="the matrix was not recorded yet"
)
COMMAND = "python -m tests.jaxmodel.transfer_record"


@needs_a_record
def test_the_newest_record_is_of_the_table_as_it_is() -> None:
    record = newest_record()
    assert record["command"] == COMMAND
    assert record["rows"] == len(ROWS)
    assert record["digest"] == digest(), f"the table has changed since: run `{COMMAND}`"


@needs_a_record
def test_the_newest_record_is_of_every_measured_version() -> None:
    versions = newest_record()["versions"]
    assert set(MEASURED) <= set(versions)
    for version, found in versions.items():
        assert found["packages"]["jax"] == version
        assert found["disagreements"] == 0
        assert found["rows"] == len(ROWS)
        left_out = sum(map(len, found["not executed"].values()))
        assert found["executed"] + left_out == len(ROWS)
        assert "" not in found["not executed"]


def test_the_environments_are_those_of_the_measured_versions() -> None:
    assert [wanted.name for wanted in ENVIRONMENTS] == [*MEASURED, "newest"]
