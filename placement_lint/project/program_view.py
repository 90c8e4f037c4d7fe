"""The run as a whole, as rules may ask about it. Nothing is read before a rule asks."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError
from placement_lint.files.test_paths import is_test_path
from placement_lint.prefilter.conditions import Uses
from placement_lint.project.dependencies import CallsMade, Dependencies, Learned, Summarised
from placement_lint.project.graph import closure
from placement_lint.project.import_effects import Importing
from placement_lint.project.imported_names import naming_text
from placement_lint.project.open_files import OpenFiles
from placement_lint.project.queries import TrackedQueries, still_hold
from placement_lint.semantic.program_queries import EffectOrigin, ImportEffects
from placement_lint.syntax.set_meshes import MeshSetting, mesh_setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.files.store import FileStore
    from placement_lint.project.donations_elsewhere import DonationsElsewhere
    from placement_lint.project.functions_elsewhere import FunctionsElsewhere
    from placement_lint.project.modules import Modules
    from placement_lint.project.types_elsewhere import TypesElsewhere
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.module_summary import Summary
    from placement_lint.semantic.program_queries import (
        CallsAsked,
        CallsFromElsewhere,
        DonationElsewhere,
        FunctionEffects,
        GivenComputation,
        KnownType,
    )


_TENSORFLOW = b"tensorflow"
"""In a file that imports it."""

_LARGE = 400_000
"""Characters: Python's own parser takes what is shorter, whatever it is."""


class WholeRun:
    """What the files of one run have to do with each other. See `RunView` for the questions."""

    def __init__(self, project: Modules) -> None:
        """Take the files of the run."""
        self._project = project
        self._leading: dict[str, bool] = {}
        self._callers: dict[str, list[str]] = {}
        self._calls: dict[tuple[str, str], EffectOrigin | None] = {}
        self._tensorflow: dict[tuple[str, str], EffectOrigin | None] = {}
        self._programs: dict[str, frozenset[str]] = {}
        self._setting: dict[str, MeshSetting] = {}
        self._learned: dict[str, Summarised] = {}
        self._calls_made: dict[str, CallsMade] = {}
        self._known_calls: dict[str, CallsMade | None] = {}
        self._opened: dict[str, list[Dependencies]] = {}
        """The answers that the files which were parsed got on their names."""
        self.parsed = 0
        """How many files were parsed for it."""

    def calls(self, path: str, function: str) -> EffectOrigin | None:
        """Return a call of a function in another file of a program that a file is part of."""
        for caller in self._naming(function):
            # Only what has to do with the file is parsed.
            if caller != path and path in self._programs_with(caller):
                origin = self._call_in(caller, function)
                if origin is not None:
                    return origin
        return None

    def mentions(self, path: str, *words: bytes) -> bool:
        """Return whether another file of a program that a file is part of contains one of these."""
        return any(
            other != path and any(word in self._data(other) for word in words)
            for other in sorted(self._programs_with(path))
        )

    def mesh_setting(self, path: str) -> MeshSetting:
        """Return how another file of a program that a file is part of may set meshes."""
        others = sorted(self._programs_with(path) - {path})
        return max(map(self._mesh_setting, others), default=MeshSetting.NEVER)

    def _mesh_setting(self, path: str) -> MeshSetting:
        if path not in self._setting:
            source = None
            if b"_mesh" in self._data(path):
                source = self._project.store.source_if_readable(path)
            setting = MeshSetting.NEVER if source is None else mesh_setting(source.text)
            self._setting[path] = setting
        return self._setting[path]

    def importer(self, path: str) -> str | None:
        """Return a file of the run, no test, that imports a file or something in it."""
        _, importing = self._graph
        return min(importing.get(path, set()) - {path}, default=None)

    def importing(self, path: str, name: str) -> ImportEffects:
        """Return what an import of a dotted name in a file does."""
        return self._importing.effects(path, name)

    def function(
        self, path: str, name: str, files: int = 1, file: str = ""
    ) -> FunctionEffects | None:
        """Return what calling something of another file does."""
        return self._functions.effects(path, name, files, file)

    def calls_from_elsewhere(
        self, path: str, function: str, asked: CallsAsked
    ) -> CallsFromElsewhere:
        """Return how other files call a function of a file."""
        return self._functions.callers(path, function, asked)

    def pins(self, path: str, by_text: tuple[bool, frozenset[str]]) -> tuple[bool, frozenset[str]]:
        """Return whether a file pins the program to the CPU in time, and which of its functions do
        where others call them; by its text alone where it cannot be looked at.
        """
        from placement_lint.semantic.platform_pins import offered_in_time, pins_in_time

        with self._open_files.borrowed(path) as facts:
            if facts is None:
                return by_text
            return (True, frozenset()) if pins_in_time(facts) else (False, offered_in_time(facts))

    def tensorflow_by(self, path: str, name: str) -> EffectOrigin | None:
        """Return where TensorFlow is imported, and computes, by what a file imports."""
        reached = closure(self._project.modules_run_by(path, name), self._near) - {path}
        holder, rest = self._project.module_of(path, name) or ("", "")
        member = rest.partition(".")[0]
        for module in sorted(reached):
            if not is_test_path(module) and _TENSORFLOW in self._data(module):
                asked = (module, member if module == holder else "")
                if asked not in self._tensorflow:
                    self._tensorflow[asked] = self._tensorflow_in(*asked)
                if self._tensorflow[asked] is not None:
                    return self._tensorflow[asked]
        return None

    def _tensorflow_in(self, path: str, member: str) -> EffectOrigin | None:
        from placement_lint.semantic.tensorflow_use import tensorflow_computes, tensorflow_imports

        with self._open_files.borrowed(path) as facts:
            found = None if facts is None else tensorflow_imports(facts)
            if facts is None or not found or not tensorflow_computes(facts, member):
                return None
            return EffectOrigin(path, facts.line_of(found[0]), "import tensorflow")

    def is_place_elsewhere(self, path: str, name: str) -> bool:
        """Return whether another file puts arrays on what a file binds to a name."""
        return self._functions.is_place_elsewhere(path, name)

    def given_elsewhere(self, path: str) -> tuple[GivenComputation, ...]:
        """Return the computations in a file that others let callbacks and worker processes run."""
        return self._given.get(path, ())

    def donation(self, path: str, name: str) -> DonationElsewhere | None:
        """Return what something of another file donates."""
        return self._donations.of(path, name)

    def object_type(
        self, path: str, name: str, *, called: bool, file: str = ""
    ) -> KnownType | None:
        """Return the type of what another file defines, or of what calling it gives."""
        return self._types.of(path, name, called=called, file=file)

    def passed_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> frozenset[KnownType | None]:
        """Return the types of what other files pass to a function or class of a file."""
        return self._functions.passed_types(path, function, place, name)

    def is_about_version(self, path: str, name: str) -> bool | None:
        """Return whether what another file defines is worked out of the version of JAX."""
        return self._types.is_about_version(path, name)

    @functools.cached_property
    def _types(self) -> TypesElsewhere:
        from placement_lint.project.types_elsewhere import TypesElsewhere

        return TypesElsewhere(self._project, self._open_files.borrowed)

    @functools.cached_property
    def _given(self) -> Mapping[str, tuple[GivenComputation, ...]]:
        from placement_lint.project.given_files import given_computations

        return given_computations(self._project, self._open_files.borrowed)

    @functools.cached_property
    def _donations(self) -> DonationsElsewhere:
        from placement_lint.project.donations_elsewhere import DonationsElsewhere

        return DonationsElsewhere(
            self._project,
            self._open_files.borrowed,
            lambda path: self._opened.get(path, ()),
            lambda answers, path: still_hold(answers, self._project, path, lambda: self),
        )

    @functools.cached_property
    def _functions(self) -> FunctionsElsewhere:
        from placement_lint.project.functions_elsewhere import FunctionsElsewhere

        _, importing = self._graph
        return FunctionsElsewhere(
            self._project,
            self._open_files.borrowed,
            lambda path: importing.get(path, ()),
            self._data,
            self._programs_with,
        )

    @functools.cached_property
    def _open_files(self) -> OpenFiles:
        return OpenFiles(
            self._facts_of,
            self._questions_of,
            is_barred=lambda path: path in self._project.expenses.exhausted,
        )

    def _questions_of(self, path: str) -> TrackedQueries:
        return TrackedQueries(self._project, path, lambda: self)

    def _facts_of(self, path: str) -> ModuleFacts | None:
        with self._project.isolating(path):
            return self._project.expenses.of(path, functools.partial(self._parsed, path), None)
        return None

    def _parsed(self, path: str) -> ModuleFacts | None:
        source = self._project.store.source_if_readable(path)
        return None if source is None or path.endswith(".pyi") else self._parse(source)

    # -- what importing does ----------------------------------------------------------------

    @functools.cached_property
    def _importing(self) -> Importing:
        return Importing(self._summary, self._run_by, self._project.packages_above)

    def _run_by(self, path: str, name: str) -> list[str]:
        """Return the files that an import executes, as far as they can have to do with JAX."""
        modules = self._project.modules_run_by(path, name)
        return [module for module in modules if self._leads_to_jax(module)]

    def _summary(self, path: str) -> Summary:
        found = None
        with self._project.isolating(path):
            found = self._recalled(path) or self._project.expenses.of(
                path, functools.partial(self._found, path), None
            )
        if found is None:
            return ()
        self._learned[path] = found
        return found.summary

    def _recalled(self, path: str) -> Summarised | None:
        """Return what was found out before, where it would be found again."""
        known = self._project.known_summary
        before = None if known is None else known(path)
        if before is None or not still_hold(before.answers, self._project, path, lambda: self):
            return None
        return before

    def _found(self, path: str) -> Summarised:
        from placement_lint.syntax.deep_stack import run_deep

        asked = self._questions_of(path)
        source = self._project.store.source_if_readable(path)
        # What a stub imports happens in no process.
        if source is None or path.endswith(".pyi"):
            return Summarised((), asked.answers)
        return Summarised(run_deep(self._summed_up, source, asked), asked.answers)

    def _summed_up(self, source: Source, asked: TrackedQueries) -> Summary:
        from placement_lint.project.ast_summary import outline, without_functions
        from placement_lint.semantic.execution_order import timeline
        from placement_lint.syntax.parse import guard
        from placement_lint.syntax.python_parser import python_tree

        self.parsed += 1
        if len(source.text) > _LARGE and guard(source) is not None:
            return ()
        module = python_tree(source, self._project.store)
        facts = None
        if module is not None:
            found = outline(module, asked.name)
            if found is not None:
                return found
            short = Source(source.path, without_functions(module, source.text))
            if short.text != source.text:
                facts = self._facts(short, asked, None)
        facts = facts or self._facts(source, asked, self._project.store)
        if facts is None:
            return ()
        summary = timeline(facts).summary()
        facts.free()
        return summary

    def take_learned(self) -> Learned:
        """Return what was found out of files since this was called."""
        donations = self._donations.take_learned() if "_donations" in vars(self) else {}
        learned = Learned(self._learned, donations, self._calls_made)
        self._learned, self._calls_made = {}, {}
        return learned

    def _leads_to_jax(self, path: str) -> bool:
        """Return whether a file, or one that it may import, mentions JAX or its variables."""
        if path not in self._leading:
            self._find_leading(path)
        return self._leading[path]

    def _find_leading(self, start: str) -> None:
        """Find it out for a file, and for all that are asked on the way."""
        importers: dict[str, list[str]] = {start: []}
        pending = [start]
        leading: list[str] = []
        while pending:
            path = pending.pop()
            data = self._data(path)
            if b"jax" in data or b"environ" in data:
                leading.append(path)
            for module in self._project.imported_by(path):
                known = self._leading.get(module)
                if known:
                    leading.append(path)
                if known is not None:
                    continue
                if module not in importers:
                    importers[module] = []
                    pending.append(module)
                importers[module].append(path)
        found = closure(leading, importers)
        self._leading.update({path: path in found for path in importers})

    # -- who calls what ---------------------------------------------------------------------

    def _naming(self, function: str) -> list[str]:
        """Return the files, tests aside, that may call a function, by the names in their texts."""
        if function in self._callers:
            return self._callers[function]
        last = function.rpartition(".")[2].encode()
        found: list[str] = []
        for path in sorted(self._project.mentioning):
            if is_test_path(path) or last not in self._data(path):
                continue
            with self._project.isolating(path):
                may_call = functools.partial(self._may_call, path, function)
                found += [path] if self._project.expenses.of(path, may_call, False) else []
        self._callers[function] = found
        return found

    def _may_call(self, path: str, function: str) -> bool:
        known = self._calls_of(path)
        if known is not None and function in known.lines:
            self._calls_made.setdefault(path, CallsMade()).add(known)
            return known.lines[function] is not None
        source = self._project.store.source_if_readable(path)
        return source is not None and Uses(function).met_by(naming_text(source, self._project))

    def _call_in(self, path: str, function: str) -> EffectOrigin | None:
        """Return the first call of a function in a file."""
        key = path, function
        if key not in self._calls:
            line = None
            with self._project.isolating(path):
                look = functools.partial(self._line_of_call, path, function)
                line = self._project.expenses.of(path, look, None)
            found = None if line is None else EffectOrigin(path, line, f"{function}()")
            self._calls[key] = found
        return self._calls[key]

    def _line_of_call(self, path: str, function: str) -> int | None:
        known = self._calls_of(path)
        if known is not None and function in known.lines:
            return known.lines[function]
        import libcst as cst

        source = self._project.store.source_if_readable(path)
        facts = None if source is None else self._parse(source)
        if facts is None:
            return None
        calls = facts.tree.every(cst.Call)
        lines = (facts.line_of(c) for c in calls if facts.names.qualified(c.func) == function)
        line = next(lines, None)
        if isinstance(facts.run, TrackedQueries):
            made = CallsMade({function: line}, facts.run.answers)
            self._calls_made.setdefault(path, CallsMade()).add(made)
        facts.free()
        return line

    def _calls_of(self, path: str) -> CallsMade | None:
        """Return in which lines a file called functions, if it would get the same answers now."""
        if path not in self._known_calls:
            known = self._project.known_calls
            before = None if known is None else known(path)
            if before is not None and not still_hold(
                before.answers, self._project, path, lambda: self
            ):
                before = None
            self._known_calls[path] = before
        return self._known_calls[path]

    def _programs_with(self, path: str) -> frozenset[str]:
        """Return every file of a program that a file is part of."""
        if path not in self._programs:
            imported, importing = self._graph
            tops = closure([path], importing)
            self._programs[path] = frozenset(
                each for top in tops for each in closure([top], imported)
            )
        return self._programs[path]

    @functools.cached_property
    def _graph(self) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """From a file to those that it imports, and to those that import it, tests aside."""
        imported: dict[str, set[str]] = {}
        importing: dict[str, set[str]] = {}
        for importer, module, _ in self._project.imports:
            if not is_test_path(importer):
                imported.setdefault(importer, set()).add(module)
                importing.setdefault(module, set()).add(importer)
        return imported, importing

    @functools.cached_property
    def _near(self) -> dict[str, set[str]]:
        """From a file to those of its directory that it imports.

        What else it imports may have a pipeline that nobody asks for.
        """
        imported, _ = self._graph
        return {
            module: {each for each in found if os.path.dirname(each) == os.path.dirname(module)}
            for module, found in imported.items()
        }

    # -- files ------------------------------------------------------------------------------

    def _data(self, path: str) -> bytes:
        # What cannot be read is a finding of its own.
        with self._project.isolating(path), contextlib.suppress(UnreadableError):
            return self._project.store.read(path)
        return b""

    def _parse(self, source: Source) -> ModuleFacts | None:
        """Parse a file of the run; None where that cannot be done, which its own findings say."""
        self.parsed += 1
        asked = self._questions_of(source.path)
        self._opened.setdefault(source.path, []).append(asked.answers)
        return self._facts(source, asked, self._project.store)

    def _facts(
        self, source: Source, asked: TrackedQueries, store: FileStore | None
    ) -> ModuleFacts | None:
        from placement_lint.semantic.model import ModuleFacts
        from placement_lint.syntax.parse import Unparsable, parse

        parsed = parse(source, store)
        if isinstance(parsed, Unparsable):
            return None
        return ModuleFacts(
            parsed.module,
            source.path,
            file=parsed,
            exports=asked.name,
            run=asked,
            source=source,
        )
