"""All use that the judge makes of the linter: fix the modules of a program, and say how."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from placement_lint.config.settings import Settings
from placement_lint.findings import Applicability
from placement_lint.lint.fixes import apply
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode
from placement_lint.syntax import edits as edits_module
from tests.differential.analysis import written
from tests.fix_oracle.alignment import Alignment, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding, Span
    from tests.differential.instrument import Place
    from tests.fix_oracle.alignment import Replacement

    Modules = dict[str, str]

_BROKEN = frozenset({"JDP901", "JDP903"})


@dataclass(frozen=True)
class How:
    """A way to fix a program."""

    unsafe: bool
    alone: bool = False
    """Each file by itself, one after the other, as an editor does when it is saved."""

    def __str__(self) -> str:
        """Say how."""
        return f"{'unsafe' if self.unsafe else 'safe'}{' alone' if self.alone else ''}"


@dataclass(frozen=True)
class Found:
    """One finding, where it is in the text that it was found in."""

    code: str
    module: str
    place: Place
    message: str
    fix: Applicability | None
    """Who may apply its fix; None without one."""


@dataclass(frozen=True)
class Applied:
    """One finding whose fix was applied."""

    code: str
    module: str
    place: Place | None
    """Of the finding, in the original text; None where that is what an earlier fix wrote."""
    message: str
    """What the fix says of itself."""
    unsafe: bool


@dataclass
class Fixed:
    """What fixing made of a program."""

    how: How
    modules: Modules
    """The texts after fixing."""
    alignments: dict[str, Alignment]
    applied: list[Applied]
    found: list[Found]
    """What is found afterwards."""
    broken: list[str] = field(default_factory=list)
    """What the linter says of its own failures."""


class UnexplainedFixError(Exception):
    """A text was changed otherwise than by the edits that were seen."""


def findings(modules: Modules) -> list[Found]:
    """Give all that any rule finds in the modules of a program."""
    with tempfile.TemporaryDirectory() as folder:
        names = written(modules, Path(folder))
        outcome = Linter(_settings, folders=True).check(sorted(names))
    return _found(outcome.findings, names, modules)


def fix(modules: Modules, how: How) -> Fixed:
    """Fix the modules of one program: dotted names to texts. Raises UnexplainedFixError."""
    with tempfile.TemporaryDirectory() as folder:
        names = written(modules, Path(folder))
        runs = [[path] for path in sorted(names)] if how.alone else [sorted(names)]
        alignments = {name: Alignment(text) for name, text in modules.items()}
        applied: list[Applied] = []
        broken: list[str] = []
        for paths in runs:
            seen = _Seen()
            with seen:
                outcome = Linter(
                    lambda _: Settings(select=("ALL",), unsafe_fixes=how.unsafe),
                    fix=FixMode.APPLY,
                    folders=not how.alone,
                ).check(paths)
            after = {name: _text(path) for path, name in names.items()}
            chains = {name: seen.chain(alignments[name], after[name]) for name in after}
            applied += seen.applied(names, chains)
            alignments |= {name: chain[-1] for name, chain in chains.items()}
            broken += [
                f"{names[each.path]}:{each.span.line}: {each.code} {each.message}"
                for each in outcome.findings
                if each.code in _BROKEN
            ]
        texts = {name: alignments[name].text for name in modules}
        # Of files that were fixed one by one, nobody has said what is found in all together.
        found = findings(texts) if how.alone else _found(outcome.findings, names, texts)
    return Fixed(how, texts, alignments, applied, found, broken)


def _settings(_: str) -> Settings:
    return Settings(select=("ALL",))


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _found(all_: Iterable[Finding], names: dict[str, str], texts: Modules) -> list[Found]:
    lines = {name: Lines(text) for name, text in texts.items()}
    return [
        Found(
            each.code, names[each.path], _place(lines[names[each.path]], each.span), each.message,
            None if each.fix is None else each.fix.applicability,
        )
        for each in all_
    ]  # fmt: skip


def _place(lines: Lines, span: Span) -> Place:
    return lines.place(
        _offset(lines, span.line, span.column), _offset(lines, span.end_line, span.end_column)
    )


def _offset(lines: Lines, line: int, column: int) -> int:
    """Give the offset of a position whose column counts characters, from 1."""
    return lines.offset(line, 0) + column - 1


class _Seen:
    """Sees which fixes are applied, and by which edits."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, str, list[Replacement]]] = []
        self._taken: list[tuple[Finding, str]] = []

    def __enter__(self) -> None:
        takes, edited = apply._Round.takes, edits_module.edited
        seen = self

        def taking(self: Any, finding: Finding) -> bool:
            taken = takes(self, finding)
            if taken:
                seen._taken.append((finding, self._sources[finding.path].text))
            return taken

        def editing(source: Source, edits: Sequence[Edit]) -> Source:
            made = edited(source, edits)
            places = [
                (*edits_module.offsets(source, edit), edit.text) for edit in dict.fromkeys(edits)
            ]
            seen._steps.append((source.text, made.text, places))
            return made

        self._patches = contextlib.ExitStack()
        self._patches.enter_context(mock.patch.object(apply._Round, "takes", taking))
        self._patches.enter_context(mock.patch.object(edits_module, "edited", editing))

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def chain(self, original: Alignment, text: str) -> list[Alignment]:
        """Give the texts from the original on that lead to a text."""
        steps: list[list[Replacement]] = []
        wanted = text
        while wanted != original.text:
            for before, after, places in reversed(self._steps):
                if after == wanted and before != after:
                    steps.append(places)
                    wanted = before
                    break
            else:
                raise UnexplainedFixError(f"no edits lead to:\n{wanted}")
            if len(steps) > len(self._steps):
                raise UnexplainedFixError(f"edits go in a circle around:\n{wanted}")
        chain = [original]
        for places in reversed(steps):
            chain.append(chain[-1].edited(places))
        if chain[-1].text != text:
            raise UnexplainedFixError(f"the edits give:\n{chain[-1].text}\nnot:\n{text}")
        return chain

    def applied(self, names: dict[str, str], chains: dict[str, list[Alignment]]) -> list[Applied]:
        """Give the findings whose fixes led to the final texts; not those taken back."""
        done: list[Applied] = []
        for finding, text in self._taken:
            name = names[finding.path]
            at = next((each for each in chains[name] if each.text == text), None)
            assert finding.fix is not None
            edited = {names[edit.path] for edit in finding.fix.edits}
            if at is None or not any(len(chains[each]) > 1 for each in edited):
                continue
            place = at.kept(_place(at.lines, finding.span))
            unsafe = finding.fix.applicability is Applicability.UNSAFE
            done.append(Applied(finding.code, name, place, finding.fix.message, unsafe))
        return done
