"""Text edits: made from nodes, applied to the text."""

import ast

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_lint.files.opening import masked
from placement_lint.files.source import Source
from placement_lint.findings import Edit, Span
from placement_lint.syntax.edits import Editor, apply_edits, edited
from placement_lint.syntax.positions import Spans
from placement_lint.syntax.tree import Tree


def editor_of(text: str) -> Editor:
    module = cst.parse_module(text)
    source = Source("case.py", text)
    return Editor(source, Tree(module), Spans(module, source))


def first(editor: Editor, kind: type[cst.CSTNode]) -> cst.CSTNode:
    return next(node for node in editor.tree.nodes if isinstance(node, kind))


def test_replace_and_wrap_mind_the_parentheses() -> None:
    editor = editor_of("x = ( a + b )\n")
    node = first(editor, cst.BinaryOperation)
    assert editor.text(node) == "a + b"
    assert apply_edits(editor.source, [editor.replace(node, "c")]) == "x = ( c )\n"
    assert apply_edits(editor.source, editor.wrap(node, "f(", ")")) == "x = f(( a + b ))\n"


def test_places_count_from_one_in_code_points() -> None:
    editor = editor_of("a = 1\n\u00e9 = '\U0001f600' + b\n")
    node = [n for n in editor.tree.nodes if isinstance(n, cst.Name)][-1]
    assert editor.span(node) == Span(2, 11, 2, 12) == editor.place(editor.spans.inner(node))
    assert editor.line_of(node) == 2


@pytest.mark.parametrize(
    ("text", "first_line", "last_line", "expected"),
    [
        ("a\nb\nc\n", 2, 2, "a\nc\n"),
        ("a\nb\nc\n", 1, 3, ""),
        ("a\nb", 2, 2, "a"),
        ("a\n\nb", 3, 3, "a\n"),
        ("a\nb", 1, 2, ""),
        ("a\nb", 1, 1, "b"),
        ("a\r\nb\r\nc", 2, 3, "a"),
        ("a\rb", 2, 2, "a"),
    ],
)
def test_delete_lines(text: str, first_line: int, last_line: int, expected: str) -> None:
    editor = editor_of(text)
    edits = [editor.delete_lines(first_line, last_line)]
    assert apply_edits(editor.source, edits) == expected


def test_indent_lines_leaves_strings_and_blank_lines() -> None:
    text = 'a = """x\n y\n"""\n\n# c\nb = f(\n  1)\nd = f"""{\na}\n"""\n'
    editor = editor_of(text)
    done = apply_edits(editor.source, editor.indent_lines(1, 10, "  "))
    assert done == '  a = """x\n y\n"""\n\n  # c\n  b = f(\n    1)\n  d = f"""{\na}\n"""\n'


def test_dedent_lines_leaves_strings_and_lines_that_begin_otherwise() -> None:
    text = 'if a:\n    b = """\n    x"""\n    c = f(\n  1)\n\n    d\n    e\n'
    editor = editor_of(text)
    done = apply_edits(editor.source, editor.dedent_lines(2, 7, "    "))
    assert done == 'if a:\nb = """\n    x"""\nc = f(\n  1)\n\nd\n    e\n'


STATEMENTS = st.lists(
    st.sampled_from([
        'a = """x\n  y"""', "b = 1", "if b:\n    c = '''\n'''", "# note", "", "d = (\n  1,\n)",
        "e = 'x\\\ny'", "f = 1 + \\\n  2", 'g = f"""\n{a}"""', "def h():\n    return '''\n  '''",
    ]),
    min_size=1,
    max_size=6,
)  # fmt: skip


@given(STATEMENTS)
def test_indenting_changes_no_meaning(statements: list[str]) -> None:
    text = "\n".join(["pass", *statements]) + "\n"
    editor = editor_of(text)
    lines = text.count("\n")
    inside = apply_edits(editor.source, editor.indent_lines(1, lines, "    "))
    block = ast.parse("if 1:\n" + inside).body[0]
    assert isinstance(block, ast.If)
    assert ast.dump(ast.Module(block.body, [])) == ast.dump(ast.parse(text))
    again = editor_of(f"if 1:\n{inside}")
    dedented = apply_edits(again.source, again.dedent_lines(2, lines + 1, "    "))
    assert dedented == f"if 1:\n{text}"


def test_comments_inside_a_stretch() -> None:
    editor = editor_of("a  # one\nb = '# none'\n")
    assert editor.has_comment((0, 8))
    assert not editor.has_comment((9, 21))
    assert editor.indentation(1) == ""
    assert editor_of("if a:\n\t  b\n").indentation(2) == "\t  "


def test_edits_that_overlap_are_refused() -> None:
    editor = editor_of("abc\n")
    edits = [editor.replace_offsets(0, 2, "x"), editor.replace_offsets(1, 3, "y")]
    with pytest.raises(ValueError, match="overlapping"):
        apply_edits(editor.source, edits)


def test_insertions_at_one_place_keep_their_order() -> None:
    editor = editor_of("abc\n")
    edits = [editor.insert(1, "x"), editor.insert(1, "y")]
    assert apply_edits(editor.source, edits) == "axybc\n"


@given(st.text("ab\n\r\u00e9", max_size=30), st.lists(st.integers(0, 30), max_size=6), st.data())
def test_edits_do_what_slices_do(text: str, cuts: list[int], data: st.DataObject) -> None:
    source = Source("case.py", text)
    points = sorted({min(cut, len(text)) for cut in cuts})
    pairs = list(zip(points[::2], points[1::2], strict=False))
    edits, expected, position = [], "", 0
    for start, end in pairs:
        new = data.draw(st.text("xy", max_size=3))
        span = Span(*source.position(start), *source.position(end))
        edits.append(Edit("case.py", span, new))
        expected += text[position:start] + new
        position = end
    expected += text[position:]
    assert apply_edits(source, data.draw(st.permutations(edits))) == expected


def test_fused_edits_do_the_same_as_one() -> None:
    editor = editor_of("a = 1\nb = 2\nc = 3\n")
    edits = [editor.insert(6, "x"), editor.delete_lines(3, 3), editor.replace_offsets(4, 5, "9")]
    (fused,) = editor.fused(edits)
    assert apply_edits(editor.source, [fused]) == apply_edits(editor.source, edits)
    assert fused.span == Span(1, 5, 4, 1)


def test_fused_insertions_keep_their_order() -> None:
    editor = editor_of("abc\n")
    edits = [editor.insert(1, "y"), editor.insert(1, "x"), editor.insert(2, "-")]
    assert apply_edits(editor.source, editor.fused(edits)) == "ayxb-c\n"


def test_what_only_ipython_understands_stays_as_it_is_written() -> None:
    source = masked(Source("case.py", "# %%\n%matplotlib inline\na = 1\n"))
    assert "%matplotlib" not in source.text
    after = edited(source, [Edit("case.py", Span(3, 5, 3, 6), "2")])
    assert after.content == "# %%\n%matplotlib inline\na = 2\n"
    assert "%matplotlib" not in after.text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("f'{x}' + a", '"gpu"'),
        ("f\"{x}\" + 'a'", "'gpu'"),
        ("f'{x}' + 'a'", '"gpu"'),
        ("f'''{x}''' + 'a' + 'b'", '"gpu"'),
        ("x + 'a'", "'gpu'"),
        ('x + "a"', '"gpu"'),
        ('f\'{f"""{x}"""}\' + \'a\'', "'gpu'"),
    ],
)
def test_a_string_is_written_as_the_file_does_it(text: str, written: str) -> None:
    editor = editor_of(f"{text}\n")
    (name,) = [each for each in editor.tree.every(cst.Name) if each.value == "x"]
    assert editor.string("gpu", at=name) == written


def test_the_editor_of_another_file() -> None:
    one, other = editor_of("a\n"), editor_of("b\n")
    assert one.of("case.py") is one
    with pytest.raises(LookupError, match="other"):
        one.of("other.py")
    one.others = {"other.py": other}.__getitem__
    assert one.of("other.py") is other
