from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.report.text import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.findings import Finding


def test_the_lines_of_flake8(make_finding: Callable[..., Finding]) -> None:
    findings = [make_finding(), make_finding(path="b/c.py", code="JDP201")]
    assert render(findings) == (
        "a.py:2:5: JDP204 nothing moves\nb/c.py:2:5: JDP201 nothing moves\n"
    )


def test_notebooks_name_the_cell(make_finding: Callable[..., Finding]) -> None:
    assert render([make_finding(path="n.ipynb", cell=3)]) == (
        "n.ipynb:cell 3:2:5: JDP204 nothing moves\n"
    )


def test_one_line_whatever_the_names(make_finding: Callable[..., Finding]) -> None:
    text = render([make_finding(path="a\n\x1b.py", message="x\r\ny")])
    assert text == "a\\n\\x1b.py:2:5: JDP204 x\\r\\ny\n"


def test_nothing() -> None:
    assert render([]) == ""
