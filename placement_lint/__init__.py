"""placement-lint: find, explain, fix and reproduce device-placement mistakes in JAX code.

The command line is `placement-lint`. From Python, `lint_source` checks a text and `lint_paths`
files and folders; both give `Finding`s. `Rule` is what every rule is a subclass of. Nothing is
imported before it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes as long to import as Python itself to start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Finding
    from placement_lint.rules.base import Rule
    from placement_lint.version import __version__

__all__ = ["Finding", "Rule", "__version__", "lint_paths", "lint_source"]

_HOMES = {
    "Finding": "placement_lint.findings",
    "Rule": "placement_lint.rules.base",
    "__version__": "placement_lint.version",
}


def lint_source(text: str, path: str = "source.py") -> tuple[Finding, ...]:
    """Check a Python source with the default rules. `path` is what the findings say."""
    from placement_lint.config.settings import Settings
    from placement_lint.files.opening import masked
    from placement_lint.files.source import Source
    from placement_lint.lint import check_file
    from placement_lint.lint.file_results import FileOptions
    from placement_lint.rules.selection import select_rules

    options = FileOptions(select_rules(Settings(), path))
    return check_file.lint_source(masked(Source(path, text)), options).findings


def lint_paths(paths: Iterable[str]) -> tuple[Finding, ...]:
    """Check files and folders, each file by the settings file that is nearest to it.

    Raises FileNotFoundError for a path that is not there, and SettingsError or
    UnknownSelectorError for settings that are wrong.
    """
    from placement_lint.config.load import SettingsLoader
    from placement_lint.files.discovery import find_files
    from placement_lint.lint.linter import Linter

    loader = SettingsLoader()
    found = find_files([*paths], loader.for_folder)
    for failed in found.failed:
        message = f"{failed.path}: {failed.reason}"
        raise FileNotFoundError(message)
    return Linter(loader.for_file, folders=found.walked > 0).check(found.files).findings


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
