"""Many files: what is parsed, what is said, and that one bad file spoils nothing for the others."""

from __future__ import annotations

import functools
import json
import os
import random
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

import placement_lint
from placement_lint.config.settings import Settings
from placement_lint.findings import Confidence
from placement_lint.lint import check_file, schedule, select_files
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileResult, Sight
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.lint.run import check_files
from placement_lint.lint.tasks import Request
from placement_lint.prefilter.conditions import FileText
from placement_lint.rules.registry import rule_by_code
from placement_lint.rules.selection import UnknownSelectorError
from tests.lint.helpers import (
    Crashing,
    DevicesFlagged,
    PutFlagged,
    Renames,
    check,
    options,
    places,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from placement_lint.files.source import Source
    from placement_lint.lint.check_program import Component
    from placement_lint.lint.file_results import FileOptions
    from placement_lint.lint.results import Outcome
    from placement_lint.rules.base import Rule
    from placement_lint.rules.context import Context

PUT = b"import jax\njax.device_put([])\n"
DISCARDED = b"import jax\nx = 1\njax.device_put(x)\n"
DISCARDED_FIXED = b"import jax\nx = 1\nx = jax.device_put(x)\n"
T = TypeVar("T")
SETTINGS = Settings(select=("JDP204",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with one file that has a finding."""
    (tmp_path / "good.py").write_bytes(PUT)
    return tmp_path


def add(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(data)
    return str(path)


def always(answer: T, _: str) -> T:
    return answer


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


# -- what is parsed -----------------------------------------------------------------------------


def test_only_what_can_hold_a_finding_is_parsed(folder: Path) -> None:
    add(folder, "plain.py", b"x = 1\n")
    add(folder, "devices.py", b"import torch\ntorch.devices()\n")
    add(folder, "clean.py", b"import jax\njax.devices\n")
    outcome = check(files(folder), PutFlagged, DevicesFlagged)
    assert places(outcome) == [("good.py", 2, "JDP801")]
    assert (outcome.files, outcome.parsed, outcome.cached) == (4, 2, 0)
    assert outcome.skipped == ()
    assert outcome.seconds > 0


def test_no_files() -> None:
    outcome = check([], PutFlagged)
    assert (outcome.findings, outcome.files, outcome.parsed) == ((), 0, 0)


def test_file_that_is_named_twice_is_one_file(folder: Path) -> None:
    path = folder / "good.py"
    outcome = check([path, path], PutFlagged)
    assert (outcome.files, len(outcome.findings)) == (1, 1)


def test_encoding_that_hides_the_words(tmp_path: Path) -> None:
    text = "# coding: utf-7\n+AGkAbQBwAG8AcgB0- jax\njax.device+AF8-put(1)\n"
    assert "device_put" in text.encode().decode("utf-7")
    outcome = check([add(tmp_path, "a.py", text.encode())], PutFlagged)
    assert places(outcome) == [("a.py", 3, "JDP801")]


def test_notebook(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# jax"},
        {"cell_type": "code", "metadata": {}, "source": "%pip install jax\nimport jax\n"},
        {"cell_type": "code", "metadata": {}, "source": ["x = 1\n", "jax.device_put(x)"]},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    # In the bytes of the file the word is not to be seen.
    data = json.dumps(notebook).replace("device_put", "device\\u005fput").encode()
    outcome = check([add(tmp_path, "a.ipynb", data)], PutFlagged)
    (finding,) = outcome.findings
    assert (finding.cell, finding.span.line, finding.span.column) == (3, 2, 1)


def test_notebook_in_another_language_is_skipped(tmp_path: Path) -> None:
    notebook = {"cells": [], "metadata": {"language_info": {"name": "R"}}, "nbformat": 4}
    outcome = check([add(tmp_path, "a.ipynb", json.dumps(notebook).encode())], PutFlagged)
    assert [skip.reason for skip in outcome.skipped] == ["a notebook in r"]
    assert (outcome.findings, outcome.files) == ((), 1)


# -- what cannot be read, parsed or survived ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "code", "words"),
    [
        ("latin.py", b"x = '\xe9'\n", "JDP900", "cannot be read: not valid utf-8 at byte 5"),
        ("jax.py", b"import jax\nx = '\xe9'\n", "JDP900", "(line 2)"),
        ("cookie.py", b"# coding: nonsense\n", "JDP900", "unknown encoding"),
        ("cookie2.py", b"#\n# coding: latin-1\n\xe9", None, ""),
        ("nothing.ipynb", b"{}", "JDP900", "not a notebook"),
        ("broken.py", b"jax.device_put(\n", "JDP901", "invalid syntax"),
        ("nul.py", b"import jax\njax.device_put\0\n", "JDP901", "invalid syntax"),
        ("nested.py", b"x = " + b"(" * 3_000 + b")" * 3_000, "JDP901", "nested brackets"),
        ("nested2.py", b"import jax\n" + b"(" * 3_000 + b")" * 3_000, "JDP901", "nested"),
        ("sum.py", b"x = " + b"+".join([b"a"] * 50_000), "JDP901", "chained"),
        ("sum2.py", b"device_put\n" + b"+".join([b"a"] * 50_000), "JDP901", "chained"),
        ("plain.py", b"x = (\n", None, ""),
    ],
)
def test_bad_file_is_named_and_the_good_one_checked(
    folder: Path, name: str, data: bytes, code: str | None, words: str
) -> None:
    add(folder, name, data)
    outcome = check(files(folder), PutFlagged)
    bad = [finding for finding in outcome.findings if finding.path.endswith(name)]
    good = [finding for finding in outcome.findings if finding.path.endswith("good.py")]
    assert [finding.code for finding in bad] == ([code] if code else [])
    assert all(words in finding.message for finding in bad)
    assert [finding.code for finding in good] == ["JDP801"]


def test_missing_file(folder: Path) -> None:
    outcome = check([folder / "good.py", folder / "gone.py"], PutFlagged)
    assert places(outcome) == [("gone.py", 1, "JDP900"), ("good.py", 2, "JDP801")]
    assert outcome.findings[0].message == "cannot be read: No such file or directory"


def test_rule_that_fails(folder: Path) -> None:
    add(folder, "a.py", b"import jax\ndel x\njax.device_put([])\n")
    outcome = check(files(folder), PutFlagged, Crashing)
    assert places(outcome) == [
        ("a.py", 1, "JDP903"),
        ("a.py", 3, "JDP801"),
        ("good.py", 2, "JDP801"),
    ]
    assert "JDP803" in outcome.findings[0].message
    assert "secret" not in outcome.findings[0].message


def test_only_rules_whose_needs_are_met_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "put.py", PUT)
    add(tmp_path, "both.py", PUT + b"jax.devices()\ndel x\n")
    seen: list[tuple[str, ...]] = []
    real = check_file.dispatch_table

    def look(rules: tuple[type[Rule], ...]) -> check_file.Table:
        seen.append(tuple(rule.code for rule in rules))
        return real(rules)

    monkeypatch.setattr(check_file, "dispatch_table", look)
    outcome = check(files(tmp_path), PutFlagged, DevicesFlagged, Crashing)
    assert sorted(seen) == [("JDP801",), ("JDP801", "JDP812", "JDP803")]
    assert places(outcome) == [
        ("both.py", 1, "JDP903"),
        ("both.py", 2, "JDP801"),
        ("both.py", 3, "JDP812"),
        ("put.py", 2, "JDP801"),
    ]


def test_the_code_of_a_file_is_found_once_for_the_filter_and_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "put.py", b"import jax\n\njax.device_put(x)\n")
    add(tmp_path, "other.py", b"import json\n")
    found: list[str] = []
    real = FileText._code.func  # type: ignore[attr-defined]

    def code(text: FileText) -> str:
        found.append(Path(text.path or "").name)
        return str(real(text))

    counted = functools.cached_property(code)
    counted.__set_name__(FileText, "_code")
    monkeypatch.setattr(FileText, "_code", counted)
    outcome = check(files(tmp_path), rule_by_code("JDP204"))
    assert places(outcome) == [("put.py", 3, "JDP204")]
    assert found == ["put.py"]


def test_a_rule_looks_where_another_file_of_the_run_has_what_it_needs(tmp_path: Path) -> None:
    add(tmp_path, "names.py", b"from jax import device_put as put\n")
    add(tmp_path, "use.py", b"import jax\nfrom names import put\njax.devices()\nput(1)\n")
    outcome = check(files(tmp_path), PutFlagged, DevicesFlagged)
    assert places(outcome) == [("use.py", 3, "JDP812"), ("use.py", 4, "JDP801")]


def test_all_rules_count_where_suppressions_are_judged(tmp_path: Path) -> None:
    text = b"import jax\njax.device_put(x)  # noqa: JDP204\ny = 1  # noqa: JDP205\n"
    add(tmp_path, "a.py", text)
    settings = Settings(select=("JDP204", "JDP205", "JDP902"))
    outcome = Linter(lambda _: settings, folders=True).check([str(tmp_path / "a.py")])
    assert places(outcome) == [("a.py", 3, "JDP902")]


@pytest.mark.parametrize("part", ["guard", "passes_filter", "lint_source"])
def test_analysis_that_fails(folder: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add(folder, "long.py", b"x" * 1_000)
    home = schedule if part == "lint_source" else select_files
    real = getattr(home, part)

    def fail(first: Source | FileText, *arguments: object, **options: object) -> object:
        text = first.data if isinstance(first, FileText) else first.text.encode()
        if text.startswith(b"xxx"):
            message = "a mistake of ours"
            raise ArithmeticError(message)
        return real(first, *arguments, **options)

    monkeypatch.setattr(home, part, fail)
    if part == "lint_source":
        add(folder, "long.py", b"xxx = 1\nimport jax\njax.device_put(xxx)")
    outcome = check(files(folder), PutFlagged)
    assert places(outcome) == [("good.py", 2, "JDP801"), ("long.py", 1, "JDP903")]
    assert "ArithmeticError" in outcome.findings[1].message


def test_what_was_not_analysed_is_said_whatever_is_selected(folder: Path) -> None:
    add(folder, "latin.py", b"# noqa\n# placement-lint: ignore-file[JDP900]\n\xe9\n")
    add(folder, "broken.py", b"jax.device_put(  # noqa\n")
    for settings in (
        Settings(ignore=("JDP9",), select=("JDP204",)),
        Settings(ignore=("JDP9",), per_file_ignores={"*.py": ("JDP9",)}),
    ):
        outcome = Linter(functools.partial(always, settings)).check([*map(str, files(folder))])
        assert [finding.code for finding in outcome.findings if finding.code[3] == "9"] == [
            "JDP901",
            "JDP900",
        ]


# -- order and processes --------------------------------------------------------------------------


def many(folder: Path) -> list[str]:
    paths = [str(folder / "good.py")]
    for number in range(12):
        text = b"import jax\n" + b"jax.device_put(jax.devices())\n" * number
        paths.append(add(folder, f"sub{number % 3}/m{number}.py", text))
    paths.append(add(folder, "broken.py", b"jax.device_put(\n"))
    paths.append(add(folder, "latin.py", b"\xe9"))
    paths.append(add(folder, "nested.py", b"(" * 2_000))
    paths.append(add(folder, "again.py", b"from sub0.m3 import jax as j\nj.devices()\n"))
    paths.append(add(folder, "fail.py", b"import jax\njax.devices()\ndel x\n"))
    return paths


def test_same_result_for_any_order_and_any_number_of_jobs(folder: Path) -> None:
    paths = many(folder)
    rules = (PutFlagged, DevicesFlagged, Crashing)
    expected = check(paths, *rules)
    assert len(expected.findings) > 100
    assert [f.sort_key for f in expected.findings] == sorted(f.sort_key for f in expected.findings)
    assert ("again.py", 2, "JDP812") in places(expected)
    for jobs in (1, 2, 5):
        random.Random(jobs).shuffle(paths)  # noqa: S311
        outcome = check(paths, *rules, jobs=jobs)
        same = replace(outcome, seconds=expected.seconds, sources=expected.sources)
        assert same == expected


def test_small_runs_stay_in_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def note(
        work: Callable[[object], object],
        tasks: list[object],
        jobs: int,
        done: Callable[[object, object], object],
        **_: object,
    ) -> None:
        asked.append(jobs)
        for task in tasks:
            done(task, work(task))

    monkeypatch.setattr("placement_lint.lint.pool.map_isolated", note)
    # What is not parsed does not count.
    paths = [str(folder / "good.py"), add(folder, "plain.py", b"#" * 200_000)]
    for limit, expected in ((len(PUT), [2]), (len(PUT) + 1, [])):
        asked.clear()
        outcome = check(paths, PutFlagged, jobs=2, parallel_bytes=limit)
        assert places(outcome) == [("good.py", 2, "JDP801")]
        assert asked == expected


class KillsTheProcess(PutFlagged):
    """Ends the process at a call of `die`, as a fault of the parser's would."""

    code, name = "JDP809", "kills-the-process"

    def visit_Name(self, node: cst.Name, _ctx: Context) -> None:  # noqa: N802
        if node.value == "die_now":
            os.abort()


def test_file_that_kills_its_process_is_named_and_the_others_checked(folder: Path) -> None:
    paths = [add(folder, f"m{number}.py", PUT) for number in range(8)]
    paths += [add(folder, "killer.py", b"import jax\njax.device_put(die_now)\n")]
    outcome = check(paths, KillsTheProcess, jobs=2)
    assert places(outcome) == [
        ("killer.py", 1, "JDP903"),
        *((f"m{number}.py", 2, "JDP809") for number in range(8)),
    ]
    assert "died" in outcome.findings[0].message


# -- settings -------------------------------------------------------------------------------------


def test_settings_of_each_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DISCARDED)
    (tmp_path / "b.py").write_bytes(DISCARDED)
    both = [str(tmp_path / name) for name in ("a.py", "b.py")]

    def settings_for(path: str) -> Settings:
        return Settings(ignore=("JDP204",)) if path.endswith("a.py") else SETTINGS

    assert places(Linter(settings_for).check(both)) == [("b.py", 3, "JDP204")]


def test_wrong_selector_is_raised(folder: Path) -> None:
    with pytest.raises(UnknownSelectorError):
        Linter(lambda _: Settings(select=("JDP888",))).check([str(folder / "good.py")])


def test_settings_become_options(folder: Path) -> None:
    seen: list[FileOptions] = []

    def look(
        source: Source, options: FileOptions, exports: object, view: object, **_: object
    ) -> object:
        seen.append(options)
        return FileResult(())

    settings = replace(SETTINGS, accelerator=False, min_confidence="definite", target_jax="0.7.2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "lint_source", look)
        Linter(lambda _: settings).check([str(folder / "good.py")])
    (options,) = seen
    assert [rule.code for rule in options.rules] == ["JDP204"]
    assert options.accelerator is False
    assert options.target_jax == "0.7.2"
    assert options.min_confidence is Confidence.DEFINITE


def test_min_confidence(folder: Path) -> None:
    path = add(folder, "a.py", b"import jax\njax.device_put(jax.devices())\n")
    for confidence, codes in (
        (Confidence.LIKELY, ["JDP801", "JDP812"]),
        (Confidence.DEFINITE, ["JDP801"]),
    ):
        request = Request(options(PutFlagged, DevicesFlagged, min_confidence=confidence))
        outcome = check_files([path], functools.partial(always, request))
        assert [finding.code for finding in outcome.findings] == codes


# -- fixing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_fixes_are_written(tmp_path: Path, jobs: int) -> None:
    first = add(tmp_path, "a.py", b"old = '\xc3\xa9'\r\nold\r\nshown")
    add(tmp_path, "b.py", b"\xef\xbb\xbfold\n")
    add(tmp_path, "c.py", b"x = 1  # old\n")
    Path(first).chmod(0o755)
    outcome = check(files(tmp_path), Renames, fix=FixMode.APPLY, jobs=jobs)
    assert (tmp_path / "a.py").read_bytes() == b"new = '\xc3\xa9'\r\nnew\r\nshown"
    assert (tmp_path / "b.py").read_bytes() == b"\xef\xbb\xbfnew\n"
    assert stat.S_IMODE(Path(first).stat().st_mode) == 0o755
    assert [(Path(fixed.path).name, fixed.counts) for fixed in outcome.fixed] == [
        ("a.py", {"JDP804": 2}),
        ("b.py", {"JDP804": 1}),
    ]
    assert outcome.fixed[0].before == "old = 'é'\r\nold\r\nshown"
    assert outcome.fixed[0].after == "new = 'é'\r\nnew\r\nshown"
    # What is left is said of the text as it is now.
    assert places(outcome) == [("a.py", 3, "JDP804")]
    source = outcome.sources(first)
    assert source is not None
    assert source.text == "new = 'é'\r\nnew\r\nshown"


def test_diff_writes_nothing(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", b"old\nshown\n")
    outcome = check([path], Renames, fix=FixMode.DIFF)
    assert Path(path).read_bytes() == b"old\nshown\n"
    assert [(fixed.before, fixed.after) for fixed in outcome.fixed] == [
        ("old\nshown\n", "new\nshown\n")
    ]
    assert places(outcome) == [("a.py", 2, "JDP804")]
    source = outcome.sources(path)
    assert source is not None
    assert source.text == "new\nshown\n"


def test_unsafe_fixes_only_where_asked(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", b"risky\n")
    assert check([path], Renames, fix=FixMode.APPLY).fixed == ()
    check([path], Renames, fix=FixMode.APPLY, unsafe=True)
    assert Path(path).read_bytes() == b"bold\n"


def test_file_that_cannot_be_written_is_reported_as_it_is(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", b"old\n")
    Path(path).chmod(0o444)
    add(tmp_path, "b.py", b"old\n")
    outcome = check(files(tmp_path), Renames, fix=FixMode.APPLY)
    assert places(outcome) == [("a.py", 1, "JDP900"), ("a.py", 1, "JDP804")]
    assert outcome.findings[0].message == "cannot be fixed: read-only"
    assert [Path(fixed.path).name for fixed in outcome.fixed] == ["b.py"]
    assert Path(path).read_bytes() == b"old\n"
    source = outcome.sources(path)
    assert source is not None
    assert source.text == "old\n"


def test_file_that_changed_meanwhile_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = add(tmp_path, "a.py", b"old\n")

    def change(*arguments: object, **options: object) -> object:
        Path(path).write_bytes(b"someone else's\n")
        return lint_source(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("placement_lint.lint.fixes.apply.lint_source", change)
    outcome = check([path], Renames, fix=FixMode.APPLY)
    assert Path(path).read_bytes() == b"someone else's\n"
    assert outcome.fixed == ()
    assert "changed since it was read" in outcome.findings[0].message


def test_a_notebook_is_written_and_diffed_as_it_was(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": ["old\n", "x"], "outputs": ["old"]}
    before = json.dumps({"metadata": {}, "cells": [cell, cell], "nbformat": 4}, indent="\t")
    path = Path(add(tmp_path, "a.ipynb", before.replace("\n", "\r\n").encode()))
    after = before.replace('"old\\n"', '"new\\n"')
    for mode in (FixMode.DIFF, FixMode.APPLY):
        outcome = check([str(path)], Renames, fix=mode)
        (fixed,) = outcome.fixed
        assert (fixed.before, fixed.after, fixed.counts) == (
            before.replace("\n", "\r\n"),
            after.replace("\n", "\r\n"),
            {"JDP804": 2},
        )
        assert outcome.findings == ()
        source = outcome.sources(str(path))
        assert source is not None
        assert source.text == "new\nx\nnew\nx\n"
    assert path.read_bytes() == after.replace("\n", "\r\n").encode()


CREATION = b"""\
import jax
import jax.numpy as jnp

with jax.default_device(jax.devices("cpu")[0]):
    TABLE = jnp.zeros((1000, 10))
"""
USE = b"""\
import jax
from data import TABLE

jax.device_put([], jax.devices()[0])
print(TABLE[0])
"""


def fix_program(folder: Path) -> Outcome:
    rules = (rule_by_code("JDP201"), rule_by_code("JDP204"))
    return check(files(folder), *rules, fix=FixMode.APPLY, sight=Sight.WHOLE)


def test_a_mistake_of_two_files_is_mended_where_it_was_made(tmp_path: Path) -> None:
    data = add(tmp_path, "data.py", CREATION)
    add(tmp_path, "train.py", USE)
    outcome = fix_program(tmp_path)
    assert places(outcome) == [("train.py", 4, "JDP204")]
    assert [(fixed.path, fixed.counts) for fixed in outcome.fixed] == [(data, {"JDP201": 1})]
    assert "jax.device_put(jnp.zeros((1000, 10))" in Path(data).read_text()


def test_a_file_whose_line_ends_would_be_lost_is_not_mended_for_another(tmp_path: Path) -> None:
    data = add(tmp_path, "data.py", CREATION.replace(b"\n", b"\r"))
    add(tmp_path, "train.py", USE)
    assert places(fix_program(tmp_path)) == [("train.py", 4, "JDP204"), ("train.py", 5, "JDP201")]
    assert Path(data).read_bytes() == CREATION.replace(b"\n", b"\r")


def test_what_could_not_be_written_still_counts_in_the_other_files(tmp_path: Path) -> None:
    data = add(tmp_path, "data.py", CREATION)
    add(tmp_path, "train.py", USE)
    Path(data).chmod(0o444)
    outcome = fix_program(tmp_path)
    assert places(outcome) == [
        ("data.py", 1, "JDP900"), ("train.py", 4, "JDP204"), ("train.py", 5, "JDP201"),
    ]  # fmt: skip
    assert outcome.fixed == ()
    assert Path(data).read_bytes() == CREATION


def test_files_that_a_fix_edits_together_are_written_together(tmp_path: Path) -> None:
    data = add(tmp_path, "data.py", CREATION)
    more = add(tmp_path, "more.py", CREATION)
    use = b"import random\nimport data, more\n"
    use += b"table = data.TABLE if random.random() > 0.5 else more.TABLE\nprint(table[0])\n"
    add(tmp_path, "train.py", use)
    Path(more).chmod(0o444)
    outcome = fix_program(tmp_path)
    assert places(outcome) == [("more.py", 1, "JDP900"), ("train.py", 4, "JDP201")]
    assert [(skip.path, skip.reason) for skip in outcome.skipped] == [
        (data, f"not fixed: its fix also edits {more}, which cannot be written")
    ]
    assert outcome.fixed == ()
    assert Path(data).read_bytes() == Path(more).read_bytes() == CREATION
    Path(more).chmod(0o644)
    outcome = fix_program(tmp_path)
    assert places(outcome) == []
    assert [fixed.path for fixed in outcome.fixed] == [data, more]
    assert b"jax.device_put(" in Path(data).read_bytes()
    assert Path(data).read_bytes() == Path(more).read_bytes()


def test_fixing_that_fails_loses_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("ours")

    add(tmp_path, "data.py", CREATION)
    add(tmp_path, "train.py", USE)
    monkeypatch.setattr("placement_lint.lint.fixes.apply.fix_sources", fail)
    assert places(fix_program(tmp_path)) == [
        ("data.py", 1, "JDP903"), ("train.py", 4, "JDP204"), ("train.py", 5, "JDP201"),
    ]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_a_file_with_two_names_is_fixed_once(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", b"old\n")
    link = tmp_path / "b.py"
    link.symlink_to("a.py")
    outcome = check([path, link], Renames, fix=FixMode.APPLY)
    assert places(outcome) == []
    assert link.is_symlink()
    assert Path(path).read_bytes() == b"new\n"


def test_what_is_only_linted_is_said(tmp_path: Path) -> None:
    add(tmp_path, "b.py", b"old\rx\r")
    add(tmp_path, "c.py", b"x\rx\r # old")
    outcome = check(files(tmp_path), Renames, fix=FixMode.APPLY)
    assert [(Path(skip.path).name, skip.reason[:10]) for skip in outcome.skipped] == [
        ("b.py", "not fixed:"),
    ]
    assert places(outcome) == [("b.py", 1, "JDP804")]
    assert outcome.fixed == ()
    assert check(files(tmp_path), Renames).skipped == ()


def test_bytes_that_the_encoding_does_not_give_back_are_not_fixed(tmp_path: Path) -> None:
    # Both spell the same sign; encoding it gives the first.
    text = b"# -*- coding: cp932 -*-\n# \x81\xca %b\nold\n"
    add(tmp_path, "a.py", text % b"\xee\xf9")
    add(tmp_path, "b.py", text % b"\x81\xca")
    outcome = check(files(tmp_path), Renames, fix=FixMode.APPLY)
    assert places(outcome) == [("a.py", 3, "JDP804")]
    assert [skip.reason for skip in outcome.skipped] == [
        "not fixed: cp932 does not give its bytes back"
    ]
    assert (tmp_path / "a.py").read_bytes() == text % b"\xee\xf9"
    assert (tmp_path / "b.py").read_bytes() == (text % b"\x81\xca").replace(b"old", b"new")


def test_the_diff_of_a_file_has_its_byte_order_mark(tmp_path: Path) -> None:
    add(tmp_path, "b.py", b"\xef\xbb\xbfold\n")
    (fixed,) = check(files(tmp_path), Renames, fix=FixMode.DIFF).fixed
    assert (fixed.before, fixed.after) == ("\ufeffold\n", "\ufeffnew\n")


def test_fixes_that_are_taken_back_are_said(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", b"broken\n")
    add(tmp_path, "b.py", b"old\n")
    outcome = check(files(tmp_path), Renames, fix=FixMode.APPLY)
    assert places(outcome) == [("a.py", 1, "JDP903"), ("a.py", 1, "JDP804")]
    assert Path(path).read_bytes() == b"broken\n"
    assert [Path(fixed.path).name for fixed in outcome.fixed] == ["b.py"]


def test_what_is_left_is_said_of_the_other_files_as_they_are_now(tmp_path: Path) -> None:
    early = "import jax\n\nON_HOST = jax.device_put(range(9), jax.devices('cpu')[0])\n"
    late = "import jax\nimport early\n\njax.distributed.initialize()\n"
    add(tmp_path, "early.py", early.encode())
    add(tmp_path, "late.py", late.encode())
    rules = (rule_by_code("JDP304"), rule_by_code("JDP504"))
    before = check(files(tmp_path), *rules)
    assert places(before) == [("early.py", 3, "JDP304"), ("late.py", 4, "JDP504")]
    assert "jax.devices" in before.findings[1].message
    (left,) = check(files(tmp_path), *rules, fix=FixMode.APPLY).findings
    assert "jax.local_devices" in left.message
    assert check(files(tmp_path), *rules).findings == (left,)


# -- one text -------------------------------------------------------------------------------------


def test_text() -> None:
    outcome, after = Linter(lambda _: SETTINGS).check_text("a.py", DISCARDED)
    assert places(outcome) == [("a.py", 3, "JDP204")]
    assert after is None
    assert (outcome.files, outcome.parsed) == (1, 1)
    source = outcome.sources("a.py")
    assert source is not None
    assert source.text.encode() == DISCARDED
    assert outcome.sources("b.py") is None


@pytest.mark.parametrize("fix", [FixMode.APPLY, FixMode.DIFF])
def test_text_is_fixed(fix: FixMode) -> None:
    outcome, after = Linter(lambda _: SETTINGS, fix=fix).check_text("a.py", DISCARDED)
    assert after == DISCARDED_FIXED
    assert outcome.findings == ()
    assert [fixed.counts for fixed in outcome.fixed] == [{"JDP204": 1}]


@pytest.mark.parametrize("data", [b"x = 1", b"\xe9", b"jax.device_put(", b"\xef\xbb\xbfx\r\n"])
def test_text_with_nothing_to_fix_comes_back_as_it_is(data: bytes) -> None:
    _, after = Linter(lambda _: SETTINGS, fix=FixMode.APPLY).check_text("a.py", data)
    assert after == data


def test_text_that_cannot_be_read_or_parsed() -> None:
    for data, code in ((b"\xe9", "JDP900"), (b"jax.device_put(", "JDP901")):
        outcome, _ = Linter(lambda _: SETTINGS).check_text("a.py", data)
        assert [finding.code for finding in outcome.findings] == [code]
    assert (
        Linter(lambda _: SETTINGS).check_text("a.py", b"(" * 3_000)[0].findings[0].code == "JDP901"
    )


# -- start-up -------------------------------------------------------------------------------------

PROGRAM = """
import sys
from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter

if __name__ == "__main__":
    outcome = Linter(lambda path: Settings()).check(sys.argv[1:])
    print(outcome.files, outcome.parsed, len(outcome.findings))
    print(*sorted(sys.modules))
"""


def run_apart(*paths: str) -> tuple[list[int], set[str]]:
    environment = {**os.environ, "PYTHONPATH": str(Path(placement_lint.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *paths],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    numbers, modules = done.stdout.splitlines()
    return [*map(int, numbers.split())], set(modules.split())


def test_libcst_is_not_imported_without_a_file_to_parse(tmp_path: Path) -> None:
    paths = [
        add(tmp_path, "a.py", b"import numpy as np\nx = np.zeros(3)\n"),
        add(tmp_path, "b.py", b"import torch\ntorch.devices('cpu')\n"),
        add(tmp_path, "pkg/__init__.py", b"from .a import x\n"),
    ]
    numbers, modules = run_apart(*paths)
    assert numbers == [3, 0, 0]
    heavy = {"libcst", "jax", "numpy", "multiprocessing", "concurrent.futures"}
    assert modules & heavy == set()


def test_libcst_is_imported_once_there_is_one(tmp_path: Path) -> None:
    path = add(tmp_path, "a.py", DISCARDED)
    numbers, modules = run_apart(path)
    assert numbers == [1, 1, 1]
    assert "libcst" in modules
    banned = {"libcst.matchers", "libcst.codemod", "jax"}
    assert modules & banned == set()


def test_files_are_interpreted_together_only_for_rules_that_ask_for_placements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(
        tmp_path,
        "data.py",
        b"import jax\nwith jax.default_device(jax.devices('cpu')[0]):\n x = 1\n",
    )
    add(
        tmp_path,
        "train.py",
        b"import jax\nfrom data import x\njax.device_put(x, jax.devices()[0])\n",
    )
    asked: list[list[str]] = []

    def components(carrying: list[str], committing: list[str], *_: object) -> list[Component]:
        asked.append([*carrying, *committing])
        return []

    monkeypatch.setattr("placement_lint.lint.check_program.components", components)
    monkeypatch.setattr("placement_lint.project.small_programs.MOST_FILES", 0)
    paths = [*map(str, files(tmp_path))]
    assert Linter(lambda _: Settings(select=("JDP101",))).check(paths).findings == ()
    assert asked == []
    Linter(lambda _: Settings(select=("JDP201",))).check(paths)
    assert asked == [[str(tmp_path / "data.py"), str(tmp_path / "train.py")]]
