"""`placement-lint clean`: delete the cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from placement_lint.cli import environment, streams
from placement_lint.cli.filters import filters_by
from placement_lint.cli.parser import USAGE_ERROR, Parser
from placement_lint.config.load import SettingsLoader
from placement_lint.config.values import SettingsError
from placement_lint.files.discovery import find_files
from placement_lint.files.folders import OWN
from placement_lint.files.temporary import sweep
from placement_lint.lint.incremental.cache_folder import clean
from placement_lint.report.escape import escape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = Parser(
        "placement-lint clean",
        description=f"Delete {OWN} of the project that the current directory belongs to, and "
        "the temporary files of runs that were killed there.",
    )
    parser.add_argument("--cache-dir", metavar="DIR", help="cache directory")
    args: argparse.Namespace = parser.parse_args(arguments)
    here = os.getcwd()
    try:
        loader = SettingsLoader()
        project = loader.for_folder(".").project
        root = here if project is None else str(project)
        folder = (
            args.cache_dir
            or environment.cache_folder(os.environ)
            or os.path.join("" if project is None else root, OWN)
        )
        is_clean = not clean(folder)
        if not is_clean:
            streams.complain(f"Deleted {escape(folder)}.")
        # Where `--fix` may have written.
        files = find_files([root], filters_by(loader)).files
        count = sweep({root, *(os.path.dirname(path) or "." for path in files)})
        if count:
            what = "a temporary file" if count == 1 else f"{count} temporary files"
            streams.complain(f"Deleted {what} of runs that were killed.")
        elif is_clean:
            streams.complain("Nothing to delete.")
    except (SettingsError, OSError) as error:
        streams.fail(str(error))
        return USAGE_ERROR
    return 0
