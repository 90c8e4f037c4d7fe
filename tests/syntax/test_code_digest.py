"""Which changes of a text leave the digest of its code: those that no token shows."""

from __future__ import annotations

import pytest

from placement_lint.syntax.code_digest import code_digest, layout_digest

TEXT = '''\
"""What it is."""
import jax


class Trainer:
    """Trains."""

    def step(self, x):
        """Take a step."""
        # Twice.
        y = x * 2
        note = """
# no comment
"""
        return f"{y} # {note}", {
            "a": 1,
        }
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Twice.", "# Three times."),
        ("        # Twice.\n", ""),
        ("        # Twice.\n", '\n\n        # It\'s "twice"\n\n'),
        ("x * 2\n", "x * 2  # here\n"),
        ("x * 2\n", "x * 2   \n"),
        ('"""What it is."""', '"""Something else,\nin two lines."""'),
        ('"""What it is."""', '# A licence\n"""What it is."""'),
        ('"""Trains."""', "'''Trains\n\n    all.'''"),
        ('"""Take a step."""', '"Take one."'),
        ('            "a": 1,\n', '            # first\n            "a": 1,\n'),
    ],
)
def test_what_leaves_it(old: str, new: str) -> None:
    assert old in TEXT
    assert code_digest(TEXT.replace(old, new)) == code_digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * 2", "x * 3"),
        ("x * 2", "x  * 2"),
        ("# no comment", "# a comment"),
        ("# {note}", "# {y}"),
        ('"a": 1', '"b": 1'),
        ("# Twice.", "# noqa"),
        ("# Twice.", "# placement-lint: off"),
        ("x * 2\n", "x * 2  # type: ignore\n"),
        ("x * 2\n", "x * 2\r\n"),
        ("import jax\n", "import jax, os\n"),
        ("import jax\n", "import \\\n    jax\n"),
        ('            "a": 1,\n        }', '"a": 1}'),
        ('"""Trains."""', 'name = """Trains."""'),
        ('"""Trains."""', "pass"),
        ('note = """\n', 'note = """\n\n'),
    ],
)
def test_what_changes_it(old: str, new: str) -> None:
    assert old in TEXT
    assert code_digest(TEXT.replace(old, new)) != code_digest(TEXT)


def test_strings_in_formatted_strings() -> None:
    """They may have the same quotes, from Python 3.12 on: then the text counts as it is."""
    one = 'f"{x["a # "]}"  # one\n'
    assert code_digest(one) != code_digest(one.replace("# one", "# two"))


def test_a_string_that_is_no_docstring() -> None:
    one = 'NAMES = {1:\n"one"\n}\n'
    assert code_digest(one) != code_digest(one.replace("one", "two"))
    other = 'def f(a={1:\n"one"\n}): pass\n'
    assert code_digest(other) != code_digest(other.replace("one", "two"))


@pytest.mark.parametrize(
    "text", ["x = 'a", "x = '''a\n", 'x = "a\\', 'x = """\\', "x = '\\'\\'\\'"]
)
def test_a_string_that_is_not_closed_is_no_reason_to_leave_anything_out(text: str) -> None:
    assert code_digest(f"# one\n{text}") != code_digest(f"# two\n{text}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Twice.", "# Three times."),
        ('"""What it is."""', '"""Something else."""'),
        ('"""Trains."""', "'''Trains all.'''"),
        ("x * 2\n", "x * 2   \n"),
    ],
)
def test_what_leaves_all_lines_where_they_are(old: str, new: str) -> None:
    assert old in TEXT
    assert layout_digest(TEXT.replace(old, new)) == layout_digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        # Twice.\n", ""),
        ("        # Twice.\n", "\n"),
        ("        # Twice.\n", "    # Twice.\n"),
        ("x * 2\n", "x * 2  # here\n"),
        ('"""What it is."""', '"""Something else,\nin two lines."""'),
        ('"""What it is."""', '# A licence\n"""What it is."""'),
        ('"""Trains."""', '"""Trains \\N{all}."""'),
        ("x * 2", "x * 3"),
        ("# no comment", "# a comment"),
        ("# Twice.", "# noqa"),
        ("# Twice.", "# ruff: disable[JDP201]"),
        ("# Twice.", "# Twice\0"),
    ],
)
def test_what_does_not(old: str, new: str) -> None:
    assert old in TEXT
    assert layout_digest(TEXT.replace(old, new)) != layout_digest(TEXT)


@pytest.mark.parametrize("text", ["f(  # one\n    x)", "x = \\\n    1  # one", "[\n# one\n]"])
def test_what_a_message_may_quote_is_kept(text: str) -> None:
    assert layout_digest(text) != layout_digest(text.replace("one", "two"))
