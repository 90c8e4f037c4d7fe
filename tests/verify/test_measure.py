"""What a batch moves on an accelerator that keeps an account of its memory."""

from dataclasses import dataclass

import pytest

from placement_lint.verify import measure
from placement_lint.verify.datapath import BATCH_BYTES


@dataclass
class Account:
    """The memory of an accelerator: what is in use, and the most that ever was."""

    used: int
    peak: int

    def memory_stats(self) -> dict[str, int]:
        return {"bytes_in_use": self.used, "peak_bytes_in_use": self.peak}

    def take(self, size: int) -> None:
        self.used += size
        self.peak = max(self.peak, self.used)


@pytest.mark.parametrize("copied", [0, 4096, 2**24])
@pytest.mark.parametrize("peak_of_loading", [2**20, 2**26])
@pytest.mark.parametrize("way", ["in-block", "mapped"])
def test_what_loading_took_does_not_count_as_moved(
    monkeypatch: pytest.MonkeyPatch, way: str, peak_of_loading: int, copied: int
) -> None:
    account = Account(used=2**20, peak=peak_of_loading)
    monkeypatch.setattr(measure, "_fill", lambda accelerator, size: accelerator.take(size))

    def one() -> int:
        account.take(copied + BATCH_BYTES * (2 if way == "mapped" else 1))
        account.used -= copied
        return 0

    assert measure._moved_by_statistics(way, one, account) == copied
