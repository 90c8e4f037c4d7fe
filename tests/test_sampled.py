"""The markers `sampled` and `asked_for`: what the default run takes, and who gets all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
CONFTEST = """\
import pytest
from tests import sampled

@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    sampled.make_sample(metafunc)

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    sampled.leave_out(config, items)

@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    is_left_out = sampled.is_left_out(collector.config, getattr(obj, "pytestmark", ()))
    return [] if is_left_out else None
"""
SETTINGS = """\
[pytest]
addopts = -m 'not every'
markers =
    every: all
    sampled: some
    asked_for: how
"""
TESTS = """\
import pytest

@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("letter", "abc")
@pytest.mark.parametrize(("number", "twice"), [(n, 2 * n) for n in range(4)])
def test_pair(number, twice, letter): ...

@pytest.mark.parametrize("word", ["one", "two"])
def test_all(word): ...

@pytest.mark.asked_for(by_name=True)
@pytest.mark.parametrize("number", [1, 2])
def test_single(number): ...

@pytest.mark.asked_for(by_name=False)
def test_group(): ...
"""
PAIRS = {f"test_pair[{n}-{2 * n}-{letter}]" for n in range(4) for letter in "abc"}
SAMPLE = {
    f"test_pair[{n}-{2 * n}-{letter}]"
    for n in range(4)
    for position, letter in enumerate("abc")
    if (n + position) % 3 == 0
}
OTHERS = {"test_all[one]", "test_all[two]", "test_group"}
SINGLES = {"test_single[1]", "test_single[2]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    texts = {"conftest.py": CONFTEST, "pytest.ini": SETTINGS, "test_it.py": TESTS}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def collected(folder: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--collect-only", "-q"),
            *("-p", "no:cacheprovider", *arguments),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}


def test_every_parameter_has_its_turn(folder: Path) -> None:
    assert collected(folder) == SAMPLE | OTHERS
    assert {name.rpartition("-")[2] for name in SAMPLE} == {"a]", "b]", "c]"}
    assert {name.partition("-")[0] for name in SAMPLE} == {f"test_pair[{n}" for n in range(4)}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-k", "pair"), PAIRS),
        (("test_it.py::test_pair",), PAIRS),
        (("-k", "single or group"), SINGLES),
        (("-m", "every"), PAIRS - SAMPLE),
        (("-m", "every", "test_it.py::test_pair"), PAIRS - SAMPLE),
        (("-m", ""), PAIRS | OTHERS),
        (("test_it.py",), SAMPLE | OTHERS),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_who_asks_by_name_gets_all(
    folder: Path, arguments: tuple[str, ...], expected: set[str]
) -> None:
    assert collected(folder, *arguments) == expected
