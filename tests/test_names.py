"""No public class of the package has the name of another one: a search leads to the right one."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "placement_lint"


def public_classes() -> list[str]:
    return [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_no_public_class_is_defined_twice() -> None:
    counts = Counter(public_classes())
    assert len(counts) > 300
    assert {name for name, count in counts.items() if count > 1} == set()
