"""Draw the README's picture of the data path from a record of it: `python -m tests.still`.

The record is what `placement-lint verify datapath --sizes auto --output-format json` printed.
"""

from __future__ import annotations

import json
from pathlib import Path

from placement_lint.verify.datapath_run import DataPathResult
from placement_lint.verify.figure import png

RECORDS = Path(__file__).parent.parent / "fixtures" / "records"


def newest() -> Path:
    """Give the newest record of the data path."""
    return max(RECORDS.glob("*-data-path.json"))


def results(record: Path) -> list[DataPathResult]:
    """Read what was measured at each size."""
    value = json.loads(record.read_text(encoding="utf-8"))
    return [
        DataPathResult(
            size=size["bytes"],
            rows=size["rows"],
            stage=size["stage"],
            ways=tuple(size["ways"]),
            ratio=size["ratio"],
            bar=size["ratio_must_exceed"],
            problems=tuple(size["problems"]),
        )
        for size in value["datapath"]["sizes"]
    ]


def main() -> None:
    """Write the picture beside its record."""
    record = newest()
    picture = record.with_suffix(".png")
    picture.write_bytes(png(results(record)))
    print(picture)


if __name__ == "__main__":
    main()
