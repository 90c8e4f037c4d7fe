"""Findings and summaries as what JSON has, and back: for ourselves, not for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from placement_lint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Related,
    Severity,
    Span,
)
from placement_lint.lint.results import Suppressed

if TYPE_CHECKING:
    from placement_lint.lint.file_results import FileResult
    from placement_lint.semantic.module_summary import Step, Summary


def finding_to_json(finding: Finding) -> list[Any]:
    """Give all of a finding."""
    return [
        finding.code,
        finding.name,
        finding.message,
        finding.path,
        _span(finding.span),
        finding.severity.value,
        finding.confidence.value,
        [[each.message, each.path, _span(each.span), each.cell] for each in finding.related],
        None if finding.fix is None else _fix(finding.fix),
        finding.cell,
        finding.advice,
    ]


def finding_from_json(value: Any) -> Finding:
    """Give what `finding_to_json` has made. Raises TypeError or ValueError for anything else."""
    code, name, message, path, span, severity, confidence, related, fix, cell, advice = value
    return Finding(
        code,
        name,
        message,
        path,
        Span(*span),
        Severity(severity),
        Confidence(confidence),
        tuple(Related(text, there, Span(*place), inside) for text, there, place, inside in related),
        None if fix is None else _fix_from(*fix),
        cell,
        advice,
    )


def suppressed_to_json(suppressed: Suppressed) -> list[Any]:
    """Give a finding that a comment silences, and why."""
    return [finding_to_json(suppressed.finding), suppressed.reason]


def suppressed_from_json(value: Any) -> Suppressed:
    """Give what `suppressed_to_json` has made. Raises TypeError or ValueError for anything else."""
    finding, reason = value
    return Suppressed(finding_from_json(finding), reason)


def result_to_json(result: FileResult) -> list[Any]:
    """Give what was found in a file; what was revealed is not kept."""
    suppressed = [*map(suppressed_to_json, result.suppressed)]
    return [[*map(finding_to_json, result.findings)], result.exact, suppressed]


def result_from_json(value: Any) -> FileResult:
    """Give what `result_to_json` has made, as of a file that was not parsed this time."""
    from placement_lint.lint.file_results import FileResult

    findings, exact, suppressed = value
    return FileResult(
        tuple(map(finding_from_json, findings)),
        exact=exact,
        suppressed=tuple(map(suppressed_from_json, suppressed)),
    )


def summary_to_json(summary: Summary) -> list[Any]:
    """Give all of a summary."""
    return [*map(_step, summary)]


def summary_from_json(value: Any) -> Summary:
    """Give what `summary_to_json` has made. Raises KeyError, TypeError or ValueError otherwise."""
    return tuple(map(_step_from, value))


def _step(step: Step) -> Any:
    from placement_lint.semantic.module_summary import Does, Either, Imports

    if isinstance(step, Imports):
        return step.name
    if isinstance(step, Does):
        return [step.kind.value, step.what, step.line]
    if isinstance(step, Either):
        return [summary_to_json(step.body), summary_to_json(step.orelse)]
    return {"perhaps": step.names}


def _step_from(value: Any) -> Step:
    from placement_lint.semantic.module_summary import Does, Either, Imports, Kind, Perhaps

    if isinstance(value, str):
        return Imports(value)
    if isinstance(value, dict):
        return Perhaps(tuple(value["perhaps"]))
    if isinstance(value[0], str):
        kind, what, line = value
        return Does(Kind(kind), what, line)
    body, orelse = value
    return Either(summary_from_json(body), summary_from_json(orelse))


def _span(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _fix(fix: Fix) -> list[Any]:
    edits = [[edit.path, _span(edit.span), edit.text, edit.cell] for edit in fix.edits]
    return [fix.applicability.value, fix.message, edits, fix.group]


def _fix_from(applicability: str, message: str, edits: Any, group: str) -> Fix:
    return Fix(
        Applicability(applicability),
        message,
        tuple(Edit(path, Span(*span), text, cell) for path, span, text, cell in edits),
        group,
    )
