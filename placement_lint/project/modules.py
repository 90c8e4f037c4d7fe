"""The files of a run as modules of one program: what a name imported from another file stands for.

`compat.py` says `import jax.numpy as jnp`, `train.py` says `from .compat import jnp` and never
mentions jax: the second file must be read, and `jnp` in it must be known. Nothing here is worked
out before a file asks. Every question is first put to the text of the import statements, read by
regular expressions; only where that finds a way to a name of JAX are the modules on the way
parsed, and what they really bind decides.
"""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from placement_lint.files.line_ends import with_line_feeds
from placement_lint.files.store import FileStore
from placement_lint.files.test_paths import is_init
from placement_lint.isolation import isolating
from placement_lint.prefilter.import_words import RELATIVE, import_words
from placement_lint.project.bindings import STAR_NAME, read_bindings
from placement_lint.project.exporters import Exporters
from placement_lint.project.file_budgets import Expenses
from placement_lint.project.file_facts import FactsByFile
from placement_lint.project.large_packages import large_packages
from placement_lint.project.module_places import ModulePlaces
from placement_lint.project.roots import ROOTS
from placement_lint.project.sibling_imports import SiblingImports
from placement_lint.syntax.bindings_text import Assignments, Way, Ways, read_imports
from placement_lint.syntax.code_text import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from placement_lint.prefilter.name_scan import Exports
    from placement_lint.project.dependencies import CallsMade, Donated, Summarised
    from placement_lint.syntax.names import ExportResolver

T = TypeVar("T")

MAX_STEPS = 64
"""From one name to all that it may stand for. Honest re-exports take two or three."""

_FOLDERS_ABOVE = 8
"""How far above a file what it imports may lie."""

_STAR = re.compile(r"\bimport[ \t]*(?:\([ \t]*)?\*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _NameIn:
    """A dotted name and the file whose words it is in."""

    path: str
    name: str
    is_bound_here: bool = False
    """Whether it begins with a name that the file binds, and not with a module."""

    @property
    def is_root(self) -> bool:
        """Whether it is a name of the roots, so that there is nothing more to ask."""
        return not self.is_bound_here and self.name.partition(".")[0] in ROOTS


class Modules:
    """The files of one run, by the places at which an import finds them."""

    def __init__(
        self,
        paths: Iterable[str] = (),
        mentioning: Iterable[str] = (),
        known_summary: Callable[[str], Summarised | None] | None = None,
        facts_by_file: FactsByFile | None = None,
        exhausted: Iterable[str] = (),
        store: FileStore | None = None,
        donating: Iterable[str] = (),
        giving: Iterable[str] = (),
        known_donations: Callable[[str], Donated | None] | None = None,
        known_calls: Callable[[str], CallsMade | None] | None = None,
    ) -> None:
        """Take the paths of the run, and those of them whose bytes mention the roots.

        `known_summary` tells what was found out before of what executing a file does,
        `known_donations` of what its names donate, `known_calls` of what it calls, `facts_by_file`
        of the texts. `exhausted` are files that have taken all that they may. `store` reads files.
        `donating` may donate arrays, `giving` give functions to callbacks and data loaders.
        """
        self.store = store or FileStore()
        self.known_summary = known_summary
        self.known_donations = known_donations
        self.known_calls = known_calls
        self.facts_by_file = facts_by_file or FactsByFile()
        self.failed: dict[str, Exception] = {}
        """Files of which something could not be found out, because of a mistake of ours."""
        self.expenses = Expenses(exhausted)
        self._paths = tuple(paths)
        self._mentioning = frozenset(mentioning)
        self.donating = frozenset(donating)
        self.giving = frozenset(giving)
        self._given = frozenset(vars(self))
        self._make_caches()

    def _make_caches(self) -> None:
        self.places = ModulePlaces(self._paths, self._mentioning)
        self._ended: dict[_NameIn, tuple[set[str], set[str]]] = {}
        self._ways: dict[str, dict[str, list[Way]]] = {}
        self._imported: dict[str, list[tuple[str, str, str]]] = {}
        self._facts: dict[Callable[[Modules], Any], Any] = {}

    def __reduce__(self) -> tuple[type[Modules], tuple[object, ...]]:
        """Travel light: another process finds out for itself what it needs."""
        paths = (self._paths, self._mentioning, None, None, frozenset(self.expenses.exhausted))
        return type(self), (*paths, self.store, self.donating, self.giving)

    def forget_results(self) -> None:
        """Forget what was found out: work was broken off, and some of it may be half done."""
        for name in vars(self).keys() - self._given - {"_given"}:
            delattr(self, name)
        self._make_caches()
        self.store.free()

    def fact(self, work: Callable[[Modules], T]) -> T:
        """Return what a function returns for this run; it is called once, whoever asks first."""
        if work not in self._facts:
            self._facts[work] = work(self)
        found: T = self._facts[work]
        return found

    def isolating(self, path: str) -> isolating:
        """Return a block that finds something out of a file; where it fails, nothing is known."""

        def note(error: Exception) -> None:
            from placement_lint.syntax.deep_stack import TooDeepError

            # That is one of the file, which its own finding names.
            if not isinstance(error, TooDeepError):
                self.failed[path] = error

        return isolating(note)

    def take_failed(self) -> dict[str, Exception]:
        """Return what failed since this was called."""
        failed, self.failed = self.failed, {}
        return failed

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the run."""
        return self._paths

    # -- for a file of the run ------------------------------------------------------------------

    @property
    def mentioning(self) -> frozenset[str]:
        """The files whose bytes mention the roots."""
        return self._mentioning

    def modules_run_by(self, path: str, name: str) -> list[str]:
        """Return the files that an import of a dotted name in a file executes, in that order.

        `import a.b.c` executes `a`, then `a.b`, then `a.b.c`; what is no module is passed over.
        """
        level = len(name) - len(name.lstrip("."))
        parts = name[level:].split(".")
        found: list[str] = []
        for count in range(1, len(parts) + 1):
            part = name[:level] + ".".join(parts[:count])
            located = self._locate(path, part) if self.may_be_of_run(part) else None
            if located is not None and located[0] in self.places.by_place:
                found += [self.places.by_place[located[0]], *self._own_modules(*located)]
        return [*dict.fromkeys(found)]

    def _own_modules(self, place: str, rest: Sequence[str]) -> Iterator[str]:
        """Return the modules below a package that names in it stand for, if for nothing else.

        Where the package is still being executed it may not have bound them: then they are found
        in it as modules.
        """
        for name in rest:
            module = self.places.by_place.get(place)
            below = os.path.join(place, name)
            if module is None or below not in self.places.by_place or not is_init(module):
                return
            ways = self._ways_of(module).get(name, ())
            if not all(way.is_import and self._named(module, way.target) == below for way in ways):
                return
            yield self.places.by_place[below]
            place = below

    def packages_above(self, path: str) -> list[str]:
        """Return the `__init__.py` files of the packages that a file is in, the outermost first."""
        return self.places.packages_above(path)

    def resolver(self, path: str) -> ExportResolver:
        """Return what tells of qualified names in a file which name of the roots they stand for."""

        @functools.cache
        def resolve(name: str) -> str | None:
            candidates = self._candidates(path, name)
            if not candidates:
                return None
            known = self._known(path, name, [MAX_STEPS])
            # The filter relies on the candidates.
            return known if known in candidates else None

        return resolve

    def candidates(self, path: str) -> Exports:
        """Return a function from qualified names in a file to those of the roots that they may
        mean, never fewer than what `resolver` finds.
        """
        return functools.partial(self._candidates, path)

    @functools.cached_property
    def exports_roots(self) -> bool:
        """Whether any file of the run has a name of the roots that another one could import."""
        return any(
            not way.is_import or way.target.partition(".")[0] in ROOTS
            for place in self.places.by_place.values()
            if place in self._mentioning
            for ways in self._ways_of(place).values()
            for way in ways
        )

    def may_import_names(self, path: str) -> bool:
        """Return whether, by their words, a file's imports may lead to a name of the roots."""
        return bool(self.places.by_place) and self._exporters.may_lead_here(path)

    def may_bring_names(self, path: str) -> bool:
        """Return whether a file may have a name of the roots by its imports from other files."""
        if not self.may_import_names(path):
            return False
        below = self._exporters.below
        return any(
            names or not places.isdisjoint(below)
            for ways in self._ways_of(path).values()
            for way in ways
            if way.is_import and self.may_be_of_run(way.target)
            for names, places in [self._ends(_NameIn(path, way.target))]
        )

    def reexported(self, path: str, text: str) -> str:
        """Return the names of the roots that what a file imports from the run may stand for: for
        the file filter, they are part of what the file says.
        """
        if not self.places.by_place:
            return ""
        pending = [
            _NameIn(path, way.target)
            for ways in self._ways_of(path, text).values()
            for way in ways
            if way.is_import and self.may_be_of_run(way.target)
        ]
        found: set[str] = set()
        seen: set[str] = set()
        words: set[str] = set()
        while pending:
            names, places = self._ends(pending.pop())
            found |= names
            # Where a whole module was imported: all that the file can name in it and below it.
            below = self._exporters.below
            for place in places & below.keys() - seen:
                words = words or set(_WORD.findall(text))
                by_name = below[place]
                reached = [module for name in by_name.keys() & words for module in by_name[name]]
                seen.add(place)
                for module in {*reached, *by_name.get("", ())} - seen:
                    seen.add(module)
                    heads = self._exporters.heads[module] & words
                    pending += [_NameIn(module, head, is_bound_here=True) for head in heads]
        return "\n".join(sorted(found))

    @functools.cached_property
    def _exporters(self) -> Exporters:
        return Exporters(
            self.places.by_place,
            self.places.children,
            self._named_in,
            self._exported_by,
            self._mentioning,
        )

    def _exported_by(self, module: str) -> dict[str, tuple[set[str], set[str]]]:
        """Return what each name that a module binds leads to: names of the roots, and places."""
        with self.isolating(module):
            return {
                head: self._ends(_NameIn(module, head, is_bound_here=True))
                for head in self._ways_of(module)
            }
        return {}

    def _named_in(self, path: str) -> frozenset[str]:
        """Return the words that the import statements of a file hold, and some more."""
        facts = self.facts_by_file[path]
        if facts.named is None:
            facts.named = frozenset()
            with self.isolating(path):
                text = self.store.text(path)
                facts.named = import_words(text.encode("utf-8", "surrogatepass"))
        return facts.named

    def _may_import(self, path: str) -> bool:
        """Return whether an import statement of a file may lead to another file of the run."""
        named = self._named_in(path)
        return (
            RELATIVE in named
            or not self.places.bases.keys().isdisjoint(named)
            or bool(self._siblings.of(path))
        )

    @functools.cached_property
    def _siblings(self) -> SiblingImports:
        return SiblingImports(self.places, self._named_in, self._imported_names)

    def _imported_names(self, path: str) -> list[str]:
        """Return the dotted names that the import statements of a file import."""
        found: dict[str, list[str]] = {}
        with self.isolating(path):
            found = self.expenses.of(path, lambda: self._read_imports(path, None)[0], found)
        return [target for targets in found.values() for target in targets]

    # -- modules --------------------------------------------------------------------------------

    def may_be_of_run(self, name: str) -> bool:
        """Return whether a name in a file may be one of a file of the run."""
        if not self.places.by_place or not name:
            return False
        first = name.partition(".")[0]
        if not first or first in ROOTS:
            return not first
        return first in self.places.bases or first in self._siblings.names

    def _locate(self, path: str, name: str) -> tuple[str, list[str]] | None:
        """Find the module of the run that a qualified name in a file leads into.

        Gives the place and what is left of the name. A name that a package binds goes before a
        module of that name in it, except in the package's own imports.
        """
        bare = name.lstrip(".")
        parts = bare.split(".") if bare else []
        place = self._start_of(path, name)
        if place is None:
            return None
        if bare == name and self.places.is_package(place):
            # A script does not run the package that it lies in.
            place = os.path.join(place, parts.pop(0))
        while parts:
            module = self.places.by_place.get(place)
            if module is not None and (module != path or not is_init(path)):
                below = self.places.children.get(place, ())
                if parts[0] not in below or self._is_bound_by(module, parts[0]):
                    return place, parts
            elif parts[0] not in self.places.children.get(place, ()):
                return None
            place = f"{place.rstrip(os.sep)}{os.sep}{parts.pop(0)}"
        return place, parts

    def _is_bound_by(self, package: str, name: str) -> bool:
        """Return whether a package binds the name of a module in it to something else."""
        ways = self._ways_of(package).get(name, ())
        within = os.path.join(self.places.folder_of(package), name)
        if all(way.is_import and self._named(package, way.target) == within for way in ways):
            large = self.fact(large_packages) if ways else frozenset()
            return not large.isdisjoint(self.packages_above(package))
        leads_on = name in ROOTS or self._named(package, name) or {name} != {w.target for w in ways}
        return bool(leads_on) or "TYPE_CHECKING" not in self.store.text(package)

    def _named(self, path: str, name: str) -> str | None:
        """Return the place that a dotted name in an import of a file means, if it is a module's."""
        start = self._start_of(path, name)
        return None if start is None else os.path.join(start, *name.lstrip(".").split("."))

    def _start_of(self, path: str, name: str) -> str | None:
        """Return the folder where a dotted name in an import of a file begins."""
        bare = name.lstrip(".")
        folder = self.places.folder_of(path)
        if bare != name:
            for _ in range(len(name) - len(bare) - 1):
                folder = os.path.dirname(folder)
            return folder
        top = bare.partition(".")[0]
        base = self.places.base(folder, top)
        return folder if base is None and top in self._siblings.of(path) else base

    def module_of(self, path: str, name: str) -> tuple[str, str] | None:
        """Return the file of the run that a qualified name in a file leads into, and the rest.

        The rest is empty where the name is that of the module itself.
        """
        located = self._locate(path, name) if self.may_be_of_run(name) else None
        if located is None or located[0] not in self.places.by_place:
            return None
        return self.places.by_place[located[0]], ".".join(located[1])

    def sees_imports_of(self, path: str, text: str) -> bool:
        """Return whether each file that another one imports from beside it is in the run.

        Beside it is also what lies in a folder above it, or in the folder `src` there.
        """
        if _STAR.search(text):
            return False
        return all(
            self.module_of(path, way.target) is not None or not _may_lie_near(path, way.target)
            for ways in self._ways_of(path, text).values()
            for way in ways
            if way.is_import
        )

    @functools.cached_property
    def imports(self) -> tuple[tuple[str, str, str], ...]:
        """From each import of one file of the run from another: who, from where, what.

        A package also leads to the modules in it that are named below it: `import pkg.data`
        binds `pkg`, and what `pkg.data.x` reads is the other file's.
        """
        found: list[tuple[str, str, str]] = []
        for path in (*self.places.by_place.values(), *self.places.notebooks):
            with self.isolating(path):
                # Most import nothing of the run: a block for each takes longer than to see that.
                if self._may_import(path):
                    found += self.expenses.of(path, functools.partial(self.imports_of, path), [])
        return tuple(found)

    def imports_of(self, path: str) -> list[tuple[str, str, str]]:
        """Return those of the imports that are in one file, worked out once."""
        if path not in self._imported:
            self._imported[path] = [*self._imports_of(path)]
        return self._imported[path]

    def _imports_of(self, path: str) -> Iterator[tuple[str, str, str]]:
        packages: dict[str, list[str]] = {}
        if not self._may_import(path):
            return
        for name, ways in self._ways_of(path).items():
            for way in ways:
                if not way.is_import:
                    continue
                found = self.module_of(path, way.target)
                if found is not None and found[0] != path:
                    yield path, *found
                if self._is_of_package(path, way.target):
                    packages.setdefault(name, []).append(way.target)
        if packages:
            yield from self._named_below(path, packages)

    def _is_of_package(self, path: str, target: str) -> bool:
        """Return whether what is imported is a folder that holds modules of the run."""
        located = self._locate(path, target) if self.may_be_of_run(target) else None
        return located is not None and not located[1] and located[0] in self.places.children

    def _named_below(
        self, path: str, packages: dict[str, list[str]]
    ) -> Iterator[tuple[str, str, str]]:
        """Return what a file names in the modules of packages that its own names stand for.

        What a text names is a type, not a module: that is run as a program, by `python -m`.
        """
        heads = "|".join(map(re.escape, packages))
        named = re.compile(rf"(?<![\w.])([\"']?)({heads})((?:[ \t]*\.[ \t]*[^\W\d]\w*)+)")
        for quote, head, rest in sorted(set(named.findall(self.store.text(path)))):
            for target in packages[head]:
                found = self.module_of(path, target + "".join(rest.split()))
                if found is not None and found[0] != path and (found[1] or not quote):
                    yield path, *found

    def imported_by(self, path: str) -> list[str]:
        """Return the files of the run that the import statements of a file may execute."""
        return [
            module
            for ways in self._ways_of(path).values()
            for way in ways
            if way.is_import
            for module in self.modules_run_by(path, way.target)
        ]

    # -- what the import statements say ---------------------------------------------------------

    def _candidates(self, path: str, name: str) -> frozenset[str]:
        """Return all names of the roots that a qualified name in a file may stand for."""
        if not self.may_be_of_run(name):
            return frozenset()
        return frozenset(self._ends(_NameIn(path, name))[0])

    def _ends(self, asked: _NameIn) -> tuple[set[str], set[str]]:
        """Follow a name on all ways: to names of the roots, and to places of modules."""
        key = asked
        # What an import means depends on the folder alone, but for a package's own, and a script's.
        is_own = is_init(asked.path) or asked.name.partition(".")[0] in self._siblings.of(
            asked.path
        )
        if not asked.is_bound_here and not is_own:
            key = _NameIn(self.places.folder_of(asked.path), asked.name)
        if key not in self._ended:
            self._ended[key] = self._follow(asked)
        return self._ended[key]

    def _follow(self, asked: _NameIn) -> tuple[set[str], set[str]]:
        names: set[str] = set()
        places: set[str] = set()
        pending = [asked]
        seen = set(pending)
        while pending:
            current = pending.pop(0)
            if current.is_root:
                names.add(current.name)
                continue
            module, parts = current.path, current.name.split(".")
            if not current.is_bound_here:
                located = self._locate(current.path, current.name)
                if located is None:
                    continue
                place, parts = located
                if not parts:
                    places.add(place)
                    continue
                module = self.places.by_place[place]
            for step in self._steps(module, parts):
                if step not in seen and len(seen) < MAX_STEPS:
                    seen.add(step)
                    pending.append(step)
        return names, places

    def _steps(self, module: str, parts: list[str]) -> Iterator[_NameIn]:
        """Return where a module may have a dotted name from that begins with a name it binds."""
        for way in self._ways_of(module).get(parts[0], ()):
            name = ".".join([way.target, *parts[1:]])
            yield _NameIn(module, name, is_bound_here=not way.is_import)
        for way in self._ways_of(module).get(STAR_NAME, ()):
            if not parts[0].startswith("_") and not _NameIn(module, way.target).is_root:
                yield _NameIn(module, way.target.removesuffix(STAR_NAME) + ".".join(parts))

    def _ways_of(self, path: str, text: str | None = None) -> dict[str, list[Way]]:
        """Return every way in which a file may bind a name that leads on; `text` is its own."""
        known = self._ways.get(path)
        if known is None:
            nothing: dict[str, list[Way]] = {}
            known = nothing
            # Which names lead on is asked of all files, and not at the expense of this one.
            self._siblings.find()
            with self.isolating(path):
                known = self.expenses.of(path, lambda: self._found_ways(path, text), nothing)
            self._ways[path] = known
        return known

    def _read_imports(
        self, path: str, text: str | None
    ) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
        """Return what the import statements of a file bind names to, and what is assigned to."""
        facts = self.facts_by_file[path]
        if facts.imports is None or facts.assigned is None:
            code = code_of(with_line_feeds(self.store.text(path) if text is None else text))
            imports = read_imports(code)
            facts.imports = {name: [way.target for way in imports[name]] for name in imports}
            # Only what is imported is followed, and only where roots are named: whatever
            # else can be assigned stands for nothing that a rule knows.
            is_mentioning = path in self._mentioning
            facts.assigned = [*Assignments(code).copies_of(imports)] if is_mentioning else []
        return facts.imports, facts.assigned

    def _found_ways(self, path: str, text: str | None) -> dict[str, list[Way]]:
        imports, assigned = self._read_imports(path, text)
        ways = Ways()
        heads: set[str] = set()
        for name, targets in imports.items():
            for way in map(Way, targets):
                ways.add(name, way)
                if self._leads_on(way):
                    heads.add(name)
        for name, value in assigned:
            if value.partition(".")[0] in heads:
                ways.add(name, Way(value, is_import=False))
        return ways.lists()

    def _leads_on(self, way: Way) -> bool:
        return way.target.partition(".")[0] in ROOTS or self.may_be_of_run(way.target)

    # -- what the modules really bind -----------------------------------------------------------

    def _known(self, path: str, name: str, budget: list[int]) -> str | None:
        """Return the one name of the roots that a qualified name in a file provably stands for."""
        if _NameIn(path, name).is_root:
            return name
        budget[0] -= 1
        located = self._locate(path, name)
        if located is None or not located[1] or budget[0] < 0:
            return None
        module, (head, *rest) = self.places.by_place[located[0]], located[1]
        origins = self._bound_in(module).get(head, ())
        known: set[str | None] = set()
        for origin in origins:
            known.add(self._known(module, ".".join([origin, *rest]), budget))
            if len(known) > 1 or None in known:
                return None
        if not origins and not head.startswith("_"):
            # The last one that has the name binds it.
            for star in self._bound_in(module).get(STAR_NAME, ()):
                # What else than names of theirs may come from the roots, nobody says.
                if _NameIn(module, star).is_root:
                    continue
                found = self._known(module, ".".join([star, head, *rest]), budget)
                if found is not None:
                    return found
        return known.pop() if known else None

    def _bound_in(self, path: str) -> dict[str, tuple[str, ...]]:
        """Return what each name that a module binds stands for: several where that is open."""
        facts = self.facts_by_file[path]
        if facts.bound is None:
            from placement_lint.syntax.deep_stack import run_deep

            read = functools.partial(read_bindings, path, self.store)
            with self.isolating(path):
                facts.bound = run_deep(self.expenses.of, path, read, None)
        return facts.bound or {}


def _may_lie_near(path: str, target: str) -> bool:
    """Return whether what a file imports may be another file of its project."""
    first = target.partition(".")[0]
    if not first:
        return True  # a relative import
    if first in ROOTS:
        return False
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(_FOLDERS_ABOVE):
        for base in (folder, os.path.join(folder, "src")):
            place = os.path.join(base, first)
            if os.path.exists(f"{place}.py") or os.path.isdir(place):
                return True
        folder = os.path.dirname(folder)
    return False
