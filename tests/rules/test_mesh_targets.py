"""Meshes of `jax.make_mesh`, for projects that support other versions of JAX than the newest."""

from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.findings import Applicability, Finding, Severity
from placement_lint.lint.linter import Linter

MADE = """\
import jax
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), {names}{more})
rows = NamedSharding(mesh, P("data"))
"""
PLAIN = MADE.format(names='("data", "model")', more="")
CONSTRAINED = f"""{PLAIN}
double = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, rows))
"""
PUT = f"""{PLAIN}
double = jax.jit(lambda x: jax.device_put(x * 2, rows))
"""


Found = Callable[..., list[Finding]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Lint a text as a file of a project that requires some versions of JAX."""

    def found(text: str, versions: str, code: str = "JDP712") -> list[Finding]:
        (tmp_path / "pyproject.toml").write_text(f'[project]\ndependencies = ["jax{versions}"]\n')
        path = tmp_path / "code.py"
        path.write_text(text)
        findings = Linter(SettingsLoader().for_file).check([str(path)]).findings
        return [finding for finding in findings if finding.code == code]

    return found


@pytest.mark.parametrize("text", [PLAIN, CONSTRAINED], ids=["plain", "constrained"])
def test_a_project_for_both_defaults_is_told(found: Found, text: str) -> None:
    (finding,) = found(text, ">=0.7.2,<0.11")
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "jax.make_mesh without axis_types makes Auto axes before JAX 0.9.0 and Explicit ones from "
        "then on (the project supports 0.7.2 to 0.10.2)"
    )
    assert finding.fix is not None
    assert finding.fix.applicability is Applicability.SAFE
    (edit,) = finding.fix.edits
    assert "axis_types=(jax.sharding.AxisType.Auto,) * 2" in edit.text


@pytest.mark.parametrize("text", [PLAIN, CONSTRAINED], ids=["plain", "constrained"])
def test_a_project_for_the_old_default_is_not(found: Found, text: str) -> None:
    assert found(text, ">=0.5.3,<0.9") == []


@pytest.mark.parametrize(
    "more",
    [
        ", axis_types=(jax.sharding.AxisType.Auto,) * 2",
        ", axis_types=types",
        ", **options",
    ],
)
def test_axis_types_that_are_passed(found: Found, more: str) -> None:
    text = MADE.format(names='("data", "model")', more=more)
    assert found(text, ">=0.7.2,<0.11") == []


def test_files_that_know_of_explicit_axes(found: Found) -> None:
    text = f"{PLAIN}moved = jax.sharding.reshard(x, rows)\n"
    assert found(text, ">=0.7.2,<0.11") == []


def test_no_fix_for_versions_without_the_type(found: Found) -> None:
    (finding,) = found(PLAIN, ">=0.4.35")
    assert finding.fix is None


def test_no_fix_for_an_unknown_number_of_axes(found: Found) -> None:
    (finding,) = found(MADE.format(names="config.axes", more=""), ">=0.7.2")
    assert finding.fix is None


@pytest.mark.parametrize(
    ("versions", "count"),
    [(">=0.5.3,<0.9", 1), (">=0.7.2,<0.11", 1), (">=0.9.0", 0), ("", 0)],
)
def test_device_put_is_ignored_where_the_axes_may_be_auto(
    found: Found, versions: str, count: int
) -> None:
    findings = found(PUT, versions, "JDP705")
    assert len(findings) == count
    fixes = [finding.fix.applicability for finding in findings if finding.fix is not None]
    is_safe = versions.endswith("<0.9")
    assert fixes == [Applicability.SAFE if is_safe else Applicability.UNSAFE] * count
