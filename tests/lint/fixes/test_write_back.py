"""What fixes made of files is written, or said to be unwritten, and nothing found is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.files import write
from placement_lint.findings import Finding, Severity, Span
from placement_lint.lint.file_results import FileResult
from placement_lint.lint.fixes.write_back import written
from placement_lint.lint.results import FixedFile, SkipKind, Skipped
from placement_lint.lint.tasks import Change, CheckedFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

    from placement_lint.files.write import Replacement


def result(path: str, message: str) -> FileResult:
    found = Finding("JDP801", "word", message, path, Span(1, 1, 1, 2), Severity.ERROR)
    return FileResult((found,))


def changed(path: Path, *linked: Path) -> CheckedFile:
    """Say of a file that fixes make `after` of its text `before`, and what is found in each."""
    name = str(path)
    path.write_text("before")
    change = Change(
        FixedFile(name, "before", "after", {"JDP801": 1}), b"before", b"after",
        result(name, "there before"), frozenset(map(str, (path, *linked))),
    )  # fmt: skip
    return CheckedFile(name, result(name, "left"), change)


def messages(examined: Iterable[CheckedFile]) -> dict[str, list[str]]:
    return {one.path: [finding.message for finding in one.findings] for one in examined}


def test_all_are_written_and_nothing_else_is_touched(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one.py", "two.py", "other.py"))
    other.write_text("as it was")
    untouched = CheckedFile(str(other), result(str(other), "there"))
    given = [changed(two, one), untouched, changed(one, two)]
    assert written(given) == given
    assert [path.read_text() for path in (one, two, other)] == ["after", "after", "as it was"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.py", "other.py", "two.py"]


def test_one_that_cannot_be_written_is_named_and_keeps_those_it_is_linked_with(
    tmp_path: Path,
) -> None:
    one, two, apart = (tmp_path / name for name in ("one.py", "two.py", "apart.py"))
    given = [changed(one, two), changed(two, one), changed(apart)]
    two.write_text("someone else's")
    found = written(given)
    assert messages(found) == {
        str(one): ["there before"],
        str(two): ["cannot be fixed: changed since it was read", "there before"],
        str(apart): ["left"],
    }
    assert [each.change is None for each in found] == [True, True, False]
    note = f"not fixed: its fix also edits {two}, which cannot be written"
    assert [each.skipped for each in found] == [
        Skipped(str(one), note, SkipKind.NOT_FIXED),
        None,
        None,
    ]
    assert [path.read_text() for path in (one, two, apart)] == ["before", "someone else's", "after"]


def test_what_goes_wrong_with_us_loses_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, apart = (tmp_path / name for name in ("one.py", "two.py", "apart.py"))
    given = [changed(one, two), changed(two, one), changed(apart)]
    real = write.replace_files

    def fail(replacements: Iterable[Replacement]) -> None:
        group = [*replacements]
        if len(group) == 2:
            raise KeyError("ours")
        real(group)

    monkeypatch.setattr(write, "replace_files", fail)
    found = messages(written(given))
    assert found[str(apart)] == ["left"]
    for path in (one, two):
        mistake, *rest = found[str(path)]
        assert "KeyError at test_write_back.py" in mistake
        assert rest == ["there before"]
    assert [path.read_text() for path in (one, two, apart)] == ["before", "before", "after"]
