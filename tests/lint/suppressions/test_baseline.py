"""What a baseline knows, and what it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.files.source import Source
from placement_lint.findings import Finding, Severity, Span
from placement_lint.lint.suppressions.baseline import (
    Baseline,
    BaselineError,
    Baselines,
    Entry,
    compare,
    entries_of,
    load,
    relative,
    shrunk,
    text_of,
    write,
)

TEXT = "def f():\n    put(x)\n    put(x)\n\n\ndef g():\n    put(x)\n    get(y)\n"


def finding(line: int, code: str = "JDP204", path: str = "a/s.py") -> Finding:
    return Finding(code, "n", "m", path, Span(line, 5, line, 8), Severity.ERROR)


def known(*lines: int, text: str = TEXT) -> dict[Entry, int]:
    return entries_of(map(finding, lines), lambda path: Source(path, text), "")


def new(entries: dict[Entry, int], *lines: int, text: str = TEXT) -> list[int]:
    found = compare(
        Baseline("b.json", entries), [*map(finding, lines)], lambda path: Source(path, text)
    )
    return [each.span.line for each in found.new]


def test_equal_lines_of_one_function_are_counted() -> None:
    entries = known(2, 3, 7)
    assert sorted(entries.values()) == [1, 2]
    assert {entry.path for entry in entries} == {"a/s.py"}


def test_what_is_known_is_not_new() -> None:
    assert new(known(2, 3, 7), 2, 3, 7) == []
    assert new(known(2, 3, 7), 3) == []
    assert new({}, 2, 3, 7) == [2, 3, 7]


def test_more_of_the_same_is_new() -> None:
    assert new(known(2), 2, 3) == [3]
    assert new(known(2, 3), 2, 3, 7) == [7]
    assert new(known(8), 7, 8) == [7]


def test_lines_may_move_and_other_names_may_change() -> None:
    moved = "# new\nimport os\n\n" + TEXT.replace("y)", "z)")
    assert new(known(2, 3, 7), 5, 6, 10, text=moved) == []
    indented = "if x:\n" + "".join(f"  {line}\n" for line in TEXT.splitlines())
    assert new(known(2, 3, 7), 3, 4, 8, text=indented) == []
    assert new(known(2), 2, text=TEXT.replace("put(x)", "put(x)  # noqa: E501")) == []


def test_another_line_code_function_or_file_is_new() -> None:
    entries = known(2)
    assert new(entries, 2, text=TEXT.replace("put(x)", "put(y)")) == [2]
    assert new(entries, 2, text=TEXT.replace("def f", "def h")) == [2]
    other = compare(
        Baseline("b.json", entries),
        [finding(2, "JDP201"), finding(2, path="s.py")],
        lambda path: Source(path, TEXT),
    )
    assert len(other.new) == 2


def test_the_order_of_findings_does_not_matter() -> None:
    assert new(known(2), 3, 2) == [3]
    assert known(7, 3, 2) == known(2, 3, 7)


def test_paths_are_relative_to_the_baseline() -> None:
    entries = entries_of([finding(2)], lambda path: Source(path, TEXT), "a/b")
    assert [entry.path for entry in entries] == ["../s.py"]
    assert relative("a/s.py", "") == "a/s.py"
    assert relative(str(Path("a/s.py").absolute()), "a") == "s.py"


def test_what_was_not_analysed_is_never_known() -> None:
    failures = [finding(1, code) for code in ("JDP900", "JDP901", "JDP903")]
    assert entries_of(failures, lambda path: Source(path, TEXT), "") == {}
    found = compare(Baseline("b.json", {}), failures, lambda path: Source(path, TEXT))
    assert found.new == tuple(failures)


def test_only_what_was_looked_at_is_found_no_longer() -> None:
    entries = known(2, 3, 7)
    baseline = Baseline("b.json", entries)
    assert shrunk(baseline, {}, lambda *_: False) == entries
    assert shrunk(baseline, {}, lambda *_: True) == {}
    assert shrunk(baseline, known(2, 7), lambda *_: True) == known(2, 7)
    # It never grows.
    assert shrunk(baseline, known(2, 3, 7, 8), lambda *_: True) == entries
    assert shrunk(baseline, {}, lambda _, code: code == "JDP201") == entries


class TestTheFile:
    def test_it_reads_what_it_writes(self, tmp_path: Path) -> None:
        entries = {**known(2, 3, 7), Entry("é b.py", "JDP101", "0" * 32): 3}
        path = tmp_path / "b.json"
        write(str(path), entries)
        assert load(str(path)).entries == entries
        assert [each.name for each in tmp_path.iterdir()] == ["b.json"]
        write(str(path), {})
        assert load(str(path)).entries == {}

    def test_one_entry_a_line_in_one_order(self) -> None:
        entries = {
            Entry("b.py", "JDP204", "aa"): 1,
            Entry("a.py", "JDP204", "bb"): 2,
            Entry("a.py", "JDP101", "cc"): 1,
        }
        text = text_of(entries)
        assert [line.split('"')[3] for line in text.splitlines() if "path" in line] == [
            "a.py", "a.py", "b.py",
        ]  # fmt: skip
        assert text == text_of(dict(reversed(entries.items())))
        assert json.loads(text)["findings"][0] == {
            "path": "a.py", "code": "JDP101", "count": 1, "fingerprint": "cc",
        }  # fmt: skip
        assert '"line"' not in text

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "not a baseline: not valid JSON"),
            ("{", "not a baseline: not valid JSON"),
            ("[" * 100_000, "not a baseline: not valid JSON"),
            ("[]", 'no "format": "placement-lint baseline" in it'),
            ('{"version": 1}', 'no "format": "placement-lint baseline" in it'),
            ('{"$schema": "sarif", "runs": []}', "not a baseline"),
            (text_of({}).replace('"version": 1', '"version": 2'), "of another version"),
            (text_of({}).replace('"fingerprints": 1', '"fingerprints": 0'), "of another version"),
            (text_of({}).replace("[]", "3"), "damaged baseline: entry 1"),
            (text_of({}).replace("[]", "[3]"), "damaged baseline: entry 1"),
            (text_of({Entry("a", "b", "c"): 1}).replace('"count": 1', '"count": 0'), "entry 1"),
            (text_of({Entry("a", "b", "c"): 1}).replace('"count": 1', '"count": true'), "entry 1"),
            (text_of({Entry("a", "b", "c"): 1}).replace('"a"', "null"), "entry 1"),
            (text_of({Entry("a", "b", "c"): 1}).replace('"path"', '"file"'), "entry 1"),
            (
                text_of({Entry("a", "b", "c"): 1, Entry("d", "b", "c"): 1}).replace('"d"', '"a"'),
                "entry 2",
            ),
        ],
    )
    def test_a_damaged_or_foreign_one(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "b.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BaselineError) as caught:
            load(str(path))
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)

    def test_one_that_is_not_there_or_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(BaselineError, match="cannot be read: No such file"):
            load(str(tmp_path / "nosuch.json"))
        with pytest.raises(BaselineError, match="cannot be read: Is a directory"):
            load(str(tmp_path))
        (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(BaselineError, match="not a baseline"):
            load(str(tmp_path / "b.json"))

    def test_one_that_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(BaselineError, match=r"nosuch/b\.json: the baseline cannot be written"):
            write(str(tmp_path / "nosuch" / "b.json"), {})

    def test_a_link_stays_one(self, tmp_path: Path) -> None:
        (tmp_path / "real.json").write_text(text_of(known(2)), encoding="utf-8")
        (tmp_path / "b.json").symlink_to("real.json")
        write(str(tmp_path / "b.json"), {})
        assert (tmp_path / "b.json").is_symlink()
        assert load(str(tmp_path / "real.json")).entries == {}


def test_each_file_has_the_baseline_of_its_settings(tmp_path: Path) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    here = str(tmp_path)
    one, two, three = (finding(2, path=f"{tmp_path}/{name}.py") for name in ("a", "b", "c"))

    def source(path: str) -> Source:
        return Source(path, TEXT)

    write(str(first), entries_of([one, two], source, here))
    write(str(second), entries_of([two], source, here))
    chosen = {one.path: str(first), two.path: str(second), three.path: None}
    baselines = Baselines(lambda path: Settings(baseline=chosen[path]))
    assert baselines.new([three, one, two], source) == (three,)
    assert baselines.known == 2
    told = baselines.shrunk(chosen, lambda *_: True)
    assert [(each.path, left) for each, left in told] == [
        (str(first), entries_of([one], source, here))
    ]
