"""What the analysis knows of the names in one file: where the cursor is, and where `# reveal: name`
asks for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.placement.domain.describe import describe
from placement_lint.placement.domain.devices import (
    SYSTEM_DEFAULT,
)
from placement_lint.placement.domain.values import (
    Array,
)
from placement_lint.semantic.file_view import FileView
from placement_lint.semantic.written_arrays import written_array
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.findings import Span
    from placement_lint.placement.domain.places import (
        Place,
    )
    from placement_lint.placement.domain.values import (
        Value,
    )
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

MARK = "# reveal:"
_COMMENT = re.compile(r"#\s*reveal:\s*(?P<names>[\w.,\s]+)")
_NOTHING_TO_SAY = frozenset({"unknown", "no array", "no array or unknown", "nothing"})


@dataclass(frozen=True)
class NameInfo:
    """What is known of the value of a name at one place."""

    name: str
    span: Span
    description: str
    is_on_mesh: bool = False
    """What `NameLookup.bound_to_arrays` found it to be."""


class NameLookup:
    """The names of one file, and where the arrays live that they stand for."""

    def __init__(self, facts: ModuleFacts, editor: Editor) -> None:
        """Take what is known of the file, and where its nodes are."""
        self._facts = facts
        self._flow = facts.flow
        self.editor = editor

    def at(self, offset: int, where: Callable[[str, int], str]) -> NameInfo | None:
        """Return what the name at an offset of the text stands for; None if nothing is known.

        On `tokens` in `self.tokens` that is the attribute, on `self` the object, and on a
        parameter what all calls together give. `where` writes a file and a line of it.
        """
        node = self._name_at(offset)
        shown = node
        if node is None:
            node = self._parameter_at(offset)
            shown = None if node is None else self._use_of(node)
        if node is None or shown is None:
            return None
        text = describe(
            self._flow.value(shown), self._written(where), array=_written_of(shown, self._facts)
        )
        gone = _donated(shown, self._facts)
        if text in _NOTHING_TO_SAY and not gone:
            return None
        text += gone
        return NameInfo(dotted(node), self.editor.span(node), text)

    def bound_to_arrays(self, first: int, last: int) -> Iterator[NameInfo]:
        """Return the names that are bound, on some lines, to arrays that nothing holds in place, or
        that are on a mesh.

        Only those that surely are arrays, and that are not on the system's default device: there
        everything is uncommitted, and at home.
        """
        for node in self._flow.tree.nodes:
            target = node.target if isinstance(node, cst.AssignTarget | cst.AnnAssign) else None
            for name in _names_in(target):
                if not first <= self.editor.line_of(name) <= last:
                    continue
                held = self._flow.value(name)
                devices, meshes = _astray(held), _on_meshes(held)
                if devices:
                    text = f"uncommitted on {' or '.join(devices)}"
                    yield NameInfo(dotted(name), self.editor.span(name), text)
                elif meshes:
                    what = _written_of(name, self._facts, "on")
                    text = f"{what}{'' if what == 'on' else ' on'} {' or '.join(meshes)}"
                    yield NameInfo(dotted(name), self.editor.span(name), text, is_on_mesh=True)

    def _name_at(self, offset: int) -> cst.CSTNode | None:
        best: tuple[int, cst.CSTNode] | None = None
        for node in self._flow.tree.nodes:
            if isinstance(node, cst.Name | cst.Attribute) and dotted(node):
                start, end = self.editor.spans.inner(node)
                if start <= offset <= end and (best is None or end - start < best[0]):
                    best = (end - start, node)
        return None if best is None else best[1]

    def _parameter_at(self, offset: int) -> cst.Name | None:
        for param in self._flow.tree.every(cst.Param):
            start, end = self.editor.spans.inner(param.name)
            if start <= offset <= end:
                return param.name
        return None

    def _use_of(self, parameter: cst.Name) -> cst.CSTNode | None:
        """Return where a parameter is used; None where the name is bound again, or never used.

        Nothing is known of its own name in the signature, which no execution comes by.
        """
        tree, names = self._flow.tree, self._flow.module.names
        param = next(each for each in tree.every(cst.Param) if each.name is parameter)
        around = tree.ancestors(param)
        body = next(each.body for each in around if isinstance(each, cst.FunctionDef | cst.Lambda))
        scope = names.scope(body)
        if scope.sole_binding(parameter.value) is None:
            return None
        return next(iter(names.uses(parameter.value, scope)), None)

    def _written(self, where: Callable[[str, int], str]) -> Callable[[Place], str]:
        def written(place: Place) -> str:
            there = self.editor.of(place.module)
            return where(place.module, there.line_of(there.tree.nodes[place.node]))

        return written


def _donated(node: cst.CSTNode, facts: ModuleFacts) -> str:
    """Return where the array that a name stands for was donated, to be put behind what it is."""
    from placement_lint.semantic.donation.analysis import Donations
    from placement_lint.semantic.donation.buffers import Surety

    death = facts.fact(Donations).death(node)
    if death is None:
        return ""
    around = FileView(facts).function
    calls = (*death.stack, death.call)
    here = [each for each in calls if around(each) is around(node)]
    line = facts.line_of(here[0] if here else calls[0])
    perhaps = "perhaps " if death.surety is Surety.MAYBE else ""
    return f", {perhaps}deleted: donated to `{death.to}` on line {line}"


def _names_in(target: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    if isinstance(target, cst.Name | cst.Attribute):
        yield target
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names_in(element.value)


def _written_of(node: cst.CSTNode, facts: ModuleFacts, otherwise: str = "a JAX array") -> str:
    """Return the type and shape of the array that a name is bound to, where the text says them."""
    parent = facts.tree.parent(node)
    bound = node
    if isinstance(parent, cst.AssignTarget):
        around = facts.tree.parent(parent)
        bound = around.value if isinstance(around, cst.Assign) else node
    found = written_array(bound, FileView(facts))
    return otherwise if found is None else str(found)


def _on_meshes(value: Value) -> list[str]:
    """Return the meshes, and how they are split over these, of what surely are arrays there."""
    if not all(isinstance(atom, Array) and atom.sharding is not None for atom in value):
        return []
    return sorted({str(atom.sharding) for atom in value if isinstance(atom, Array)})


def _astray(value: Value) -> list[str]:
    """Return the devices of what surely is an array that is uncommitted, and not at home."""
    devices = set()
    for atom in value:
        if (
            not isinstance(atom, Array)
            or atom.committed
            or atom.is_small
            or atom.device in {None, SYSTEM_DEFAULT}
        ):
            return []
        devices.add(str(atom.device))
    return sorted(devices)


@dataclass(frozen=True, order=True)
class Revealed:
    """What is known of one name at one place."""

    path: str
    line: int
    column: int
    name: str
    description: str


def reveal(facts: ModuleFacts, editor: Editor) -> Iterator[Revealed]:
    """Return what is asked for by the comments of a file, in order."""
    flow = facts.flow
    asked: dict[int, list[str]] = {}
    for start, end in editor.spans.comments:
        match = _COMMENT.match(editor.source.text[start:end])
        if match is not None:
            names = [name.strip() for name in match["names"].split(",") if name.strip()]
            asked[editor.source.position(start)[0]] = names
    if not asked:
        return
    nodes: dict[tuple[int, str], cst.CSTNode] = {}
    for node in editor.tree.every(cst.Name, cst.Attribute):
        name = dotted(node)
        if name:
            line = editor.line_of(node)
            if name in asked.get(line, ()):
                nodes[line, name] = node

    def where(place: Place) -> str:
        there = editor.of(place.module)
        return f"{place.module}:{there.line_of(there.tree.nodes[place.node])}"

    for line in sorted(asked):
        for name in asked[line]:
            found = nodes.get((line, name))
            column = 1 if found is None else editor.span(found).column
            text = (
                "there is no such name on this line"
                if found is None
                else describe(flow.value(found), where, array=_written_of(found, facts))
                + _donated(found, facts)
            )
            yield Revealed(editor.source.path, line, column, name, text)
