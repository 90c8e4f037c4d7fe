"""The flat tree: every node once, in source order, with its parent and the end of its subtree."""

from pathlib import Path

import libcst as cst
import pytest

from placement_lint.files.source import Source
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree, children

SOURCES = sorted(Path(__file__).parent.parent.parent.joinpath("placement_lint").rglob("*.py"))

SAMPLE = '''
import a.b as c, d
from e import (f as g, h)
@deco(1)
class K[T](Base, metaclass=M):
    x: int = 1
    async def m(self, p, /, q=2, *args, r: str = "s", **kw) -> None:
        """Doc."""
        global i, j
        async with one as two, three:
            await four
        return [y for y in range(3) if y async for z in y]
try:
    raise A from B
except (C, D) as e:
    del x[1:2, ...], y
except E:
    pass
else:
    assert 1, "m"
finally:
    pass
match v:
    case {"k": [1, *rest], **others} if rest:
        pass
    case K(a=1, b=c) | None as w:
        pass
for i, (j, *k) in l: continue
while (n := f(*a, **b)): break
t = f"{x!r:>{width}}" "joined" if q else lambda z=1, *, y: (yield)
u = {1: 2, **m}, {3, *n}, not -o, p ** q, r and s or w, 1 < x <= 3, x[...]
type Alias[T] = list[T]
'''


def test_every_node_is_there_once_with_its_parent() -> None:
    tree = Tree(cst.parse_module(SAMPLE))
    assert len({id(node) for node in tree.nodes}) == len(tree.nodes)
    assert tree.nodes[0] is tree.module
    assert tree.parent(tree.module) is None
    for index, node in enumerate(tree.nodes):
        assert tree.index(node) == index
        for child in children(node):
            assert tree.parent(child) is node
        assert index < tree.ends[index] <= len(tree.nodes)


@pytest.mark.parametrize("path", [None, *SOURCES[::12]], ids=lambda p: p.name if p else "sample")
def test_nodes_come_in_source_order(path: Path | None) -> None:
    text = SAMPLE if path is None else path.read_text(encoding="utf-8")
    tree = Tree(cst.parse_module(text))
    spans = Spans(tree.module, Source("case.py", text))
    for node in tree.nodes:
        starts = [spans.outer(child)[0] for child in children(node)]
        assert starts == sorted(starts), type(node)


def test_descendants_and_ancestors_agree() -> None:
    tree = Tree(cst.parse_module(SAMPLE))
    for node in tree.nodes:
        below = list(tree.descendants(node))
        for other in below:
            assert node in list(tree.ancestors(other))
            assert tree.is_inside(other, node)
            assert not tree.is_inside(node, other)
        assert tree.is_inside(node, node)
        expected = tree.ends[tree.index(node)] - tree.index(node) - 1
        assert len(below) == expected


def test_every_expression_that_is_evaluated_is_there() -> None:
    tree = Tree(cst.parse_module(SAMPLE))
    names = [node.value for node in tree.nodes if isinstance(node, cst.Name)]
    for name in ("Base", "M", "deco", "str", "width", "four", "rest", "o", "m", "A", "B", "list"):
        assert name in names
    kinds = {type(node) for node in tree.nodes}
    assert {cst.Await, cst.Yield, cst.NamedExpr, cst.MatchMapping, cst.Slice, cst.Index} <= kinds


def test_names_that_are_only_text_are_left_out() -> None:
    tree = Tree(cst.parse_module("import a.b\nx.attribute\nf(keyword=1)\ndef g(parameter): ..."))
    names = {node.value for node in tree.nodes if isinstance(node, cst.Name)}
    assert names == {"x", "f"}


def test_a_node_that_the_walk_skips_is_not_contained() -> None:
    module = cst.parse_module("x.y")
    tree = Tree(module)
    attribute = next(node for node in tree.nodes if isinstance(node, cst.Attribute))
    assert tree.contains(attribute.value)
    assert not tree.contains(attribute.attr)
    with pytest.raises(KeyError):
        tree.index(attribute.attr)


def test_the_walk_does_not_recurse() -> None:
    chain = cst.parse_expression("a")
    for _ in range(20_000):
        chain = cst.Attribute(value=chain, attr=cst.Name("b"))
    tree = Tree(cst.Module([cst.SimpleStatementLine([cst.Expr(chain)])]))
    assert len(tree.nodes) == 20_000 + 4
    assert len(list(tree.ancestors(tree.nodes[-1]))) == 20_003


def test_every_node_of_a_type() -> None:
    tree = Tree(cst.parse_module("f(g(1), x)\ndef h():\n    i(j())\nk()\n"))
    names = [node.func.value for node in tree.every(cst.Call) if isinstance(node.func, cst.Name)]
    assert names == ["f", "g", "i", "j", "k"]
    (function,) = tree.every(cst.FunctionDef)
    below = [node.func for node in tree.every(cst.Call, below=function)]
    assert [node.value for node in below if isinstance(node, cst.Name)] == ["i", "j"]
    assert list(tree.every(cst.FunctionDef, below=function)) == []
    assert list(tree.every(cst.While)) == []
    assert list(tree.every(cst.CSTNode)) == []  # type: ignore[type-abstract]
    for kind in (cst.Name, cst.Call, cst.Expr):
        assert list(tree.every(kind)) == [node for node in tree.nodes if type(node) is kind]


def test_children_before_any_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    node = cst.parse_expression("f(a)[b]")
    known = [type(each) for each in children(node)]
    monkeypatch.setattr("placement_lint.syntax.tree._fields_by_type", {})
    assert [type(each) for each in children(node)] == known
    assert known[0] is cst.Call
