"""JSON, a line a finding: for programs that read while others write, and for `jq` and `grep`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from placement_lint.report.json import finding_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.findings import Finding


def render(findings: Iterable[Finding]) -> str:
    """Return each finding as an object of its own, as `json` has it in its list."""
    return "".join(
        json.dumps(finding_to_dict(finding), separators=(",", ":")) + "\n" for finding in findings
    )
