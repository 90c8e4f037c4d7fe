"""The transfer table on other versions of JAX, each in an environment of its own."""

from __future__ import annotations

import pytest

from tests.jaxmodel.environments import Environment, each_environment, environment
from tests.jaxmodel.transfer_run import run


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@each_environment
def test_jax_agrees_with_every_row(wanted: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(environment(wanted), time_limit=3000)
    with capsys.disabled():
        print(f"\n{report.summary()}")
    assert report.disagreements == []
    assert report.unexecuted == []
