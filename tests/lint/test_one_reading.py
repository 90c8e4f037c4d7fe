"""A run reads each file once, and parses each of its texts once."""

from __future__ import annotations

import ast
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import libcst as cst
import pytest

from placement_lint.cli import main
from placement_lint.prefilter.conditions import FileText, Needs
from placement_lint.rules.selection import select_rules

if TYPE_CHECKING:
    from placement_lint.config.settings import Settings

DEVICES = "import jax\n\ncpu = jax.devices('cpu')[0]\n"
DATA = """\
import jax
import jax.numpy as jnp
from devices import cpu


def load():
    with jax.default_device(cpu):
        return jnp.zeros((8, 4))
"""
TRAIN = "from data import load\n\ntokens = load()\nprint(tokens[0])\n"
PROGRAM = {"devices.py": DEVICES, "data.py": DATA, "train.py": TRAIN}
FIXED = DATA.replace("jnp.zeros((8, 4))", "jax.device_put(jnp.zeros((8, 4)), cpu)")


class Counts:
    """How often each file of a folder is opened, and each of its texts is parsed."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.reads: Counter[str] = Counter()
        self.libcst: Counter[str] = Counter()
        self.ast: Counter[str] = Counter()
        real_open = os.open

        def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
            place = Path(os.fspath(path)).resolve()
            if place.parent == folder and place.suffix == ".py":
                self.reads[place.name] += 1
            return real_open(path, flags, *args, **options)

        patch.setattr(os, "open", opened)
        patch.setattr(cst, "parse_module", self._counting(cst.parse_module, self.libcst))
        patch.setattr(ast, "parse", self._counting(ast.parse, self.ast))

    def _counting(self, real: Any, counts: Counter[str]) -> Any:
        def parse(text: Any, *args: Any, **options: Any) -> Any:
            counts[text] += 1
            return real(text, *args, **options)

        return parse

    def of(self, text: str) -> tuple[int, int]:
        """Return how often a text was parsed: by LibCST, and by Python itself."""
        return self.libcst[text], self.ast[text]

    @property
    def most(self) -> int:
        """How often any text of a file was parsed by one of the two parsers."""
        return max(max(self.of(text)) for text in (*PROGRAM.values(), FIXED))


def lint(*arguments: str) -> int:
    return main(["--isolated", "-j", "1", "--no-cache", *(arguments or (".",))])


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counts:
    folder = tmp_path.resolve()
    for name, text in PROGRAM.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert lint() == 1  # What is imported is read, too.
    return Counts(folder, monkeypatch)


ONCE = dict.fromkeys(PROGRAM, 1)


@pytest.mark.parametrize("option", ["--no-cache", "--reveal", "--diff", "--add-noqa=said --diff"])
def test_a_run_that_writes_nothing(count: Counts, option: str) -> None:
    assert lint(".", *option.split()) == 1
    assert count.reads == ONCE
    assert count.most == 1
    assert count.of(DATA) == (1, 1)


def test_with_the_cache(count: Counts) -> None:
    assert main(["--isolated", "-j", "1", "."]) == 1
    assert count.reads == ONCE
    assert count.most == 1


def test_a_run_that_fixes(count: Counts, tmp_path: Path) -> None:
    """Each text of a file is parsed once. What is written is read before, to compare, and after."""
    assert lint(".", "--fix") == 0
    assert (tmp_path / "data.py").read_text() == FIXED
    assert count.reads == {"devices.py": 1, "train.py": 1, "data.py": 3}
    assert count.most == 1
    assert count.of(FIXED) == (0, 1)


def test_rules_are_asked_only_about_files_with_a_word_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else a file says, no rule looks for what it needs in it."""
    (tmp_path / "with_jax.py").write_text(f"{DEVICES}jax.device_put(x, cpu)\n")
    for number in range(5):
        (tmp_path / f"plain{number}.py").write_text("import json\n\nprint(json)\n")
    asked: Counter[str | None] = Counter()
    real = FileText.meets

    def counting(self: FileText, need: Needs) -> bool:
        asked[self.path and Path(self.path).name] += 1
        return real(self, need)

    monkeypatch.setattr(FileText, "meets", counting)
    assert lint(str(tmp_path)) == 1
    assert {*asked} == {"with_jax.py"}


def test_rules_are_selected_once_for_the_files_with_the_same_settings(
    count: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    selected: list[str] = []

    def counting(settings: Settings, path: str) -> object:
        selected.append(path)
        return select_rules(settings, path)

    monkeypatch.setattr("placement_lint.lint.run.select_rules", counting)
    assert lint() == 1
    assert len(selected) == 1
    assert lint("--config", "per-file-ignores={'data.py'=['JDP999']}") == 2
    assert lint("--config", "per-file-ignores={'none.py'=['JDP201']}") == 1
    assert len(selected) == 1 + len(PROGRAM)
