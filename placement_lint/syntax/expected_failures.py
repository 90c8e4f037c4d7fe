"""Contexts of tests whose body is there to fail, or to warn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.syntax.definitions import PARTIAL

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names

_EXPECTING = frozenset({
    "pytest.raises", "pytest.warns", "pytest.deprecated_call", "unittest.TestCase.assertRaises",
})  # fmt: skip
_ASSERTING_METHODS = frozenset({
    "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex",
})  # fmt: skip


_MARKS = frozenset({"pytest.mark.xfail", "unittest.expectedFailure"})
_MARKED = "pytestmark"
"""By this name, a module or a class marks all of its tests."""


def expects_failure(context: cst.BaseExpression, names: Names) -> bool:
    """Return whether a context is `pytest.raises(…)`, `self.assertRaises(…)` or similar, be it by a
    name that is bound to that.
    """
    if isinstance(context, cst.Name):
        binding = names.sole_binding(context)
        context = context if binding is None or binding.value is None else binding.value
    if not isinstance(context, cst.Call):
        return False
    function = _bound(context.func, names)
    is_asserting = isinstance(function, cst.Attribute) and function.attr.value in _ASSERTING_METHODS
    return is_asserting or names.qualified(function) in _EXPECTING


def _bound(function: cst.BaseExpression, names: Names) -> cst.BaseExpression:
    """Return what `functools.partial` binds arguments of, by a name that is bound to that."""
    binding = names.sole_binding(function) if isinstance(function, cst.Name) else None
    made = None if binding is None else binding.value
    if not isinstance(made, cst.Call) or names.qualified(made.func) != PARTIAL or not made.args:
        return function
    return made.args[0].value


def is_marked_to_fail(tests: cst.FunctionDef | cst.ClassDef | cst.Module, names: Names) -> bool:
    """Return whether a test, or all tests of a class or a module, are marked as failing."""
    if isinstance(tests, cst.Module):
        marks = [each.value for each in names.module_scope.bindings.get(_MARKED, ())]
    else:
        marks = [each.decorator for each in tests.decorators]
    return any(_is_mark(each, names) for each in marks if each is not None)


def _is_mark(mark: cst.BaseExpression, names: Names) -> bool:
    if isinstance(mark, cst.List | cst.Tuple):
        return any(_is_mark(each.value, names) for each in mark.elements)
    return names.qualified(mark.func if isinstance(mark, cst.Call) else mark) in _MARKS
