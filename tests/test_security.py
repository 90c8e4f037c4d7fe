"""Nothing of what is linted is executed, and nothing is written but what was asked for.

Each test plants what made another linter run code, or write elsewhere, and looks for its trace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement_lint.cli.schema import schema
from tests import warm
from tests.marks import NEEDS_JAX

TOP = Path(__file__).parents[1]
HAZARD = "import jax\nimport victim\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
CANARY = "import os\nopen(os.environ['CANARY'], 'a').write(__name__ + ' ')\n"
PLANTED = (
    # What the tool itself imports, and what others look for in a repository.
    *("jax", "libcst", "tomli", "tomllib", "json", "ast", "dataclasses", "pkgutil"),
    *("concurrent", "multiprocessing", "pygls", "flake8", "matplotlib", "safetensors", "numpy"),
    *("sitecustomize", "usercustomize", "conftest", "setup", "rules", "plugins", "victim"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Give a folder full of modules that leave a trace where they are imported."""
    folder = tmp_path / "repository"
    (folder / "package").mkdir(parents=True)
    for name in PLANTED:
        (folder / f"{name}.py").write_text(CANARY, encoding="utf-8")
    (folder / "package" / "__init__.py").write_text(CANARY + "from .train import f\n", "utf-8")
    (folder / "package" / "train.py").write_text(CANARY + HAZARD, encoding="utf-8")
    (folder / "train.py").write_text(HAZARD, encoding="utf-8")
    (folder / "notes.ipynb").write_text(
        json.dumps(
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "metadata": {},
                        "outputs": [],
                        "execution_count": None,
                        "source": [*CANARY.splitlines(keepends=True), "!touch $CANARY\n", HAZARD],
                    }
                ],
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        ),
        encoding="utf-8",
    )
    return folder


def run(
    folder: Path, canary: Path, *arguments: str, code: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as `python -m`, which looks for modules there first."""
    line = [sys.executable, "-m", "placement_lint", *arguments]
    return _run(line, folder, canary, code)


def run_warm(
    folder: Path, canary: Path, *arguments: str, code: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, where what is tested is not what Python imports."""
    return _run(warm.command("placement_lint", *arguments), folder, canary, code)


def _run(
    line: list[str], folder: Path, canary: Path, code: int | None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP), "CANARY": str(canary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert code is None or done.returncode == code, done.stderr
    return done


def test_what_is_planted_leaves_a_trace(repository: Path, tmp_path: Path) -> None:
    """Otherwise the tests below would show nothing."""
    for name in ("victim", "libcst", "package"):
        canary = tmp_path / f"{name}-canary"
        environment = {**os.environ, "CANARY": str(canary)}
        command = [sys.executable, "-c", f"import {name}"]
        subprocess.run(command, cwd=repository, env=environment, check=True)
        assert canary.read_text(encoding="utf-8").split()[0] == name


def listing(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with what is in it, but for what is remembered of runs."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".placement_lint_cache" not in path.parts
    }


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["-j", "2"], 1),
        (["--select", "ALL", "--no-cache", "--output-format", "json"], 1),
        (["--select", "ALL", "--diff", "--unsafe-fixes"], 1),
        (["--show-files"], 0),
        (["--show-settings"], 0),
        (["rule", "JDP204"], 0),
        (["rule", "--all"], 0),
        (["train.py", "package/train.py"], 1),
        (["clean"], 0),
        (["--version"], 0),
        (["--help"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nothing_that_is_linted_is_imported(
    repository: Path, tmp_path: Path, arguments: list[str], code: int
) -> None:
    before = listing(repository)
    run(repository, tmp_path / "canary", *arguments, code=code)
    assert not (tmp_path / "canary").exists()
    assert listing(repository) == before


def test_fixing_imports_nothing_and_writes_the_linted_files_only(
    repository: Path, tmp_path: Path
) -> None:
    before = listing(repository)
    run(repository, tmp_path / "canary", "--fix", "--unsafe-fixes", "--no-cache")
    assert not (tmp_path / "canary").exists()
    after = listing(repository)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {"train.py", str(Path("package", "train.py")), "notes.ipynb"}


@NEEDS_JAX
@pytest.mark.every
def test_proofs_are_those_of_the_tool(repository: Path, tmp_path: Path) -> None:
    """`verify` runs bundled cases with the JAX that is installed, not one that lies around."""
    proof = repository / "fixtures" / "JDP101"
    proof.mkdir(parents=True)
    (proof / "proof.py").write_text(CANARY, encoding="utf-8")
    done = run(repository, tmp_path / "canary", "verify", "JDP101", code=0)
    assert "JDP101" in done.stdout
    assert not (tmp_path / "canary").exists()


# What made Fixit, pylint and flake8 run code of the repository that they linted.
ATTACKS = {
    ".fixit.config.yaml": "rules: [rules]\n",
    ".pylintrc": '[MAIN]\ninit-hook=\'import os; open(os.environ["CANARY"], "w")\'\n',
    "pylintrc": "[MAIN]\nload-plugins=plugins\n",
    ".flake8": "[flake8:local-plugins]\nextension =\n    X = plugins:Plugin\npaths = .\n",
    "setup.cfg": "[flake8:local-plugins]\nextension =\n    X = plugins:Plugin\npaths = .\n",
    "tox.ini": "[flake8:local-plugins]\nextension =\n    X = plugins:Plugin\npaths = .\n",
    "evil.pth": "import os; open(os.environ['CANARY'], 'w')\n",
    "pyproject.toml": (
        "[build-system]\nrequires = []\nbuild-backend = 'setup'\nbackend-path = ['.']\n\n"
        "[tool.fixit]\nenable = ['.rules']\n\n"
        "[tool.pylint.main]\ninit-hook = 'import victim'\nload-plugins = ['plugins']\n"
    ),
}


def test_settings_of_other_tools_that_run_code_run_none(repository: Path, tmp_path: Path) -> None:
    for name, text in ATTACKS.items():
        (repository / name).write_text(text, encoding="utf-8")
    run(repository, tmp_path / "canary", code=1)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "line",
    [
        "plugins = ['plugins']",
        "load-plugins = ['plugins']",
        "rules = ['./rules.py']",
        "init-hook = 'import victim'",
        "python = './evil'",
        "select = ['./rules.py']",
        "select = ['rules:Rule']",
        "extend-select = ['victim.Rule']",
    ],
)
def test_no_setting_names_code(repository: Path, tmp_path: Path, line: str) -> None:
    (repository / "placement-lint.toml").write_text(line + "\n", encoding="utf-8")
    done = run_warm(repository, tmp_path / "canary", code=2)
    assert "placement-lint.toml" in done.stderr
    assert not (tmp_path / "canary").exists()


def test_no_setting_is_a_program_or_a_module() -> None:
    """Whoever adds such a setting meets this test first."""
    words = ("plugin", "hook", "module", "import", "command", "python", "executable", "interpreter")
    named = [key for key in schema()["properties"] if any(word in key for word in words)]
    assert named == []


def test_a_cache_that_came_along_is_data(repository: Path, tmp_path: Path) -> None:
    """A pickle, a module and a marshalled file where the cache would be do nothing."""
    import marshal
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (exec, (CANARY,))

    first = run_warm(repository, tmp_path / "canary", code=1)
    folder = repository / ".placement_lint_cache"
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert kept, "there is something to replace"
    for payload in (pickle.dumps(Evil()), marshal.dumps(compile(CANARY, "x", "exec")), b"\x80\x04"):
        for path in kept:
            path.write_bytes(payload)
        assert run_warm(repository, tmp_path / "canary", code=1).stdout == first.stdout
    assert not (tmp_path / "canary").exists()


def test_links_lead_no_fix_out_of_the_folder(repository: Path, tmp_path: Path) -> None:
    """A link among the files is no way to have another one written."""
    outside = tmp_path / "outside.py"
    outside.write_text(HAZARD, encoding="utf-8")
    (repository / "link.py").symlink_to(outside)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "inner.py").write_text(HAZARD, encoding="utf-8")
    (repository / "linked").symlink_to(elsewhere, target_is_directory=True)
    run_warm(repository, tmp_path / "canary", "--fix", "--no-cache")
    assert (elsewhere / "inner.py").read_text(encoding="utf-8") == HAZARD
    assert (repository / "link.py").is_symlink()
    assert outside.read_text(encoding="utf-8") == HAZARD


@pytest.mark.parametrize(
    ("arguments", "is_read"),
    [
        ([".", "--fix"], False),
        ([".", "--add-noqa"], False),
        (["package", ".", "--fix"], False),
        # Who names a link, or the folder in which the file lies, asks for it.
        (["link.py", "--fix"], True),
        ([".", "link.py", "--fix"], True),
        ([".", "../elsewhere", "--fix"], True),
        ([".", "../elsewhere/inner.py", "--fix"], True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_links_lead_out_only_where_that_was_asked_for(
    repository: Path, tmp_path: Path, arguments: list[str], is_read: bool
) -> None:
    inner = tmp_path / "elsewhere" / "inner.py"
    inner.parent.mkdir()
    inner.write_text(HAZARD, encoding="utf-8")
    (repository / "link.py").symlink_to(inner)
    (repository / "package" / "inside.py").symlink_to(repository / "train.py")
    done = run_warm(repository, tmp_path / "canary", *arguments, "--no-cache")
    assert (inner.read_text(encoding="utf-8") != HAZARD) == is_read
    told = "note: link.py: not linted: a link to a file outside of the linted directories"
    assert (told in done.stderr) != is_read
    assert "inside.py" not in done.stderr


@pytest.mark.parametrize("name", ["placement-lint.toml", "pyproject.toml"])
def test_no_settings_turn_a_lint_into_a_fix(repository: Path, tmp_path: Path, name: str) -> None:
    section = "[tool.placement-lint]\n" if name == "pyproject.toml" else ""
    for line in ("fix = true", "fix = true\nunsafe-fixes = true", "unsafe-fixes = true"):
        (repository / name).write_text(f"{section}{line}\n", encoding="utf-8")
        before = listing(repository)
        run_warm(repository, tmp_path / "canary", code=1 if line.startswith("unsafe") else 2)
        assert listing(repository) == before


def test_settings_put_the_cache_nowhere_else(repository: Path, tmp_path: Path) -> None:
    """Patterns of a file that is extended are relative to a folder above both: no place of ours."""
    base = tmp_path / "base.toml"
    base.write_text('extend-exclude = ["/generated/x.py"]\n', encoding="utf-8")
    (repository / "placement-lint.toml").write_text(f'extend = "{base.as_posix()}"\n', "utf-8")
    before = sorted(tmp_path.iterdir())
    run_warm(repository, tmp_path / "canary", code=1)
    assert sorted(tmp_path.iterdir()) == before
    assert (repository / ".placement_lint_cache").is_dir()
    run_warm(repository, tmp_path / "canary", "clean", code=0)
    assert not (repository / ".placement_lint_cache").exists()


@pytest.mark.parametrize(
    ("inside", "is_named", "code"),
    [("", False, 0), ("git", False, 1), ("link", False, 2), ("out", False, 2), ("out", True, 1)],
)
def test_a_baseline_that_settings_name_is_written_in_the_project_only(
    repository: Path, tmp_path: Path, inside: str, is_named: bool, code: int
) -> None:
    outside = tmp_path / "known.json"
    run_warm(repository, tmp_path / "canary", "--write-baseline", "known.json", ".", code=0)
    before = (repository / "known.json").read_bytes()
    if inside:
        (repository / "known.json").replace(outside)
    if inside == "link":
        (repository / "known.json").symlink_to(outside)
    if inside == "git":
        (tmp_path / ".git").mkdir()
    # Seen from another folder, the notebook's finding is a new one: exit code 1.
    told = "known.json" if inside in {"", "link"} else "../known.json"
    (repository / "placement-lint.toml").write_text(f'baseline = "{told}"\n', encoding="utf-8")
    for path in (repository / "train.py", repository / "package" / "train.py"):
        path.unlink()
    named = ["--baseline", told] if is_named else []
    done = run_warm(repository, tmp_path / "canary", "--update-baseline", *named, code=code)
    after = (outside if inside else repository / "known.json").read_bytes()
    assert (after == before) == (code == 2)
    if code == 2:
        assert "not updated: it is outside the project" in done.stderr


def test_a_module_of_the_same_name_in_front_of_it(repository: Path, tmp_path: Path) -> None:
    """`python -m` asks the current folder first; the command, and `python -P -m`, do not."""
    package = repository / "placement_lint"
    package.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (package / name).write_text(CANARY, encoding="utf-8")
    environment = {**os.environ, "CANARY": str(tmp_path / "canary")}
    command = [str(Path(sys.executable).with_name("placement-lint"))]
    ways = [command] if Path(command[0]).exists() else []
    if sys.version_info >= (3, 11):
        ways.append([sys.executable, "-P", "-m", "placement_lint"])
    for way in ways:
        done = subprocess.run(
            [*way, "--no-cache", "-j", "2"],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert "train.py:6:5: JDP204" in done.stdout
        assert not (tmp_path / "canary").exists()


def test_a_folder_that_is_gone(repository: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys\nos.chdir(sys.argv[1])\nos.rmdir(sys.argv[1])\n"
        "sys.argv[1:] = sys.argv[2:]\nimport runpy\n"
        "runpy.run_module('placement_lint', run_name='__main__', alter_sys=True)\n"
    )
    for arguments in ([], [str(repository)], ["--fix", "."], ["clean"], ["-"], ["trace", "x.py"]):
        gone = tmp_path / "gone"
        gone.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", script, str(gone), *arguments],
            env={**os.environ, "PYTHONPATH": str(TOP)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, arguments
        assert done.stderr == "error: the current directory is gone: change to another one\n"


def test_the_hooks_take_a_file_for_a_file(repository: Path, tmp_path: Path) -> None:
    """Whatever its name: pre-commit puts the names behind the arguments."""
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    name = "--output-file=train.py"
    (repository / name).write_text(HAZARD, encoding="utf-8")
    for hook in hooks:
        before = (repository / "train.py").read_bytes()
        words: list[str] = [*hook["entry"].split(), *hook["args"], name]
        assert words[0] == "placement-lint"
        done = run_warm(repository, tmp_path / "canary", *words[1:])
        assert (repository / "train.py").read_bytes() == before
        assert f"./{name}:6:5: JDP204" in done.stdout or "(1 fixed, " in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--output-file", "json:report"], ["--write-baseline", "report"]], ids=" ".join
)
@pytest.mark.parametrize("exists", [True, False])
def test_an_output_is_not_written_through_a_link_of_the_repository(
    repository: Path, tmp_path: Path, arguments: list[str], exists: bool
) -> None:
    outside = tmp_path / "outside"
    if exists:
        run_warm(repository, tmp_path / "canary", "--write-baseline", "known.json", ".", code=0)
        (repository / "known.json").replace(outside)
    before = outside.read_bytes() if exists else b""
    (repository / "report").symlink_to(outside)
    done = run_warm(repository, tmp_path / "canary", *arguments, ".", code=2)
    assert "cannot be written: it is a link that leads out of its directory" in done.stderr
    assert outside.exists() == exists
    assert not exists or outside.read_bytes() == before
    (repository / "below").mkdir()
    (repository / "report").unlink()
    (repository / "report").symlink_to("below/report")
    run_warm(repository, tmp_path / "canary", *arguments, ".")
    assert json.loads((repository / "below" / "report").read_text(encoding="utf-8"))
