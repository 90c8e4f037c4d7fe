"""Write the page, the picture and the README's lines from the numbers that are kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.comparison import again, applications, keystrokes, picture, report
from benchmarks.comparison.results import read

if TYPE_CHECKING:
    from pathlib import Path


def publish(kept: Path, repository: Path) -> int:
    """Write everything that follows from the numbers; give 1 where a bar is not met.

    The README shows the numbers of this repository only.
    """
    results = read(kept)
    if results is None:
        print(f"{kept}: there are no numbers yet", file=sys.stderr)
        return 2
    repositories = applications.read(kept.with_name("applications.json"))
    page = report.page(results) + applications.part(repositories)
    page += again.part(again.read(kept.with_name("again.json")))
    page += keystrokes.part(keystrokes.read(kept.with_name("editor.json")))
    kept.with_name("RESULTS.md").write_text(page, encoding="utf-8")
    drawn = picture.draw(results, kept.with_suffix(".svg"))
    if not drawn:
        print("no picture was drawn: matplotlib is not installed", file=sys.stderr)
    if kept.parent == repository / "benchmarks":
        readme = repository / "README.md"
        shown = applications.summary(repositories)
        text = report.with_summary(readme.read_text(encoding="utf-8"), results, shown)
        readme.write_text(text, encoding="utf-8")
    missed = [bar for bar in report.bars(results) if not bar.met]
    for bar in missed:
        print("not met: " + ", ".join(bar.cells[:3]), file=sys.stderr)
    return int(bool(missed))
