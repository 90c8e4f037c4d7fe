"""The pages of `docs/`, and the blocks of code in them.

Above a block may stand comments that say what the tests are to do with it:

* `<!-- flagged: JDP201 -->`: linting finds this, and nothing else
* `<!-- silent -->`: linting finds nothing
* `<!-- not run: reason -->`: a command that is not run, and why
* `<!-- numbers vary -->`: what the command prints is compared but for its numbers
* `<!-- needs: jax -->`: the command is run where that is installed

A block with a `title="train.py"` is a file of its page: commands find it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OTHERS = {"ci.md", "editors.md"}
"""Pages whose blocks have tests of their own, beside those of what they are about."""

_BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- [^\n]+ -->\n)*)"
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^<!-- ([^:\n]+?)(?:: ([^\n]+))? -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block of code of a page; `span` is where its text stands."""

    page: Path
    line: int
    language: str
    title: str | None
    marks: dict[str, str]
    text: str
    span: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(DOCS if DOCS in self.page.parents else TOP)}:{self.line}"


def blocks(page: Path, text: str | None = None) -> list[Block]:
    text = page.read_text(encoding="utf-8") if text is None else text
    return [
        Block(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            found["title"],
            {mark: reason or "" for mark, reason in _MARK.findall(found["marks"])},
            found["text"],
            found.span("text"),
        )
        for found in _BLOCK.finditer(text)
    ]


def all_blocks() -> list[Block]:
    """Return the blocks of all pages, but for those that are tested elsewhere."""
    return [block for page in PAGES if page.name not in OTHERS for block in blocks(page)]
