"""Runs programs that donate on JAX, and tells which lines raise since an array is gone.

Reads a line of JSON for each program: its text, and the seeds of its flags. Answers with one.
"""

from __future__ import annotations

import contextlib
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


def run(text: str, seed: int) -> dict[str, Any]:
    """Return the lines that were executed, and more than once, and those that raised."""
    chance = random.Random(seed)  # noqa: S311
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = compile(text, _FILE, "exec")
    executed: Counter[int] = Counter()

    def watch(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != _FILE:
            return None
        if event == "line":
            executed[frame.f_lineno] += 1
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
        "repeated": sorted(line for line, count in executed.items() if count > 1),
        "failing": failing,
        "error": error,
    }


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps([run(asked["text"], seed) for seed in asked["seeds"]]), flush=True)


if __name__ == "__main__":
    serve()
