"""Files that others ask about are opened once, and nothing of one question is left for the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.project import open_files
from placement_lint.project.donating_files import brings_donation
from placement_lint.project.modules import Modules
from placement_lint.project.project import Project
from placement_lint.project.queries import TrackedQueries
from tests.project.test_program_view import write

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.semantic.model import ModuleFacts

NAMES = 12
STEPS = "import jax\n\n" + "".join(
    f"def f{number}(x):\n    return x + {number}\n\n"
    f"step{number} = jax.jit(f{number}, donate_argnums=0)\n"
    for number in range(NAMES)
)


def project_of(tmp_path: Path, files: dict[str, str], *donating: str) -> Project:
    paths = write(tmp_path, files)
    return Project(paths, paths, donating=[path for path in paths if path.endswith(donating)])


@pytest.fixture
def program(tmp_path: Path) -> Project:
    files = {"steps.py": STEPS, "other.py": STEPS, "main.py": "import other, steps\n"}
    return project_of(tmp_path, files, "steps.py", "other.py")


def ask(program: Project, module: str) -> None:
    (main,) = (path for path in program.paths if path.endswith("main.py"))
    for number in range(NAMES):
        found = program.view.donation(main, f"{module}.step{number}")
        assert found is not None
        assert found.parameters == ("x",)


def test_a_file_is_parsed_once_for_all_of_its_names(program: Project) -> None:
    ask(program, "steps")
    assert program.view.parsed == 1
    ask(program, "other")
    assert program.view.parsed == 2


def test_what_there_is_no_room_for_is_parsed_again(
    program: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "MOST_KEPT", 0)
    ask(program, "steps")
    assert program.view.parsed == NAMES


def test_the_one_that_was_asked_for_least_recently_makes_room(tmp_path: Path) -> None:
    freed: list[str] = []

    class Facts:
        text = "x" * (open_files.MOST_KEPT // 2)

        def __init__(self, path: str) -> None:
            self.path = path
            self.begun = 0

        def begin_again(self, _: object) -> None:
            self.begun += 1

        def free(self) -> None:
            freed.append(self.path)

    def opened(path: str) -> ModuleFacts | None:
        facts: ModuleFacts = Facts(path)  # type: ignore[assignment]
        return facts

    files = open_files.OpenFiles(
        opened, lambda path: TrackedQueries(Project(), path, lambda: Project().view),
        is_barred=lambda path: path == "barred",
    )  # fmt: skip
    for path in ("a", "b", "a", "c"):
        with files.borrowed(path) as facts:
            assert facts is not None
            assert facts.path == path
    assert freed == ["b"]
    with files.borrowed("barred") as facts:
        assert facts is None
    with files.borrowed("a") as facts, files.borrowed("a") as within:
        # Whoever asks on the way does not find what is half done.
        assert facts is not within
    assert freed == ["b", "a"]
    with pytest.raises(KeyError), files.borrowed("c"):
        raise KeyError
    assert freed == ["b", "a", "c"]


def test_nothing_is_left_of_a_question(program: Project) -> None:
    steps = program.paths[2]
    files = program.view._open_files
    with files.borrowed(steps) as facts:
        assert facts is not None
        asked, tree = facts.run, facts.tree
        assert facts.fact(len_of_text) == len(STEPS)
    with files.borrowed(steps) as facts:
        assert facts is not None
        assert facts.tree is tree
        assert facts.run is not asked
        assert not facts._facts


def len_of_text(facts: ModuleFacts) -> int:
    return len(facts.text)


def chain(packages: int) -> dict[str, str]:
    """Return packages of which each imports the next one, and files that import the first."""
    files = {f"p{each}/__init__.py": f"from p{each + 1} import step\n" for each in range(packages)}
    files[f"p{packages}/__init__.py"] = "from .steps import step\n"
    files[f"p{packages}/steps.py"] = "import jax\n\nstep = jax.jit(print, donate_argnums=0)\n"
    return files | {f"use{each}.py": "from p0 import step\n\nstep(1)\n" for each in range(packages)}


@pytest.mark.parametrize("size", [4, 8])
def test_imports_are_looked_up_once_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    files = {**chain(size), "apart.py": "import json\n"}
    program = project_of(tmp_path, files, "steps.py")
    looked: list[str] = []
    real = Modules._imports_of

    def counting(self: Modules, path: str) -> object:
        looked.append(path)
        return real(self, path)

    monkeypatch.setattr(Modules, "_imports_of", counting)
    bringing = [path for path in program.paths if brings_donation(path, program)]
    assert {*bringing} == {path for path in program.paths if "/use" in path}
    assert len(looked) == len({*looked})
    assert {*looked} == {str(tmp_path / name) for name in files.keys() - {"apart.py"}}


def test_a_package_brings_a_file_nothing_of_its_own(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "from .a import step\nfrom q import other\n",
        "p/a.py": "import p\nimport jax\nstep = jax.jit(p.other, donate_argnums=0)\n",
        "q/__init__.py": "",
        "user.py": "import p\np.step(1)\n",
    }
    program = project_of(tmp_path, files, "a.py")
    brings = {path.rsplit("/", 1)[-1]: brings_donation(path, program) for path in program.paths}
    assert brings["a.py"] is False
    assert brings["user.py"] is True
    (tmp_path / "q" / "__init__.py").write_text("from .b import other\n")
    (tmp_path / "q" / "b.py").write_text("import jax\nother = jax.jit(print, donate_argnums=0)\n")
    a, b = str(tmp_path / "p" / "a.py"), str(tmp_path / "q" / "b.py")
    both = Project([*program.paths, b], program.paths, donating=[a, b])
    assert brings_donation(a, both)
