"""What settings make of findings: severity, and who may apply a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.cli import main
from placement_lint.config.settings import Settings
from placement_lint.findings import Applicability, Finding, Fix, Severity, Span
from placement_lint.rules.selection import UnknownSelectorError, select_rules
from placement_lint.rules.treatment import treatment_of

if TYPE_CHECKING:
    from pathlib import Path

SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


def treated(code: str, fix: Applicability | None, **settings: Any) -> Finding:
    offered = None if fix is None else Fix(fix, "do it", ())
    finding = Finding(code, "x", "m", "a.py", Span(1, 1, 1, 2), Severity.ERROR, fix=offered)
    treatment = treatment_of(Settings(**settings))
    return finding if treatment is None else treatment.treated(finding)


@pytest.mark.parametrize(
    ("settings", "fix", "level"),
    [
        ({}, SAFE, SAFE),
        ({"unfixable": ("JDP2",)}, SAFE, DISPLAY),
        ({"fixable": ("JDP1",)}, SAFE, DISPLAY),
        ({"fixable": ("JDP201",), "unfixable": ("ALL",)}, SAFE, SAFE),
        ({"extend_unsafe_fixes": ("uncommitted-array-indexed",)}, SAFE, UNSAFE),
        ({"extend_safe_fixes": ("JDP201",)}, UNSAFE, SAFE),
        ({"extend_safe_fixes": ("JDP201",)}, DISPLAY, DISPLAY),
        ({"extend_safe_fixes": ("JDP2",), "extend_unsafe_fixes": ("JDP201",)}, SAFE, UNSAFE),
        ({"extend_safe_fixes": ("JDP201",), "extend_unsafe_fixes": ("JDP201",)}, UNSAFE, UNSAFE),
        ({"extend_safe_fixes": ("JDP3",)}, UNSAFE, UNSAFE),
    ],
)
def test_fixes(settings: dict[str, Any], fix: Applicability, level: Applicability) -> None:
    result = treated("JDP201", fix, **settings)
    assert result.fix is not None
    assert result.fix.applicability is level


def test_the_more_precise_severity_wins() -> None:
    levels = {"JDP201": "info", "JDP2": "warning", "ALL": "error"}
    assert treated("JDP201", None, severity=levels).severity is Severity.INFO
    assert treated("JDP202", None, severity=levels).severity is Severity.WARNING
    assert treated("JDP202", None, severity={}).severity is Severity.ERROR


def test_an_unknown_rule_is_an_error() -> None:
    for field in ("fixable", "unfixable", "extend_safe_fixes", "extend_unsafe_fixes"):
        with pytest.raises(UnknownSelectorError):
            select_rules(Settings(**{field: ("JDP999",)}), "a.py")  # type: ignore[arg-type]
    with pytest.raises(UnknownSelectorError):
        select_rules(Settings(severity={"JDP999": "info"}), "a.py")


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    (tmp_path / "placement-lint.toml").write_text(
        'unfixable = ["JDP204"]\nfail-on = "error"\n[severity]\nJDP2 = "info"\n', encoding="utf-8"
    )
    assert main(["--fix", "--output-format", "full"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("info[JDP204]: ")
    assert "(by hand)" in out
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == text
    # The cache keeps no result for other settings.
    assert main([]) == 0
    (tmp_path / "placement-lint.toml").write_text("", encoding="utf-8")
    assert main([]) == 1
    (tmp_path / "placement-lint.toml").write_text("required-version = '9.9'", encoding="utf-8")
    assert main([]) == 2
    assert "placement-lint 9.9 is required, and this is" in capsys.readouterr().err
