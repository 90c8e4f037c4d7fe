"""What a run reads is read once, and kept within bounds."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from placement_lint.files import store as stores
from placement_lint.files.notebook import NotPythonError
from placement_lint.files.source import Source, UnreadableError
from placement_lint.files.store import FileStore, read_bytes


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    reads: list[str] = []

    def read(path: str) -> bytes:
        reads.append(Path(path).name)
        return read_bytes(path)

    monkeypatch.setattr(stores, "read_bytes", read)
    return reads


def length(source: Source, before: int | None) -> int:
    return len(source.text) + 1000 * (before or 0)


def test_reads_bytes(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_bytes(b"\r\n\xff")
    assert read_bytes(str(file)) == b"\r\n\xff"
    with pytest.raises(UnreadableError, match="No such file"):
        read_bytes(str(tmp_path / "nothing.py"))
    with pytest.raises(UnreadableError, match="directory"):
        read_bytes(str(tmp_path))


def test_a_file_is_what_it_was_when_it_was_first_read(tmp_path: Path, reads: list[str]) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    store = FileStore()
    assert store.read(str(file)) == b"x = 1\n"
    file.write_text("x = 22\n")
    assert store.text(str(file)) == "x = 1\n"
    store.renew()
    assert store.text(str(file)) == "x = 22\n"
    store.renew()
    assert store.source(str(file)) is store.source(str(file))
    store.replace({str(file): b"x = 3\n"})
    assert store.text(str(file)) == "x = 3\n"
    assert reads == ["a.py", "a.py"]


def test_what_cannot_be_read_is_tried_once(tmp_path: Path, reads: list[str]) -> None:
    store, gone, odd = FileStore(), str(tmp_path / "gone.py"), tmp_path / "odd.py"
    odd.write_bytes(b"\xff")
    for _ in range(2):
        with pytest.raises(UnreadableError, match="No such file"):
            store.read(gone)
        with pytest.raises(UnreadableError, match="not valid utf-8"):
            store.source(str(odd))
        assert store.source_if_readable(gone) is None
        assert store.text(str(odd)) == ""
    assert reads == ["gone.py", "odd.py"]


def test_unsaved_text_replaces_a_file(tmp_path: Path, reads: list[str]) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    store = FileStore({str(file): b"x = 2\n"})
    assert store.text(str(file)) == "x = 2\n"
    assert store.stamp(str(file)) == (0, 0, 0, 0)
    assert pickle.loads(pickle.dumps(store)).text(str(file)) == "x = 2\n"  # noqa: S301
    store.begin()
    assert store.text(str(file)) == "x = 1\n"
    assert reads == ["a.py"]


def test_notebooks() -> None:
    data = b'{"cells": [], "metadata": {"language_info": {"name": "julia"}}}'
    store = FileStore({"a.ipynb": data})
    for _ in range(2):
        with pytest.raises(NotPythonError, match="julia"):
            store.source("a.ipynb")
    assert store.source_if_readable("a.ipynb") is None
    assert store.text("a.ipynb") == ""


def test_bytes_are_kept_within_a_bound(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MOST_BYTES", 20)
    store = FileStore()
    for name in "abc":
        (tmp_path / name).write_text(f"{name} = 12345\n")
        assert store.text(str(tmp_path / name))
    assert store.read(str(tmp_path / "c")) == b"c = 12345\n"
    assert store.read(str(tmp_path / "a")) == b"a = 12345\n"
    assert reads == ["a", "b", "c", "a"]
    (tmp_path / "b").write_text("b = 54321\n")
    with pytest.raises(UnreadableError, match="changed during the run"):
        store.read(str(tmp_path / "b"))


def test_what_is_derived_is_derived_once_for_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_DERIVED", 10)
    made: list[str] = []

    def make(source: Source, before: int | None) -> int:
        made.append(source.text)
        return length(source, before)

    store = FileStore()
    one, two = Source("a.py", "12345"), Source("b.py", "1234567")
    assert [store.derived(make, one) for _ in range(2)] == [5, 5]
    assert store.derived(make, two) == 7
    assert store.derived(make, one) == 5
    assert made == ["12345", "1234567", "12345"]
    assert store.derived(make, Source("a.py", "1")) == 1
    store.free()
    assert store.derived(make, Source("a.py", "1")) == 1
    assert made[3:] == ["1", "1"]


def test_a_lasting_store_derives_from_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_DERIVED", 10)
    store = FileStore(is_lasting=True)
    for name in "abc":
        assert store.derived(length, Source(name, "1234567")) == 7
    store.begin()
    assert store.derived(length, Source("a", "123")) == 7003
    store.keep_only(["b"])
    assert store.derived(length, Source("a", "12")) == 2
    assert store.derived(length, Source("b", "12")) == 7002


def test_a_new_run_reads_what_may_have_changed(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(is_lasting=True)
    for name in ("old", "new"):
        (tmp_path / name).write_text("x = 1\n")
    os.utime(tmp_path / "old", (1, 1))
    monkeypatch.setattr(stores, "SETTLED", -(10**9))
    assert store.stamp(str(tmp_path / "old")) == store.stamp_now(str(tmp_path / "old"))
    monkeypatch.setattr(stores, "SETTLED", 10**12)
    assert store.stamp(str(tmp_path / "new")) == (0, 0, 0, 0)
    store.begin()
    monkeypatch.setattr(stores, "SETTLED", -(10**9))
    for name in ("old", "new"):
        store.read(str(tmp_path / name))
    assert reads == ["old", "new", "old", "new"]
    store.begin({str(tmp_path / "old"): b"x = 2\n"})
    assert store.read(str(tmp_path / "old")) == b"x = 2\n"
    assert store.read(str(tmp_path / "new")) == b"x = 1\n"
    assert reads == ["old", "new", "old", "new"]


def test_several_stamps_at_once(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("old", "new", "unsaved")]
    for path in paths:
        Path(path).write_text("x = 1\n")
    for store in (FileStore(), FileStore({paths[2]: b"x = 2\n"})):
        assert [*store.stamps_now(paths)] == [store.stamp_now(path) for path in paths]
    Path(paths[0]).unlink()
    assert [*FileStore().stamps_now(paths)][:2] == [None, FileStore().stamp_now(paths[1])]


def test_what_is_shared_is_made_once_a_run() -> None:
    store = FileStore(is_lasting=True)
    before = store.shared(object)
    assert store.shared(object) is before
    store.begin()
    assert store.shared(object) is not before
