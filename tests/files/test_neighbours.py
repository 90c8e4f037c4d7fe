"""Whether files beside a file import it."""

from pathlib import Path

import pytest

from placement_lint.files.neighbours import is_imported_beside


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
    assert not is_imported_beside(str(tmp_path / "pack" / "shards.py"))
    (tmp_path / place).write_text(text)
    assert is_imported_beside(str(tmp_path / "pack" / "shards.py"))


@pytest.mark.parametrize(
    "text", ["shards = 1\n", "import shard, os.path # shards\n", "import shards_of\n", "\xff"]
)
def test_what_does_not(text: str, tmp_path: Path) -> None:
    (tmp_path / "shards.py").write_text("")
    (tmp_path / "train.py").write_text(text, encoding="latin-1")
    assert not is_imported_beside(str(tmp_path / "shards.py"))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "shards.py").write_text("")
    (tmp_path / "train.py").write_text("import os\n")
    assert not is_imported_beside(str(tmp_path / "shards.py"))
    (tmp_path / "train.py").write_text("import shards\n")
    assert is_imported_beside(str(tmp_path / "shards.py"))
