from __future__ import annotations

import configparser
import os
import time
from typing import TYPE_CHECKING

import pytest

from placement_lint.config import dependencies
from placement_lint.config.dependencies import Requirements
from placement_lint.project.target import ProjectMetadata

if TYPE_CHECKING:
    from pathlib import Path

Bounds = tuple[tuple[str, str], ...]


def found(folder: Path) -> list[Bounds]:
    return [requirement.bounds for requirement in Requirements().of(str(folder))]


@pytest.mark.parametrize(
    ("line", "bounds"),
    [
        ("jax>=0.4.30", ((">=", "0.4.30"),)),
        ("jax[cuda12] >= 0.4.30, < 0.6", ((">=", "0.4.30"), ("<", "0.6"))),
        ("JAX (>=0.5)", ((">=", "0.5"),)),
        ("jax==0.7.*", (("==", "0.7.*"),)),
        ("jax~=0.7.0; python_version >= '3.11'", (("~=", "0.7.0"),)),
        ("jax===0.5.3  # pinned", (("===", "0.5.3"),)),
        ("jax!=0.4.32,>0.4.31", (("!=", "0.4.32"), (">", "0.4.31"))),
        ("jax>=0.7.²", ((">=", "0.7."),)),
        ("jax", ()),
        ("jax @ https://example.org/jax-0.5.0.tar.gz", ()),
    ],
)
def test_requirement_lines(tmp_path: Path, line: str, bounds: Bounds) -> None:
    text = (
        f'[project]\nname = "x"\ndependencies = ["numpy", "jaxtyping>=1", "jaxlib>=9", "{line}"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(text)
    assert found(tmp_path) == ([bounds] if bounds else [])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "pyproject.toml",
            '[project.optional-dependencies]\ngpu = ["jax[cuda12]>=0.5"]\ncpu = ["jax>=0.6"]\n',
            [((">=", "0.5"),), ((">=", "0.6"),)],
        ),
        (
            "pyproject.toml",
            '[dependency-groups]\nall = [{include-group = "x"}]\nx = ["jax>=0.6.1"]\n',
            [((">=", "0.6.1"),)],
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\npython = "^3.10"\njax = "^0.4.30"\n',
            [((">=", "0.4.30"), ("<", "0.5"))],
        ),
        (
            "pyproject.toml",
            '[tool.poetry.group.gpu.dependencies]\njax = {version = "~0.5.1", extras = ["cuda"]}\n',
            [((">=", "0.5.1"), ("<", "0.6"))],
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\njax = [{version = "0.5.3"}, {version = ">=0.6,<0.8"}]\n',
            [(("==", "0.5.3"),), ((">=", "0.6"), ("<", "0.8"))],
        ),
        ("pyproject.toml", '[tool.poetry.dev-dependencies]\njax = "*"\n', []),
        ("pyproject.toml", "[tool.poetry.dependencies]\njax = 7\n", []),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\njax = [7, {path = "../jax"}, "0.5.3"]\n',
            [(("==", "0.5.3"),)],
        ),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n    numpy\n    jax >= 0.4.35\n",
            [((">=", "0.4.35"),)],
        ),
        (
            "setup.cfg",
            "[options.extras_require]\ngpu = jax[cuda]>=0.5\n",
            [((">=", "0.5"),)],
        ),
        ("requirements.txt", "-r base.txt\n# jax>=9\nnumpy\njax==0.6.2\n", [(("==", "0.6.2"),)]),
        ("requirements-gpu.txt", "jax[cuda12]>=0.7\n", [((">=", "0.7"),)]),
        ("gpu_requirements.in", "jax>=0.8\n", [((">=", "0.8"),)]),
        ("pyproject.toml", "this is { no TOML, but it says jax", []),
        ("pyproject.toml", 'dependencies = "jax>=0.5"\n[project]\ndependencies = "jax"\n', []),
        ("setup.cfg", "no section, but jax\n", []),
    ],
)
def test_files(tmp_path: Path, name: str, text: str, expected: list[Bounds]) -> None:
    (tmp_path / name).write_text(text)
    assert found(tmp_path) == expected


def test_the_nearest_file_that_names_jax_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax>=0.5"]\n')
    inner = tmp_path / "packages" / "inner"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    assert found(inner) == [((">=", "0.5"),)]
    (inner / "requirements.txt").write_text("jax>=0.7\n")
    assert found(tmp_path / "packages") == [((">=", "0.5"),)]


def test_a_repository_ends_where_it_ends(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("jax>=0.5\n")
    inner = tmp_path / "repository"
    (inner / ".git").mkdir(parents=True)
    assert found(inner) == []


def test_the_requirements_of_the_project_go_before_those_of_its_tests(tmp_path: Path) -> None:
    (tmp_path / "requirements-dev.txt").write_text("jax>=0.9\n")
    (tmp_path / "requirements.txt").write_text("jax>=0.5\n")
    assert found(tmp_path) == [((">=", "0.5"),)]


def test_source_and_text(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("jax >= 0.5 , <0.9\n")
    (requirement,) = Requirements().of(str(tmp_path))
    assert requirement.text == "jax>=0.5,<0.9"
    assert requirement.source == str(file)


# -- what takes no time ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", f"[a]\nx{' ' * 300_000}sy\n"),
        ("setup.cfg", "[a]\n" + "x\n" * 300_000),
        ("setup.cfg", "[a]\n" + "x = 1\n" * 300_000),
        ("setup.cfg", "[a]\nx = 1\n" + " y\n" * 300_000),
        ("setup.cfg", "[" * 300_000),
        ("requirements.txt", "numpy\n" * 200_000),
        ("requirements.txt", "jax>=0.4.30,<0.5\n" * 200_000),
        ("requirements.txt", "".join(f"jax>=9.{number}\n" for number in range(200_000))),
        ("requirements.txt", "jax" + ",".join(f">=9.{number}" for number in range(200_000))),
        ("requirements.txt", "a-" * 300_000 + "!"),
        ("pyproject.toml", "project.dependencies = ['jax" + ",>=9" * 200_000 + "']"),
        ("pyproject.toml", "tool.poetry.dependencies.jax = '" + "1 || " * 200_000 + "1'"),
        ("pyproject.toml", "[" + ".".join(["a"] * 200_000) + "]"),
    ],
    ids=lambda text: text[:16],
)
def test_nothing_takes_long(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    if "jax" not in text:
        text += "\n# jax\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    started = time.process_time()
    assert str(ProjectMetadata().target("auto", str(tmp_path / "a.py")))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "text",
    [
        "[options]\ninstall_requires =\n  jax>=0.4\n  numpy\n",
        "[options]\ninstall_requires = jax>=0.4\n",
        "[options]\nInstall_Requires: jax\n\n  # why\n  flax\npython_requires = 3\n",
        "[options]\nx = 1\n[options.extras_require]\na = jax<1\nb =\n    jax>2 ; extra == 'x'\n",
        "# c\n; d\n[a]\n[options]\ninstall_requires=\n\tjax\n\n\tflax\n[options]\ny = 1\n",
        "[options]  ; c\ninstall_requires = jax\ninstall_requires = jaxlib\n",
        "[options.extras_require]\n  a = 1\n  b =\n    jax\n  c = 2\n",
        "[options.extras_require]\na=b=c\nd:e=f\n",
    ],
)
def test_setup_cfg_is_read_as_configparser_does(text: str) -> None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    sections = dependencies._sections(text)
    for section in ("options", "options.extras_require"):
        told = dict(parser.items(section)) if parser.has_section(section) else {}
        found = sections.get(section, {})
        assert found.keys() == told.keys()
        for option, lines in found.items():
            assert [*filter(None, lines)] == [*filter(None, told[option].split("\n"))]


def test_a_folder_that_cannot_be_listed_may_have_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax>=0.5"]\n')

    def listed(folder: str) -> list[str]:
        raise PermissionError(folder)

    monkeypatch.setattr(os, "listdir", listed)
    assert found(tmp_path) == [((">=", "0.5"),)]
