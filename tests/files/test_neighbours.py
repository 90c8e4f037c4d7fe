"""Whether files beside a file import it."""

import os
from pathlib import Path

import pytest

from placement_lint.files import store
from placement_lint.files.neighbours import Neighbours
from placement_lint.files.store import FileStore


def is_imported_beside(path: Path) -> bool:
    return Neighbours().may_import(str(path), FileStore())


@pytest.mark.parametrize(
    "text",
    [
        "import shards\n",
        "import os, shards as s\n",
        "from shards import rows\n",
        "from . import shards\n",
        "from project.shards import rows\n",
        "def load():\n    import shards\n",
    ],
)
@pytest.mark.parametrize("place", ["pack/train.py", "train.py"])
def test_what_imports_it(text: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "shards.py").write_text("import shards\n")
    assert not is_imported_beside(tmp_path / "pack" / "shards.py")
    (tmp_path / place).write_text(text)
    assert is_imported_beside(tmp_path / "pack" / "shards.py")


@pytest.mark.parametrize(
    "text", ["shards = 1\n", "import shard, os.path # shards\n", "import shards_of\n", "\xff"]
)
def test_what_does_not(text: str, tmp_path: Path) -> None:
    (tmp_path / "shards.py").write_text("")
    (tmp_path / "train.py").write_text(text, encoding="latin-1")
    assert not is_imported_beside(tmp_path / "shards.py")


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"m{number}.py" for number in range(9)]
    for name in names:
        (tmp_path / name).write_text("import m3, m5\n")
    read: list[str] = []
    real = store.read_bytes

    def noted(path: str) -> bytes:
        read.append(path)
        return real(path)

    monkeypatch.setattr(store, "read_bytes", noted)
    neighbours, files = Neighbours(), FileStore()
    asked = [name for name in names if neighbours.may_import(str(tmp_path / name), files)]
    assert asked == ["m3.py", "m5.py"]
    assert sorted(read) == [str(tmp_path / name) for name in names]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    (tmp_path / "b.py").symlink_to("/dev/zero")
    (tmp_path / "c.py").symlink_to("nothing.py")
    (tmp_path / "d.py").mkdir()
    (tmp_path / "shards.py").write_text("")
    assert not is_imported_beside(tmp_path / "shards.py")
    (tmp_path / "train.py").write_text("import shards\n")
    assert is_imported_beside(tmp_path / "shards.py")


def test_stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stamp() -> str:
        return Neighbours().stamp(str(tmp_path / "pack" / "shards.py"))

    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "shards.py").write_text("")
    assert not stamp(), "what was changed a moment ago may change unseen"
    monkeypatch.setattr(store, "SETTLED", -(10**15))
    seen = [stamp()]
    for name in ("pack/train.py", "train.py"):
        (tmp_path / name).write_text("import os\n")
        seen.append(stamp())
        (tmp_path / name).write_text("import shards\n")
        seen.append(stamp())
    (tmp_path / "notes.txt").write_text("import shards\n")
    assert stamp() == seen[-1]
    assert len({*seen}) == len(seen)
