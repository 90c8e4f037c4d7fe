"""What the file filter looks into: a file's own words, and the names that it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.prefilter.conditions import GIVEN, text_of_source
from placement_lint.project.donating_files import NAMES, brings_donation
from placement_lint.project.given_files import may_be_given
from placement_lint.project.roots import outside_of_roots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.files.source import Source
    from placement_lint.prefilter.conditions import FileText
    from placement_lint.project.file_facts import FileFacts
    from placement_lint.project.modules import Modules


def filter_text(source: Source, project: Modules) -> FileText:
    """Return what the filter looks into, with what comes by imports from other files of the run."""
    return with_imports(text_of_source(source), source.path, project)


def with_imports(text: FileText, path: str, project: Modules) -> FileText:
    """Add to the text of a file what comes by imports from other files of the run."""
    if not project.exports_roots:
        return with_meanings(text, {}, path, project)
    imported = imported_names(text, project.facts_by_file[path])
    if imported is not None:
        return with_meanings(text, meanings(imported, path, project), path, project)
    names = project.reexported(path, text.text)
    if brings_donation(path, project):
        names = f"{names}\n{NAMES}"
    if may_be_given(path, project):
        names = f"{names}\n{GIVEN}"
    return text.knowing(names, project.candidates(path)) if names else text


def brought(imported: frozenset[str], path: str, project: Modules) -> bool:
    """Return whether something is added to the text of a file by what it imports from others.

    `imported`: the qualified names that come by imports.
    """
    return (
        brings_donation(path, project)
        or may_be_given(path, project)
        or (project.exports_roots and bool(meanings(imported, path, project)))
    )


def with_meanings(
    text: FileText, meanings: dict[str, list[str]], path: str, project: Modules
) -> FileText:
    """Add to the text of a file what the names that come by imports may stand for."""
    names = sorted({name for names in meanings.values() for name in names})
    if brings_donation(path, project):
        names.append(NAMES)
    if may_be_given(path, project):
        names.append(GIVEN)
    return text.knowing("\n".join(names), project.candidates(path)) if names else text


def naming_text(source: Source, project: Modules) -> FileText:
    """Return what tells which names a file may use, of which it has the last part itself."""
    may_be = project.candidates(source.path) if project.exports_roots else None
    return text_of_source(source).knowing("", may_be)


def imported_names(text: FileText, facts: FileFacts) -> frozenset[str] | None:
    """Return the qualified names that come by imports; None where some of them are not written."""
    if facts.imported is None:
        imported = text.mentions.imported
        facts.imported = None if imported is None else outside_of_roots(imported)
    return facts.imported


def meanings(imported: Iterable[str], path: str, project: Modules) -> dict[str, list[str]]:
    """Return what those of these names may stand for that may stand for a name of the roots."""
    may_be = project.candidates(path)
    found = ((name, sorted(may_be(name))) for name in sorted(imported))
    return {name: names for name, names in found if names}
