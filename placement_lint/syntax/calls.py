"""The arguments of a call, by position or keyword."""

from __future__ import annotations

import ast
import functools
import warnings
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST_DIGITS = 40
"""Of an integer: Python writes none out that has thousands (`sys.get_int_max_str_digits`)."""


class Arguments:
    """What a call passes. With `*args` or `**kwargs` in it, what is absent may still be passed."""

    def __init__(self, call: cst.Call) -> None:
        """Sort the arguments of a call."""
        self.positional: list[cst.BaseExpression] = []
        self.keywords: dict[str, cst.BaseExpression] = {}
        self.has_star = False
        self.has_double_star = False
        for argument in call.args:
            if argument.star == "*":
                self.has_star = True
            elif argument.star == "**":
                self.has_double_star = True
            elif argument.keyword is not None:
                self.keywords[argument.keyword.value] = argument.value
            elif not self.has_star:
                self.positional.append(argument.value)

    @property
    def is_open(self) -> bool:
        """Whether the call may pass more than what is written out."""
        return self.has_star or self.has_double_star

    def get(self, position: int | None, *keywords: str) -> cst.BaseExpression | None:
        """Return the argument at a position (None: keyword only) or under one of the keywords."""
        for keyword in keywords:
            if keyword in self.keywords:
                return self.keywords[keyword]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def may_pass(self, position: int | None, *keywords: str) -> bool:
        """Return whether the argument is passed, or may be by a star."""
        if self.get(position, *keywords) is not None or self.has_double_star:
            return True
        return self.has_star and position is not None

    @property
    def values(self) -> Sequence[cst.BaseExpression]:
        """Every argument that is written out, positional ones first."""
        return [*self.positional, *self.keywords.values()]


def bounds_of(key: cst.BaseSlice) -> list[cst.BaseExpression]:
    """Return what a slice is written with: `a`, `b` and `c` of `x[a:b:c]`; nothing for an index."""
    bounds = (key.lower, key.upper, key.step) if isinstance(key, cst.Slice) else ()
    return [bound for bound in bounds if bound is not None]


def string_value(node: cst.CSTNode | None) -> str | None:
    r"""Return the value of a string literal, also of implicitly joined ones; None for all else.

    So for one that Python would refuse: LibCST reads `"\x1"` all the same. So for one too long to
    name anything.
    """
    if isinstance(node, cst.SimpleString):
        return _string(node.value) if len(node.value) <= _LONGEST_NAME else None
    if isinstance(node, cst.ConcatenatedString):
        return _text(lambda: node.evaluated_value)
    return None


_LONGEST_NAME = 10_000
"""Characters: what is read is kept."""


@functools.lru_cache(4096)
def text_at_end(node: cst.BaseExpression) -> str:
    """Return the text that the value of an expression surely ends in, as far as it is written out.

    `root / "a.npy"`, `os.path.join(root, "a.npy")`, `Path("a.npy")` and `f"{root}/a.npy"`.
    """
    while not isinstance(node, cst.SimpleString):
        if isinstance(node, cst.Call) and node.args and not node.args[-1].star:
            node = node.args[-1].value
        elif isinstance(node, cst.BinaryOperation | cst.ConcatenatedString):
            node = node.right
        elif isinstance(node, cst.FormattedString) and node.parts:
            last = node.parts[-1]
            return last.value if isinstance(last, cst.FormattedStringText) else ""
        else:
            return ""
    return string_value(node) or ""


def _string(literal: str) -> str | None:
    """Return what a literal means. It is Python's parser that tells, which takes its time."""
    quote = literal[:1]
    if quote in {"'", '"'} and "\\" not in literal and not literal.startswith(quote * 3):
        return literal[1:-1]
    return _text(lambda: ast.literal_eval(literal))


def _text(read: Callable[[], object]) -> str | None:
    with warnings.catch_warnings():
        # Python warns of an escape that is none whenever it reads the string.
        warnings.simplefilter("ignore")
        try:
            value = read()
        except (SyntaxError, ValueError):
            return None
    return value if isinstance(value, str) else None


def updated_array(method: cst.Attribute) -> cst.BaseExpression | None:
    """Return `x` of the method of `x.at[i].set(y)`; None of another method."""
    at = method.value
    if not isinstance(at, cst.Subscript) or not isinstance(at.value, cst.Attribute):
        return None
    return at.value.value if at.value.attr.value == "at" else None


def is_none(node: cst.CSTNode | None) -> bool:
    """Return whether an expression is the literal `None`."""
    return isinstance(node, cst.Name) and node.value == "None"


def elements_or_self(node: cst.BaseExpression | None) -> list[cst.BaseExpression]:
    """Return the elements of a list or tuple that is written out, else the expression itself."""
    if isinstance(node, cst.List | cst.Tuple):
        return [element.value for element in node.elements]
    return [] if node is None else [node]


def literal_value(node: cst.CSTNode | None) -> int | str | None:
    """Return the value of a literal string, or of a literal integer; None for all else."""
    text = string_value(node)
    return integer_value(node) if text is None else text


def integer_value(node: cst.CSTNode | None) -> int | None:
    """Return the value of an integer literal, negative ones included; None for all else.

    So for one of more digits than the sizes of arrays and the numbers of devices have.
    """
    negative = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
    if negative and isinstance(node, cst.UnaryOperation):
        node = node.expression
    if not isinstance(node, cst.Integer) or len(node.value) > _MOST_DIGITS:
        return None
    # Decimal digits that mean what they say need no parser.
    plain = node.value.isdecimal() and (node.value[0] != "0" or len(node.value) == 1)
    value = int(node.value if plain else node.evaluated_value)
    return -value if negative else value
