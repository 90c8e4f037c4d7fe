"""The parts of the comparison that measure nothing."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from benchmarks import parallel
from benchmarks.comparison import (
    again,
    applications,
    generated,
    keystrokes,
    report,
    results,
    tools,
    trees,
)
from benchmarks.comparison.command import KEPT, REPOSITORY
from benchmarks.comparison.measure import Cost, FailedError, clean_environment, cost_of
from benchmarks.comparison.results import Growth, Results, Row, Size, Tree
from benchmarks.comparison.rounds import alternate

if TYPE_CHECKING:
    from pathlib import Path

README = REPOSITORY / "README.md"


def row(tool: str, wall: float, cpu: float = 1.0, peak: int = 50_000_000) -> Row:
    return Row.of(tool, [Cost(wall * factor, cpu * factor, peak) for factor in (0.5, 1, 3)])


SIZE = Size(1200, 345_678, 9_999_999, 900, 300_000, 90, 30_000)
SAMPLE = Results(
    "2026-01-02",
    "Linux, 2 processors",
    {"Python": "3.11.7", "ruff": "0.17.6"},
    (
        Tree(
            trees.PACKAGES,
            SIZE,
            (
                row(tools.PARSING, 2, 2),
                row(tools.OURS_COLD_1, 2.5, 2.5),
                row(tools.OURS_COLD_2, 1.5),
                row(tools.OURS_WARM, 0.2),
                row(tools.RUFF_COLD, 0.4),
                row(tools.RUFF_WARM, 0.25),
                row(tools.FLAKE8, 60),
            ),
        ),
        Tree(
            trees.MONOREPO,
            SIZE,
            (
                row(tools.OURS_COLD_1, 2.5, peak=300_000_000),
                row(tools.OURS_COLD_2, 2.5),
                row(tools.OURS_WARM, 0.3),
                row(tools.RUFF_COLD, 0.5),
                row(tools.RUFF_WARM, 0.2),
            ),
        ),
    ),
    (
        row(tools.PASS, 0.01),
        row(tools.HELP, 0.019),
        row(tools.HOOK_PLAIN, 0.08),
        row(tools.HOOK_JAX, 0.2),
    ),
    (Growth("functions", 10.4), Growth("methods", 12.5)),
)


def test_the_bars_are_those_of_the_medians() -> None:
    judged = {bar.what: (round(bar.value, 2), bar.met) for bar in report.bars(SAMPLE)}
    assert judged == {
        "packages, cold: processor time against LibCST's parse of what mentions jax": (1.25, False),
        "packages, cold: wall time against ruff's": (3.75, True),
        "packages, cold: times faster than flake8": (40, True),
        "10,000 files, cold: wall time against ruff's": (5, True),
        "10,000 files, cold: memory": (300, False),
        "packages, warm: wall time against ruff's": (0.8, True),
        "monorepo, warm: wall time against ruff's": (1.5, False),
        "`placement-lint --help` against `python -c pass`": (1.9, True),
        "one file without jax, over `python -c pass`": (70, False),
        "one file with jax, over `python -c pass`": (190, True),
        "growth of the time with a file 10 times as long, at worst": (12.5, False),
    }


def test_a_bar_says_what_it_is() -> None:
    assert report.Bar("a", 30, 25, " x", at_least=True).cells == ("a", "≥ 25 x", "30 x", "yes")
    assert report.Bar("b", 1.345, 1.3, " x").cells == ("b", "≤ 1.30 x", "1.34 x", "**no**")


def test_what_was_not_measured_is_not_judged() -> None:
    assert report.bars(Results("2026-01-02", "", {})) == []


def test_the_page_has_every_row() -> None:
    page = report.page(SAMPLE)
    assert "Measured on 2026-01-02 by" in page
    assert "Linux, 2 processors. Python 3.11.7, ruff 0.17.6." in page
    assert "| flake8 | 60 s | 30 s to 180 s | 1.00 s | 50 MB | 3 |" in page
    assert "| python -c pass | 10.0 ms | 5.0 ms to 30.0 ms | 1000.0 ms | 50 MB | 3 |" in page
    assert "| functions | 10.4 |" in page
    for tree in SAMPLE.trees:
        assert f"{tree.size.jax_lines:,} in files that mention jax" in page
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {3, 5, 7}


def test_the_readme_gets_the_summary_between_its_markers() -> None:
    text = f"before\n{report.BEGIN}\nearlier\n{report.END}\nafter\n"
    new = report.with_summary(text, SAMPLE)
    assert new.startswith(f"before\n{report.BEGIN}\n![Bars")
    assert "on Linux, 2 processors ([record](benchmarks/results.json))" in new
    assert new.endswith(f"\n{report.END}\nafter\n")
    (flake8,) = (line for line in new.splitlines() if line.startswith("| flake8 "))
    assert flake8.startswith("| flake8 | 60 s | 1.00 s | 50 MB |")
    assert flake8.count("|") == 4 + len(SAMPLE.trees)
    missed = [f"- {bar.what}: " for bar in report.bars(SAMPLE) if not bar.met]
    assert all(each in new for each in missed)
    assert "- packages, warm: wall time against ruff's" not in new
    shown = report.with_summary(text, SAMPLE, "| flax | 16 s |")
    assert shown.endswith(f"\n\n| flax | 16 s |\n{report.END}\nafter\n")
    assert "earlier" not in new
    assert report.with_summary(new, SAMPLE) == new
    assert report.with_summary(new, None) == f"before\n{report.BEGIN}\n{report.END}\nafter\n"


def test_the_numbers_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert results.read(path) is None
    path.write_text(results.written(SAMPLE), encoding="utf-8")
    assert results.read(path) == SAMPLE


def test_the_page_and_the_readme_say_what_was_measured() -> None:
    kept = results.read(KEPT)
    text = README.read_text(encoding="utf-8")
    done = applications.read(KEPT.with_name("applications.json"))
    expected = report.with_summary(text, kept, applications.summary(done))
    assert text == expected, "run: python benchmarks/peers.py --report"
    page = KEPT.with_name("RESULTS.md")
    written = page.read_text(encoding="utf-8") if page.is_file() else None
    edited = again.part(again.read(KEPT.with_name("again.json")))
    typed = keystrokes.part(keystrokes.read(KEPT.with_name("editor.json")))
    assert written == (
        None if kept is None else report.page(kept) + applications.part(done) + edited + typed
    )


def test_what_repositories_took_is_kept_and_misses_are_named(tmp_path: Path) -> None:
    costs = [
        applications.Measured(cpu, peak) for cpu, peak in ((10.0, 5e8), (8.0, 1e7), (4.0, 1e7))
    ]
    made = [
        applications.Application("slow", 3, 4000, costs[0], 0, costs[1], costs[2]),
        applications.Application("left", 3, 4000, costs[2], 2, costs[1], None),
        applications.Application("never", 3, 4000, None, 0, costs[1], costs[2]),
        applications.Application("fast", 3, 4000, costs[2], 0, costs[1], costs[2]),
    ]
    done = applications.Applications("2026-01-02", "Linux, 2 processors", 3, 60, tuple(made))
    path = tmp_path / "applications.json"
    path.write_text(json.dumps(asdict(done)), encoding="utf-8")
    assert applications.read(path) == done
    assert [each.missed for each in made] == [
        ("LibCST", "mypy", "memory"), ("done",), ("done",), (),
    ]  # fmt: skip
    text = applications.part(done)
    assert "| slow | 4,000 | 10 s | 500 MB | 0 | 8.00 s | 1.25 x | 4.00 s | 2.50 x | **Lib" in text
    assert "| never | 4,000 | more than 60 s |" in text
    assert applications.part(None) == ""


def test_each_tool_has_its_turn_in_each_round() -> None:
    turns: list[str] = []

    def measure(tool: tools.Tool) -> Cost:
        turns.append(tool.name)
        return Cost(1, 1, 1)

    compared = [
        tools.Tool("fast", ()),
        tools.Tool("slow", (), slow=True),
        tools.Tool("warm", (), primed=True),
    ]
    costs = alternate(compared, measure, rounds=3, slow_rounds=1, say=lambda _: None)
    assert turns == ["fast", "warm", *("fast", "slow", "warm"), *("fast", "warm") * 2]
    assert {name: len(each) for name, each in costs.items()} == {"fast": 3, "slow": 1, "warm": 3}


def test_a_short_run_has_more_turns() -> None:
    seconds = {"reading": 1.0, "cold": 90.0, "warm": 0.2}
    turns: list[str] = []

    def measure(tool: tools.Tool) -> Cost:
        turns.append(tool.name)
        return Cost(seconds[tool.name], 1, 1)

    compared = [
        tools.Tool("reading", ()),
        tools.Tool("cold", ()),
        tools.Tool("warm", (), primed=True),
    ]
    costs = alternate(
        compared, measure, rounds=1, slow_rounds=1, quick_rounds=3, say=lambda _: None
    )
    assert turns == ["reading", "warm", "reading", "cold", "warm", *("reading", "warm") * 2]
    assert {name: len(each) for name, each in costs.items()} == {"reading": 3, "cold": 1, "warm": 3}


def test_what_shall_find_nothing_changed_is_run_before_each_turn() -> None:
    turns: list[str] = []

    def measure(tool: tools.Tool) -> Cost:
        turns.append(tool.name)
        return Cost(len(turns), 1, 1)

    compared = [tools.Tool("cold", ()), tools.Tool("warm", (), unchanged=True)]
    costs = alternate(compared, measure, rounds=2, slow_rounds=1, say=lambda _: None)
    assert turns == ["cold", *("cold", "warm", "warm") * 2]
    assert [each.wall for each in costs["warm"]] == [4, 7]


def test_a_file_that_changes_is_another_one_each_time_and_then_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    before = path.stat().st_mtime_ns
    changing, seen = tools.Changing(path), set()
    for _ in range(3):
        changing.change()
        seen.add(path.read_bytes())
        changing.restore()
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (b"x = 1\n", before)
    assert len(seen) == 3


# -- trees ----------------------------------------------------------------------------------------


def test_the_packages_are_pinned_and_many() -> None:
    pins = trees.pinned(trees.LIST.read_text(encoding="utf-8"))
    assert len(pins) == len(set(pins)) >= 20
    assert all(pin.count("==") == 1 for pin in pins)
    assert trees.pinned("# nothing\n\na==1  # why\n") == ["a==1"]


def test_an_archive_is_found_by_its_name_however_that_is_spelt(tmp_path: Path) -> None:
    for name in ("dm_haiku-0.0.17-py3-none-any.whl", "dm-acme-0.4.0.tar.gz", "note.txt"):
        (tmp_path / name).touch()

    def find(project: str, version: str) -> str | None:
        found = trees.find_archive(project, version, [tmp_path / "none", tmp_path])
        return None if found is None else found.name

    assert find("dm-haiku", "0.0.17") == "dm_haiku-0.0.17-py3-none-any.whl"
    assert find("dm_acme", "0.4.0") == "dm-acme-0.4.0.tar.gz"
    assert find("dm-haiku", "0.0.1") is None
    assert find("haiku", "0.0.17") is None


def test_only_python_files_are_taken_from_an_archive(tmp_path: Path) -> None:
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name in ("a/b.py", "a/pyproject.toml", "../c.py", "a/data.bin"):
            file.writestr(name, "x = 1\n")
    assert [*trees.python_files(wheel)] == [("a/b.py", b"x = 1\n")]
    (tmp_path / "b.py").write_bytes(b"y = 2\n")
    sdist = tmp_path / "a-1.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(tmp_path / "b.py", "a-1/b.py")
        archive.add(tmp_path / "b.py", "a-1/setup.cfg")
    assert [*trees.python_files(sdist)] == [("a-1/b.py", b"y = 2\n")]


def test_a_tree_is_made_once_and_again_when_it_should_be_another(tmp_path: Path) -> None:
    folder = trees.make_tree(trees.MONOREPO, tmp_path, wheels=None, scale=0.001)
    files = sorted(folder.rglob("*.py"))
    assert len(files) == 10
    files[0].write_text("mine", encoding="utf-8")
    assert trees.make_tree(trees.MONOREPO, tmp_path, wheels=None, scale=0.001) == folder
    assert files[0].read_text(encoding="utf-8") == "mine"
    trees.make_tree(trees.MONOREPO, tmp_path, wheels=None, scale=0.002)
    assert len([*folder.rglob("*.py")]) == 20
    assert files[0].read_text(encoding="utf-8") != "mine"


def test_the_repository_is_what_it_is_said_to_be() -> None:
    files = dict(generated.monorepo(1000))
    with_jax = [text for text in files.values() if "jax" in text]
    assert (len(files), len(with_jax)) == (1000, 20)
    for text in [*with_jax, *[*files.values()][:50]]:
        ast.parse(text)
    digest = hashlib.sha256("\0".join(f"{p}\0{t}" for p, t in files.items()).encode()).hexdigest()
    assert files == dict(generated.monorepo(1000))
    assert digest.startswith("e34ec893ee000fbe"), digest


def test_the_long_file_has_its_length() -> None:
    for lines in (500, 10_000):
        text = generated.long_file(lines)
        assert text.count("\n") == lines
        ast.parse(text)


# -- measuring ------------------------------------------------------------------------------------


def test_a_process_is_measured_with_what_it_starts(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = 'sum(range(3_000_000)); b\"x\" * 300_000_000'\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    measuring = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from benchmarks.comparison.measure import clean_environment, cost_of\n"
        "folder = Path(sys.argv[1])\n"
        "for code in sys.argv[2:]:\n"
        "    cost = cost_of([sys.executable, '-c', code], folder, clean_environment(folder), {0})\n"
        "    print(json.dumps([cost.cpu, cost.peak, cost.wall]))\n"
    )
    # The process that measures must be small, and this one has run other tests.
    lines = subprocess.run(
        [sys.executable, "-c", measuring, str(tmp_path), "pass", code],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    ).stdout.splitlines()
    (idle_cpu, idle_peak, _), (cpu, peak, wall) = map(json.loads, lines)
    assert 0 < idle_cpu < cpu
    assert idle_peak < 290_000_000 < peak
    assert wall > 0


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(FailedError, match=r"exit code 3\nwhy"):
        cost_of(command, tmp_path, clean_environment(tmp_path), {0})
    assert cost_of(command, tmp_path, clean_environment(tmp_path), {3}).wall > 0


def test_the_environment_starts_python_as_users_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    environment = clean_environment(tmp_path)
    assert not [name for name in environment if name.startswith("PYTHON")]
    assert environment["PATH"].startswith(str(tmp_path))


# -- parallel --------------------------------------------------------------------------------------


def test_where_processes_begin_to_pay() -> None:
    def points(*together: float) -> list[parallel.Point]:
        return [parallel.Point(1000 * n, n, 1.0, each) for n, each in enumerate(together, 1)]

    assert parallel.crossing(points(2.0, 0.9, 1.5, 0.8, 0.7)) == 4000
    assert parallel.crossing(points(0.5, 0.5)) == 1000
    assert parallel.crossing(points(0.5, 1.5)) is None
    assert parallel.crossing([]) is None


def test_the_amounts_grow_and_are_spread_over_the_files() -> None:
    files = [(f"{number:03}.py", 10_000 + number) for number in range(200)]
    amounts = parallel.amounts(files, 1_000_000)
    sizes = [size for size, _ in amounts]
    assert sizes == sorted(set(sizes))
    assert all(size == sum(dict(files)[path] for path in paths) for size, paths in amounts)
    assert amounts[0][1] == ["000.py", "067.py", "134.py"]
    assert sizes[0] * 1.1 >= parallel.LEAST
    assert sizes[-1] <= 1_100_000


def test_which_files_are_edited(tmp_path: Path) -> None:
    body = "import jax\n\n\ndef f(x):\n    x = x + 1\n    return x\n"
    (tmp_path / "base.py").write_text(body, encoding="utf-8")
    for name in ("one", "two"):
        text = body.replace("import jax\n", f"import jax\nfrom base import f as {name}\n")
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    central, leaf = again.central_and_leaf(tmp_path)
    assert (central.name, leaf.name) == ("base.py", "two.py")
    edited = again._with_statement(body)
    assert edited is not None
    assert "    print('edited')\n    return x\n" in edited
    assert again._with_statement("def f(:\n") is None
