"""The hooks as a project gets them: pre-commit installs this repository, and runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.hook

TOP = Path(__file__).parents[1]
HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
MENDED = HAZARD.replace("    jax.device_put", "    x = jax.device_put")


def git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository of what is on disk here, committed or not."""
    copy = tmp_path_factory.mktemp("placement-lint")
    listing = git(TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listing.split("\0")):
        if (TOP / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, copy / name)
    git(copy, "init", "-q")
    git(copy, "add", "-A")
    git(copy, "commit", "-q", "-m", "as it is")
    return copy


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project with a hazard, a clean file and a hazard that it excludes."""
    git(tmp_path, "init", "-q")
    (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
    (tmp_path / "clean.py").write_text("import os\n", encoding="utf-8")
    (tmp_path / "generated.py").write_text(HAZARD, encoding="utf-8")
    (tmp_path / "notes.txt").write_text(HAZARD, encoding="utf-8")
    (tmp_path / "placement-lint.toml").write_text(
        'extend-exclude = ["generated.py"]\n', encoding="utf-8"
    )
    git(tmp_path, "add", "-A")
    return tmp_path


def try_repo(repository: Path, project: Path, *hook: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(repository), *hook, "--all-files"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PRE_COMMIT_COLOR": "never"},
    )
    return run.returncode, run.stdout


def test_the_hook_finds_the_fix_hook_fixes_and_then_both_pass(
    repository: Path, project: Path
) -> None:
    code, output = try_repo(repository, project, "placement-lint")
    assert code == 1, output
    assert "hazard.py:5:5: JDP204 " in output
    assert output.count("JDP204") == 1
    assert "generated.py:" not in output
    assert (project / "hazard.py").read_text(encoding="utf-8") == HAZARD

    code, output = try_repo(repository, project, "placement-lint-fix")
    assert code == 1, output
    assert "files were modified by this hook" in output
    assert (project / "hazard.py").read_text(encoding="utf-8") == MENDED
    assert (project / "generated.py").read_text(encoding="utf-8") == HAZARD

    git(project, "add", "-A")
    code, output = try_repo(repository, project)
    assert code == 0, output
    assert output.count("Passed") == 2


CONFIG = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: placement-lint
        exclude: ^vendored/
"""


def test_as_a_project_configures_it(repository: Path, project: Path, tmp_path: Path) -> None:
    """Its own `exclude` holds beside that of the settings, and its environment is a light one."""
    (project / "vendored").mkdir()
    (project / "vendored" / "hazard.py").write_text(HAZARD, encoding="utf-8")
    revision = git(repository, "rev-parse", "HEAD").strip()
    config = CONFIG.format(repository=repository, revision=revision)
    (project / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    git(project, "add", "-A")
    home = tmp_path / "home"
    run = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PRE_COMMIT_COLOR": "never", "PRE_COMMIT_HOME": str(home)},
    )
    assert run.returncode == 1, run.stdout
    assert run.stdout.count("JDP204") == 1
    assert "hazard.py:5:5: JDP204 " in run.stdout
    assert "vendored" not in run.stdout

    (environment,) = home.glob("repo*/py_env-*")
    packages = {path.name.partition("-")[0].lower() for path in environment.rglob("*.dist-info")}
    assert "placement_lint" in packages
    assert packages.isdisjoint({"jax", "jaxlib", "numpy", "matplotlib", "flax", "scipy", "pygls"})
    sizes = [path.lstat().st_size for path in environment.rglob("*") if not path.is_dir()]
    assert sum(sizes) < 60_000_000
