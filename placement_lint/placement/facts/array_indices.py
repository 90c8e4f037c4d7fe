"""Which subscripts show that what they are of is an array, and no list or dict."""

from __future__ import annotations

import re

import libcst as cst

from placement_lint.syntax.calls import integer_value, is_none, string_value
from placement_lint.syntax.dotted import dotted

_DATA = re.compile(
    r"(^|[^a-z])(batch|data|dataset|example|image|label|sample|target|token|x|y)(e?s)?($|[^a-z])",
    re.IGNORECASE,
)
_WEIGHTS = re.compile("layer|model|module|optim|param|state|weight", re.IGNORECASE)


def is_of_array(node: cst.Subscript) -> bool:
    """Return whether an index is one that only arrays take, or that datasets are read with.

    Arrays alone take several indices, `...` and `None`. Of what is called a dataset, or an item of
    that, a part whose bounds are computed is most likely rows.
    """
    parts = [element.slice for element in node.slice]
    if len(parts) > 1:
        return True
    (part,) = parts
    if isinstance(part, cst.Index):
        if isinstance(part.value, cst.Ellipsis) or is_none(part.value):
            return True
        return _is_computed(part.value) and _is_of_data(node.value)
    bounds = [part.lower, part.upper] if isinstance(part, cst.Slice) else []
    known = all(bound is None or integer_value(bound) is not None for bound in bounds)
    return not known and _is_of_data(node.value)


def _is_computed(index: cst.BaseExpression) -> bool:
    return string_value(index) is None and integer_value(index) is None


def _is_of_data(node: cst.BaseExpression) -> bool:
    words: list[str] = []
    while isinstance(node, cst.Subscript):
        part = node.slice[0].slice
        words.append((isinstance(part, cst.Index) and string_value(part.value)) or "")
        node = node.value
    text = " ".join([dotted(node), *words])
    return _DATA.search(text) is not None and _WEIGHTS.search(text) is None
