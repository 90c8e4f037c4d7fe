"""The prefilter: which files can hold a finding, by their bytes alone, without parsing."""

from __future__ import annotations

import os

NEEDED_FILE = os.path.join(os.path.dirname(__file__), "needed.txt")
"""For each rule that is on by default a line: its code, its module and what it needs of a file.
`python -m placement_lint.rules.needed` writes it."""
