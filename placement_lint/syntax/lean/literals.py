"""Nodes of numbers and strings, from their text: Python's parser gives their values only."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.syntax.code_text import STRING
from placement_lint.syntax.lean.makers import maker
from placement_lint.syntax.lean.text import UnsuitedError

if TYPE_CHECKING:
    import ast

    from placement_lint.syntax.lean.text import LocatedText

_PART = re.compile(rf"[bBrRuU]{{0,2}}(?:{STRING})", re.DOTALL)
_BETWEEN = re.compile(r"(?:[\s\\]|#[^\n]*)*")
_OPENING = re.compile(r"""(?:[fF][rR]?|[rR][fF])(?P<quotes>\"{3}|'{3}|["'])""")
_FIELD = re.compile(
    r"\{(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:!(?P<conversion>[rsa]))?"
    r"(?::(?P<format>[^{}]+))?\}",
    re.ASCII,
)
"""A field that holds a dotted name, as four of five do."""

name = maker(cst.Name, "value")
attribute = maker(cst.Attribute, "value", "attr")
_string = maker(cst.SimpleString, "value")
_concatenated = maker(cst.ConcatenatedString, "left", "right")
_ellipsis = maker(cst.Ellipsis)
_formatted = maker(cst.FormattedString, "parts", "start", "end")
_between_fields = maker(cst.FormattedStringText, "value")
_field = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_NUMBERS = {
    int: maker(cst.Integer, "value"),
    float: maker(cst.Float, "value"),
    complex: maker(cst.Imaginary, "value"),
}


def constant(node: ast.Constant, text: LocatedText) -> Any:
    """Return the node of a constant."""
    value = node.value
    kind = type(value)
    if kind is str or kind is bytes:
        return _strings(text.of(node))
    if value is None or kind is bool:
        return name(str(value))
    if value is Ellipsis:
        return _ellipsis()
    return _NUMBERS[kind](text.of(node))


def _strings(text: str) -> Any:
    """Return the node of a string, or of several that stand one behind the other."""
    quote = text[-1]
    first = text.find(quote)
    is_prefixed = first == 0 or text[:first].isalpha()
    if is_prefixed and (
        text.find(quote, first + 1) == len(text) - 1
        or (text.startswith(quote * 3, first) and text.find(quote * 3, first + 3) == len(text) - 3)
    ):
        return _string(text)
    newline = "\r\n" if "\r" in text else "\n"
    if text.count("\n") != text.count(newline):
        raise UnsuitedError
    text = text.replace(newline, "\n")
    parts = []
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            raise UnsuitedError
        parts.append(part.group().replace("\n", newline))
        between = _BETWEEN.match(text, part.end())
        place = part.end() if between is None else between.end()
    whole = _string(parts.pop())
    while parts:
        whole = _concatenated(_string(parts.pop()), whole)
    return whole


def dotted(written: str) -> Any:
    """Return the node of a dotted name, of which nothing but names and dots is written."""
    first, *others = written.split(".")
    whole = name(first)
    for each in others:
        whole = attribute(whole, name(each))
    return whole


def formatted(node: ast.expr, text: LocatedText) -> Any:
    """Return the node of a string with fields: as LibCST reads it.

    Of what is between the fields, Python's parser gives neither text nor place.
    """
    written = text.of(node)
    plain = _with_names(written)
    if plain is not None:
        return plain
    if "\n" not in written:
        return cst.parse_expression(written)
    whole = cst.parse_expression(f"({written})")
    # The parentheses are not those of the text, if it has any.
    object.__setattr__(whole, "lpar", ())
    object.__setattr__(whole, "rpar", ())
    return whole


def _with_names(written: str) -> Any:
    """Return the node of a string in one line whose fields hold dotted names; else None."""
    opening = _OPENING.match(written)
    if opening is None:
        return None
    quotes = opening["quotes"]
    body = written[opening.end() : -len(quotes)]
    if quotes[0] in body or not {"\\", "\n", "\r"}.isdisjoint(body):
        return None
    parts: list[Any] = []
    done = 0
    for field in (*_FIELD.finditer(body), None):
        between = body[done:] if field is None else body[done : field.start()]
        if "{" in between or "}" in between:
            return None
        if between:
            parts.append(_between_fields(between))
        if field is not None:
            done = field.end()
            if keyword.iskeyword(field["name"].partition(".")[0]):
                return None
            form = field["format"] and (_between_fields(field["format"]),)
            parts.append(_field(dotted(field["name"]), field["conversion"], form))
    return _formatted(tuple(parts), opening.group(), quotes)
