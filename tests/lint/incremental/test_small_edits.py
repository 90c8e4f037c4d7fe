"""What is found after small edits, one after another: what a run without a cache finds.

By default a few programs of `fixtures/programs`, and one whose files ask one another what they
donate; all of them with `pytest -m every tests/lint/incremental`.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.config.settings import Settings
from placement_lint.lint.incremental.cache import cache_for
from placement_lint.lint.linter import Linter
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from placement_lint.lint.results import Outcome

SETTINGS = Settings(select=("ALL",), target_jax="0.10", min_confidence="possible")
PROGRAMS = [case for case in all_programs() if len(case.files) > 2]
EDITS = 8
DONATING = {
    "optim/__init__.py": "from .steps import make, update\nfrom .loops import train\n",
    "optim/steps.py": '''\
"""Steps that donate."""
import functools

import jax


@functools.partial(jax.jit, donate_argnums=0)
def update(params, grads):
    """Update."""
    return params - 0.1 * grads


def make(fun):
    return jax.jit(fun, donate_argnums=(0,))
''',
    "optim/loops.py": '''\
"""Loops over steps."""
from . import steps
from optim import kinds


def train(params, batches):
    # All of them.
    for batch in batches:
        params = steps.update(params, batch)
    return params


class Trainer:
    def __init__(self, fun):
        self.step = steps.make(fun)

    def run(self, params, batch):
        kinds.check(params)
        return self.step(params, batch)
''',
    "optim/kinds.py": """\
from optim import loops, steps

update_again = steps.update


def check(params):
    return isinstance(params, loops.Trainer)
""",
    "main.py": """\
import jax.numpy as jnp
from optim import make, train, update
from optim.kinds import update_again
from optim.loops import Trainer


def main(batches):
    params = jnp.ones(8)
    new = update(params, batches[0])
    print(params)
    newer = update_again(new, batches[1])
    print(new.sum(), train(newer, batches), newer)
    trainer = Trainer(lambda p, b: p * b)
    last = trainer.run(newer, batches[0])
    step = make(lambda p: p * 2)
    return step(last), last
""",
}


def edited(text: str, chance: random.Random) -> str:
    """Return a text with a line more, without one, or with a line that is a little different."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    margin = re.match(r"\s*", lines[at])[0]  # type: ignore[index]
    kind = chance.randrange(12)
    if kind < 3:
        lines.insert(at, chance.choice([f"{margin}# A comment.", "", f"{margin}# device_put jax"]))
    elif kind == 3 and '"' not in lines[at]:
        lines[at] += "  # here"
    elif kind == 4 and lines[at] and '"' not in lines[at]:
        lines[at] += chance.choice(["  # noqa", "  # noqa: JDP201, JDP801"])
    elif kind == 5:
        lines[0] = '"""Another text."""' if lines[0].startswith('"""') else lines[0]
    elif kind == 6 and margin:
        lines.insert(at, f"{margin}print('more')")
    elif kind == 7:
        del lines[at]
    elif kind == 8:
        lines[at] = lines[at].replace("update", "make").replace("cpu", "gpu")
    elif kind == 9:
        lines[at] = lines[at].replace("0", "1")
    elif kind == 10:
        lines.append(f"more_{at} = {at}")
    else:
        lines = [line for line in lines if not line.lstrip().startswith("#")]
    return "\n".join(lines)


def check(*, keeps: bool) -> Outcome:
    files = sorted(path.as_posix() for path in Path().rglob("*.py"))
    cache = cache_for(".", ["."]) if keeps else None
    here = SETTINGS if keeps else None
    return Linter(lambda _: SETTINGS, cache=cache, here=here, folders=True).check(files)


def follow(texts: dict[str, str], seed: int, edits: int = EDITS) -> None:
    """Edit a program, and check it each time with what is remembered and without."""
    chance = random.Random(seed)  # noqa: S311
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    check(keeps=True)
    for _ in range(edits):
        name = chance.choice([*texts])
        # One edit is undone as often as not: then two runs before is what holds.
        now = edited(Path(name).read_text(encoding="utf-8"), chance)
        Path(name).write_text(texts[name] if chance.random() < 0.2 else now, encoding="utf-8")
        outcome = check(keeps=True)
        expected = check(keeps=False)
        assert outcome.findings == expected.findings, Path(name).read_text(encoding="utf-8")
        assert outcome.suppressed == expected.suppressed, name


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("seed", [1, 3])
def test_files_that_ask_one_another_what_they_donate(seed: int) -> None:
    follow(DONATING, seed, 15)


@pytest.mark.sampled(one_in=120)
@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda at: PROGRAMS[at].id)
def test_programs(number: int) -> None:
    follow(PROGRAMS[number].texts(), number)
