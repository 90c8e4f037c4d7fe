"""All use that the differential tests make of the analyser: one function, `analyse`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import libcst as cst

from placement_lint.config.settings import Settings
from placement_lint.files.source import Source
from placement_lint.findings import Confidence
from placement_lint.lint.linter import Linter
from placement_lint.placement.domain.contents import MAX_DEPTH, arrays, is_placed
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.values import Anything, AnyTree, Array, Mapping, Sequence
from placement_lint.placement.engine import computation_calls
from placement_lint.placement.engine.operations import Operations, Pins
from placement_lint.placement.interpreter import Program
from placement_lint.rules.commitment import uncommitted_array_indexed, uncommitted_array_moved
from placement_lint.rules.commitment.loop_copies import copied_once
from placement_lint.semantic.model import ModuleFacts
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree
from tests.differential.seats import meeting_a_mesh, number_of, seat_of

if TYPE_CHECKING:
    from collections import abc

    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.domain.values import Atom, Computation, Value
    from placement_lint.placement.engine.operand_layouts import GivenArguments, LaidOut
    from placement_lint.placement.engine.protocols import Evaluator
    from placement_lint.placement.facts.module import Module
    from placement_lint.rules.context import Context
    from tests.differential.seats import Seat

Span = tuple[int, int, int, int]
"""Lines from 1, columns from 0, as `ast` counts, without parentheses around."""

Placement = tuple[int, bool]
"""The number of a device on the stage, and whether the array is committed to it."""

_KINDS = {"JDP201": "indexed", "JDP202": "computed"}
_FAILURES = ("JDP901", "JDP903")
# Rules of meshes follow programs in which nothing is placed on a single device.
_SETTINGS = Settings(select=(*_KINDS, *_FAILURES, "JDP706", "JDP714"))


@dataclass(frozen=True)
class Alarm:
    """One finding about an array that is moved."""

    file: str
    span: Span
    kind: str
    definite: bool


@dataclass(frozen=True)
class Analysis:
    """What the analyser says of a program."""

    alarms: frozenset[Alarm]
    known: frozenset[tuple[str, Span]]
    """The expressions of which the analyser knows for certain what they are."""
    undecided: frozenset[tuple[str, Span]]
    """The operands of which it could not tell whether they move: a device that is not known."""
    possible: frozenset[tuple[str, Span]]
    """The operands that it says to move for one choice of a device, and not for the other, or once
    before what was computed of them comes in their place: it tells nobody, but it knows."""
    skipped: frozenset[str]
    """The modules that it does not follow, because nothing can be placed in them: it says that
    nothing moves there."""
    placements: dict[tuple[str, Span], frozenset[Placement]]
    """Of the expressions that are known, and of trees of unknown structure: where the arrays in
    them may be."""
    failures: tuple[str, ...]
    """Findings about the tool itself."""
    seats: dict[tuple[str, Span], frozenset[Seat]]
    """Of the expressions that are known, or known to be on a mesh: where the arrays may be."""
    spread: dict[tuple[str, Span], frozenset[bool | None]]
    """Operands that are on one device: whether they surely meet arrays on a mesh, and are copied to
    all of its devices; None: perhaps. What is given to calls that are not followed is not here."""


def analyse(modules: dict[str, str], host: int = 1) -> Analysis:
    """Analyse the modules of one program together: dotted names to texts.

    `host`: the number of the first device of the host on the stage.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _analyse(modules, Path(folder), host)


def _analyse(modules: dict[str, str], folder: Path, host: int) -> Analysis:
    names = written(modules, folder)
    programs: list[Program] = []
    undecided, open_beside = set[tuple[str, int]](), set[tuple[str, int]]()
    meeting: dict[tuple[str, int], set[bool | None]] = {}
    run, call = Program.run, computation_calls._placed_by_caller
    compute, judge = Operations.computed, Operations._judge

    def watched_run(self: Program) -> None:
        if self.supposed is None:
            programs.append(self)
        run(self)

    def watched_compute(
        self: Operations, node: int, operands: abc.Sequence[tuple[int, Value]], *rest: object,
        judged: int | None = None, **more: object,
    ) -> Value:  # fmt: skip
        unknown = {
            position
            for position, (_, held) in enumerate(operands[:judged])
            if any(isinstance(atom, Anything | External) for atom in held)
        }
        open_beside.update(
            (self.module, place)
            for position, (place, _) in enumerate(operands)
            if self.supposed is None and unknown - {position}
        )
        if self.supposed is None:
            # What is called may compute with each operand by itself.
            certain = bool(more.get("certain", True)) and not more.get("is_call", False)
            for place, verdict in meeting_a_mesh(operands, judged, certain=certain):
                meeting.setdefault((self.module, place), set()).add(verdict)
        return compute(self, node, operands, *rest, judged=judged, **more)  # type: ignore[arg-type]

    def watched_judge(
        self: Operations, node: int, place: int, held: object, found: list[Array],
        pins: Pins, *rest: object, **more: object,
    ) -> None:  # fmt: skip
        verdicts = [self._moves(array, device) for array in found for device in pins.places]
        # What stays where it is whether or not there is anything to do is decided.
        by_others = (self.module, place) in open_beside and not any(verdicts)
        if self.supposed is None and (None in verdicts or by_others):
            undecided.add((self.module, place))
        judge(self, node, place, held, found, pins, *rest, **more)  # type: ignore[arg-type]

    def watched_call(
        on: Evaluator, node: cst.CSTNode, atom: Computation,
        given: LaidOut | GivenArguments, *rest: object,
    ) -> Value:  # fmt: skip
        # What goes where `jax.jit(…, out_shardings=…)` says is asked to go there.
        undecided.update((on.module.name, place) for place, _ in given.operands)
        return call(on, node, atom, given, *rest)  # type: ignore[arg-type]

    once: set[tuple[str, int]] = set()

    def watched_once(use: Use, ctx: Context) -> set[Array]:
        found = copied_once(use, ctx)
        if found:
            once.add((ctx.module.path, use.node))
        return found

    with (
        mock.patch.object(uncommitted_array_moved, "copied_once", watched_once),
        mock.patch.object(uncommitted_array_indexed, "copied_once", watched_once),
        mock.patch.object(Program, "run", watched_run),
        mock.patch.object(Operations, "computed", watched_compute),
        mock.patch.object(computation_calls, "_placed_by_caller", watched_call),
        mock.patch.object(Operations, "_judge", watched_judge),
        # The trees are still to be looked at.
        mock.patch.object(ModuleFacts, "free"),
    ):
        outcome = Linter(lambda _: _SETTINGS).check(sorted(names))
    alarms: set[Alarm] = set()
    failures: list[str] = []
    for finding in outcome.findings:
        name, where = names[finding.path], finding.span
        span = (where.line, where.column - 1, where.end_line, where.end_column - 1)
        if finding.code in _KINDS:
            definite = finding.confidence is Confidence.DEFINITE
            alarms.add(Alarm(name, bare(modules[name], span), _KINDS[finding.code], definite))
        elif finding.code in _FAILURES:
            failures.append(f"{name}:{where.line}: {finding.code} {finding.message}")
    found = _Found()
    for program in programs:
        for module in program.modules.values():
            name = names[module.name]
            places = _Places(module, modules[name])
            _look(module, places, name, host, found)
            for (path, node), verdicts in meeting.items():
                if path == module.name:
                    operand = (name, places.span(node))
                    found.spread.setdefault(operand, set()).update(verdicts)
            found.possible |= {
                (name, places.span(node)) for path, node in once if path == module.name
            }
            found.undecided |= {
                (name, places.span(node)) for path, node in undecided if path == module.name
            }
    return Analysis(
        frozenset(alarms),
        frozenset(found.known),
        frozenset(found.undecided),
        frozenset(found.possible),
        frozenset(modules) - {names[path] for each in programs for path in each.modules},
        {where: frozenset(each) for where, each in found.placements.items()},
        tuple(failures),
        {where: frozenset(each) for where, each in found.seats.items()},
        {where: frozenset(each) for where, each in found.spread.items()},
    )


@dataclass
class _Found:
    """What is known of the expressions of a program."""

    known: set[tuple[str, Span]] = field(default_factory=set)
    undecided: set[tuple[str, Span]] = field(default_factory=set)
    possible: set[tuple[str, Span]] = field(default_factory=set)
    placements: dict[tuple[str, Span], set[Placement]] = field(default_factory=dict)
    seats: dict[tuple[str, Span], set[Seat]] = field(default_factory=dict)
    spread: dict[tuple[str, Span], set[bool | None]] = field(default_factory=dict)


def _look(module: Module, places: _Places, name: str, host: int, found: _Found) -> None:
    """Collect what the record of a module says."""
    for node, held in module.record.values.items():
        if not _is_known(held, on_meshes=True):
            continue
        expression = (name, places.span(node))
        found.seats.setdefault(expression, set()).update(seat_of(a, host) for a in arrays(held))
        if not _is_known(held):
            continue
        if not any(_may_move(atom) for atom in held):
            found.known.add(expression)
        found.placements.setdefault(expression, set()).update(
            (number_of(array, host), array.committed) for array in arrays(held)
        )
    found.possible |= {
        (name, places.span(node)) for node, use in module.record.uses.items() if use.possible
    }


def written(modules: dict[str, str], folder: Path) -> dict[str, str]:
    """Write the modules where an import finds them; give their names by path."""
    names: dict[str, str] = {}
    for name, text in modules.items():
        is_package = any(other.startswith(f"{name}.") for other in modules)
        path = folder.joinpath(*name.split("."))
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        names[str(path)] = name
    return names


class _Places:
    """Where the nodes of one module stand."""

    def __init__(self, module: Module, text: str) -> None:
        self.module = module
        self.source = Source(module.name, text)
        # As LibCST reads it: the nodes that were analysed have no punctuation.
        read = run_deep(cst.parse_module, text)
        self.nodes = Tree(read).nodes
        assert len(self.nodes) == len(module.tree.nodes)
        self.spans = Spans(read, self.source)

    def span(self, node: int) -> Span:
        """Give the range of a node."""
        start, end = self.spans.inner(self.nodes[node])
        (line, column), (end_line, end_column) = map(self.source.position, (start, end))
        return bare(self.source.text, (line, column - 1, end_line, end_column - 1))


def _is_known(held: Value, depth: int = MAX_DEPTH, *, on_meshes: bool = False) -> bool:
    """Tell whether nothing in a value is unknown; with `on_meshes`, arrays on meshes are known."""
    for atom in held:
        if isinstance(atom, Anything | External):
            return False
        if isinstance(atom, Array) and (atom.device is None or atom.device.index is None):
            if on_meshes and atom.sharding is not None:
                continue
            return False
        inside: list[Value] = []
        if isinstance(atom, AnyTree):
            inside = [atom.leaf]
        elif isinstance(atom, Sequence):
            inside = [*(atom.items or ()), atom.element]
        elif isinstance(atom, Mapping):
            inside = [*(item for _, item in atom.items), atom.element]
        if depth and not all(_is_known(part, depth - 1, on_meshes=on_meshes) for part in inside):
            return False
    return True


def _may_move(atom: Atom) -> bool:
    """Tell whether a thing is a tree of unknown structure, of what something may move.

    If it is an array, to take a row of it moves it, and nobody is told of that.
    """
    return isinstance(atom, AnyTree) and any(map(is_placed, arrays(atom.leaf)))


def bare(text: str, span: Span) -> Span:
    """Give a range without the parentheses and blanks at its ends."""
    line, column, end_line, end_column = span
    lines = text.split("\n")
    while column < len(lines[line - 1]) and lines[line - 1][column] in "( ":
        column += 1
    while end_column > 0 and lines[end_line - 1][end_column - 1] in ") ":
        end_column -= 1
    return (line, column, end_line, end_column)
