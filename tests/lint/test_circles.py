"""A project with circles of imports: the same findings whoever looks, and in whatever order."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.incremental.cache import Cache
from placement_lint.lint.incremental.cache_folder import CacheFolder
from placement_lint.lint.linter import Linter
from placement_lint.lint.run import check_files
from tests.project.test_program_view import write

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.lint.results import Outcome

LATE = 'import os\nos.environ["JAX_PLATFORMS"] = "cpu"\n'


def circle(count: int, *, package: str) -> dict[str, str]:
    """Give modules that import each the next one; the last of them imports jax, and the first."""
    start = f"from {package} import " if package else "import "
    folder = f"{package}/" if package else ""
    files = {
        f"{folder}m{count}_{n}.py": f"{start}m{count}_{(n + 1) % count}\n{LATE}import json\n"
        for n in range(count)
    }
    files[f"{folder}m{count}_{count - 1}.py"] += "import jax\n"
    return files


FILES = {
    **{name: text for count in (2, 3, 9) for name, text in circle(count, package="").items()},
    **{name: text for count in (2, 5) for name, text in circle(count, package="pkg").items()},
    "pkg/__init__.py": "from pkg import m2_0\nfrom . import m5_3\nfrom pkg.sub import x\n",
    "pkg/sub/__init__.py": f"from . import x\n{LATE}",
    "pkg/sub/x.py": f"from pkg import m2_1\nimport pkg.sub\n{LATE}",
    **{f"outside_{count}.py": f"import m{count}_0\n{LATE}" for count in (2, 3, 9)},
    "outside_pkg.py": f"from pkg.sub import x\n{LATE}",
}
SETTINGS = Settings(select=("JDP5",))


def said(outcome: Outcome) -> list[tuple[object, ...]]:
    return [(f.path, f.span.line, f.code, f.message) for f in outcome.findings]


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return write(tmp_path / "project", FILES)


def lines(outcome: Outcome) -> set[str]:
    return {finding.path.rpartition("/project/")[2] for finding in outcome.findings}


def test_what_is_found(paths: list[str]) -> None:
    found = lines(Linter(lambda _: SETTINGS).check(paths))
    assert {"outside_2.py", "outside_3.py", "outside_9.py", "outside_pkg.py"} <= found
    # Imported as a module, it sets the variable before the circle comes to import jax in it.
    assert found.isdisjoint({"m2_1.py", "m3_2.py", "m9_8.py"})


@pytest.mark.parametrize("jobs", [2, 3])
def test_in_several_processes(paths: list[str], jobs: int) -> None:
    from placement_lint.lint.file_results import FileOptions
    from placement_lint.lint.tasks import Request
    from placement_lint.rules.selection import select_rules

    def request(path: str) -> Request:
        return Request(FileOptions(rules=select_rules(SETTINGS, path)), unsafe_fixes=False)

    alone = check_files(paths, request, jobs=1)
    several = check_files(paths, request, jobs=jobs, parallel_bytes=0)
    assert said(several) == said(alone) != []


@pytest.mark.parametrize("seed", range(3))
def test_in_any_order(paths: list[str], seed: int) -> None:
    expected = said(Linter(lambda _: SETTINGS).check(paths))
    shuffled = random.Random(seed).sample(paths, len(paths))  # noqa: S311
    assert said(Linter(lambda _: SETTINGS).check(shuffled)) == expected


def test_cold_and_warm(tmp_path: Path, paths: list[str]) -> None:
    cache = Cache(CacheFolder(str(tmp_path / "cache"), is_own=False), "run")

    def run() -> list[tuple[object, ...]]:
        return said(Linter(lambda _: SETTINGS, cache=cache, here=SETTINGS).check(paths))

    expected = said(Linter(lambda _: SETTINGS).check(paths))
    assert run() == expected
    assert cache.problem == ""
    assert run() == expected
    for name in ("m9_4.py", "pkg/__init__.py", "pkg/sub/x.py", "m2_1.py"):
        path = tmp_path / "project" / name
        for text in ("import json\n", FILES[name]):
            path.write_text(text)
            assert run() == said(Linter(lambda _: SETTINGS).check(paths))
