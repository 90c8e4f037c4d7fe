"""Names that a fix needs and a file does not have: which import brings them, and where it goes.

A new import stands beside one that is there already, in the same block: whatever that one is under
(a guard, a function, a setting of the environment above it), the new one is too, and what is found
by way of the first can be fixed by way of the second. So it comes behind the docstring and
`from __future__` by itself, and never under `if TYPE_CHECKING:`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.import_statements import imported_names
from placement_lint.syntax.names import ScopeKind
from placement_lint.syntax.spelling import Needed, Spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from placement_lint.findings import Edit
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

    BringsJax: TypeAlias = Callable[[cst.Import | cst.ImportFrom], bool]

_MODULES = {"jax": "jax", "numpy": "np"}
"""What is imported whole, and under which name: `import jax`, `import numpy as np`."""
_COMPANIONS = ("jax", "flax", "safetensors", "optax", "equinox", "haiku", "orbax", "chex")
"""Packages that cannot be imported without JAX, or (safetensors) from whose arrays it is known."""


def importable(
    qualified: str, at: cst.CSTNode, path: str, names: Names, brings_jax: BringsJax | None = None
) -> Spelling | None:
    """Spell a name that no import of the file leads to, by a new one; None where none is right.

    `brings_jax` tells whether what a statement imports has certainly imported JAX by then.
    """
    anchors = [*_anchors(at, names, brings_jax)]
    for anchor in reversed(anchors):
        if isinstance(anchor, cst.ImportFrom) and anchor.module is not None:
            module = dotted(anchor.module)
            rest = qualified.removeprefix(module + ".")
            first = rest.partition(".")[0]
            if module.partition(".")[0] not in {"jax", "numpy"} or rest == qualified:
                continue
            if _is_free(first, at, anchor, names):
                return Spelling(rest, (Needed(path, anchor, module, first),))
    root = qualified.partition(".")[0]
    bound = _MODULES.get(root)
    if bound is None or not anchors:
        return None
    if not _is_free(bound, at, anchors[0], names):
        return None
    text = bound + qualified.removeprefix(root)
    return Spelling(text, (Needed(path, anchors[0], root, None),))


def _anchors(
    at: cst.CSTNode, names: Names, brings_jax: BringsJax | None
) -> Iterator[cst.Import | cst.ImportFrom]:
    """Return the imports of JAX, and of what comes with it, that have surely run before a node."""
    tree = names.tree
    place = tree.index(at)
    for node in names.import_statements:
        if tree.index(node) >= place:
            continue
        if _root(node) not in _COMPANIONS and not (brings_jax and brings_jax(node)):
            continue
        line = tree.parent(node)
        block = None if line is None else tree.parent(line)
        if (
            isinstance(line, cst.SimpleStatementLine)
            and isinstance(block, cst.Module | cst.IndentedBlock)
            and tree.is_inside(at, block)
            and _sees(names, at, node)
        ):
            yield node


def _root(node: cst.Import | cst.ImportFrom) -> str:
    if isinstance(node.names, cst.ImportStar):
        return ""
    return imported_names(node)[0].partition(".")[0]


def _sees(names: Names, at: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Return whether what a statement binds is visible at a node."""
    owner = names.scope(statement)
    scope = names.scope(at)
    return owner is scope or owner.kind is not ScopeKind.CLASS


def _is_free(name: str, at: cst.CSTNode, beside: cst.CSTNode, names: Names) -> bool:
    """Return whether a name can be bound beside a statement for a node, and hides no other."""
    home = names.scope(beside)
    if names.owner(name, names.scope(at)) is not None or names.owner(name, home) is not None:
        return False
    if name in names.declared_names:
        return False
    # Where it is bound by what nobody sees (a star import, a builtin), it would be another's.
    return name not in names.loose_names


# -- the edits --------------------------------------------------------------------------------


def import_edits(needed: Sequence[Needed], editor: Editor) -> list[Edit] | None:
    """Return the edits that import some names; None where the text allows none."""
    merged: dict[tuple[str, int], list[Needed]] = {}
    for each in dict.fromkeys(needed):
        merged.setdefault((each.path, id(each.beside)), []).append(each)
    edits: list[Edit] = []
    for group in merged.values():
        there = editor.of(group[0].path)
        if not there.spans.exact:
            return None
        beside = group[0].beside
        names = sorted({each.name for each in group if each.name is not None})
        if names and isinstance(beside, cst.ImportFrom):
            merge = _merged(beside, names, there)
            if merge is None:
                return None
            edits += merge
        modules = sorted({each.module for each in group if each.name is None})
        edits += [_own_line(beside, module, there) for module in modules]
    return edits


def _merged(statement: cst.ImportFrom, names: Sequence[str], editor: Editor) -> list[Edit] | None:
    """Put names among those that a statement imports, in their order where it keeps one."""
    if isinstance(statement.names, cst.ImportStar):
        return None
    source = editor.source
    aliases = list(statement.names)
    present = [dotted(alias.name) for alias in aliases]
    spans = [editor.spans.inner(alias) for alias in aliases]
    lines = [source.position(start)[0] for start, _ in spans]
    is_apart = len(set(lines)) == len(lines) and lines[0] != editor.line_of(statement)
    # Without brackets a backslash parts them.
    one_a_line = is_apart and statement.lpar is not None
    is_sorted = present == sorted(present)
    edits: dict[int, list[str]] = {}
    for name in names:
        later = [at for at, other in enumerate(present) if other > name] if is_sorted else []
        at = later[0] if later else len(present)
        edits.setdefault(at, []).append(name)
    made: list[Edit] = []
    for at, new in edits.items():
        if at < len(aliases):
            start = spans[at][0]
            margin = editor.indentation(lines[at])
            between = f",{source.newline}{margin}" if one_a_line else ", "
            made.append(editor.insert(start, "".join(f"{name}{between}" for name in new)))
            continue
        made += _behind_all(aliases[-1], new, editor, one_a_line=one_a_line)
    return made


def _behind_all(
    last: cst.ImportAlias, names: Sequence[str], editor: Editor, *, one_a_line: bool
) -> list[Edit]:
    source = editor.source
    has_comma = isinstance(last.comma, cst.Comma)
    start, end = _without_comma(last, editor)
    if not one_a_line:
        return [editor.insert(end, "".join(f", {name}" for name in names))]
    line = source.position(start)[0]
    margin = editor.indentation(line)
    behind = source.line_starts[line - 1] + len(source.line_text(line))
    text = ",".join(f"{source.newline}{margin}{name}" for name in names)
    if has_comma:
        return [editor.insert(behind, f"{text},")]
    if behind == end:
        return [editor.insert(end, f",{text}")]
    return [editor.insert(end, ","), editor.insert(behind, text)]


def _without_comma(alias: cst.ImportAlias, editor: Editor) -> tuple[int, int]:
    start, _ = editor.spans.inner(alias)
    last = alias.name if alias.asname is None else alias.asname.name
    return start, editor.spans.outer(last)[1]


def _own_line(beside: cst.Import | cst.ImportFrom, module: str, editor: Editor) -> Edit:
    """Import a module on a line of its own, among the imports around another one."""
    text = "import numpy as np" if module == "numpy" else f"import {module}"
    run = _run(beside, editor)
    source = editor.source
    after: cst.SimpleStatementLine | None = None
    for line in run:
        first = line.body[0]
        if isinstance(first, cst.Import) and dotted(first.names[0].name) <= module:
            after = line
    if after is None and not _is_import(run[0]):
        after = run[0]
    if after is None:
        number = source.position(editor.spans.inner(run[0].body[0])[0])[0]
        new = f"{editor.indentation(number)}{text}{source.newline}"
        return editor.insert(source.line_starts[number - 1], new)
    margin = editor.indentation(source.position(editor.spans.inner(after.body[0])[0])[0])
    number = source.position(editor.spans.inner(after.body[-1])[1])[0]
    behind = source.line_starts[number - 1] + len(source.line_text(number))
    is_last = number >= len(source.line_starts) or source.cell_at(number) != source.cell_at(
        number + 1
    )
    if is_last:
        # The next line, if there is one, is in another cell.
        return editor.insert(behind, f"{source.newline}{margin}{text}")
    return editor.insert(source.line_starts[number], f"{margin}{text}{source.newline}")


def _run(beside: cst.Import | cst.ImportFrom, editor: Editor) -> list[cst.SimpleStatementLine]:
    """Return the lines of imports around one, without a blank line or anything else in between."""
    tree: Tree = editor.tree
    line = tree.parent(beside)
    block = None if line is None else tree.parent(line)
    if not isinstance(line, cst.SimpleStatementLine):
        return []
    if not isinstance(block, cst.Module | cst.IndentedBlock):
        return []
    if not _is_import(line):
        return [line]
    body = list(block.body)
    first = last = body.index(line)
    while first > 0 and _has_no_gap_above(body[first]) and _is_import(body[first - 1]):
        first -= 1
    while last + 1 < len(body) and _has_no_gap_above(body[last + 1]) and _is_import(body[last + 1]):
        last += 1
    return [each for each in body[first : last + 1] if isinstance(each, cst.SimpleStatementLine)]


def _has_no_gap_above(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and not line.leading_lines


def _is_import(line: cst.CSTNode) -> bool:
    """Return whether a line does nothing but import, not from the future."""
    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(part, cst.Import)
        or (
            isinstance(part, cst.ImportFrom)
            and not (part.module is not None and dotted(part.module) == "__future__")
        )
        for part in line.body
    )
