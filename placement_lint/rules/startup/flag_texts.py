"""What an expression writes into a variable of flags: `--xla_a=1 --xla_b=…`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context

_FLAG = re.compile(r"(?:^|\s)(--\w+)")
# What stands for a value: `%d`, `{}`, `{count}`.
_PERCENT = re.compile(r"%[a-z]")
_BRACES = re.compile(r"\{[^{}]*\}")
_UNKNOWN = "\0"
_MOST_PARTS = 200


class FlagText(NamedTuple):
    """What is known of a text of flags."""

    names: list[str]
    """Of the flags that are certainly in it, with their dashes."""
    is_complete: bool
    """Nothing is in it but flags that are written there: what is not known are values of these."""


def flag_text(node: cst.BaseExpression, ctx: Context) -> FlagText:
    """Return which flags an expression is certainly made of."""
    text = "".join(_pieces(node, ctx))
    words = text.split()
    is_complete = all(
        word.startswith("--") and _UNKNOWN not in word.partition("=")[0] for word in words
    )
    names = [match[1] for match in _FLAG.finditer(text)]
    return FlagText(names, is_complete)


def _pieces(node: cst.BaseExpression, ctx: Context) -> Iterator[str]:
    """Yield the pieces of a text in order; `_UNKNOWN` for one that is not known."""
    pending: list[cst.BaseExpression | str] = [node]
    for _ in range(_MOST_PARTS):
        if not pending:
            return
        part = pending.pop()
        if isinstance(part, str):
            yield part
            continue
        part = followed(part, ctx)
        text = string_value(part)
        if text is not None:
            yield text
            continue
        parts = _parts(part, ctx)
        if parts is None:
            yield _UNKNOWN
        else:
            pending += reversed(parts)
    if pending:
        yield f" {_UNKNOWN}"


def _parts(node: cst.BaseExpression, ctx: Context) -> list[cst.BaseExpression | str] | None:
    """Return what an expression puts together; None where that is not to be seen."""
    if isinstance(node, cst.FormattedString):
        return [
            each.value if isinstance(each, cst.FormattedStringText) else _UNKNOWN
            for each in node.parts
        ]
    if isinstance(node, cst.ConcatenatedString):
        return [node.left, node.right]
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Add):
            return [node.left, node.right]
        if isinstance(node.operator, cst.Modulo):
            return _replaced(node.left, _PERCENT)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        method = node.func.attr.value
        if method == "format":
            return _replaced(node.func.value, _BRACES)
        if method == "join":
            return _joined(node, node.func.value, ctx)
    return None


def _replaced(
    node: cst.BaseExpression, values: re.Pattern[str]
) -> list[cst.BaseExpression | str] | None:
    text = string_value(node)
    return None if text is None else [values.sub(_UNKNOWN, text)]


def _joined(
    call: cst.Call, separator: cst.BaseExpression, ctx: Context
) -> list[cst.BaseExpression | str] | None:
    between = string_value(separator)
    items = Arguments(call).get(0)
    if between is None or items is None:
        return None
    items = followed(items, ctx)
    if not isinstance(items, cst.List | cst.Tuple):
        return None
    parts: list[cst.BaseExpression | str] = []
    for element in items.elements:
        parts += [between] if parts else []
        parts.append(_UNKNOWN if isinstance(element, cst.StarredElement) else element.value)
    return parts


def first_literal(
    node: cst.BaseExpression,
) -> tuple[cst.SimpleString | cst.FormattedString, int] | None:
    """Return the literal that an expression begins with, and how many characters open it."""
    for _ in range(_MOST_PARTS):
        if isinstance(node, cst.SimpleString):
            return node, len(node.prefix) + len(node.quote)
        if isinstance(node, cst.FormattedString):
            return node, len(node.start)
        if isinstance(node, cst.BinaryOperation | cst.ConcatenatedString):
            node = node.left
        elif (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value == "format"
        ):
            node = node.func.value
        else:
            return None
    return None
