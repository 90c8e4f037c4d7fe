"""The text of `--help`, kept in `help.txt`, so that nobody waits until it has been worked out.

`python -m placement_lint.cli.help` writes it again.
"""

from __future__ import annotations

import os

FILE = os.path.join(os.path.dirname(__file__), "help.txt")


def kept() -> str | None:
    """Return the text that is kept; None where it is not there."""
    try:
        with open(FILE, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


if __name__ == "__main__":
    from placement_lint.cli.check_options import help_text
    from placement_lint.cli.streams import write_file

    write_file(FILE, help_text())
