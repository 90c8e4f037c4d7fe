"""Which files are tests, and which are modules, by their names and folders."""

from __future__ import annotations

import os

CONFTEST = "conftest.py"
"""The file of a folder in which pytest looks for fixtures."""
_FOLDERS = frozenset({"test", "testing", "tests"})
# Code in folders of these names is run, and not imported.
_PROGRAMS = frozenset({
    "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "example", "examples", "experiments",
    "notebooks", "scripts", "tutorial", "tutorials",
})  # fmt: skip
_PROGRAM_FILES = frozenset({"__main__.py", "conf.py", CONFTEST, "noxfile.py", "setup.py"})


def is_test_path(path: str) -> bool:
    """Return whether a file is a test, or shared by tests, as pytest finds them."""
    *folders, name = path.replace("\\", "/").split("/")
    return (
        name.startswith("test_")
        or name.endswith("_test.py")
        or name == CONFTEST
        or not _FOLDERS.isdisjoint(folders)
    )


def is_test_file(path: str) -> bool:
    """Return whether pytest looks for tests in a file, by its name."""
    name = os.path.basename(path)
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def is_no_test_path(path: str) -> bool:
    return not is_test_path(path)


def is_module_path(path: str) -> bool:
    """Return whether a file with this path may be imported: it is no program, test or notebook."""
    *folders, name = path.replace("\\", "/").split("/")
    if name in _PROGRAM_FILES or not name.endswith(".py") or is_test_path(path):
        return False
    return _PROGRAMS.isdisjoint(folders)


def is_init(path: str) -> bool:
    """Return whether a file is the module of a package: `__init__.py`."""
    return os.path.basename(path).startswith("__init__.")
