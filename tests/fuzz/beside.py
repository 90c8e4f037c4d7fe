"""What must hold for a run of the command over any files with good ones between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hostile.command import GOOD_FILES, MENDED, plant, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.fuzz.oracle import Input

_ALL = ("--select", "ALL")
_FIX = (*_ALL, "--fix", "--unsafe-fixes")


def problems_of_a_run(files: Sequence[Input], folder: Path) -> Iterator[str]:
    """Lint files twice and fix them twice, and give what is wrong with what comes of it."""
    top = folder / "run"
    plant(top)
    for number, given in enumerate(files):
        (top / f"f{number}_{given.name}").write_bytes(given.data)
    code, report, _ = run(top, *_ALL)
    if code != 1:
        yield f"exit code {code}, though something is found"
    yield from _faults(report["findings"])
    found = {(finding["path"], finding["line"], finding["code"]) for finding in report["findings"]}
    for name in GOOD_FILES:
        if (name, 5, "JDP204") not in found:
            yield f"nothing is found in {name}"
    _, again, _ = run(top, *_ALL)
    if again["findings"] != report["findings"]:
        yield "something else is found the second time"
    code, fixed, _ = run(top, *_FIX)
    if code != bool(fixed["findings"]):
        yield f"exit code {code}, with {len(fixed['findings'])} findings left"
    yield from _faults(fixed["findings"])
    for name in GOOD_FILES:
        if (top / name).read_text(encoding="utf-8") != MENDED:
            yield f"{name} is not mended"
    before = _bytes(top)
    _, last, _ = run(top, *_FIX)
    if _bytes(top) != before:
        yield "fixing a second time changes more"
    elif last["findings"] != fixed["findings"]:
        yield "after fixing, something else is found"


def _faults(findings: list[dict[str, object]]) -> Iterator[str]:
    for finding in findings:
        if finding["code"] == "JDP903":
            yield f"{finding['path']}: {finding['message']}"


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
