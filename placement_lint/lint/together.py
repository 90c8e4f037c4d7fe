"""Files that are interpreted together, because a placement made in one reaches another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.files.source import Source, UnreadableError, read_bytes
from placement_lint.lint.file import Analysis, FileOptions, FileResult, internal_error, parse
from placement_lint.lint.garbage import collection_paused
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from placement_lint.lint.project import Project
    from placement_lint.placement.module import Module

CARRIES = b"default_device"
"""A file without these bytes makes no array that sits on another device without being committed."""


def lint_together(
    sources: Mapping[str, Source],
    options_for: Callable[[str], FileOptions],
    project: Project,
) -> dict[str, FileResult]:
    """Check files as one program. More files of the run are read where it leads into them.

    Gives a result for each file that was given, and for each other one that a rule found something
    in, whether or not a comment silences it.
    """
    return run_deep(_Together(sources, options_for, project).run)


class _Together:
    """One program: the files given, and those that are read on the way."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        options_for: Callable[[str], FileOptions],
        project: Project,
    ) -> None:
        self.sources = sources
        self.options_for = options_for
        self.project = project
        self.results: dict[str, FileResult] = {}
        self.analyses: dict[str, Analysis] = {}

    @collection_paused()
    def run(self) -> dict[str, FileResult]:
        from placement_lint.placement.flow import Flow, interpret

        given = [module for path in sorted(self.sources) if (module := self.load(path))]
        try:
            program = interpret(given, self)
        except Exception as error:  # our fault; each file is still checked alone
            for path, analysis in self.analyses.items():
                analysis.failures.append(internal_error(self.sources[path], None, error))
            program = None
        for path, analysis in sorted(self.analyses.items()):
            analysis.siblings = self.analyses
            analysis.facts.siblings = {name: each.facts for name, each in self.analyses.items()}
            if program is not None:
                analysis.facts.flow = Flow(program, program.modules[path])
        for path, analysis in sorted(self.analyses.items()):
            result = analysis.run()
            if path in self.sources or result.says_something:
                self.results[path] = result
        return self.results

    # -- what the interpreter asks --------------------------------------------------------------

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None:
        """Give the file that a name in another one leads into, and the rest of the name."""
        return self.project.module_of(importer, qualified)

    def load(self, name: str) -> Module | None:
        """Read a file; what cannot be read or parsed is no part of the program."""
        from placement_lint.placement.module import Module

        source = self.sources.get(name)
        if source is None:
            try:
                source = Source.decode(name, read_bytes(name))
            except UnreadableError:
                # It is a finding of the run already, if it is one of its files.
                return None
        parsed = parse(source)
        if isinstance(parsed, FileResult):
            if name in self.sources:
                self.results[name] = parsed
            return None
        resolver, view = self.project.resolver(name), self.project.view
        analysis = Analysis(source, parsed, self.options_for(name), resolver, view)
        self.analyses[name] = analysis
        facts = analysis.facts
        return Module(name, facts.tree, facts.names, accelerator=facts.accelerator)


def group(carrying: Iterable[str], project: Project) -> list[str]:
    """Give the files that have to be interpreted together, given those that make placements.

    Those are the files that make them, and the files that import something through which a
    placement gets out of one of these; none, where no placement leaves its file.
    """
    return run_deep(_group, sorted(carrying), project)


@collection_paused()
def _group(carrying: list[str], project: Project) -> list[str]:
    from placement_lint.placement.flow import interpret

    importers: dict[str, list[tuple[str, str]]] = {}
    linked: set[str] = set()
    for importer, imported, name in project.imports():
        importers.setdefault(imported, []).append((importer, name.partition(".")[0]))
        linked.add(importer)
    members = list(carrying)
    while True:
        together = _Together({}, lambda _: FileOptions(()), project)
        modules = [module for path in sorted(members) if (module := together.load(path))]
        program = interpret(modules, together)
        found = {
            importer
            for module in modules
            if (names := program.carried_by(module))
            for importer, name in importers.get(module.name, ())
            if name in {"", "*", *names}
        }
        if found <= set(members):
            # Files that import nothing of the run, and that no other imports, are as well alone.
            related = any(path in linked or path in importers for path in members)
            return sorted(set(members)) if related else []
        members = sorted({*members, *found})
