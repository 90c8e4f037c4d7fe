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

from placement_lint.config.schema import schema
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
    done = subprocess.run(
        [sys.executable, "-m", "placement_lint", *arguments],
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
    done = run(repository, tmp_path / "canary", code=2)
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

    first = run(repository, tmp_path / "canary", code=1)
    folder = repository / ".placement_lint_cache"
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert kept, "there is something to replace"
    for payload in (pickle.dumps(Evil()), marshal.dumps(compile(CANARY, "x", "exec")), b"\x80\x04"):
        for path in kept:
            path.write_bytes(payload)
        assert run(repository, tmp_path / "canary", code=1).stdout == first.stdout
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
    run(repository, tmp_path / "canary", "--fix", "--no-cache")
    assert (elsewhere / "inner.py").read_text(encoding="utf-8") == HAZARD
    assert (repository / "link.py").is_symlink()
