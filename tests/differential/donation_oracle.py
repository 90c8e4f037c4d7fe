"""Runs programs that donate on JAX, and tells which lines raise since an array is gone.

Reads a line of JSON for each program: its text, and the seeds of its flags. Answers with one.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import random
import sys
import traceback
import warnings
from collections import Counter
from typing import Any

_FILE = "program.py"
_GONE = ("has been deleted", "Attempt to donate", "previously donated", "deleted or donated")


_MAIN = "def main("


@functools.cache
def _head(text: str) -> dict[str, Any]:
    """Execute what comes before the main function, once for all programs that share it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, _FILE, "exec"), namespace)  # noqa: S102 - a program of the tests
    return namespace


def compile_once() -> None:
    """Let JAX compile one function once, whoever gives it to `jax.jit` again.

    A program makes its compiled functions in each run anew; which code they execute, with which
    values around it, decides what they do.
    """
    import jax

    kept: dict[object, Any] = {}
    jit = jax.jit

    def once(function: Any, **options: Any) -> Any:
        around = tuple(cell.cell_contents for cell in function.__closure__ or ())
        key = (function.__code__, around, tuple(sorted(options.items())))
        if key not in kept:
            kept[key] = jit(function, **options)
        return kept[key]

    jax.jit = once


def _loops(text: str) -> list[tuple[int, int]]:
    """Return the first and the last line of each loop."""
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For)
    ]


def run(text: str, seed: int) -> dict[str, Any]:
    """Return the lines that were executed, those that raised, and those that were repeated.

    That is, in another iteration of the innermost loop around them.
    """
    chance = random.Random(seed)  # noqa: S311
    head, main = text.split(_MAIN, 1)
    namespace = dict(_head(head))
    code = compile("\n" * head.count("\n") + _MAIN + main, _FILE, "exec")
    executed: set[int] = set()
    repeated: set[int] = set()
    loops = _loops(text)
    left: Counter[tuple[int, int]] = Counter()
    seen: dict[int, int] = {}

    def watch(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != _FILE:
            return None
        if event == "line":
            line = frame.f_lineno
            executed.add(line)
            if frame.f_code.co_name == "main":
                left.update(each for each in loops if not each[0] <= line <= each[1])
                around = [each for each in loops if each[0] < line <= each[1]]
                # The last one that begins is the innermost: whether it was left in between.
                number = left[max(around)] if around else 0
                if around and seen.get(line) == number:
                    repeated.add(line)
                seen[line] = number
        return watch

    failing: list[int] = []
    error = ""
    exec(code, namespace)  # noqa: S102 - a program of the tests
    sys.settrace(watch)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            namespace["main"](lambda: chance.random() < 0.5, chance.randint(0, 3))
    except Exception as raised:
        sys.settrace(None)
        frames = traceback.extract_tb(raised.__traceback__)
        failing = [each.lineno or 0 for each in frames if each.filename == _FILE]
        error = "gone" if any(word in str(raised) for word in _GONE) else repr(raised)
    finally:
        sys.settrace(None)
    return {
        "executed": sorted(executed),
        "repeated": sorted(repeated),
        "failing": failing,
        "error": error,
    }


def serve() -> None:
    compile_once()
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps([run(asked["text"], seed) for seed in asked["seeds"]]), flush=True)


if __name__ == "__main__":
    serve()
