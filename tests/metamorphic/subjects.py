"""What is written another way: the cases and the programs of the fixtures."""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter
from tests.fixture_cases import all_cases
from tests.metamorphic import alias, extract, inline, move, rename, reorder, wrap
from tests.metamorphic.program import Program, Variant, mapped, marked, require, unmarked
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metamorphic.program import Place, Transformation

TRANSFORMATIONS: dict[str, Transformation] = {
    "rename-variables": rename.variables,
    "rename-attributes": rename.attributes,
    "alias-values": alias.values,
    "alias-functions": alias.functions,
    "alias-imports": alias.imports,
    "extract-expression": extract.expressions,
    "extract-statements": extract.statements,
    "inline": inline.variables,
    "move-definition": move.definitions,
    "move-beginning": move.beginnings,
    "wrap-function": wrap.methods,
    "wrap-variables": wrap.attributes,
    "wrap-program": wrap.modules,
    "reorder": reorder.neighbours,
}


@dataclass(frozen=True)
class Subject:
    """One program of the fixtures."""

    id: str
    files: dict[str, str]
    run: str | None
    """What starts it, if that is known to work; a single module is started by importing it."""
    kept: frozenset[str]
    """The groups of transformations that would change what it shows."""

    @functools.cached_property
    def program(self) -> Program:
        """The program with its marks."""
        return marked(self.files, self.run or "")


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """Give the cases of JDP20x and the programs, in order."""
    found = []
    for case in all_cases():
        if case.code.startswith("JDP20"):
            styled = {"alias-functions", "alias-imports"}
            kept = frozenset(styled if "not restyled" in case.options else ())
            found.append(Subject(case.id, {"case.py": case.before.text}, "import case", kept))
    for program in all_programs():
        name = f"programs/{program.id}"
        found.append(Subject(name, program.texts(), program.run, frozenset()))
    return tuple(found)


def findings(program: Program) -> list[tuple[str, int, str]]:
    """Lint a program with the default rules: path, line and code of each finding."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in program.files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(unmarked(text), encoding="utf-8")
        outcome = Linter(lambda _: Settings()).check([str(root / path) for path in program.files])
        return [
            (Path(found.path).relative_to(root).as_posix(), found.span.line, found.code)
            for found in outcome.findings
        ]


def differs(subject: Subject, variant: Variant) -> str | None:
    """Say in what the findings of a variant differ from those of the program, if they do."""
    wanted: Counter[tuple[Place, str]] = Counter()
    for (place, code), count in _at_first(subject).items():
        wanted[variant.merged.get(place, place), code] += count
    got = mapped(findings(variant.program), variant)
    if got == wanted:
        return None
    files = [f"# file: {path}\n{unmarked(text)}" for path, text in variant.program.files.items()]
    lost, new = dict(wanted - got), dict(got - wanted)
    return "\n".join([f"at {variant.site}: lost {lost}, new {new}", *files])


_known: dict[str, Counter[tuple[Place, str]]] = {}


def _at_first(subject: Subject) -> Counter[tuple[Place, str]]:
    if subject.id not in _known:
        _known[subject.id] = mapped(findings(subject.program), Variant(subject.program))
    return _known[subject.id]


def written_otherwise(subject: Subject, transformation: str) -> Sequence[Variant]:
    """Give a program written another way. Raises NotApplicableError."""
    require(transformation not in subject.kept, "its case says that it may not be restyled")
    variants = TRANSFORMATIONS[transformation](subject.program)
    with warnings.catch_warnings():
        # A `return` in `finally` is still Python: 3.14 warns of it.
        warnings.simplefilter("ignore", SyntaxWarning)
        for variant in variants:
            for path, text in variant.program.files.items():
                if text != subject.program.files.get(path):
                    compile(unmarked(text), path, "exec", dont_inherit=True)
    return variants
