from __future__ import annotations

import os

from placement_lint.files.folders import one_in_each


def test_each_folder_has_one_of_its_files() -> None:
    paths = ["a.py", "b.py", "x/a.py", "x/y/a.py", "x/y/b.py", "/a.py", "//a.py", "x//b.py"]
    found = one_in_each(paths)
    assert found.keys() == {*map(os.path.dirname, paths)}
    assert all(path in paths for path in found.values())
    assert [*found] == [*map(os.path.dirname, found.values())]
    assert one_in_each([]) == {}
