"""`python -m tests.docs`: write what the commands of the pages show into the pages."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.pages import DOCS, PAGES, blocks
from tests.docs.terminal import Terminal, comparable, shown


def main(names: list[str]) -> None:
    for page in [DOCS / name for name in names] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            found = shown(page, Terminal(Path(folder)), ("jax",))
        text = page.read_text(encoding="utf-8")
        for block in reversed(blocks(page)):
            new = found.get(block.line, block.text)
            if comparable(block, new) != comparable(block, block.text):
                start, end = block.span
                text = text[:start] + new + text[end:]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
