"""Components are checked in worker processes, and nothing that is said depends on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from placement_lint.findings import Severity
from placement_lint.lint.check_program import ComponentCheck
from placement_lint.lint.results import FixMode, Outcome
from placement_lint.lint.run import check_files
from placement_lint.lint.tasks import Request
from placement_lint.prefilter.conditions import Jax
from placement_lint.rules.base import Rule
from placement_lint.rules.registry import all_rules, rule_by_code
from tests.lint.helpers import options

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

    import libcst as cst

    from placement_lint.rules.context import Context

DATA = """\
import jax
import jax.numpy as jnp
with jax.default_device(jax.devices("cpu")[0]):
    rows = jnp.ones((8, 4))
"""
TRAIN = "import jax\nfrom {0}.data import rows\nfor i in range(8):\n    rows[i]\n"
OUTSIDE = "import jax\nimport {0}.data\nsize = 1\njax.device_put(size)\n"
"""It imports the file that places arrays, and uses none of them."""
LONE = "import jax\nx = 1\njax.device_put(x)\n"
PACKAGES = ("one", "two", "three", "four")


class TellsProcess(Rule):
    """Says in which process a file is checked."""

    code, name = "JDP840", "tells-process"
    severity = Severity.INFO
    follows_callers = follows_arrays = True
    needs = Jax()

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:  # noqa: N802
        ctx.report(node, f"checked in {os.getpid()}")


class Deadly(Rule):
    """Ends the process at the name `die_now`, as a fault of the parser's would."""

    code, name = "JDP841", "deadly"
    severity = Severity.INFO
    follows_callers = follows_arrays = True
    needs = Jax()

    def visit_Name(self, node: cst.Name, _ctx: Context) -> None:  # noqa: N802
        if node.value == "die_now":
            os.abort()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with several components and lone files, and stand in it."""
    for number, package in enumerate(PACKAGES):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "data.py").write_text(DATA + "size = 1\n" * number)
        (folder / "train.py").write_text(TRAIN.format(package))
        (folder / "outside.py").write_text(OUTSIDE.format(package))
        (tmp_path / f"lone_{package}.py").write_text(LONE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(outcome: Outcome) -> set[tuple[str, str]]:
    return {(Path(finding.path).as_posix(), finding.code) for finding in outcome.findings}


def run(*extra: type[Rule], jobs: int = 1, fix: FixMode = FixMode.NONE) -> Outcome:
    request = Request(options(*all_rules(), *extra))
    paths = sorted(map(str, Path().rglob("*.py")))
    return check_files(paths, lambda _: request, jobs=jobs, parallel_bytes=0, fix=fix)


def test_whatever_the_number_of_processes(tree: Path) -> None:
    expected = run()
    found = said(expected)
    assert {(f"{name}/train.py", "JDP201") for name in PACKAGES} <= found
    assert {(f"{name}/outside.py", "JDP204") for name in PACKAGES} <= found
    assert {(f"lone_{name}.py", "JDP204") for name in PACKAGES} <= found
    for jobs in (2, 4):
        outcome = run(jobs=jobs)
        assert replace(outcome, seconds=expected.seconds, sources=expected.sources) == expected


def test_components_are_checked_in_other_processes(tree: Path) -> None:
    outcome = run(TellsProcess, jobs=2)
    told = {Path(f.path).as_posix(): f.message for f in outcome.findings if f.code == "JDP840"}
    assert {path.partition("/")[0] for path in told} >= {*PACKAGES}
    assert f"checked in {os.getpid()}" not in told.values()
    for name in PACKAGES:
        assert told[f"{name}/data.py"] == told[f"{name}/train.py"], "they are one program"


def test_a_process_that_dies_of_a_component(tree: Path) -> None:
    with (tree / "two" / "train.py").open("a") as file:
        file.write("die_now = 1\n")
    outcome = run(Deadly, jobs=2)
    died = {path for path, code in said(outcome) if code == "JDP903"}
    # The program, by the first file that it is executed for; and the file that it died of.
    assert died == {"two/__init__.py", "two/train.py"}
    incomplete = {path for path, code in said(outcome) if code == "JDP900"}
    assert incomplete == {f"two/{name}.py" for name in ("data", "outside", "train")}
    found = said(outcome)
    assert {(f"{name}/train.py", "JDP201") for name in PACKAGES if name != "two"} <= found
    assert ("two/outside.py", "JDP204") in found
    assert {(f"lone_{name}.py", "JDP204") for name in PACKAGES} <= found


@pytest.mark.parametrize("codes", [("JDP601",), ("JDP601", "JDP602"), ("JDP501", "JDP601")])
def test_nothing_is_executed_for_rules_that_ask_of_no_array(
    tree: Path, monkeypatch: pytest.MonkeyPatch, codes: tuple[str, ...]
) -> None:
    """Unless one file reads something of an array that one of them is about."""
    executed: list[str] = []

    def interpret(check: ComponentCheck, members: Iterable[str], *, follows: bool | None) -> object:
        executed.extend(members)
        return whole(check, members, follows=follows)

    whole = ComponentCheck.interpret
    monkeypatch.setattr(ComponentCheck, "interpret", interpret)
    request = Request(options(*map(rule_by_code, codes)))
    old = tree / "one" / "outside.py"
    old.write_text(old.read_text() + "jax.device_put_sharded([size], jax.devices())\n")

    def found() -> set[tuple[str, str]]:
        paths = sorted(map(str, Path().rglob("*.py")))
        return said(check_files(paths, lambda _: request, jobs=1))

    assert found() == {("one/outside.py", "JDP601")}
    assert not executed
    used = tree / "two" / "train.py"
    used.write_text(used.read_text() + "rows.device_buffer\n")
    assert found() == {("one/outside.py", "JDP601"), ("two/train.py", "JDP601")}
    assert "two/data.py" in executed


def test_fixes_are_the_same(tree: Path) -> None:
    expected = run(fix=FixMode.DIFF)
    assert expected.fixed
    assert run(fix=FixMode.DIFF, jobs=2).fixed == expected.fixed


PROGRAM = """
import sys
from placement_lint.cli import main
from placement_lint.lint import run

run.PARALLEL_BYTES = 0  # processes are worth it
sys.exit(main())
"""


def command(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "check", ".", "--isolated", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.every
def test_what_is_remembered_of_components(tree: Path) -> None:
    """The command has one thread, so that its processes are forked where the system can."""
    fresh = command("-j", "1", "--no-cache", "-q").communicate()
    assert b"JDP201" in fresh[0]
    for jobs in ("2", "1", "4"):
        assert command("-j", jobs, "-q").communicate() == fresh
    with (tree / "one" / "data.py").open("a") as file:
        file.write("more = rows\n")
    with (tree / "three" / "train.py").open("a") as file:
        file.write("from three.data import rows as r\nfor i in range(8):\n    r[i]\n")
    edited = command("-j", "1", "--no-cache", "-q").communicate()
    assert edited != fresh
    for jobs in ("2", "1"):
        assert command("-j", jobs, "-q").communicate() == edited


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process group")
def test_an_interrupt_while_components_are_checked(tree: Path) -> None:
    lines = "".join(f"x{i} = rows[{i % 8}] + x{i - 1}\n" for i in range(1, 6000))
    for name in PACKAGES:
        text = TRAIN.format(name) + "x0 = rows[0]\n" + lines
        (tree / name / "train.py").write_text(text)
    process = command("-j", "2", "--no-cache")
    time.sleep(1.5)
    assert process.poll() is None, "it is at work"
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in out + errors
