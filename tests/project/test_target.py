"""Which JAX a file is meant for, and what that makes of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.findings import Confidence, Finding, Severity
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.linter import Linter
from placement_lint.prefilter.conditions import Uses
from placement_lint.project.target import ProjectMetadata
from placement_lint.rules.registry import all_rules
from tests.lint.helpers import PutFlagged, source

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.rules.base import Rule

REPLICATED = "import jax\n\nx = jax.device_put_replicated(1, jax.devices())\n"


class Modern(PutFlagged):
    """Flags every call of `jax.device_put`, on JAX 0.7 to 0.9."""

    code, name = "JDP831", "modern"
    severity = Severity.INFO
    versions = ("0.7.0", "0.9.0")
    needs = Uses("jax.device_put")


def found(text: str, target: str, *rules: type[Rule]) -> list[Finding]:
    return list(lint_source(source(text), FileOptions(rules, target_jax=target)).findings)


@pytest.mark.parametrize(
    ("target", "is_on"),
    [("0.6.2", False), ("0.7.0", True), ("0.8.3", True), ("0.9.0", False), ("newest", False)],
)
def test_a_rule_is_off_outside_of_its_versions(target: str, is_on: bool) -> None:
    assert bool(found("import jax\njax.device_put(1)\n", target, Modern)) == is_on


@pytest.mark.parametrize(
    ("target", "codes"),
    [("0.4.30", []), ("0.8.0", []), ("0.8.1", ["JDP602"]), ("0.10.0", ["JDP601"]),
     ("newest", ["JDP601"])],
)  # fmt: skip
def test_old_api_by_version(target: str, codes: list[str]) -> None:
    rules = tuple(rule for rule in all_rules() if rule.code in {"JDP601", "JDP602"})
    findings = found(REPLICATED, target, *rules)
    assert [finding.code for finding in findings] == codes
    assert all(finding.confidence is Confidence.DEFINITE for finding in findings)


def lint_project(folder: Path, requirement: str, text: str) -> list[Finding]:
    (folder / "pyproject.toml").write_text(f'[project]\ndependencies = ["{requirement}"]\n')
    (folder / "code.py").write_text(text)
    return list(Linter(SettingsLoader().for_file).check([str(folder / "code.py")]).findings)


def test_what_a_project_admits_is_likely_where_only_some_of_it_lacks_the_name(
    tmp_path: Path,
) -> None:
    (finding,) = lint_project(tmp_path, "jax>=0.4.30", REPLICATED)
    assert finding.code == "JDP601"
    assert finding.confidence is Confidence.LIKELY
    assert "(the project supports 0.4.30 to " in finding.message


def test_an_upper_bound_ends_it(tmp_path: Path) -> None:
    assert lint_project(tmp_path, "jax>=0.4.30,<0.8", REPLICATED) == []


def test_a_replacement_that_old_versions_lack_is_not_asked_for(tmp_path: Path) -> None:
    text = "import jax\n\nprint(jax.host_id(), jax.lib.xla_bridge.get_backend())\n"
    messages = [finding.message for finding in lint_project(tmp_path, "jax>=0.4.20,<0.8", text)]
    assert len(messages) == 1
    assert "jax.process_index" in messages[0]


def test_what_works_on_old_versions_is_named_beside_a_new_replacement(tmp_path: Path) -> None:
    text = "import jax\n\nprint(jax.host_ids())\n"
    (finding,) = lint_project(tmp_path, "jax>=0.4.20", text)
    assert "jax.process_indices (or range(jax.process_count()))" in finding.message
    assert finding.fix is None


def test_where_a_target_is_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = str(tmp_path / "code.py")
    (tmp_path / ".git").mkdir()
    assert str(ProjectMetadata().target("auto", code)).endswith("no requirement of jax was found)")
    assert str(ProjectMetadata().target("0.7.2", code)) == "0.7.2 (by the settings)"
    below = tmp_path / "below"
    below.mkdir()
    (below / "requirements.txt").write_text("jax>=0.5,<0.6\n")
    chosen = ProjectMetadata().target("auto", str(below / "code.py"))
    assert str(chosen) == "0.5.0 to 0.5.3 (jax>=0.5,<0.6 in below/requirements.txt)"


def test_a_bound_below_all_that_is_known_asks_for_nothing_new(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("jax<=0.2.12\n")
    path = tmp_path / "code.py"
    path.write_text("import jax\n\nwith jax.default_device('cpu'):\n    pass\n" + REPLICATED)
    outcome = Linter(SettingsLoader().for_file).check([str(path)])
    assert [(each.span.line, each.code) for each in outcome.findings] == [(3, "JDP108")]
