from __future__ import annotations

import json
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Confidence, Edit, Finding, Fix, Related, Span
from placement_lint.lint.results import Outcome, Skipped
from placement_lint.report.json import render
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_whole_form(
    make_finding: Callable[..., Finding], make_outcome: Callable[..., Outcome]
) -> None:
    finding = make_finding(
        confidence=Confidence.LIKELY,
        related=(Related("made here", "data.py", Span(5, 12, 5, 20)),),
        fix=Fix(Applicability.SAFE, "commit it", (Edit("data.py", Span(5, 12, 5, 30), "é\n"),)),
    )
    outcome = make_outcome(findings=(finding,), skipped=(Skipped("b\udcff.py", "no file"),))
    assert json.loads(render(outcome)) == {
        "version": 1,
        "tool": {"name": "placement-lint", "version": __version__},
        "findings": [
            {
                "code": "JDP204",
                "name": "device-put-discarded",
                "message": "nothing moves",
                "path": "a.py",
                "line": 2,
                "column": 5,
                "end_line": 2,
                "end_column": 8,
                "cell": None,
                "severity": "error",
                "confidence": "likely",
                "related": [{"message": "made here", "path": "data.py", "line": 5, "column": 12}],
                "fix": {
                    "applicability": "safe",
                    "message": "commit it",
                    "edits": [
                        {
                            "path": "data.py",
                            "line": 5,
                            "column": 12,
                            "end_line": 5,
                            "end_column": 30,
                            "text": "é\n",
                        }
                    ],
                },
                "help": None,
                "url": None,
            }
        ],
        "skipped": [{"path": "b\\xff.py", "reason": "no file"}],
        "summary": {"files": 1, "parsed": 1, "cached": 0, "seconds": 0.123, "omitted": 0},
    }


def test_it_is_plain_ascii_on_lines_of_its_own(
    make_finding: Callable[..., Finding], make_outcome: Callable[..., Outcome]
) -> None:
    text = render(make_outcome(findings=(make_finding(message="é\x1b", cell=2),)))
    assert text.isascii()
    assert text.endswith("}\n")
    (finding,) = json.loads(text)["findings"]
    assert (finding["message"], finding["cell"], finding["fix"]) == ("é\\x1b", 2, None)
