"""Every format by its name; none is imported but the one that is asked for."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.findings import Finding
    from placement_lint.report.report import Report


def render(name: str, report: Report) -> str:
    from placement_lint.report.escape import inert_json, inert_xml

    text = _FORMATS[name](report)
    if name in _JSON:
        return inert_json(text)
    return inert_xml(text) if name == "junit" else text


def render_statistics(name: str, report: Report, before: tuple[Finding, ...] | None) -> str:
    """Return how often each rule found something, in a format: `json`, or else text.

    `before` is what was found in an earlier commit, to compare with.
    """
    from placement_lint.report import statistics

    findings = report.outcome.findings
    if name == "json":
        return statistics.render_json(findings, before)
    return statistics.render(findings, report.colours, before)


def _flake8(report: Report) -> str:
    from placement_lint.report import text

    return text.render(report.outcome.findings)


def _full(report: Report) -> str:
    from placement_lint.report import full

    return full.render(report.outcome.findings, report.outcome.sources, report.colours)


def _json(report: Report) -> str:
    from placement_lint.report import json

    return json.render(report.outcome, report.omitted)


def _jsonl(report: Report) -> str:
    from placement_lint.report import jsonl

    return jsonl.render(report.outcome.findings)


def _sarif(report: Report) -> str:
    from placement_lint.report import sarif

    return sarif.render(report)


def _github(report: Report) -> str:
    from placement_lint.report import github

    return github.render(report)


def _gitlab(report: Report) -> str:
    from placement_lint.report import gitlab

    return gitlab.render(report)


def _junit(report: Report) -> str:
    from placement_lint.report import junit

    return junit.render(report.outcome, report.failed)


def _rdjson(report: Report) -> str:
    from placement_lint.report import rdjson

    return rdjson.render(report.outcome)


def _markdown(report: Report) -> str:
    from placement_lint.report import markdown

    return markdown.render(report)


_JSON = frozenset({"json", "jsonl", "sarif", "gitlab", "rdjson"})
_FORMATS: dict[str, Callable[[Report], str]] = {
    "flake8": _flake8,
    "full": _full,
    "json": _json,
    "jsonl": _jsonl,
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
    "junit": _junit,
    "rdjson": _rdjson,
    "markdown": _markdown,
}
