"""Which files are tests, by their names and folders."""

from __future__ import annotations

_FOLDERS = frozenset({"test", "testing", "tests"})


def is_test_path(path: str) -> bool:
    """Return whether a file is a test, or shared by tests, as pytest finds them."""
    *folders, name = path.replace("\\", "/").split("/")
    return (
        name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
        or not _FOLDERS.isdisjoint(folders)
    )
