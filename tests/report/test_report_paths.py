from __future__ import annotations

import os
from pathlib import Path

import pytest

from placement_lint.report.paths import relative, shown, source_root


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repository" / "below" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository" / "below" / "here")
    return Path.cwd()


def root_at(here: Path, **environment: str) -> Path:
    return Path(source_root(environment, str(here)))


def test_the_top_of_the_repository(here: Path) -> None:
    above = here.parent.parent
    (above / ".git").mkdir()
    assert root_at(here) == above
    # As in a worktree or a submodule.
    (here / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    assert root_at(here) == here


@pytest.mark.parametrize("name", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_what_the_service_says(here: Path, name: str) -> None:
    (here.parent.parent / ".git").mkdir()
    assert root_at(here, **{name: str(here.parent)}) == here.parent
    link = here.parent.parent.parent / "link"
    link.symlink_to(here.parent)
    assert root_at(here, **{name: str(link)}) == here.parent
    # A service that runs something of its own elsewhere.
    assert root_at(here, **{name: "/nosuch"}) == here.parent.parent
    assert root_at(here, **{name: ""}) == here.parent.parent


def test_paths_from_there(here: Path) -> None:
    root = str(here.parent.parent)
    assert relative("a.py", root) == "below/here/a.py"
    assert relative("../b.py", root) == "below/b.py"
    assert relative(str(here / "a.py"), root) == "below/here/a.py"
    assert relative("../../../c.py", root) is None
    assert relative("../../../repository2/c.py", root) is None
    assert shown("../../../c.py", root) == "../../../c.py"
    assert relative("a.py", os.sep) == f"{here}/a.py".lstrip("/")
