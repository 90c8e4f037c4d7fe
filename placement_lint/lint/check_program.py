"""Files that are interpreted together, because a placement made in one reaches another."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from placement_lint.limits.budget import (
    MemoryUpError,
    TimeUpError,
    give_up,
    interpreting,
    spending,
)
from placement_lint.lint.check_file import Analysis, failed, lint_source
from placement_lint.lint.file_results import (
    FileOptions,
    FileResult,
    internal_error,
    is_unfinished,
    unfinished,
)
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.lint.parsing import parse_what_can_be
from placement_lint.project.dependencies import ProgramReads
from placement_lint.project.graph import closure
from placement_lint.project.passing_names import PassingNames, add_ways
from placement_lint.project.placing_files import importing_jax
from placement_lint.project.program_texts import ProgramTexts
from placement_lint.project.test_fixtures import fixture_links
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.timing import INTERPRETATION, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from placement_lint.files.source import Source
    from placement_lint.placement.engine.reach import Ways
    from placement_lint.placement.facts.module import Module
    from placement_lint.placement.interpreter import Program
    from placement_lint.project.project import Project
    from placement_lint.project.queries import TrackedQueries

_MANY = 40
"""Files of a program of which the memory is wanted for the next one, or for more of its files."""
_FEW = 8
"""Files that are executed again rather than one more that need not be."""
_MOST_LIKELY = 10
"""Files that are executed for each one to which a placement surely gets."""
_MOST_IMPORTING = 1.35
"""Files that are executed for each one that is a member, or to which names are passed on."""
_MOST_MEMBERS = 200
"""Members of a program: where placements get to more files than these, none of them joins it."""
_HANDING_ON = "__init__.py"
"""Files that mostly hand names on to others: to execute one takes next to no time."""


def check_together(
    sources: Mapping[str, Source],
    options_for: Callable[[Source], FileOptions],
    project: Project,
    members: Iterable[str] = (),
    *,
    without: frozenset[str] = frozenset(),
) -> dict[str, FileResult]:
    """Check files as one program. More files of the run are read where it leads into them.

    `members` are those of them that are executed for themselves; without, all are. Gives a result
    for each file that was given, and for each other one that a rule found something in, whether or
    not a comment silences it. `without` are files that are no part of the program. Raises
    LimitError where interpreting one of them takes more than it may.
    """
    together = ComponentCheck(sources, options_for, project, without)
    run_deep(together.interpreted, [*members] or sources)
    results = together.lint()
    together.free()
    for path in sources.keys() - results.keys():
        # Nothing leads into it any longer.
        asked = project.questions(path)
        options = options_for(sources[path])
        results[path] = lint_source(sources[path], options, asked.name, asked, store=project.store)
    return results


class ComponentCheck:
    """One program: the files given, and those that are read on the way."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        options_for: Callable[[Source], FileOptions],
        project: Project,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Take the files whose text is known already. Nothing is parsed yet.

        `without` are files that are no part of the program, whoever imports them.
        """
        self.sources = dict(sources)
        self._given = frozenset(sources)
        self.options_for = options_for
        self.project = project
        self.without = without
        self.members: list[str] = []
        """The files that were given to be interpreted together."""
        self.results: dict[str, FileResult] = {}
        self.asked: dict[str, TrackedQueries] = {}
        self.analyses: dict[str, Analysis] = {}
        self.program: Program | None = None
        self.reads = ProgramReads()
        """What it depends on, beside the answers to its files."""
        self.is_readable = True
        """Whether each file that it leads into could be read."""

    @collection_paused()
    def interpret(self, members: Iterable[str], *, follows: bool | None) -> dict[str, Module]:
        """Execute files as one program, and give those that can be parsed.

        `follows`: see `placement.interpreter.Program`; None: where it matters.
        """
        from placement_lint.placement.flow import interpret, interpret_within

        self.members, self.program = sorted({*members} - self.without), None
        with timed(INTERPRETATION):
            modules = {path: module for path in self.members if (module := self.load(path))}
            given = [*modules.values()]
            if follows is None:
                self.program = interpret(given, self)
            else:
                self.program = interpret_within(given, self, follows=follows)
        return modules

    def interpreted(
        self, members: Iterable[str], *, follows: bool | None = None
    ) -> dict[str, Module] | None:
        """Execute files as one program; None where that fails: each is still checked alone."""
        try:
            return self.interpret(members, follows=follows)
        except Exception as error:  # our fault
            if not self.analyses:
                raise
            for path, analysis in self.analyses.items():
                analysis.failures.append(internal_error(self.sources[path], None, error))
            return None

    def lint(self) -> dict[str, FileResult]:
        """Check the files, by what was found out about all of them."""
        return run_deep(self._lint)

    def free(self) -> None:
        """Free the trees and all that was found out: nothing can be asked any longer."""
        for analysis in self.analyses.values():
            analysis.free()
        vars(self).clear()

    def analysed(self) -> dict[str, Analysis]:
        """Return the files of the program; each knows what was found out about all of them."""
        from placement_lint.placement.flow import Flow

        program = self.program
        read = self.analyses if program is None else program.modules
        analyses = {path: self.analyses[path] for path in sorted(read)}
        siblings = {path: analysis.facts for path, analysis in analyses.items()}
        for path, analysis in analyses.items():
            analysis.siblings = analyses
            analysis.facts.siblings = siblings
            analysis.facts.locate = self.find
            if program is not None:
                analysis.facts.flow = Flow(program, program.modules[path])
        return analyses

    @collection_paused()
    def _lint(self) -> dict[str, FileResult]:
        analyses = self.analysed()
        is_large = len(analyses) > _MANY
        for number, (path, analysis) in enumerate(analyses.items()):
            if is_large and number % _MANY == 0:
                # Each search passes through what is new since the one before. All else belongs to
                # files that stay open: there is no garbage in it, and it takes a second each time.
                gc.collect(1)
            try:
                with spending(path):
                    result = analysis.run()
            except (TimeUpError, MemoryUpError) as error:
                give_up(error)
                seconds = analysis.options.time_limit
                result = FileResult((unfinished(path, error, seconds),), parsed=True)
            except Exception as error:  # the other files go on
                result = failed(self.sources[path], error)
            if analysis.is_refuted:
                result = self._alone(path)
            if is_large:
                # All files of the program stay open until the last one is checked.
                analysis.facts.trim()
            if path in self.members or path in self._given or result.says_something:
                self.results[path] = result
        self._complete(analyses)
        return self.results

    def _complete(self, analyses: Mapping[str, Analysis]) -> None:
        """Check what was not executed of the files that are no members.

        Where nothing is found in such a file, it is checked alone after the program.
        """
        from placement_lint.lint.uncalled import found_in_uncalled

        program = self.program
        if program is None:
            return
        known = [finding for result in self.results.values() for finding in result.every]
        for path in sorted(self.results.keys() & analyses.keys() - {*self.members}):
            analysis, result = analyses[path], self.results[path]
            if analysis.is_refuted or analysis.failures or is_unfinished(result):
                continue
            try:
                with spending(path):
                    more = found_in_uncalled(analysis, program, known, self.project.store)
                    if more or analysis.failures or analysis.failed:
                        self.results[path] = analysis.with_more(more)
            except (TimeUpError, MemoryUpError) as error:
                give_up(error)
                beside = unfinished(path, error, analysis.options.time_limit)
                self.results[path] = replace(result, findings=(beside, *result.findings))
            except Exception as error:  # what was found in the program stands
                beside = internal_error(self.sources[path], None, error)
                self.results[path] = replace(result, findings=(beside, *result.findings))

    def _alone(self, path: str) -> FileResult:
        """Check a file by itself, as LibCST reads it."""
        source, asked = self.sources[path], self.asked[path]
        options, store = self.options_for(source), self.project.store
        return lint_source(source, options, asked.name, asked, store=store)

    # -- what the interpreter asks --------------------------------------------------------------

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        """Return the file that a name in another one leads into, and the rest of the name."""
        found = self.reads.found
        key = (importer, qualified)
        if key not in found:
            found[key] = self.project.module_of(importer, qualified)
        return found[key]

    def load(self, name: str) -> Module | None:
        """Read a file; what cannot be read or parsed is no part of the program."""
        from placement_lint.placement.facts.module import Module

        if name in self.without:
            return None
        with interpreting(name):
            if name not in self.analyses and not self._read(name):
                return None
            facts = self.analyses[name].facts
            return Module(
                name,
                facts.tree,
                facts.names,
                accelerator=facts.accelerator,
                pins=facts.pins_cpu,
                is_open=facts.is_open,
            )

    def _read(self, name: str) -> bool:
        store = self.project.store
        source = self.sources.get(name) or store.source_if_readable(name)
        if source is None:
            # It is a finding of the run already, if it is one of its files.
            self.is_readable = False
            return False
        self.sources[name] = source
        parsed = parse_what_can_be(source, store)
        if isinstance(parsed, FileResult):
            if name in self.members:
                self.results[name] = parsed
            return False
        asked = self.asked[name] = self.project.questions(name)
        options = self.options_for(source)
        self.analyses[name] = Analysis(parsed, options, asked.name, asked, store)
        return True


@dataclass(frozen=True)
class Component:
    """Files that have to do with one another: they import one another, in any number of steps."""

    paths: frozenset[str]
    placing: frozenset[str]
    """Those that place arrays, or commit some."""
    importers: Mapping[str, list[tuple[str, str]]]
    """From each file of the run to those that import it, with the first part of the name."""

    @property
    def first(self) -> str:
        """The first of its files, by which it is known: each file is in one component."""
        return min(self.paths)


def components(
    carrying: Iterable[str],
    committing: Iterable[str],
    project: Project,
    importing: Mapping[str, bool | None],
) -> list[Component]:
    """Return the files among which a placement may get from one to another.

    `carrying` are those that place arrays, `committing` those that only commit some; `importing`
    has what is known of whether they import JAX.
    """
    importers: dict[str, list[tuple[str, str]]] = {}
    imports: dict[str, set[str]] = {}
    adjacent: dict[str, set[str]] = {}
    for importer, imported, name in (*project.imports, *project.fact(fixture_links)):
        importers.setdefault(imported, []).append((importer, name.partition(".")[0]))
        imports.setdefault(importer, set()).add(imported)
        adjacent.setdefault(importer, set()).add(imported)
        adjacent.setdefault(imported, set()).add(importer)
    carrying = importing_jax(carrying, imports, importing, project.store, project.isolating)
    placing = frozenset(carrying | {*committing})
    found: list[Component] = []
    seen: set[str] = set()
    for path in sorted(carrying & adjacent.keys()):
        if path not in seen:
            paths = closure([path], adjacent)
            seen |= paths
            found.append(Component(frozenset(paths), placing & paths, importers))
    return found


def group(
    component: Component,
    options_for: Callable[[Source], FileOptions],
    project: Project,
    without: frozenset[str] = frozenset(),
) -> ComponentCheck:
    """Interpret the files together that have to be.

    Those are the files that place arrays, and the files that import something through which a
    placement gets out of one of these; but not those that are to be left out: see `ComponentCheck`.
    Raises LimitError where interpreting one of them takes more than it may.
    """
    together = ComponentCheck({}, options_for, project, without)
    return run_deep(_group, component, together)


def _group(component: Component, together: ComponentCheck) -> ComponentCheck:
    from placement_lint.placement.flow import free_program

    importers = component.importers
    asked = ProgramTexts(together.project.store, together.reads)
    importing = {path: {importer for importer, _ in importers[path]} for path in importers}
    passing = PassingNames(together.project.store, importers)
    members = set(component.placing)
    follows = False
    while True:
        modules = together.interpreted(members, follows=follows)
        program = together.program
        if modules is None or program is None:
            together.is_readable = False
            return together
        found = _carried_to_importers(component, modules, program, asked)
        found = {path: names for path, names in found.items() if path not in together.without}
        added = passing.reached(found, directly=True) - members - together.without
        if len(members | added) > _MOST_MEMBERS:
            added = set()
        misses = program.misses_host_arrays
        if not added and not misses:
            break
        if added:
            added = _joining(members, added, found, passing, importing) - together.without
        # What they met may be an array of the accelerator.
        follows = follows or misses
        members |= added
        # Two programs of many files at a time are too much.
        free_program(program)
        program = together.program = None
        modules = {}
    together.reads.passing = passing.followed
    followed = frozenset(passing.followed)
    together.reads.passed = {path: passing.does_with(path, followed) for path in passing.read}
    return together


def _carried_to_importers(
    component: Component,
    modules: Mapping[str, Module],
    program: Program,
    asked: ProgramTexts,
) -> dict[str, dict[str, Ways]]:
    """Return the names by which files get placements from those that were interpreted, by file."""
    importers = component.importers
    found: dict[str, dict[str, Ways]] = {}
    for path, module in modules.items():
        if path not in importers:
            continue
        with interpreting(path):
            names, devices = program.reach.carried_by(module)
        for importer, name in importers[path]:
            carried = _leads_to(name, names, importer, asked)
            if not carried and _leads_to(name, devices, importer, asked):
                # Others may have the device from it in turn.
                carried = importer in importers or asked.is_placing(importer)
            if carried:
                every = names | dict.fromkeys(devices)
                brought = every if name in {"", "*"} else {name: every[name]}
                add_ways(found.setdefault(importer, {}), brought)
    return found


def _joining(
    members: set[str],
    surely: set[str],
    found: Mapping[str, Mapping[str, Ways]],
    passing: PassingNames,
    importers: Mapping[str, set[str]],
) -> set[str]:
    """Return the files to execute with the members next: as many of those that ever join them as
    can be known now.

    `surely`: those that a placement surely gets to; `found`: by which names it gets into files.
    """
    likely = passing.reached({path: found[path] for path in sorted(surely & found.keys())})
    is_worth_it = len(members | surely) > _FEW
    later = passing.expected(members, _MOST_MEMBERS) if is_worth_it else set()
    for each in (likely | later, likely) if later else (likely,):
        expected = _expected(members, surely, each, importers)
        if len(members | expected) <= _MOST_MEMBERS:
            return expected
    return surely


def _expected(
    members: set[str], surely: set[str], likely: set[str], importers: Mapping[str, set[str]]
) -> set[str]:
    """Return the files to execute with the members: more than a placement surely gets to.

    Each round executes all files again. All files that import members, in any number of steps, save
    the most rounds, then those to which names are passed on (`likely`), with all that hand names on
    to others: as long as there are not many times as many as are needed surely. A few files are
    executed again quickly.
    """
    if len(members | surely) <= _FEW:
        return surely
    # What a placement surely gets to is always among them: the rounds would have no end.
    likely = likely | surely
    known = members | likely
    every = closure(known, importers)
    if len(every) <= _MOST_IMPORTING * len(known):
        return every
    if len(likely - members) > _MOST_LIKELY * len(surely):
        return surely
    return likely | {path for path in every if Path(path).name == _HANDING_ON}


def _leads_to(imported: str, names: Collection[str], importer: str, asked: ProgramTexts) -> bool:
    """Whether an import brings one of these names; "" is the whole module, "*" all its names.

    A file that has a whole module uses those of its names that its text has. One that hands all
    names on to others need not have any.
    """
    if imported or not names:
        return imported in names or (imported == "*" and bool(names))
    return Path(importer).name == _HANDING_ON or asked.says_one(importer, names)
