"""The linter as an instrument: it must be noticed when it does not work."""

from pathlib import Path

import pytest

from placement_lint.verify.observation import BlindInstrumentError
from placement_lint.verify.own import findings

FOUND = "print('train.py:1:1: JDP900 cannot be read')"
OTHER = "print('train.py:1:1: JDP901 cannot be parsed')"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a file beside a linter of the test's own, which `python -m` finds first."""
    (tmp_path / "placement_lint").mkdir()
    (tmp_path / "placement_lint" / "__init__.py").touch()
    return tmp_path / "train.py"


def linter(program: Path, *lines: str) -> None:
    source = "\n".join(["import sys", *lines])
    (program.parent / "placement_lint" / "__main__.py").write_text(source, encoding="utf-8")


def test_a_finding_is_seen(program: Path) -> None:
    linter(program, FOUND, "sys.exit(1)")
    observation = findings(program, "JDP900")
    assert (observation.measured, observation.seen) == (1, True)
    assert observation.text == "train.py:1:1: JDP900 cannot be read"


def test_no_finding_is_seen(program: Path) -> None:
    linter(program, "assert sys.argv[1:] == ['--isolated', 'train.py']")
    observation = findings(program, "JDP900")
    assert (observation.measured, observation.seen) == (0, False)


@pytest.mark.parametrize(
    "lines",
    [
        ["sys.exit(2)"],
        ["sys.exit(1)"],
        [FOUND],
        [OTHER, "sys.exit(1)"],
        [FOUND, "raise ValueError"],
        ["print('Traceback', file=sys.stderr)"],
    ],
)
def test_a_linter_that_does_not_work_is_not_one_that_finds_nothing(
    program: Path, lines: list[str]
) -> None:
    linter(program, *lines)
    with pytest.raises(BlindInstrumentError, match="the linter ended with status"):
        findings(program, "JDP900")


def test_code_that_runs_in_the_linters_process_first(program: Path) -> None:
    linter(
        program,
        "assert sys.argv[1:] == ['--isolated', 'train.py']",
        "import placement_lint",
        "if hasattr(placement_lint, 'broken'):",
        f"    {FOUND}",
        "    sys.exit(1)",
    )
    before = "import placement_lint\nplacement_lint.broken = True"
    assert findings(program, "JDP900", before=before).seen
    assert not findings(program, "JDP900").seen
