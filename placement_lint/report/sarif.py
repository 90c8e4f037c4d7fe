"""SARIF 2.1.0, the format of OASIS for results of static analysis, as GitHub and editors read it.

The standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/. Paths are relative to the
top of the repository, `%SRCROOT%`; one that is not in there has a URI of its own.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from placement_lint.findings import INTERNAL_ERROR, Applicability, Severity
from placement_lint.fingerprint import VERSION as FINGERPRINT_VERSION
from placement_lint.fingerprint import fingerprints
from placement_lint.lint.results import SkipKind
from placement_lint.report.escape import as_unicode, escape
from placement_lint.report.paths import relative, shown
from placement_lint.report.places import message_with_place, region
from placement_lint.report.site import rule_url
from placement_lint.rules.pages import pages_of
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from placement_lint.files.source import Source
    from placement_lint.findings import Edit, Finding, Fix, Related, Span
    from placement_lint.report.report import Report
    from placement_lint.rules.pages import Page

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_FINGERPRINT = f"placementLint/v{FINGERPRINT_VERSION}"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_SEVERITIES = {"error": "error", "warning": "warning", "info": "recommendation"}
_EXIT_CODES = {0: "clean", 1: "findings", 2: "wrong usage or settings, or an internal error"}
_NOTES = frozenset({SkipKind.EXCLUDED, SkipKind.NOT_FIXED})
"""Why a file is passed over as it should be."""
_LINK = re.compile(r"\[([^\[\]]*)\]\(")


def render(report: Report) -> str:
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_Run(report).as_json()]}
    return json.dumps(log, indent=2) + "\n"


class _Run:
    """One run of the tool."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.sources = report.outcome.sources
        found: list[tuple[Finding, str | None]] = [
            *((finding, None) for finding in report.outcome.findings),
            *((each.finding, each.reason) for each in report.outcome.suppressed),
        ]
        found.sort(key=lambda each: each[0].sort_key)
        self.findings = [finding for finding, _ in found]
        self.reasons = [reason for _, reason in found]
        """Why a comment silences it; None: none does."""
        self.codes = sorted({finding.code for finding in self.findings})
        self.pages = pages_of(self.codes)

    def as_json(self) -> dict[str, Any]:
        marks = fingerprints(
            self.findings, self.sources, named=lambda path: shown(path, self.report.root)
        )
        root = _file_uri(self.report.root).rstrip("/") + "/"
        return {
            "tool": {
                "driver": {
                    "name": "placement-lint",
                    "version": __version__,
                    "semanticVersion": __version__,
                    "rules": [_rule(code, self.pages.get(code)) for code in self.codes],
                }
            },
            "invocations": [self._invocation()],
            "originalUriBaseIds": {_ROOT: {"uri": root}},
            "columnKind": "unicodeCodePoints",
            "newlineSequences": ["\r\n", "\n", "\r"],
            "results": [
                self._result(*each) for each in zip(self.findings, self.reasons, marks, strict=True)
            ],
        }

    # -- the run ----------------------------------------------------------------------------------

    def _invocation(self) -> dict[str, Any]:
        code = self.report.exit_code
        return {
            "executionSuccessful": code in {0, 1},
            "exitCode": code,
            "exitCodeDescription": _EXIT_CODES[code],
            "toolExecutionNotifications": [*self._execution()],
            "toolConfigurationNotifications": [
                self._notification("error", failed.reason, failed.path)
                for failed in self.report.failed
            ],
        }

    def _execution(self) -> Iterator[dict[str, Any]]:
        failed = {*self.report.failed}
        for skip in self.report.outcome.skipped:
            if skip not in failed:
                yield self._notification(
                    "note" if skip.kind in _NOTES else "warning", skip.reason, skip.path
                )
        for finding in self.report.outcome.findings:
            if finding.code == INTERNAL_ERROR:
                yield self._notification("error", finding.message, finding.path)
        if self.report.omitted:
            text = f"{self.report.omitted} more findings are left out (--max-findings)"
            yield self._notification("warning", text, "")

    def _notification(self, level: str, text: str, path: str) -> dict[str, Any]:
        notification: dict[str, Any] = {"level": level, "message": _message(escape(text))}
        if path:
            location = {"physicalLocation": {"artifactLocation": self._artifact(path)}}
            notification["locations"] = [location]
        return notification

    # -- results ----------------------------------------------------------------------------------

    def _result(self, finding: Finding, reason: str | None, fingerprint: str) -> dict[str, Any]:
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": self.codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": _message(message_with_place(finding)),
            "locations": [self._location(finding)],
            "partialFingerprints": {_FINGERPRINT: fingerprint},
            # All results of a run have these, or none has.
            "suppressions": [] if reason is None else [_suppression(reason)],
            "properties": {"confidence": finding.confidence.value},
        }
        if finding.advice:
            result["properties"]["help"] = escape(finding.advice)
        if finding.related:
            result["relatedLocations"] = [
                self._related(number, related) for number, related in enumerate(finding.related, 1)
            ]
        steps = [related for related in finding.related if related.is_step]
        if steps:
            result["codeFlows"] = [self._flow(finding, steps)]
        fix = None if finding.fix is None else self._fix(finding.fix)
        if fix is not None:
            result["fixes"] = [fix]
        return result

    def _location(self, finding: Finding | Related) -> dict[str, Any]:
        source = None if finding.cell is None else self.sources(finding.path)
        location: dict[str, Any] = {
            "physicalLocation": {
                "artifactLocation": self._artifact(finding.path),
                "region": _region(finding.span, finding.cell, source),
            }
        }
        if finding.cell is not None:
            location["logicalLocations"] = [{"name": f"cell {finding.cell}", "kind": "cell"}]
        return location

    def _related(self, number: int, related: Related) -> dict[str, Any]:
        return {
            "id": number,
            "message": _message(escape(related.message)),
            **self._location(related),
        }

    def _flow(self, finding: Finding, steps: list[Related]) -> dict[str, Any]:
        """Return the way of an array, which ends at the finding."""
        passed = [
            {**self._location(each), "message": _message(escape(each.message))} for each in steps
        ]
        used = {**self._location(finding), "message": _message("used here")}
        return {"threadFlows": [{"locations": [{"location": each} for each in (*passed, used)]}]}

    def _fix(self, fix: Fix) -> dict[str, Any] | None:
        """Return a fix that a machine may apply; the text of a notebook is not the file's."""
        if fix.applicability is Applicability.DISPLAY or not fix.edits:
            return None
        if any(edit.cell is not None for edit in fix.edits):
            return None
        by_path: dict[str, list[Edit]] = {}
        for edit in sorted(fix.edits):
            by_path.setdefault(edit.path, []).append(edit)
        unsafe = " (unsafe)" if fix.applicability is Applicability.UNSAFE else ""
        return {
            "description": _message(escape(fix.message) + unsafe),
            "artifactChanges": [
                {
                    "artifactLocation": self._artifact(path),
                    "replacements": [
                        {
                            "deletedRegion": _region(edit.span, None, None),
                            "insertedContent": {"text": as_unicode(edit.text)},
                        }
                        for edit in edits
                    ],
                }
                for path, edits in by_path.items()
            ],
        }

    def _artifact(self, path: str) -> dict[str, str]:
        inside = relative(path, self.report.root)
        if inside is None:
            return {"uri": _file_uri(os.path.abspath(path))}  # noqa: PTH100
        return {"uri": quote(_bytes(inside)), "uriBaseId": _ROOT}


def _rule(code: str, page: Page | None) -> dict[str, Any]:
    if page is None:
        return {"id": code}
    url = rule_url(code)
    severity = Severity(page.severity)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in page.name.split("-")),
        "shortDescription": {"text": _plain(page.summary)},
        "fullDescription": {"text": _plain(page.section("What it does"))},
        "help": {"text": _plain(page.text), "markdown": f"# {page.name} ({code})\n\n{page.text}"},
        **({} if url is None else {"helpUri": url}),
        "defaultConfiguration": {"level": _LEVELS[severity], "enabled": not page.pedantic},
        "properties": {
            "kebabName": page.name,
            "tags": ["jax", "device-placement"],
            "precision": "high",
            "problem.severity": _GITHUB_SEVERITIES[page.severity],
        },
    }


def _plain(text: str) -> str:
    """Remove Markdown's marks where they only get in the way."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("```")]
    return "\n".join(line.removeprefix("## ") for line in lines).replace("`", "").strip()


def _file_uri(path: str) -> str:
    parts = path.replace(os.sep, "/")
    return "file://" + quote(_bytes(parts if parts.startswith("/") else f"/{parts}"), safe="/:")


def _bytes(path: str) -> bytes:
    """Return the bytes of a name, as the system has them."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")  # no name of a file here


def _message(text: str) -> dict[str, str]:
    """Return a text as a message, in which `[x](y)` would be a link."""
    return {"text": _LINK.sub(r"\\[\1\\](", text)}


def _suppression(reason: str) -> dict[str, str]:
    return {"kind": "inSource", **({"justification": escape(reason)} if reason else {})}


def _region(span: Span, cell: int | None, source: Source | None) -> Mapping[str, int]:
    where = region(span, cell, source)
    if where.column is None or where.end_column is None:
        return {"startLine": where.line, "endLine": where.end_line}
    return {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }
