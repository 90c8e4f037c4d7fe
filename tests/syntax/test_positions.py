"""Where nodes stand: the text of each is the code of each."""

from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.files.source import Source
from placement_lint.syntax.positions import Spans, text_before
from placement_lint.syntax.tree import Tree

PACKAGE = Path(__file__).parent.parent.parent / "placement_lint"
SOURCES = sorted(PACKAGE.rglob("*.py"))[::9]

SAMPLE = '''\
# before

import  a . b  as c ; x=( 1,
  2 ) # behind
@deco
def f ( p , * , q = 2 ) :   # header

    # inside
    """doc
  string"""
    return ( p
        + q )  # last

    # footer
if x : y
elif (z): pass
else : pass
é = "ünï" ; b = 'c' "d"
'''


def spans_of(text: str) -> tuple[Tree, Spans, Source]:
    module = cst.parse_module(text)
    source = Source("case.py", text)
    return Tree(module), Spans(module, source), source


def packed(text: str) -> str:
    """Take the whitespace out: the code of a node alone knows nothing of the blocks around it."""
    return "".join(text.split())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("path", [None, *SOURCES], ids=lambda p: p.name if p else "sample")
def test_the_text_of_every_expression_is_its_code(path: Path | None) -> None:
    text = SAMPLE if path is None else path.read_text(encoding="utf-8")
    tree, spans, _ = spans_of(text)
    assert spans.exact
    for node in tree.nodes:
        # A starred element owns the comma behind it.
        if isinstance(node, cst.BaseExpression) and not isinstance(node, cst.StarredElement):
            outer = packed(tree.module.code_for_node(node))
            assert packed(text[slice(*spans.outer(node))]) == outer
            inner = packed(text[slice(*spans.inner(node))])
            opened = "".join(packed(tree.module.code_for_node(each)) for each in node.lpar)
            closed = "".join(packed(tree.module.code_for_node(each)) for each in node.rpar)
            assert outer == opened + inner + closed or inner == outer == "()"


def test_statements_begin_at_their_keyword_and_end_before_the_comment() -> None:
    tree, spans, _ = spans_of(SAMPLE)

    def text_of(kind: type[cst.CSTNode]) -> str:
        node = next(node for node in tree.nodes if isinstance(node, kind))
        return SAMPLE[slice(*spans.inner(node))]

    assert text_of(cst.Import) == "import  a . b  as c"
    assert text_of(cst.Assign) == "x=( 1,\n  2 )"
    assert text_of(cst.Return) == "return ( p\n        + q )"
    assert text_of(cst.FunctionDef).startswith("def f (")
    assert text_of(cst.If).startswith("if x : y")


def test_comments_are_all_noted() -> None:
    _, spans, source = spans_of(SAMPLE)
    texts = [source.text[start:end] for start, end in spans.comments]
    assert texts == ["# before", "# behind", "# header", "# inside", "# last", "# footer"]


def test_children_stand_inside_their_parents() -> None:
    tree, spans, _ = spans_of(SAMPLE)
    for node in tree.nodes[1:]:
        parent = tree.parent(node)
        assert parent is not None
        outer, inner = spans.outer(parent), spans.outer(node)
        assert outer[0] <= inner[0] <= inner[1] <= outer[1], (type(parent), type(node))


# -- text that LibCST does not give back ----------------------------------------------------------


def names_at(text: str) -> dict[str, str]:
    tree, spans, source = spans_of(text)
    return {
        node.value: source.text[slice(*spans.inner(node))]
        for node in tree.nodes
        if isinstance(node, cst.Name)
    }


@pytest.mark.parametrize(
    "text",
    [
        "aa = bb\rcc(dd)\r",
        "if aa:\r    bb\r    cc\rdd\r",
        "aa\r\nbb\rcc\ndd\n",
        "aa\r\n\r\n\rbb\r\rcc\n",
        "\faa = bb\n\f\ncc(dd)\n",
        "if aa:\n\f    bb\n\fcc\n",
        "def aa():\n    bb\n\f\n\x0c# comment\ncc\n",
        "aa(\r    bb,\r    # comment\r    cc)\r",
        "'''a\rb''' + aa\rbb\r",
        "aa\\\r + bb\rcc\r",
        "aa = 1\n\nbb",
    ],
)
def test_places_are_right_all_the_same(text: str) -> None:
    places = names_at(text)
    assert places
    assert {name: found for name, found in places.items() if name != found} == {}


@pytest.mark.parametrize(("text", "expected"), [("a\r\nb\n", True), ("if a:\r    b\r", False)])
def test_exact_says_whether_the_text_may_be_edited(text: str, expected: bool) -> None:
    assert spans_of(text)[1].exact is expected


LINES = st.lists(
    st.sampled_from(["aa = bb", "cc(dd)", "# comment", "", "\f", "'''x", "y'''", "if aa: bb"]),
    max_size=8,
)
ENDS = st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=8, max_size=8)


@given(LINES, ENDS)
def test_places_are_right_for_any_line_ends(lines: list[str], ends: list[str]) -> None:
    text = "".join(line + end for line, end in zip(lines, ends, strict=False))
    try:
        compile(text.encode(), "case.py", "exec")
        found = names_at(text)
    except (SyntaxError, cst.ParserSyntaxError):
        return
    assert {name: place for name, place in found.items() if name != place} == {}


class TestTextBefore:
    @pytest.mark.parametrize(
        "text",
        [
            "import a\n",
            "# above\n\n(  # in\n  f(x)\n)\n",
            "@d\n# c\ndef f(x=(1)): pass\n",
            "if a:\n    import b; import c\n\n    x = (yield)\nelse: y\n",
            "class C:\n    '''d'''\n    z: int = (\n        3)\n",
            "for x in (y): pass\nwith (a) as b: c\n",
            "try: a\nexcept (E): b\nfinally: c\n",
            "x = [i for i in (j) if k]; lambda a: b\n",
        ],
    )
    def test_every_node_begins_where_its_span_does(self, text: str) -> None:
        module = cst.parse_module(text)
        spans = Spans(module, Source("code.py", text))
        for node in Tree(module).nodes[1:]:
            assert text_before(module, node) == text[: spans.inner(node)[0]]
