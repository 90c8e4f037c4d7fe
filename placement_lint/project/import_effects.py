"""What importing does: the summaries of modules, executed as Python would.

Each module is executed once. One that is imported while it is being executed, in a cycle of
imports, is there already as far as it has come. The components of the import graph are found first;
what a module does that is imported from outside of its component depends on nothing else, and is
worked out once for all that ask. Inside of one it depends on where one is: a file that asks is
being executed itself, and so may be the packages above it and what they import on the way to it. So
nothing depends on which file asks first. Nothing here recurs on Python's stack, however long a
chain of imports is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.project.graph import closure
from placement_lint.semantic.module_summary import Does, Either, Imports, Kind, Perhaps
from placement_lint.semantic.program_queries import NOTHING, EffectOrigin, ImportEffects

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from placement_lint.semantic.module_summary import Step, Summary

    _Work: TypeAlias = Generator["_Work", None, None]
    """What is to be done; it gives work that is to be done before it goes on."""


class _Component:
    """Modules of which each imports each of the others, in any number of steps: or just one."""

    __slots__ = ("can", "members")

    def __init__(self, members: list[str], can: frozenset[Kind | str]) -> None:
        self.members = frozenset(members)
        self.can = can
        """What may happen at most where one of them is imported: kinds, and variables."""


@dataclass
class _State:
    """How far an execution has come."""

    inside: frozenset[str] | None
    """The modules that are executed in it; of the others it is known what they do. None: all."""
    under_way: Mapping[str, int] = field(default_factory=dict)
    """Modules that were being executed before, and how many of their steps are done."""
    imports: EffectOrigin | None = None
    starts: EffectOrigin | None = None
    sets: dict[str, EffectOrigin] = field(default_factory=dict)
    given_up: EffectOrigin | None = None
    done: set[str] = field(default_factory=set)
    is_branch: bool = False
    """Whether it is one of two branches: modules that are executed step by step are left out."""

    def branch(self) -> _State:
        return _State(self.inside, is_branch=True)

    def holds(self, module: str) -> bool:
        """Return whether a module is executed here, step by step."""
        return self.inside is None or module in self.inside

    def lacks(self, can: frozenset[Kind | str]) -> bool:
        """Return whether something that can happen would be new."""
        if Kind.RESETS in can:
            return True
        return any(
            self.imports is None
            if each is Kind.IMPORTS
            else self.starts is None
            if each is Kind.STARTS
            else each not in self.sets
            for each in can
        )

    def add(self, kind: Kind, what: str, origin: EffectOrigin) -> None:
        if kind is Kind.IMPORTS:
            self.imports = self.imports or origin
        elif kind is Kind.STARTS:
            self.starts = self.starts or origin
        elif kind is Kind.RESETS:
            self.starts = None
            self.given_up = origin
        else:
            self.sets.setdefault(what, origin)

    def merge(self, effects: ImportEffects) -> None:
        """Add what an import does that cannot give the backend up: else it is executed here."""
        self.imports = self.imports or effects.imports_jax
        self.starts = self.starts or effects.starts_backend
        for variable, origin in effects.sets_variables.items():
            self.sets.setdefault(variable, origin)

    def join(self, one: _State, other: _State) -> None:
        """Go on where two branches, of which one was executed, meet again."""
        if one.imports is not None and other.imports is not None:
            self.imports = self.imports or one.imports
        if one.given_up is None and other.given_up is None:
            both = one.starts is not None and other.starts is not None
            self.starts = self.starts or (one.starts if both else None)
        else:
            self.starts = one.starts if self._started(one) and self._started(other) else None
        if one.given_up is not None and other.given_up is not None:
            self.given_up = one.given_up
        for variable in one.sets.keys() & other.sets.keys():
            self.sets.setdefault(variable, one.sets[variable])

    def _started(self, branch: _State) -> bool:
        return branch.starts is not None or (self.starts is not None and branch.given_up is None)

    @property
    def effects(self) -> ImportEffects:
        if not (self.imports or self.starts or self.sets or self.given_up):
            return NOTHING
        return ImportEffects(self.imports, self.starts, dict(self.sets), self.given_up)


class _Trace:
    """What is executed when a package is imported from outside."""

    def __init__(self) -> None:
        self.importers: dict[str, tuple[str, int]] = {}
        """From modules to what imports each, and in which of its steps; the package itself."""
        self.numbers: dict[str, int] = {}
        self.doubtful: list[tuple[str, int]] = []
        """The modules that are imported on some ways only, with their numbers."""

    def reach(self, module: str, importer: str, place: int) -> None:
        self.numbers[module] = len(self.numbers)
        self.importers[module] = (importer, place)


class Importing:
    """The modules of a run, as far as they are asked for."""

    def __init__(
        self,
        summary: Callable[[str], Summary],
        run_by: Callable[[str, str], Iterable[str]],
        packages: Callable[[str], Iterable[str]],
    ) -> None:
        """`summary` returns the summary of a file, `run_by` the files that an import of a name in a
        file executes, in order, and `packages` those of the packages that a file is in, outermost
        first.
        """
        self._summary = summary
        self._run_by = run_by
        self._packages = packages
        self._steps: dict[str, Summary] = {}
        self._modules: dict[tuple[str, str], tuple[str, ...]] = {}
        """What an import of a name in a file executes."""
        self._components: dict[str, _Component] = {}
        self._effects: dict[str, ImportEffects] = {}
        """Of modules that are imported while nothing of their component is being executed."""
        self._of_askers: dict[tuple[str, tuple[str, ...]], ImportEffects] = {}
        self._under_way: dict[str, dict[str, int]] = {}
        self._traces: dict[tuple[str, ...], _Trace] = {}
        self._leading: dict[tuple[frozenset[str], int], set[str]] = {}
        """By the members of a component: the modules known that may import one of them."""

    def effects(self, asker: str, name: str) -> ImportEffects:
        """Return what an import of a dotted name in a file certainly does."""
        modules = tuple(module for module in self._run_by(asker, name) if module != asker)
        if not modules:
            return NOTHING
        key = (asker, modules)
        if key not in self._of_askers:
            self._of_askers[key] = self._asked(asker, modules)
        return self._of_askers[key]

    def _asked(self, asker: str, modules: tuple[str, ...]) -> ImportEffects:
        for module in modules:
            self._explore(module)
        # A file of which no module is in need is in no component with one.
        own = self._components.get(asker)
        members = frozenset() if own is None else own.members
        if len(modules) == 1 and modules[0] not in members:
            if modules[0] not in self._effects:
                _drive(self._alone(modules[0]))
            return self._effects[modules[0]]
        under_way = {asker: 0, **self._started_before(asker)} if len(members) > 1 else {asker: 0}
        can = frozenset[Kind | str]().union(*(self._components[module].can for module in modules))
        state = _State(None if Kind.RESETS in can else members, under_way)
        _drive(self._import(modules, state))
        return state.effects

    # -- executing --------------------------------------------------------------------------------

    def _alone(self, module: str) -> _Work:
        """Work out what a module does that is imported from outside of its component."""
        component = self._components[module]
        state = _State(None if Kind.RESETS in component.can else component.members)
        state.done.add(module)
        yield self._execute(self._steps[module], state, module)
        self._effects[module] = state.effects

    def _import(self, modules: Iterable[str], state: _State) -> _Work:
        for module in modules:
            if module in state.done or not state.lacks(self._components[module].can):
                continue
            if not state.holds(module):
                state.done.add(module)
                if module not in self._effects:
                    yield self._alone(module)
                state.merge(self._effects[module])
            elif not state.is_branch:
                state.done.add(module)
                steps = self._steps[module]
                if module in state.under_way:
                    steps = steps[: state.under_way[module]]
                yield self._execute(steps, state, module)

    def _execute(self, steps: Summary, state: _State, path: str) -> _Work:
        for step in steps:
            if isinstance(step, Does):
                state.add(step.kind, step.what, EffectOrigin(path, step.line, step.what))
            elif isinstance(step, Imports):
                yield self._import(self._run(path, step.name), state)
            elif isinstance(step, Either):
                yield self._either(step, state, path)

    def _either(self, step: Either, state: _State, path: str) -> _Work:
        """Execute two branches of which one is executed: what happens in both counts.

        What is executed step by step is executed once: so what one of the branches alone imports
        of it does not count.
        """
        in_other = {*self._surely_run(step.orelse, path)}
        in_both = [each for each in self._surely_run(step.body, path) if each in in_other]
        yield self._import(filter(state.holds, in_both), state)
        branches = (state.branch(), state.branch())
        for steps, branch in zip((step.body, step.orelse), branches, strict=True):
            yield self._execute(steps, branch, path)
        state.join(*branches)

    # -- what a file that asks is in the midst of -------------------------------------------------

    def _started_before(self, asker: str) -> dict[str, int]:
        """Return the modules that are being executed when a file is, and how many steps are done.

        A module of a package is imported when its packages are, the outermost first: one of them
        may be what imports it, in any number of steps. Where that depends on what is not known,
        each module that imports the file and is imported by it has come no further than surely.
        """
        if asker not in self._under_way:
            self._under_way[asker] = dict(self._way_to(asker))
        return self._under_way[asker]

    def _way_to(self, asker: str) -> Iterator[tuple[str, int]]:
        packages = tuple(package for package in self._packages(asker) if package != asker)
        before: list[_Trace] = []
        for count in range(1, len(packages) + 1):
            trace = self._traces.get(packages[:count])
            if trace is None:
                trace = self._trace(packages[count - 1], before)
                self._traces[packages[:count]] = trace
            if asker in trace.importers:
                members = self._components[asker].members
                if any(self._doubtful(trace, asker)):
                    yield from ((each, self._first_into(each, members)) for each in members)
                    return
                module = asker
                while trace.importers[module][0] != module:
                    module, place = trace.importers[module]
                    yield module, place
                return
            before.append(trace)

    def _doubtful(self, trace: _Trace, asker: str) -> Iterator[str]:
        """Yield the modules that lead to a file and are imported before it, but not surely."""
        members = self._components[asker].members
        for module, number in trace.doubtful:
            if number > trace.numbers[asker]:
                return
            if self._leads_to(module, members):
                yield module

    def _leads_to(self, module: str, members: frozenset[str]) -> bool:
        # What leads there from what is known by now is not all that will be known.
        key = (members, len(self._steps))
        if key not in self._leading:
            importers: dict[str, list[str]] = {}
            for importer in self._steps:
                for each in self._successors(importer):
                    importers.setdefault(each, []).append(importer)
            self._leading[key] = closure(members, importers)
        return module in self._leading[key]

    def _first_into(self, module: str, members: frozenset[str]) -> int:
        """Return the first step of a module that may import one of some modules."""
        steps = self._steps[module]
        for place, step in enumerate(steps):
            if any(each in members for each in self._may_run([step], module)):
                return place
        return len(steps)

    def _trace(self, package: str, before: list[_Trace]) -> _Trace:
        """Execute a package from outside, and all that it may import, after other packages."""
        trace = _Trace()
        if any(package in each.importers for each in before):
            return trace
        self._explore(package)
        trace.reach(package, package, 0)
        pending = [(package, self._imported(package))]
        while pending:
            importer, imported = pending[-1]
            for place, module, surely in imported:
                if module in trace.importers or any(module in each.importers for each in before):
                    continue
                if not surely:
                    trace.doubtful.append((module, len(trace.numbers)))
                trace.reach(module, importer, place)
                pending.append((module, self._imported(module)))
                break
            else:
                pending.pop()
        return trace

    def _imported(self, path: str) -> Iterator[tuple[int, str, bool]]:
        for place, step in enumerate(self._steps[path]):
            for module in self._may_run([step], path):
                yield place, module, isinstance(step, Imports)

    # -- components -------------------------------------------------------------------------------

    def _explore(self, start: str) -> None:
        """Find the components of a module and of all that it imports, the imported ones first.

        R. E. Tarjan, Depth-first search and linear graph algorithms (1972), without recursion.
        """
        if start in self._components:
            return
        numbers = {start: 0}
        lowest = {start: 0}
        path = [start]
        pending = [(start, iter(self._successors(start)))]
        while pending:
            module, successors = pending[-1]
            for other in successors:
                if other in self._components:
                    continue
                if other not in numbers:
                    numbers[other] = lowest[other] = len(numbers)
                    path.append(other)
                    pending.append((other, iter(self._successors(other))))
                    break
                lowest[module] = min(lowest[module], numbers[other])
            else:
                pending.pop()
                if pending:
                    above = pending[-1][0]
                    lowest[above] = min(lowest[above], lowest[module])
                if lowest[module] == numbers[module]:
                    members = [path.pop()]
                    while members[-1] != module:
                        members.append(path.pop())
                    self._close(members)

    def _close(self, members: list[str]) -> None:
        can: set[Kind | str] = set()
        for module in members:
            can.update(_can(self._steps[module]))
            for other in self._successors(module):
                if other in self._components:
                    can |= self._components[other].can
        component = _Component(members, frozenset(can))
        for module in members:
            self._components[module] = component

    def _successors(self, path: str) -> list[str]:
        if path not in self._steps:
            self._steps[path] = self._summary(path)
        return [*dict.fromkeys(self._may_run(self._steps[path], path))]

    # -- modules ----------------------------------------------------------------------------------

    def _run(self, path: str, name: str) -> tuple[str, ...]:
        key = (path, name)
        if key not in self._modules:
            self._modules[key] = tuple(self._run_by(path, name))
        return self._modules[key]

    def _may_run(self, steps: Iterable[Step], path: str) -> Iterator[str]:
        """Yield all modules that may be imported in some steps of a file."""
        for step in steps:
            if isinstance(step, Either):
                yield from self._may_run((*step.body, *step.orelse), path)
            elif isinstance(step, Imports):
                yield from self._run(path, step.name)
            elif isinstance(step, Perhaps):
                for name in step.names:
                    yield from self._run(path, name)

    def _surely_run(self, steps: Summary, path: str) -> list[str]:
        """Return the modules that are imported in some steps of a file on every way."""
        found: dict[str, None] = {}
        for step in steps:
            if isinstance(step, Either):
                other = {*self._surely_run(step.orelse, path)}
                found |= {each: None for each in self._surely_run(step.body, path) if each in other}
            elif isinstance(step, Imports):
                found |= dict.fromkeys(self._run(path, step.name))
        return [*found]


def _can(steps: Summary) -> Iterator[Kind | str]:
    for step in steps:
        if isinstance(step, Either):
            yield from _can(step.body)
            yield from _can(step.orelse)
        elif isinstance(step, Does):
            yield step.what if step.kind is Kind.SETS else step.kind


def _drive(work: _Work) -> None:
    """Do work, and what it waits for."""
    pending = [work]
    while pending:
        more = next(pending[-1], None)
        if more is None:
            pending.pop()
        else:
            pending.append(more)
