"""The run as a whole, as rules may ask about it. Nothing is read before a rule asks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError, read_bytes
from placement_lint.files.test_paths import is_test_path
from placement_lint.lint.graph import closure
from placement_lint.lint.memory import ModuleEffects
from placement_lint.lint.questions import Questions, still_hold
from placement_lint.rules.run_view import NOTHING, ImportEffects, Origin

if TYPE_CHECKING:
    from placement_lint.lint.project import Project
    from placement_lint.rules.module import ModuleFacts


class WholeRun:
    """What the files of one run have to do with each other. See `RunView` for the questions."""

    def __init__(self, project: Project) -> None:
        """Take the files of the run."""
        self._project = project
        self._effects: dict[str, ImportEffects] = {}
        self._reaches: dict[str, bool] = {}
        self._callers: dict[str, dict[str, Origin]] = {}
        self._programs: dict[str, frozenset[str]] = {}
        self._learned: dict[str, ModuleEffects] = {}
        self.parsed = 0
        """How many files were parsed for it."""

    def calls(self, path: str, function: str) -> Origin | None:
        """Give a call of a function in another file of a program that a file is part of."""
        for caller, origin in self._calling(function).items():
            if caller != path and path in self._programs_with(caller):
                return origin
        return None

    def mentions(self, path: str, *words: bytes) -> bool:
        """Tell whether another file of a program that a file is part of contains one of these."""
        return any(
            other != path and any(word in _data(other) for word in words)
            for other in sorted(self._programs_with(path))
        )

    def importing(self, path: str, name: str) -> ImportEffects:
        """Give what an import of a dotted name in a file does."""
        merged = NOTHING
        for module in self._project.modules_run_by(path, name):
            if module != path:
                merged = _merged(merged, self._of(module))
        return merged

    # -- what importing does ----------------------------------------------------------------

    def _of(self, path: str) -> ImportEffects:
        if path not in self._effects:
            # A module in a circle of imports is there already when it is imported once more.
            self._effects[path] = NOTHING
            if self._leads_to_jax(path):
                found = self._recalled(path) or self._found(path)
                self._learned[path] = found
                self._effects[path] = found.value
        return self._effects[path]

    def _recalled(self, path: str) -> ModuleEffects | None:
        """Give what was found out before, where it would be found again."""
        known = self._project.known_effects
        before = None if known is None else known(path)
        if before is None or not still_hold(before.answers, self._project, path):
            return None
        return before

    def _found(self, path: str) -> ModuleEffects:
        from placement_lint.rules.timeline import timeline

        asked = Questions(self._project, path)
        facts = self._parse(path, asked)
        effects = NOTHING if facts is None else timeline(facts).effects()
        return ModuleEffects(effects, asked.answers)

    def take_learned(self) -> dict[str, ModuleEffects]:
        """Give what importing modules does, as far as it was found out since this was called."""
        learned, self._learned = self._learned, {}
        return learned

    def _leads_to_jax(self, path: str) -> bool:
        """Tell whether a file, or one that it may import, mentions JAX or sets variables for it."""
        if path not in self._reaches:
            self._reaches[path] = False
            data = _data(path)
            self._reaches[path] = (
                b"jax" in data
                or b"environ" in data
                or any(self._leads_to_jax(module) for module in self._project.imported_by(path))
            )
        return self._reaches[path]

    # -- who calls what ---------------------------------------------------------------------

    def _calling(self, function: str) -> dict[str, Origin]:
        if function not in self._callers:
            found: dict[str, Origin] = {}
            words = [word.encode() for word in function.split(".")[1:]]
            for path in sorted(self._project.mentioning):
                data = _data(path)
                if not all(word in data for word in words) or is_test_path(path):
                    continue
                facts = self._parse(path)
                if facts is None:
                    continue
                for node in facts.tree.nodes:
                    func = getattr(node, "func", None)
                    if func is not None and facts.names.qualified(func) == function:
                        found[path] = Origin(path, facts.line_of(node), f"{function}()")
                        break
            self._callers[function] = found
        return self._callers[function]

    def _programs_with(self, path: str) -> frozenset[str]:
        """Give every file of a program that a file is part of."""
        if path not in self._programs:
            imported, importing = self._graph
            tops = closure(path, importing)
            self._programs[path] = frozenset(
                each for top in tops for each in closure(top, imported)
            )
        return self._programs[path]

    @functools.cached_property
    def _graph(self) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """From a file to those that it imports, and to those that import it, tests aside."""
        imported: dict[str, set[str]] = {}
        importing: dict[str, set[str]] = {}
        for importer, module, _ in self._project.imports():
            if not is_test_path(importer):
                imported.setdefault(importer, set()).add(module)
                importing.setdefault(module, set()).add(importer)
        return imported, importing

    # -- files ------------------------------------------------------------------------------

    def _parse(self, path: str, asked: Questions | None = None) -> ModuleFacts | None:
        """Parse a file of the run; None where that cannot be done, which its own findings say."""
        from placement_lint.lint.file import FileResult, parse
        from placement_lint.rules.module import ModuleFacts

        try:
            source = Source.decode(path, read_bytes(path))
        except UnreadableError:
            return None
        parsed = parse(source)
        if isinstance(parsed, FileResult):
            return None
        self.parsed += 1
        asked = asked or Questions(self._project, path)
        return ModuleFacts(parsed, path, exports=asked.name, run=asked)


def _data(path: str) -> bytes:
    try:
        return read_bytes(path)
    except UnreadableError:
        return b""


def _merged(one: ImportEffects, other: ImportEffects) -> ImportEffects:
    return ImportEffects(
        one.imports_jax or other.imports_jax,
        one.starts_backend or other.starts_backend,
        {**other.sets_variables, **one.sets_variables},
    )
