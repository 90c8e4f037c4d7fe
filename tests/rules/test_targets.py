"""Rules whose hazard is only in some versions of JAX: what they say for which of them."""

from pathlib import Path

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.files.source import Source
from placement_lint.findings import Confidence, Finding
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.linter import Linter
from placement_lint.rules.registry import rule_by_code

STRING = """\
import jax

with jax.default_device({argument}):
    table = load()
"""
UPDATED = 'import jax\n\njax.config.update("jax_default_device", {argument})\n'
CHOSEN = """\
import jax

kind = "cpu" if len(names) > 3 else "tpu"
with jax.default_device({argument}):
    table = load()
"""


def found(text: str, target: str, code: str = "JDP108") -> list[Finding]:
    options = FileOptions((rule_by_code(code),), target_jax=target)
    return list(lint_source(Source("code.py", text), options).findings)


@pytest.mark.parametrize(
    ("text", "argument", "what"),
    [
        (STRING, '"cpu"', 'the string "cpu"'),
        (STRING, '"gpu"', 'the string "gpu"'),
        (STRING, "jax.default_backend()", "the name of a backend"),
        (UPDATED, '"tpu"', 'the string "tpu"'),
        (CHOSEN, "kind", "a string"),
    ],
    ids=["cpu", "gpu", "backend", "option", "one-of-two"],
)
def test_names_of_platforms_by_version(text: str, argument: str, what: str) -> None:
    program = text.format(argument=argument)
    for target in ("0.4.36", "0.5.3", "newest"):
        assert found(program, target) == []
    for target in ("0.4.30", "0.4.35"):
        (finding,) = found(program, target)
        assert finding.message == (
            f"jax.default_device takes a device, not {what}: that is possible from JAX 0.4.36 on "
            f"only (target: {target})"
        )
        assert finding.confidence is Confidence.DEFINITE


@pytest.mark.parametrize("argument", ["device", "pick()", "names[0]"])
def test_what_is_not_known_is_new_in_no_version(argument: str) -> None:
    for target in ("0.4.30", "newest"):
        assert found(STRING.format(argument=argument), target) == []


@pytest.mark.parametrize("argument", ['"cuda"', '"CPU"', '"cpu:0"', 'jax.devices("cpu")', "0"])
def test_what_no_version_takes_is_the_same_for_all(argument: str) -> None:
    program = STRING.format(argument=argument)
    messages = {
        tuple((finding.message, finding.confidence) for finding in found(program, target))
        for target in ("0.4.30", "0.4.36", "newest")
    }
    assert len(messages) == 1
    assert messages != {()}


def test_a_failure_that_is_caught_is_none_for_old_versions_either() -> None:
    text = (
        "import jax\n\ntry:\n    jax.config.update('jax_default_device', 'cpu')\n"
        "except ValueError:\n    pass\n"
    )
    assert found(text, "0.4.30") == []


def test_the_fix_suits_all_versions() -> None:
    (finding,) = found(STRING.format(argument='"cpu"'), "0.4.30")
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ['jax.devices("cpu")[0]']


@pytest.mark.parametrize(
    ("requirement", "confidence"),
    [
        ("jax", None),
        ("jax>=0.4.36", None),
        ("jax>=0.4.30", Confidence.LIKELY),
        ("jax>=0.4.30,<0.4.36", Confidence.DEFINITE),
    ],
)
def test_what_the_project_admits(
    tmp_path: Path, requirement: str, confidence: Confidence | None
) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\ndependencies = ["{requirement}"]\n')
    path = tmp_path / "code.py"
    path.write_text(STRING.format(argument='"cpu"'))
    findings = [
        finding
        for finding in Linter(SettingsLoader().for_file).check([str(path)]).findings
        if finding.code == "JDP108"
    ]
    assert [finding.confidence for finding in findings] == [confidence] * (confidence is not None)


@pytest.mark.parametrize(
    ("variable", "targets"),
    [
        ("JAX_PLATFORMS", ["0.4.30", "0.6.2", "0.10.2", "newest"]),
        ("JAX_SPMD_MODE", ["0.4.30"]),
        ("JAX_NUM_CPU_DEVICES", ["0.6.2", "0.10.2", "newest"]),
        ("JAX_PMAP_SHMAP_MERGE", ["0.4.30", "0.6.2"]),
        ("JAX_USE_RGV3", ["newest"]),
        ("JAX_NO_SUCH_OPTION", []),
    ],
)
def test_a_variable_is_too_late_for_the_versions_that_read_it(
    variable: str, targets: list[str]
) -> None:
    text = f'import os\nimport jax\nos.environ["{variable}"] = "1"\n'
    said = [each for each in ("0.4.30", "0.6.2", "0.10.2", "newest") if found(text, each, "JDP501")]
    assert said == targets


@pytest.mark.parametrize(
    ("requirement", "is_found"),
    [("jax>=0.8", True), ("jax>=0.6", True), ("jax>=0.5.3", False), ("jax>=0.6,<0.8", False)],
)
def test_an_old_name_is_found_if_every_version_has_what_is_to_be_used(
    tmp_path: Path, requirement: str, is_found: bool
) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\ndependencies = ["{requirement}"]\n')
    path = tmp_path / "code.py"
    path.write_text("from jax.experimental.shard_map import shard_map\n\nprint(shard_map)\n")
    findings = Linter(SettingsLoader().for_file).check([str(path)]).findings
    assert [finding.code for finding in findings] == ["JDP602"] * is_found
