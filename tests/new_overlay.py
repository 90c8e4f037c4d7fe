"""Begin an overlay: `python -m tests.new_overlay secrets.choice` writes a model and its test case.

What it writes fails until each TODO is filled in; nothing else has to be touched. A second argument
is the module of `overlays/` that the model goes to.
"""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

from placement_lint.jaxmodel import transfer
from placement_lint.placement.overlays.registry import models_by_name

TOP = Path(__file__).parents[1]
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")

_MODULE = """\
\"""Models of {library}.\"""

from __future__ import annotations

from placement_lint.placement.domain.values import UNKNOWN, Value
from placement_lint.placement.overlays.registry import LibraryCall, models
"""

_MODEL = """

@models("{name}")
def {function}(call: LibraryCall) -> Value:
    \"""`{name}(TODO)`: TODO: what it gives.\"""
    held = call.values()
    raise NotImplementedError("TODO: what it does with arrays, and what it returns; else UNKNOWN")
"""

_CASE = """\
# case: {name}
{imports}made = {name}()
raise NotImplementedError("TODO: call it with `x` or `y`, and compute with what it gives")
"""


def module_of(name: str) -> str:
    """Return the module of `overlays/` that has the models of a library."""
    library = name.partition(".")[0]
    if library == "builtins":
        return library
    if library == "jax":
        return "jax_transfer"
    return "stdlib" if library in sys.stdlib_module_names else library


def changes(name: str, module: str, top: Path) -> dict[Path, str]:
    """Return the files of a new overlay, with what is to be added to each. Raises ValueError."""
    if not _NAME.fullmatch(name):
        msg = f"{name!r} is no qualified name, such as secrets.choice"
        raise ValueError(msg)
    if name in models_by_name() or name in transfer.TABLE:
        msg = f"{name} has a model, or a row in the transfer table, already"
        raise ValueError(msg)
    path, _, last = name.rpartition(".")
    function = f"{last.lower()}_" if keyword.iskeyword(last) or path == "builtins" else last.lower()
    code = top / "placement_lint/placement/overlays" / f"{module}.py"
    cases = top / "tests/placement/overlays" / f"{module}.txt"
    text = code.read_text(encoding="utf-8") if code.exists() else ""
    if re.search(rf"^def {function}\(", text, re.MULTILINE):
        msg = f"{code.name} has a function {function} already"
        raise ValueError(msg)
    header = "" if text else _MODULE.format(library=path)
    title = "" if cases.exists() else f"Models of overlays/{code.name}.\n\n"
    imports = "" if path == "builtins" else f"import {path}\n"
    return {
        code: header + _MODEL.format(name=name, function=function),
        cases: title + _CASE.format(name=name, imports=imports),
    }


def write(name: str, module: str | None = None, *, top: Path = TOP) -> list[Path]:
    """Write the model and its case, at the end of files that are there. Raises ValueError."""
    added = changes(name, module or module_of(name), top)
    for path, text in added.items():
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    return list(added)


def main(arguments: list[str]) -> int:
    """Run the command: 0, or 2 with a message."""
    if len(arguments) not in {1, 2}:
        sys.stderr.write("usage: python -m tests.new_overlay NAME [MODULE]\n")
        return 2
    try:
        written = write(*arguments)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{path.relative_to(TOP)}\n" for path in written))
    sys.stdout.write("Fill in every TODO; then: pytest tests/placement/overlays\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
