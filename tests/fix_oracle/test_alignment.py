"""What of a fixed text is what of the original."""

from __future__ import annotations

import ast

import pytest

from tests.differential.instrument import place_of
from tests.fix_oracle.alignment import Alignment, Lines
from tests.fix_oracle.fixing import How, UnexplainedFixError, _Seen, findings, fix
from tests.fix_oracle.trees import Carried, tree_of


def carried(before: str, old: str, new: str) -> tuple[Carried, str]:
    """Replace a part of a text; give what is kept, and the text."""
    at = before.index(old)
    alignment = Alignment(before).edited([(at, at + len(old), new)])
    return Carried(tree_of(before), tree_of(alignment.text), alignment), alignment.text


def origins(before: str, old: str, new: str) -> dict[str, str | None]:
    """Give, for each expression after an edit, which one it was."""
    found, after = carried(before, old, new)
    old_lines, new_lines = Lines(before), Lines(after)
    said: dict[str, str | None] = {}
    for node in ast.walk(ast.parse(after)):
        if isinstance(node, ast.expr):
            start, end = new_lines.range(place_of(node))
            place = found.to_original(place_of(node))
            said[after[start:end]] = (
                None if place is None else before[slice(*old_lines.range(place))]
            )
    return said


def test_a_call_around_an_expression_is_new() -> None:
    said = origins("x = f(a[i], b)\n", "a[i]", "put(np.asarray(a[i]))")
    assert said["f(put(np.asarray(a[i])), b)"] == "f(a[i], b)"
    assert said["a[i]"] == "a[i]"
    assert said["put(np.asarray(a[i]))"] is None
    assert said["np.asarray(a[i])"] is None
    assert said["b"] == "b"


def test_a_call_around_a_call_is_new() -> None:
    said = origins("x = ones(4)\n", "ones(4)", "put(ones(4), cpu)")
    assert (said["ones(4)"], said["put(ones(4), cpu)"], said["cpu"]) == ("ones(4)", None, None)


def test_an_operation_that_begins_with_what_is_new_is_the_same() -> None:
    said = origins("y = a[i] * 2 + b\n", "a[i]", "put(a[i])")
    assert said["put(a[i]) * 2"] == "a[i] * 2"
    assert said["put(a[i]) * 2 + b"] == "a[i] * 2 + b"
    assert said["put(a[i])"] is None


def test_an_argument_that_is_added_leaves_the_call() -> None:
    said = origins("x = put(a)\n", "a)", "a, cpu)")
    assert said["put(a, cpu)"] == "put(a)"


def test_an_expression_that_is_a_statement_is_itself() -> None:
    said = origins("f(a[0])\ng(a)\n", "a[0]", "put(a[0])")
    assert said["f(put(a[0]))"] == "f(a[0])"
    found, _ = carried("a[0]\n", "a[0]", "put(a[0])")
    assert found.to_original((1, 0, 1, 9)) is None
    assert found.to_fixed((1, 0, 1, 4)) == (1, 4, 1, 8)


def test_what_closes_a_bracket_belongs_to_what_opens_it() -> None:
    before = "ms.insert(0, join([m[:2], n[2:]]))\n"
    after = "ms.insert(\n    0,\n    join(\n        [put(get(m[:2])), put(get(n[2:]))]\n    ),\n)"
    said = origins(before, before[:-1], after)
    assert (
        said["join(\n        [put(get(m[:2])), put(get(n[2:]))]\n    )"] == "join([m[:2], n[2:]])"
    )
    assert said["[put(get(m[:2])), put(get(n[2:]))]"] == "[m[:2], n[2:]]"
    assert said["n[2:]"] == "n[2:]"
    assert said["get(n[2:])"] is None


def test_a_statement_may_be_written_on_several_lines() -> None:
    before = "data = Batch(linspace(32).reshape(8), zeros(8))\n"
    after = "Batch(\n    put(put(linspace(32), cpu).reshape(8), cpu),\n    put(zeros(8), cpu),\n)"
    said = origins(before, before[7:-1], after)
    assert said[after] == before[7:-1]
    assert said["put(linspace(32), cpu).reshape(8)"] == "linspace(32).reshape(8)"
    assert said["put(put(linspace(32), cpu).reshape(8), cpu)"] is None
    assert said["linspace(32)"] == "linspace(32)"
    assert said["put(linspace(32), cpu)"] is None
    assert said["zeros(8)"] == "zeros(8)"


def test_a_layout_of_several_lines_changes_nothing() -> None:
    before = "x = f(g(a), (2, 1)), h(b)\n"
    after = "x = f(\n    g(a), (2, 1)\n), put(h(b), cpu)\n"
    said = origins(before, before[:-1], after[:-1])
    assert said["f(\n    g(a), (2, 1)\n)"] == "f(g(a), (2, 1))"
    assert said["h(b)"] == "h(b)"
    assert said["put(h(b), cpu)"] is None


def test_decorators_are_beside_what_they_decorate() -> None:
    tree = tree_of("@first(1)\n@second(2)\ndef f():\n    pass\n")
    assert tree.statement((1, 7, 1, 8)) == (1, 1, 1, 9)
    assert tree.statement((2, 1, 2, 10)) == (2, 1, 2, 10)


def test_what_is_gone_is_nowhere() -> None:
    found, _ = carried("x = jnp.ones(4)\ny = a\n", "jnp", "np")
    assert found.to_fixed((1, 4, 1, 15)) is None
    assert found.to_fixed((2, 4, 2, 5)) == (2, 4, 2, 5)


def test_columns_count_bytes() -> None:
    found, after = carried("s = 'äöü'; x = f(a)\n", "a)", "put(a))")
    assert found.to_original((1, len("s = 'äöü'; x = ".encode()), 1, len(after.encode()) - 1)) == (
        1, 18, 1, 22,
    )  # fmt: skip


def test_edits_follow_one_another() -> None:
    first = Alignment("x = a\ny = b\n").edited([(0, 0, "import np\n"), (4, 5, "f(a)")])
    second = first.edited([(first.text.index("b"), len(first.text) - 1, "g(b)")])
    assert second.text == "import np\nx = f(a)\ny = g(b)\n"
    place = second.lines.place(second.text.index("y ="), len(second.text) - 1)
    assert second.kept(place) == (2, 0, 2, 5)
    assert second.is_added_to(place)
    assert not second.is_cut((1, 0, 2, 5))


HAZARD = """\
import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    data = jnp.zeros((1000, 64))
print(data[0])
"""


def test_a_fix_says_what_it_did() -> None:
    fixed = fix({"main": HAZARD}, How(unsafe=True))
    assert [each.code for each in fixed.applied] == ["JDP201"]
    assert fixed.applied[0].place == (7, 6, 7, 10)
    assert fixed.modules["main"] != HAZARD
    assert fixed.alignments["main"].text == fixed.modules["main"]
    assert fixed.broken == []
    assert [each.code for each in findings({"main": HAZARD})] == ["JDP201"]


def test_a_text_that_no_edit_explains_is_refused() -> None:
    seen = _Seen()
    assert len(seen.chain(Alignment("x\n"), "x\n")) == 1
    with pytest.raises(UnexplainedFixError):
        seen.chain(Alignment("x\n"), "y\n")
