"""The nodes of Python's own trees: as the standard library has them, but for operators."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import placement_lint
from placement_lint.files.python_nodes import children, walk

LEFT_OUT = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
FOLDER = Path(placement_lint.__file__).parent
FILES = [*FOLDER.glob("project/*.py"), *FOLDER.glob("placement/engine/*.py")]
SYNTAX = """
@decorated
async def f(a, /, b: int = 1, *args: int, c=not a, **kwargs) -> "int":
    global g
    async with a as b, c: yield (await d).e[1:2, ::3]
    async for x, *y in z: del x
    else: nonlocal_ = lambda u, v=1: f"{u!r:>{v}}" "text"
    x: int; y += 1 < 2 != 3 is not None
    try: raise E from None
    except (A, B) as error: assert a and b or -c, [d for d in e if f for g in h]
    finally: return {**a, 1: 2}, {x async for x in y}, (z := 3)
    from ..a import b as c, d
    import e.f as g
    match x:
        case {"a": [1, *rest], **others} if c: pass
        case C(1, b=None) | (2 as d): ...
class C(B, metaclass=M): x = [*a][0]
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nodes_of_a_file(file: Path) -> None:
    check(ast.parse(file.read_text(encoding="utf-8")))


def test_nodes_of_every_statement() -> None:
    check(ast.parse(SYNTAX))


def check(tree: ast.AST) -> None:
    assert [*walk(tree)] == [node for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
    for node in walk(tree):
        below = ast.iter_child_nodes(node)
        assert children(node) == [each for each in below if not isinstance(each, LEFT_OUT)]
