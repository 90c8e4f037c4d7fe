"""Begin a rule: `python -m tests.new_rule JDP412 some-name` writes its file, fixtures and proof.

What it writes is a rule that never fires, and that the tests refuse until each part of it is filled
in: nothing else has to be touched.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from placement_lint.rules.base import SECTIONS

TOP = Path(__file__).parents[1]
FAMILIES = {
    "1": "config_state", "2": "commitment", "3": "devices", "4": "transfers", "5": "startup",
    "6": "api", "7": "meshes", "8": "donation", "9": "tool",
}  # fmt: skip
_CODE = re.compile(r"JDP[1-9]\d\d")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")

_RULE = """\
\"""{code}.\"""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.rules.base import Rule
from placement_lint.prefilter.conditions import AllOf, Jax

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.rules.context import Context


class {class_name}(Rule):
    \"""TODO: the claim in one sentence.

{sections}
    \"""

    code, name = "{code}", "{name}"
    severity = Severity.WARNING
    needs = AllOf(Jax(), b"TODO")

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        \"""TODO: look at each call.\"""
        if ctx.is_call(node, "jax.TODO"):
            ctx.report(node, "TODO: what is wrong, and what follows of it")
"""

_CASES = """\
# TODO: what these cases are. Each is a module of its own.

# case: todo
import jax
{case}"""

_PROOF = """\
\"""TODO: the hazard in one sentence.

Observed: TODO: what is seen in the hazard, and is gone in the fix.
\"""

import jax

from placement_lint.verify.instruments import lands


def hazard(accelerator, host):
    raise NotImplementedError("TODO: the code that a user wrote")


def fixed(accelerator, host):
    raise NotImplementedError("TODO: what --fix makes of it")


def observe(run):
    return lands(run, run(), "TODO: the array")
"""


def files_of(code: str, name: str) -> dict[Path, str]:
    """Give the files of a new rule, by their paths below the top. Raises ValueError."""
    if not _CODE.fullmatch(code):
        msg = f"{code!r} is no code: JDP, the digit of a family, two more"
        raise ValueError(msg)
    if not _NAME.fullmatch(name):
        msg = f"{name!r} is no name: words in small letters, joined by hyphens"
        raise ValueError(msg)
    sections = "\n\n".join(f"    ## {section}\n    TODO" for section in SECTIONS)
    class_name = "".join(part.capitalize() for part in name.split("-"))
    module = Path("placement_lint/rules", FAMILIES[code[3]], f"{name.replace('-', '_')}.py")
    rule = _RULE.format(code=code, name=name, class_name=class_name, sections=sections)
    fixtures = Path("fixtures", code)
    return {
        module: rule,
        fixtures / "hazards.py": _CASES.format(case=f"jax.TODO()  # error: {code}\n"),
        fixtures / "clean.py": _CASES.format(case=""),
        fixtures / "proof.py": _PROOF,
    }


def write(code: str, name: str, top: Path = TOP) -> list[Path]:
    """Write the files. Raises ValueError, or FileExistsError before anything is written."""
    files = {top / path: text for path, text in files_of(code, name).items()}
    taken = [path for path in files if path.exists()]
    if taken:
        raise FileExistsError(f"there already: {', '.join(map(str, taken))}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def main(arguments: list[str]) -> int:
    """Run the command: 0, or 2 with a message."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m tests.new_rule CODE NAME\n")
        return 2
    try:
        written = write(arguments[0], arguments[1])
    except (ValueError, FileExistsError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{path.relative_to(TOP)}\n" for path in written))
    sys.stdout.write("Fill in every TODO; then: python -m tests.readme\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
