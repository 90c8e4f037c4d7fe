"""What is said of comments that silence nothing: how much of the program has to be seen for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.cli.check import main
from placement_lint.config.settings import Settings
from placement_lint.files.source import Cell, Source
from placement_lint.findings import Edit, Span
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, Sight
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.rules.registry import rule_by_code
from tests.counting import counted
from tests.lint.helpers import Crashing, PutFlagged, options

if TYPE_CHECKING:
    from pathlib import Path

LOADER = """\
import jax
import jax.numpy as jnp

HOST = jax.devices("cpu")[0]


def load():
    with jax.default_device(HOST):
        return jnp.zeros((8, 8))
"""
TRAIN = "from data import load\n\ntokens = load()\ntokens[0]  # noqa: JDP201\n"
# Nothing of this file says where the parameter comes from.
STEP = "def step(tokens):\n    return tokens[0]  # noqa: JDP201\n"
MAIN = "from data import load\nfrom step import step\n\nstep(load())\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"data.py": LOADER, "train.py": TRAIN, "step.py": STEP, "main.py": MAIN}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def found(folder: Path, *names: str, folders: bool = False) -> list[tuple[str, str]]:
    paths = [str(folder / name) for name in names]
    outcome = Linter(lambda _: Settings(), folders=folders).check(paths)
    return [(finding.path.rpartition("/")[2], finding.code) for finding in outcome.findings]


EVERY = ("data.py", "train.py", "step.py", "main.py")


def test_a_run_over_the_folder_sees_what_the_comments_silence(folder: Path) -> None:
    assert found(folder, *EVERY, folders=True) == []
    (folder / "main.py").write_text("from data import load\n\nload()\n")
    assert found(folder, *EVERY, folders=True) == [("step.py", "JDP902")]


def test_a_file_without_what_it_imports_is_not_judged(folder: Path) -> None:
    assert found(folder, "train.py") == []
    assert found(folder, "train.py", "main.py") == []


def test_a_file_without_its_callers_is_not_judged_by_rules_that_follow_them(folder: Path) -> None:
    assert found(folder, "step.py") == []
    assert rule_by_code("JDP201").follows_callers


@pytest.mark.parametrize(
    ("imports", "judged"),
    [
        ("", True),
        ("import os, numpy as np\nimport flax.linen as nn\n", True),
        ("from jax import *\n", False),
        ("from data import *\n", False),
        ("from . import data\n", False),
        ("from .data import load\n", False),
        ("import data\n", False),
        ("import data.more as more\n", False),
        ("import package\n", False),
        ("import below\n", False),
        ("def f():\n    from data import load\n", False),
    ],
)
def test_single_files_are_judged_by_what_they_import(
    folder: Path, imports: str, judged: bool
) -> None:
    (folder / "package").mkdir()
    (folder / "src" / "below").mkdir(parents=True)
    (folder / "one.py").write_text(f"import jax\n{imports}x = 1  # noqa: JDP101\n")
    assert found(folder, "one.py") == [("one.py", "JDP902")] * judged
    assert found(folder, "one.py", folders=True) == [("one.py", "JDP902")]


def test_a_file_whose_imports_are_in_the_run_is_judged(folder: Path) -> None:
    (folder / "one.py").write_text("from data import load\nx = 1  # noqa: JDP101\n")
    assert found(folder, "one.py") == []
    assert found(folder, "one.py", "data.py") == [("one.py", "JDP902")]


def test_the_command_line_tells_folders_from_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "main.py").unlink()
    assert main(["--isolated", str(folder / "step.py")]) == 0
    assert main(["--isolated", str(folder)]) == 1
    out = capsys.readouterr().out
    assert out.count("JDP902") == 1
    assert "step.py:2:23: JDP902" in out


def test_a_comment_about_a_rule_that_was_not_checked_is_not_judged() -> None:
    text = "import jax\nx = 1  # noqa: JDP204\n"
    unused = rule_by_code("JDP902")
    for codes, wanted in (((), []), (("JDP204",), ["JDP902"]), (("JDP101",), [])):
        rules = (unused, *map(rule_by_code, codes))
        result = lint_source(Source("a.py", text), FileOptions(rules, sight=Sight.WHOLE))
        assert [finding.code for finding in result.findings] == wanted


def test_what_silences_a_finding_too_unsure_to_be_shown_is_of_use() -> None:
    text = "from jax import devices\ndevices()  # placement-lint: ignore[JDP301, JDP302]\n"
    rules = tuple(map(rule_by_code, ("JDP301", "JDP302", "JDP902")))
    result = lint_source(Source("a.py", text), FileOptions(rules, sight=Sight.WHOLE))
    assert [finding.code for finding in result.findings] == ["JDP902"]


def test_nothing_is_judged_where_a_rule_failed() -> None:
    rules = (rule_by_code("JDP101"), rule_by_code("JDP902"), Crashing)
    text = "import jax\nx = 1  # noqa: JDP101\ndel x\n"
    result = lint_source(Source("a.py", text), FileOptions(rules, sight=Sight.WHOLE))
    assert [finding.code for finding in result.findings] == ["JDP903"]


def test_without_suppressions_they_are_not_judged() -> None:
    rules = (rule_by_code("JDP101"), rule_by_code("JDP902"), rule_by_code("JDP904"))
    text = "import jax\nx = 1  # noqa: JDP101, JDP999\n"
    kept = FileOptions(rules, sight=Sight.WHOLE)
    assert len(lint_source(Source("a.py", text), kept).findings) == 2
    left = FileOptions(rules, sight=Sight.WHOLE, respect_suppressions=False)
    assert lint_source(Source("a.py", text), left).findings == ()


def test_in_a_cell_of_a_notebook() -> None:
    text = "import jax\nx = 1\nx = 1  # noqa: JDP101\n"
    cells = (Cell(1, 1, 1), Cell(3, 2, 3))
    rules = (rule_by_code("JDP101"), rule_by_code("JDP902"))
    result = lint_source(Source("a.ipynb", text, cells=cells), FileOptions(rules))
    (finding,) = result.findings
    assert (finding.cell, finding.span.line, finding.span.column) == (3, 2, 8)
    assert finding.fix is not None
    assert finding.fix.edits == (Edit("a.ipynb", Span(2, 6, 2, 22), "", cell=3),)


def test_they_are_mended_with_the_others(folder: Path) -> None:
    path = folder / "one.py"
    path.write_text("import jax\r\nx = 1  # noqa: JDP101\r\n# placement-lint: ignore[JDP102]\r\n")
    Linter(lambda _: Settings(), fix=FixMode.APPLY).check([str(path)])
    assert path.read_bytes() == b"import jax\r\nx = 1\r\n"


def test_rules_that_are_not_ours_do_not_disturb() -> None:
    result = lint_source(Source("a.py", "x = 1  # noqa: JDP801\n"), options(PutFlagged))
    assert result.findings == ()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("behind", ["", "y = 2\n"])
def test_a_comment_behind_a_backslash_leaves_its_line(
    tmp_path: Path, behind: str, end: str
) -> None:
    """Else the line before it would go on with the end of the file, which does not compile."""
    text = f"x = 1\n\\\n# placement-lint: ignore-file[JDP101]\n{behind}".replace("\n", end)
    path = tmp_path / "case.py"
    path.write_bytes(text.encode())
    Linter(lambda _: Settings(), fix=FixMode.APPLY).check([str(path)])
    fixed = path.read_bytes().decode()
    assert "ignore-file" not in fixed
    compile(fixed.replace("\r\n", "\n"), "case.py", "exec")


@pytest.mark.parametrize("comment", ["# noqa: {}", "# placement-lint: ignore[{}]"])
def test_comments_that_name_many_rules_take_their_share(comment: str) -> None:
    """Also where all of them are named more than once, and a rule has many findings there."""
    rules = tuple(map(rule_by_code, ("JDP204", "JDP902", "JDP904")))

    def calls(count: int) -> int:
        names = ", ".join(["JDP204", "JDP301"] * count)
        puts = "jax.device_put(x, d); " * (count // 10)
        text = f"import jax\ndef f(x, d):\n    {puts}x  {comment.format(names)}\n"
        sight = FileOptions(rules, sight=Sight.WHOLE)
        with counted() as made:
            result = lint_source(Source("a.py", text), sight)
        assert [finding.code for finding in result.findings] == ["JDP902"]
        return made.made

    calls(10)
    assert calls(400) < 4.8 * calls(100)
