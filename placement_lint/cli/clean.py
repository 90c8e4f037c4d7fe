"""`placement-lint clean`: delete what was remembered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser
from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.lint.cache import FOLDER, clean
from placement_lint.report.escape import escape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = Parser(
        "placement-lint clean",
        description=f"Delete {FOLDER} of the project that the current folder belongs to.",
    )
    parser.add_argument(
        "--cache-dir", metavar="DIR", help="another folder in which it was remembered"
    )
    args: argparse.Namespace = parser.parse_args(arguments)
    try:
        folder = args.cache_dir or os.path.join(_root(), FOLDER)
        streams.complain(f"Deleted {escape(folder)}." if clean(folder) else "Nothing to delete.")
    except (SettingsError, OSError) as error:
        streams.complain(f"error: {escape(str(error))}")
        return USAGE_ERROR
    return 0


def _root() -> str:
    root = SettingsLoader().for_folder(".").root
    return "" if root is None else str(root)
