"""How the time of one file grows with its size: `python benchmarks/growth.py`.

Each shape is measured at a size and at ten times the size, alternating, and the median ratio is
printed, with `--json` as lines of JSON. Linear is 10; the bar is 12. The last shapes hold the
examples of every rule's page; which rule it is that grows, `pytest tests/test_growth.py` tells.

Then programs of several files, which are checked together: one of four times as many files may take
4.6 times as long.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.run import check_files, request_for
from placement_lint.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """\
import jax
import jax.numpy as jnp
cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    data = jnp.zeros((8, 8))
"""
ROUNDS = 5
FACTOR = 10
MOST = 1.2
"""How many times more than the size the time may grow."""
PARTS = 12
FACTOR_OF_FILES = 4
MOST_OF_FILES = 1.15

# Numbers have a fixed width, so that ten times as many statements are ten times as much text.


def functions(size: int) -> str:
    """Functions that each call the next one."""
    lines = [
        f"def f{i:04}(x, n):\n    y = f{(i + 1) % size:04}(x, n - 1) if n else x\n    return y\n"
        for i in range(size)
    ]
    return HEAD + "".join(lines) + "f0000(data, 3)[0]\n"


def statements(size: int) -> str:
    """Statements in one function, a branch and a loop among every ten."""
    body = []
    for number in range(size // 10):
        i = f"{number:04}"
        body.append(f"    a{i} = data + {number}")
        body.append(f"    if a{i} is not None:\n        b{i} = a{i}\n    else:\n        b{i} = 1")
        body.append(f"    for j in range(3):\n        c{i} = data[j]")
        body.append(f"    try:\n        d{i} = b{i}\n    except OSError:\n        d{i} = None")
    return HEAD + "def f():\n" + "\n".join(body) + "\n"


def methods(size: int) -> str:
    """Methods of one class that set and read attributes."""
    lines = [
        f"    def m{i:04}(self):\n"
        f"        self.a{i:04} = self.a{i - 1:04}\n        return self.a{i:04}[0]\n"
        for i in range(1, size)
    ]
    return (
        HEAD
        + "class C:\n    def __init__(self):\n        self.a0000 = data\n"
        + "".join(lines)
        + "c = C()\n"
        + "".join(f"c.m{i:04}()\n" for i in range(1, size))
    )


def examples() -> dict[str, Callable[[int], str]]:
    """Give programs that hold the example of every rule's page, in each surrounding."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.growing import SHAPES as SURROUNDINGS
    from tests.growing import Example

    every = [Example(rule) for rule in all_rules() if not rule.code.startswith("JDP9")]

    def make(name: str) -> Callable[[int], str]:
        shape = SURROUNDINGS[name]
        return lambda size: "".join(shape(example, size) for example in every)

    return {f"all examples: {name}": make(name) for name in SURROUNDINGS}


def programs() -> dict[str, Callable[[int], dict[str, str]]]:
    """Give the programs of several files."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks.comparison.programs import PROGRAMS

    return PROGRAMS


SHAPES: dict[str, tuple[Callable[[int], str], int]] = {
    "functions that call each other": (functions, 100),
    "statements in one function": (statements, 1000),
    "methods of one class": (methods, 50),
}


def seconds(text: str) -> float:
    """Lint a text once."""
    source = Source("growth.py", text)
    options = FileOptions(all_rules())
    gc.collect()
    start = time.process_time()
    lint_source(source, options)
    return time.process_time() - start


def seconds_of_program(files: dict[str, str]) -> float:
    """Lint the files of a program once, all of them together."""
    request = request_for(Settings(), "")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in files.items():
                Path(name).write_text(text, encoding="utf-8")
            gc.collect()
            start = time.process_time()
            check_files(sorted(files), lambda _: request)
            return time.process_time() - start
        finally:
            os.chdir(before)


def report(name: str, measure: Callable[[int], float], size: int, factor: int) -> float:
    """Measure a shape at two sizes, print a row of it, and return the ratio."""
    measure(size)
    pairs = [(measure(size), measure(size * factor)) for _ in range(ROUNDS)]
    ratio = statistics.median(b / a for a, b in pairs)
    medians = [statistics.median(column) for column in zip(*pairs, strict=True)]
    if "--json" in sys.argv[1:]:
        print(json.dumps({"shape": name, "ratio": round(ratio, 2)}))
    else:
        print(
            f"{name:36} {size:6,} {medians[0] * 1000:8.1f} ms   {size * factor:6,} "
            f"{medians[1] * 1000:8.1f} ms   x {ratio:.1f}"
        )
    return ratio


def main() -> int:
    """Print a row for each shape; give 1 where one grows faster than allowed."""
    failed = False
    shapes = SHAPES | {name: (make, 3) for name, make in examples().items()}
    for name, (make, size) in shapes.items():
        ratio = report(name, lambda each, make=make: seconds(make(each)), size, FACTOR)
        failed |= ratio > MOST * FACTOR
    if "--files" in sys.argv[1:] or "--json" not in sys.argv[1:]:
        for name, program in programs().items():
            ratio = report(
                name,
                lambda each, program=program: seconds_of_program(program(each)),
                PARTS,
                FACTOR_OF_FILES,
            )
            failed |= ratio > MOST_OF_FILES * FACTOR_OF_FILES
    # With `--json`, whoever reads the lines judges them.
    return int(failed and "--json" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
