from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # `python -m` looks for modules in the current folder first. What is linted is never imported:
    # not in place of the standard library either.
    try:
        here = os.getcwd()
    except OSError:  # deleted meanwhile
        here = ""
    if sys.path and sys.path[0] in {"", here}:
        del sys.path[0]

    from placement_lint.cli import main

    sys.exit(main())
