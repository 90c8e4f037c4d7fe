from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # `python -m` looks for modules in the current folder first. What is linted is never imported:
    # not in place of the standard library either.
    if sys.path and sys.path[0] in {"", os.getcwd()}:
        del sys.path[0]

    from placement_lint.cli import main

    sys.exit(main())
