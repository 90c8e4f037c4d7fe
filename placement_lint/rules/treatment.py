"""What settings make of findings: their severity, and who may apply their fixes."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.rules.registry import all_rules
from placement_lint.rules.selection import weights

if TYPE_CHECKING:
    from placement_lint.config.settings import Settings
    from placement_lint.findings import Finding, Fix


@dataclass(frozen=True)
class Treatment:
    """By the code of a rule: what differs from what the rule itself says."""

    severities: tuple[tuple[str, Severity], ...] = ()
    unfixable: frozenset[str] = frozenset()
    """Rules whose fixes are shown and never applied."""
    safe: frozenset[str] = frozenset()
    """Rules whose unsafe fixes count as safe."""
    unsafe: frozenset[str] = frozenset()
    """Rules whose safe fixes count as unsafe."""

    def treated(self, finding: Finding) -> Finding:
        """Return a finding as the settings want it; what nobody can fix stays so."""
        severity = next((each for code, each in self.severities if code == finding.code), None)
        if severity is not None:
            finding = replace(finding, severity=severity)
        if finding.fix is None:
            return finding
        fix = self._fix(finding.code, finding.fix)
        return finding if fix is finding.fix else replace(finding, fix=fix)

    def _fix(self, code: str, fix: Fix) -> Fix:
        level = fix.applicability
        if code in self.unfixable:
            level = Applicability.DISPLAY
        elif code in self.safe and level is Applicability.UNSAFE:
            level = Applicability.SAFE
        elif code in self.unsafe and level is Applicability.SAFE:
            level = Applicability.UNSAFE
        return fix if level is fix.applicability else replace(fix, applicability=level)


def treatment_of(settings: Settings) -> Treatment | None:
    """Return what settings make of findings; None: nothing. Raises UnknownSelectorError."""
    if not settings.names_rules:
        return None
    return _treatment(
        settings.fixable,
        settings.unfixable,
        settings.extend_safe_fixes,
        settings.extend_unsafe_fixes,
        tuple(settings.severity.items()),
    )


@functools.cache
def _treatment(
    fixable: tuple[str, ...] | None,
    unfixable: tuple[str, ...],
    safe: tuple[str, ...],
    unsafe: tuple[str, ...],
    severities: tuple[tuple[str, str], ...],
) -> Treatment | None:
    wanted, unwanted = weights(("ALL",) if fixable is None else fixable), weights(unfixable)
    as_safe, as_unsafe = weights(safe), weights(unsafe)
    found: dict[str, tuple[int, Severity]] = {}
    for selector, level in severities:
        for code, weight in weights((selector,)).items():
            if weight >= found.get(code, (-1,))[0]:
                found[code] = (weight, Severity(level))
    codes = [rule.code for rule in all_rules()]
    treatment = Treatment(
        tuple((code, level) for code, (_, level) in sorted(found.items())),
        # The more precise selector wins, and of two that are equally so the careful one.
        frozenset(code for code in codes if wanted.get(code, -1) <= unwanted.get(code, -1)),
        frozenset(code for code in codes if as_safe.get(code, -1) > as_unsafe.get(code, -1)),
        frozenset(code for code in codes if -1 < as_unsafe.get(code, -1) >= as_safe.get(code, -1)),
    )
    return None if treatment == Treatment() else treatment
