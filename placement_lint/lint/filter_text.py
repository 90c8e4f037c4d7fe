"""What the file filter looks into: a file's own words, and the names that it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.rules.needs import FileText

if TYPE_CHECKING:
    from placement_lint.files.source import Source
    from placement_lint.lint.project import Project

JAX = b"jax"


def filter_text(source: Source, project: Project | None) -> FileText:
    """Give what the filter looks into, with what comes by imports from other files of the run."""
    names = ""
    if project is not None and project.hands_names_on:
        names = project.reexported(source.path, source.text)
    return filter_text_with(source, names, project)


def filter_text_with(source: Source, names: str, project: Project | None) -> FileText:
    """Do so where the names are known that what is imported may stand for: one in each line."""
    data = source.text.encode("utf-8", "surrogatepass")
    exports = project.candidates(source.path) if project is not None and names else None
    is_jax = JAX in data or "jax" in names
    return FileText(data, jax=is_jax, imported=names, exports=exports, path=source.path)
