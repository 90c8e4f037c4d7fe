"""What is found in the functions of a file that its program reads and never executes.

A program reads more files than it has members: those that its calls lead into, of which it executes
only what is called. The rest of such a file is checked as where it is alone. All that the program
knows stands: what it executed, what it found, and where its files change what a function does that
nobody calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.places import Place
from placement_lint.rules.devices.queries import set_attributes
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.files.store import FileStore
    from placement_lint.findings import Edit, Finding, Fix, Span
    from placement_lint.lint.check_file import Analysis
    from placement_lint.placement.interpreter import Program
    from placement_lint.semantic.model import ModuleFacts

    _Placed = tuple[Span, int | None]

_SETS_DEFAULT = b"jax_default_device"
"""What a file says that may set the default device for good."""


def found_in_uncalled(
    own: Analysis, program: Program, known: Iterable[Finding], store: FileStore
) -> list[Finding]:
    """Return what is found in the functions of a file that a program never executes.

    But for what overlaps with a place of `known`, the findings in the program.
    """
    path, tree = own.source.path, own.facts.tree
    bodies = _uncalled_bodies(path, program)
    if not bodies or _may_be_changed(own, program):
        return []

    def is_uncalled(node: cst.CSTNode) -> bool:
        index = tree.index(node)
        return any(first <= index < end for first, end in bodies)

    def edits_uncalled(fix: Fix) -> bool:
        own_places = [own.placed_at(tree.nodes[first]) for first, _ in bodies]
        return all(
            edit.path == path
            and (_imports(edit) or any(_is_in(edit, place) for place in own_places))
            for edit in fix.edits
        )

    apart = own.again(store)
    try:
        found = apart.found_at(is_uncalled, edits_uncalled, on_any_mesh=program.sets_mesh)
        if apart.is_refuted:
            return []
        own.failures += apart.failures
        own.failed += apart.failed
    finally:
        apart.free()
    taken = {(each.span, each.cell) for each in known if each.path == path}
    taken |= {(each.span, each.cell) for one in known for each in one.related if each.path == path}
    return [each for each in found if not any(_overlaps(each, place) for place in taken)]


def _uncalled_bodies(path: str, program: Program) -> list[tuple[int, int]]:
    """Return where the bodies are of the outermost functions that are not executed, as indices."""
    tree = program.modules[path].tree
    found: list[tuple[int, int]] = []
    end = 0
    for function in tree.every(cst.FunctionDef):
        index = tree.index(function)
        if index < end:
            continue
        end = tree.ends[index]
        place = Place(path, index)
        if not program.is_executed(place) and place not in program.assumed_compiled:
            body = tree.index(function.body)
            found.append((body, tree.ends[body]))
    return found


def _may_be_changed(own: Analysis, program: Program) -> bool:
    """Return whether other files may change what the functions of a file meet when they run."""
    scopes = own.facts.names.scopes()
    keys = {id(scope) for scope in scopes}
    bound = {
        name
        for scope in scopes
        if isinstance(scope.node, cst.Module | cst.ClassDef)
        for name in scope.bindings
    }
    others = [facts for facts in own.facts.siblings.values() if facts is not own.facts]
    return (
        program.is_tampered
        or any(owner in keys for owner, _ in program.linking.rebound)
        or any(facts.says(_SETS_DEFAULT) for facts in others)
        or any(not bound.isdisjoint(facts.fact(_attributes_set)) for facts in others)
    )


def _attributes_set(facts: ModuleFacts) -> frozenset[str]:
    """Return the attributes that a file assigns, of whatever; but for those of `self`."""
    return frozenset(
        name
        for name, targets in facts.fact(set_attributes).items()
        if any(dotted(target.value) != "self" for target in targets)
    )


def _imports(edit: Edit) -> bool:
    start, end = _ends(edit.span)
    return start == end and edit.text.startswith(("import ", "from "))


def _is_in(edit: Edit, place: _Placed) -> bool:
    start, end = _ends(edit.span)
    first, last = _ends(place[0])
    return edit.cell == place[1] and first <= start and end <= last


def _overlaps(finding: Finding, place: _Placed) -> bool:
    start, end = _ends(finding.span)
    first, last = _ends(place[0])
    return finding.cell == place[1] and start < last and first < end


def _ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.line, span.column), (span.end_line, span.end_column)
