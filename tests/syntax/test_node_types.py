"""LibCST's types of nodes."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.syntax.node_types import check_quickly


def test_checks_say_what_they_did() -> None:
    check_quickly()
    check_quickly()
    name = cst.Name("x")
    assert isinstance(name, cst.Name)
    assert isinstance(name, cst.BaseExpression)
    assert isinstance(name, cst.Call | cst.BaseAssignTargetExpression)
    assert not isinstance(name, cst.Call)
    assert not isinstance(name, (cst.Call, cst.BaseStatement))
    assert issubclass(cst.If, cst.BaseCompoundStatement)
    assert not issubclass(cst.Pass, cst.BaseExpression)
    assert isinstance(cst.parse_expression("f(x)"), cst.Call)


def test_abstract_types_stay_abstract() -> None:
    check_quickly()
    with pytest.raises(TypeError, match="abstract"):
        cst.BaseExpression()  # type: ignore[abstract]
