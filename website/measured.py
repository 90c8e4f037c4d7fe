"""What was measured, from the records: the data path, and the comparison with other tools."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
RECORDS = TOP / "fixtures" / "records"
RESULTS = TOP / "benchmarks" / "RESULTS.md"

_WAYS = {
    "in-block": "in a block: on the host, uncommitted",
    "as-is": "as it is: on the accelerator",
    "committed": "on the host, committed",
    "mapped": "memory-mapped, prefetched",
}
"""The ways that the picture shows, in its order. `assigned` is the same as `as-is`."""


def data_path() -> Path:
    """Give the newest record of the data path."""
    return max(RECORDS.glob("*-data-path.json"))


def data_path_table() -> str:
    """Give the time of an item, by the size of the dataset and by the way of loading it."""
    record = json.loads(data_path().read_text(encoding="utf-8"))
    sizes: list[dict[str, Any]] = record["datapath"]["sizes"]
    heads = " | ".join(_bytes(size["bytes"]) for size in sizes)
    rows = [f"| the dataset | {heads} |", "|---|" + "---|" * len(sizes)]
    for way, said in _WAYS.items():
        cells = [one["item_seconds"] for size in sizes for one in size["ways"] if one["way"] == way]
        rows.append(f"| {said} | " + " | ".join(map(_seconds, cells)) + " |")
    environment = record["environment"]
    stage = record["devices"]["stage"].removeprefix("virtual: ")
    kind = record["devices"]["kind"]
    devices = f"virtual devices ({stage})" if kind == "virtual" else environment["device_kind"]
    where = (
        f"Measured on JAX {environment['jax']} and Python {environment['python']}, on {devices}; "
        "the median time to get one batch."
    )
    return "\n".join([*rows, "", where])


def _bytes(number: int) -> str:
    """Write a power of two as people do."""
    mega = number // 2**20
    return f"{mega} MB" if mega < 1024 else f"{mega // 1024} GB"


def _seconds(number: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number * 1e6:.3g} µs"


_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#\s]+)\)")


def comparison() -> tuple[str, list[Path]] | None:
    """Give the page of the comparison, and the pictures in it; None before it was measured.

    Links to files of the repository, which the site does not hold, become plain text.
    """
    if not RESULTS.is_file():
        return None
    text = RESULTS.read_text(encoding="utf-8")
    pictures = [
        RESULTS.parent / found[3]
        for found in _LINK.finditer(text)
        if found[1] and (RESULTS.parent / found[3]).is_file()
    ]
    return _LINK.sub(lambda found: found[0] if found[1] else found[2], text), pictures
