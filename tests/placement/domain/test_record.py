"""What is remembered of the executions of one operation, whichever of them came first."""

from __future__ import annotations

import pytest

from placement_lint.placement.domain.devices import Device
from placement_lint.placement.domain.record import Record, Seat

FOUND: set[tuple[int, Seat]] = {(2, Device("cpu", 0))}


@pytest.mark.parametrize("is_first", [False, True])
def test_an_operation_that_is_refused_for_some_of_its_executions(*, is_first: bool) -> None:
    record = Record()
    for is_outside in (is_first, not is_first):
        record.saw_outside_mesh(1, FOUND if is_outside else set(), ())
        if not is_outside:
            record.saw_operands(1, set(), ())
    assert not record.outside_mesh[1].always


def test_an_operation_that_is_always_refused() -> None:
    record = Record()
    for _ in range(2):
        record.saw_outside_mesh(1, FOUND, ())
    assert record.outside_mesh[1].always
