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


CONFIG = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
{hooks}"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder in which pre-commit installs the repository, once for all hooks and tests."""
    return tmp_path_factory.mktemp("home")


class Hooks:
    """What pre-commit does with hooks of the repository in a project."""

    def __init__(self, repository: Path, project: Path, home: Path) -> None:
        self._repository = repository
        self._project = project
        self._home = home

    def run(self, *hooks: str) -> tuple[int, str]:
        """Configure these hooks, each by its lines, and run them on all files."""
        config = CONFIG.format(
            repository=self._repository,
            revision=git(self._repository, "rev-parse", "HEAD").strip(),
            hooks="".join(f"      - {hook}\n" for hook in hooks),
        )
        (self._project / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
        git(self._project, "add", "-A")
        run = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files"],
            cwd=self._project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "PRE_COMMIT_COLOR": "never", "PRE_COMMIT_HOME": str(self._home)},
        )
        return run.returncode, run.stdout


@pytest.fixture
def hooks(repository: Path, project: Path, home: Path) -> Hooks:
    return Hooks(repository, project, home)


def test_the_hook_finds_the_fix_hook_fixes_and_then_both_pass(hooks: Hooks, project: Path) -> None:
    code, output = hooks.run("id: placement-lint")
    assert code == 1, output
    assert "hazard.py:5:5: JDP204 " in output
    assert output.count("JDP204") == 1
    assert "generated.py:" not in output
    assert (project / "hazard.py").read_text(encoding="utf-8") == HAZARD

    code, output = hooks.run("id: placement-lint-fix")
    assert code == 1, output
    assert "files were modified by this hook" in output
    assert (project / "hazard.py").read_text(encoding="utf-8") == MENDED
    assert (project / "generated.py").read_text(encoding="utf-8") == HAZARD

    code, output = hooks.run("id: placement-lint", "id: placement-lint-fix")
    assert code == 0, output
    assert output.count("Passed") == 2


def test_as_a_project_configures_it(hooks: Hooks, project: Path, home: Path) -> None:
    """Its own `exclude` holds beside that of the settings, and its environment is a light one."""
    (project / "vendored").mkdir()
    (project / "vendored" / "hazard.py").write_text(HAZARD, encoding="utf-8")
    code, output = hooks.run("id: placement-lint\n        exclude: ^vendored/")
    assert code == 1, output
    assert output.count("JDP204") == 1
    assert "vendored" not in output

    (environment,) = home.glob("repo*/py_env-*")
    packages = {path.name.partition("-")[0].lower() for path in environment.rglob("*.dist-info")}
    assert "placement_lint" in packages
    assert packages.isdisjoint({"jax", "jaxlib", "numpy", "matplotlib", "flax", "scipy", "pygls"})
    sizes = [path.lstat().st_size for path in environment.rglob("*") if not path.is_dir()]
    assert sum(sizes) < 60_000_000
