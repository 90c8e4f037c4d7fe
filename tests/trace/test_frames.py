"""Which files are the user's, and which line of them is running."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import placement_lint
from placement_lint.trace.frames import Frames, Site
from placement_lint.trace.ledger import TraceLedger
from placement_lint.trace.reached import Reached
from placement_lint.trace.record import read


def test_whose_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frames = Frames()
    here = str(tmp_path / "a.py")
    assert frames.user_file(here) == here
    assert frames.user_file("a.py") == here
    library = str(tmp_path / ".venv" / "lib" / "site-packages" / "b" / "c.py")
    for name in (json.__file__, os.__file__, library, placement_lint.__file__, pytest.__file__,
                 "<string>", "<frozen runpy>"):  # fmt: skip
        assert frames.user_file(name) is None, name
    frames.take_in(str(Path(library).parent))
    assert frames.user_file(library) == library
    frames.leave_out(str(tmp_path / "vendored"))
    assert frames.user_file(str(tmp_path / "vendored" / "d.py")) is None
    assert frames.user_file(here) == here


def called_at(frames: Frames, path: Path, text: str) -> dict[str, Any]:
    """Run a text as a file; it may call `lib` and `here`."""
    library: dict[str, Any] = {}
    exec(compile("def lib(f):\n    return f()\n", json.__file__, "exec"), library)  # noqa: S102
    names = {"here": frames.here, "lib": library["lib"]}
    exec(compile(text, str(path), "exec"), names)  # noqa: S102
    return names


def test_the_innermost_line_of_the_user(tmp_path: Path) -> None:
    text = "class A:\n    def f(self):\n        return (1 +\n          len([lib(here)]))\n"
    text += "found = []\nlib(lambda: found.append(here()))\nsite = lib(here)\n"
    names = called_at(Frames(), tmp_path / "a.py", text)
    columns = (7, 16) if sys.version_info >= (3, 11) else (None, None)
    assert names["site"] == Site(str(tmp_path / "a.py"), 7, 7, columns[0], columns[1], "<module>")
    (inner,) = names["found"]
    assert (inner.line, inner.function) == (6, "<lambda>")


def test_equal_code_in_two_files_is_not_the_same_place(tmp_path: Path) -> None:
    frames = Frames()
    text = "def f():\n    return here()\nsite = f()\n"
    sites = [called_at(frames, tmp_path / name, text)["site"] for name in ("a.py", "b.py")]
    assert [Path(site.path).name for site in sites] == ["a.py", "b.py"]


def test_a_thread_without_the_user(tmp_path: Path) -> None:
    frames = Frames()
    frames.leave_out(str(Path(__file__).parent))
    frames.leave_out(str(Path(pytest.__file__).parents[1]))
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(frames.here()))
    thread.start()
    thread.join()
    assert found == [None]


PROGRAM = """\
import json

def used(n):
    total = 0
    for i in range(n):
        total += i
        if total < 0:
            total = 0
    return total

def unused():
    return 1

used({count})
json.loads("[1]")
late = 2
"""


@pytest.mark.parametrize("count", [3, 60_000])
def test_the_lines_that_ran(tmp_path: Path, count: int) -> None:
    """Run in a process of its own: a trace function, or a tool of sys.monitoring, is for all."""
    import subprocess

    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(count=count))
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from placement_lint.trace import reached\n"
        "from placement_lint.trace.frames import Frames\n"
        "from placement_lint.trace.ledger import TraceLedger\n"
        "reached._PATIENCE_AT_FIRST = reached._PATIENCE\n"
        "folder, path = map(Path, sys.argv[1:])\n"
        "reached.Reached(Frames(), TraceLedger(folder)).start()\n"
        "exec(compile(path.read_text(), str(path), 'exec'), {})\n"
    )
    folder = tmp_path / "ledger"
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-c", code, str(folder), str(program)], check=True,
        env={**os.environ, "PYTHONPATH": str(Path(placement_lint.__file__).parents[1])},
    )  # fmt: skip
    record = read(folder)
    ran = record.lines[str(program)] - {3}
    assert {1, 4, 5, 6, 7, 14} <= ran
    assert not {8, 12} & ran
    if sys.version_info >= (3, 12) or count == 3:
        assert record.all_lines
        assert ran >= {9, 15, 16}
    else:
        # A trace function is costly: it was taken off the loop, and nobody claims to know.
        assert not record.all_lines


def test_a_new_place_is_noted(tmp_path: Path) -> None:
    reached = Reached(Frames(), TraceLedger(tmp_path))
    for _ in range(2):
        reached.note_use(Site("/a.py", 3, 3, 0, 1, "f"))
    assert dict(read(tmp_path).lines) == {"/a.py": {3}}
