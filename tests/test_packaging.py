"""What is published: the description, the source archive, the recipes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from hatchling.builders.sdist import SdistBuilder

from placement_lint.version import __version__

TOP = Path(__file__).parents[1]
WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))


def test_links_of_the_description_lead_to_the_repository() -> None:
    absolute = runpy.run_path(str(TOP / "hatch_build.py"))["with_absolute_links"]
    text = absolute((TOP / "README.md").read_text(encoding="utf-8"), "1.2.3")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    assert "(https://github.com/placement-lint/placement-lint/blob/v1.2.3/docs/settings.md)" in text
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert all(link.startswith("https://raw.githubusercontent.com/") for link in pictures)


def test_the_source_archive_is_complete() -> None:
    files = {file.relative_path for file in SdistBuilder(str(TOP)).recurse_included_files()}
    assert files >= {
        *("CONTRIBUTING.md", "noxfile.py", ".pre-commit-hooks.yaml", "action.yml", "Dockerfile"),
        *("hatch_build.py", "mkdocs.yml", ".ci/run", "packaging/meta.yaml"),
        *("tests/test_packaging.py", "docs/settings.md", "benchmarks/peers.py"),
    }


def test_the_recipe_is_of_this_version_and_needs_what_we_need() -> None:
    recipe = (TOP / "packaging" / "meta.yaml").read_text(encoding="utf-8")
    assert f'set version = "{__version__}"' in recipe
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    needed = re.search(r"^dependencies = \[(.*?)\]", project, re.DOTALL | re.MULTILINE)
    assert needed is not None
    for name, lowest in re.findall(r'"(\w+)(>=[\d.]+)', needed[1]):
        assert f"- {name} {lowest}" in recipe


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_says(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["permissions"]
