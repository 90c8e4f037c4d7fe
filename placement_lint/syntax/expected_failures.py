"""Contexts of tests whose body is there to fail, or to warn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names

_EXPECTING = frozenset({
    "pytest.raises", "pytest.warns", "pytest.deprecated_call", "unittest.TestCase.assertRaises",
})  # fmt: skip
_ASSERTING_METHODS = frozenset({
    "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex",
})  # fmt: skip


def expects_failure(context: cst.BaseExpression, names: Names) -> bool:
    """Return whether a context is `pytest.raises(…)`, `self.assertRaises(…)` or similar."""
    if not isinstance(context, cst.Call):
        return False
    function = context.func
    is_asserting = isinstance(function, cst.Attribute) and function.attr.value in _ASSERTING_METHODS
    return is_asserting or names.qualified(function) in _EXPECTING
