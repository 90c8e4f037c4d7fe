"""Whatever lies beside them, good files are linted and fixed: nothing crashes, hangs or is lost.

`pytest -m every tests/hostile` makes a run for each input; the default suite puts many in one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hostile.command import GOOD_FILES, MENDED, plant, run
from tests.hostile.inputs import NAMES, make

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(1800)
"""Processor time is what is measured: see `command.run`."""

SLOW = ("line of 10 MB", "100,000 cells", "100 MB of output", "string of 10 MB", "100,000 comments")
"""Left to a run of their own."""
BULK = "".join(f"def g{number}(a):\n    return a + {number}\n\n\n" for number in range(15_000))
"""So much that two processes are worth it."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    top = tmp_path / "run"
    plant(top)
    yield top
    for place, folders, _ in os.walk(top):
        for name in folders:
            # Otherwise pytest cannot take away what is not readable.
            if not Path(place, name).is_symlink():
                Path(place, name).chmod(0o700)


def check_lint(folder: Path, jobs: int) -> None:
    code, report, said = run(folder, jobs=jobs)
    found = {(f["path"], f["line"], f["code"]) for f in report["findings"]}
    assert {(name, 5, "JDP204") for name in GOOD_FILES} <= found, said
    assert "JDP903" not in {f["code"] for f in report["findings"]}, "an error of our own"
    assert code == 1


def check_fix(folder: Path, jobs: int) -> None:
    before = texts(folder)
    code, report, said = run(folder, "--fix", jobs=jobs)
    after = texts(folder)
    for name in GOOD_FILES:
        assert after.pop(name) == MENDED.encode(), said
        del before[name]
    assert code in {0, 1}
    assert not {"JDP204"} & {f["code"] for f in report["findings"] if f["path"] in GOOD_FILES}
    assert after == before, "only what there was to mend is written"


def texts(folder: Path) -> dict[str, bytes]:
    return {
        str(Path(place, name).relative_to(folder)): Path(place, name).read_bytes()
        for place, _, names in os.walk(folder)
        for name in names
        if Path(place, name).is_file() and os.access(Path(place, name), os.R_OK)
    }


@pytest.mark.every
@pytest.mark.parametrize("name", NAMES)
def test_each(folder: Path, name: str) -> None:
    make(name, folder)
    check_lint(folder, 1)
    check_fix(folder, 1)


@pytest.mark.every
@pytest.mark.parametrize("name", NAMES)
def test_each_in_two_processes(folder: Path, name: str) -> None:
    make(name, folder)
    (folder / "bulk.py").write_text("import jax\njax.jit\n" + BULK, encoding="utf-8")
    check_lint(folder, 2)
    check_fix(folder, 2)


@pytest.mark.parametrize(
    "kind", [pytest.param("code", marks=pytest.mark.every), "bytes", "notebook", "place"]
)
def test_many_in_one_run(folder: Path, kind: str) -> None:
    """One run with a part of the code, and all that is small otherwise."""
    names = [name for name in NAMES if name.startswith(kind) and not name.endswith(SLOW)]
    for number, name in enumerate(names[::64] if kind == "code" else names):
        (folder / f"h{number}").mkdir()
        make(name, folder / f"h{number}")
    check_lint(folder, 2)
    check_fix(folder, 1)


COMMENTS = """\
import os
import jax
# It is started on import (for one thing to look
# at what there is). This is long,
# and a comment of some lines,
# with no more brackets in it,
# follows, as comments do,
# until there is code again,
# which has brackets.
def f():
    os.environ.setdefault("A", "0")
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dots.py", f"import jax\n{'.' * 10_000}"),
        ("comments.py", COMMENTS),
        (".gitignore", "*a*a*a*a*a*a*a*a*b\n"),
        ("placement-lint.toml", 'extend-exclude = ["*a*a*a*a*a*a*a*a*b"]\n'),
        ("placement-lint.toml", f'extend-exclude = ["{{{"," * 200_000}"]\n'),
        ("setup.cfg", f"[options]\ninstall_requires =\n  jax\n[a]\nx{' ' * 100_000}sy\n"),
        ("requirements.txt", "jax>=0.4.30,<0.5\n" * 200_000),
    ],
    ids=["dots", "comments", "gitignore", "exclude", "braces", "setup.cfg", "requirements"],
)
@pytest.mark.timeout(120)
def test_what_was_read_for_ever_is_read(folder: Path, name: str, text: str) -> None:
    (folder / ("a" * 60 + ".py")).write_text("import jax\n", encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    check_lint(folder, 1)
