"""`action.yml` and the examples of `docs/ci.md`: by the schemas of those who read them, and run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.config.options import FORMATS
from tests import warm

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "ci.md"
HAZARD = "import jax\n\n\ndef f(x, d):\n    jax.device_put(x, d)\n    return x\n"

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; pre-commit brings it")


@dataclass(frozen=True)
class Example:
    """One block of code of the page."""

    language: str
    title: str
    text: str
    line: int


def examples() -> list[Example]:
    text = PAGE.read_text(encoding="utf-8")
    fence = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
    return [
        Example(match[1], match[2] or "", match[3], text.count("\n", 0, match.start()) + 1)
        for match in fence.finditer(text)
    ]


def named(title: str) -> list[Example]:
    return [each for each in examples() if each.title == title]


def action() -> Any:
    return yaml.safe_load((TOP / "action.yml").read_text(encoding="utf-8"))


def check_schema(schema: str, path: Path) -> None:
    pytest.importorskip(
        "check_jsonschema", reason="check-jsonschema is not installed; the dev extra brings it"
    )
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- the page ---------------------------------------------------------------------------------


def test_every_block_is_one_that_is_looked_at() -> None:
    assert {each.language for each in examples()} == {"yaml", "bash", "toml"}
    assert len(examples()) == PAGE.read_text(encoding="utf-8").count("\n```") // 2
    assert len(examples()) >= 9


SCHEMAS = {
    ".github/workflows/placement-lint.yml": ("vendor.github-workflows", 3),
    ".gitlab-ci.yml": ("vendor.gitlab-ci", 1),
}


@pytest.mark.parametrize("title", SCHEMAS)
def test_workflows_are_what_their_services_take(title: str, tmp_path: Path) -> None:
    schema, count = SCHEMAS[title]
    found = named(title)
    assert len(found) == count
    for each in found:
        path = tmp_path / Path(title).name
        path.write_text(each.text, encoding="utf-8")
        check_schema(schema, path)


@pytest.mark.parametrize("name", ["release", "test"])
def test_our_own_workflows_are_what_github_takes(name: str) -> None:
    check_schema("vendor.github-workflows", TOP / ".github" / "workflows" / f"{name}.yml")


def test_actions_are_pinned_by_commit() -> None:
    paths = [PAGE, *(TOP / ".github" / "workflows").iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    used = re.findall(r"uses: (\S+?)@(\S+)(?: # (v\S+))?$", text, re.MULTILINE)
    assert len(used) == text.count("uses: ") - text.count("uses: ./")
    for name, version, comment in used:
        if name == "placement-lint/placement-lint":
            assert re.fullmatch(r"v\d+(\.\d+\.\d+)?", version)
        else:
            assert re.fullmatch("[0-9a-f]{40}", version), name
            assert comment, name
    # One commit of each, or some samples are older than others.
    assert len({name for name, _, _ in used}) == len({(name, version) for name, version, _ in used})


def test_a_wrong_workflow_is_found(tmp_path: Path) -> None:
    # That the test above has something to see.
    path = tmp_path / "w.yml"
    path.write_text(named(next(iter(SCHEMAS)))[0].text.replace("runs-on", "run-on"), "utf-8")
    with pytest.raises(AssertionError):
        check_schema("vendor.github-workflows", path)


def test_all_other_yaml_parses() -> None:
    for each in examples():
        if each.language == "yaml":
            assert yaml.safe_load(each.text), each.line


def test_the_hooks_are_there() -> None:
    hooks = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    known = {hook["id"] for hook in hooks}
    (example,) = named(".pre-commit-config.yaml")
    (repo,) = yaml.safe_load(example.text)["repos"]
    assert {hook["id"] for hook in repo["hooks"]} <= known
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"`(placement-lint-\w+)` in its place", text)) <= known


def test_the_action_is_given_what_it_takes() -> None:
    inputs = set(action()["inputs"])
    used = set()
    for each in named(".github/workflows/placement-lint.yml"):
        for step in yaml.safe_load(each.text)["jobs"]["lint"]["steps"]:
            if step.get("uses", "").startswith("placement-lint/"):
                used |= set(step.get("with", {}))
    assert used <= inputs
    assert {"paths", "sarif"} <= used


def test_settings_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = named("placement-lint.toml")
    Path("placement-lint.toml").write_text(example.text, encoding="utf-8")
    baseline = SettingsLoader().for_file("x.py").baseline
    assert baseline == str(tmp_path / "placement-lint-baseline.json")


def commands() -> list[str]:
    """Give the commands of ours on the page: in scripts, steps and for a terminal."""
    found = []
    for each in examples():
        if each.language == "bash":
            found += each.text.splitlines()
        elif each.language == "yaml":
            found += re.findall(r"(?:- run:|-) (placement-lint .*)", each.text)
    return [line for line in found if line.startswith("placement-lint ")]


def formats_of(command: str) -> set[str]:
    return {
        *re.findall(r"--output-format[ =](\w+)", command),
        *re.findall(r"--output-file[ =](\w+):", command),
    }


def test_there_are_commands() -> None:
    assert len(commands()) == 6


@pytest.mark.parametrize("command", commands())
def test_commands_run(command: str, tmp_path: Path) -> None:
    if not formats_of(command) <= set(FORMATS):
        pytest.skip("a format that is not there yet")
    if "HEAD" in command:
        git = "git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false"
        run_bash(f"git init -q && {git} commit -q --allow-empty -m first", tmp_path)
    (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
    done = run_bash(command, tmp_path, program_folder(tmp_path), HOME=str(tmp_path))
    silences = "--write-baseline" in command or "--add-noqa" in command
    assert done.returncode == (0 if silences else 1), done.stderr
    file = re.search(r"--(?:output-file \w+:|write-baseline )(\S+)", command)
    if file:
        assert json.loads((tmp_path / file[1]).read_text(encoding="utf-8"))


# -- the action -------------------------------------------------------------------------------


def program_folder(tmp_path: Path) -> Path:
    """Give a folder with a `placement-lint` in it: this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "placement-lint"
    line = shlex.join(warm.command("placement_lint"))
    program.write_text(f'#!/bin/sh\nexec {line} "$@"\n', "utf-8")
    program.chmod(0o755)
    return folder


def run_bash(
    script: str, cwd: Path, programs: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    path = os.environ["PATH"]
    if programs is not None:
        path = f"{programs}{os.pathsep}{path}"
    return subprocess.run(
        # As GitHub runs a step with `shell: bash`.
        [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(TOP), **environment},
    )


def step(name: str) -> Any:
    (found,) = [each for each in action()["runs"]["steps"] if each["name"] == name]
    return found


def test_the_action_is_one() -> None:
    check_schema("vendor.github-actions", TOP / "action.yml")


def test_its_scripts_take_inputs_by_their_environment() -> None:
    inputs = set()
    for each in action()["runs"]["steps"]:
        assert "${{" not in each["run"], "what stands in an input would be run"
        assert each["shell"] == "bash"
        for name, value in each["env"].items():
            assert f"${name}" in each["run"]
            inputs |= set(re.findall(r"inputs\.([\w-]+)", value))
    assert inputs == set(action()["inputs"])


@pytest.mark.parametrize("name", ["Install placement-lint", "Lint"])
def test_shellcheck_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    path = tmp_path / "step.sh"
    path.write_text(step(name)["run"], encoding="utf-8")
    done = subprocess.run(
        [program, "-s", "bash", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def lint(folder: Path, **inputs: str) -> tuple[int, str, str, str]:
    given = {name: each["default"] for name, each in action()["inputs"].items()}
    environment = {
        name.upper().replace("-", "_"): value for name, value in {**given, **inputs}.items()
    }
    output = folder / "output"
    output.write_text("", encoding="utf-8")
    programs = folder / "bin"
    done = run_bash(
        step("Lint")["run"],
        folder,
        programs if programs.exists() else program_folder(folder),
        **environment,
        GITHUB_OUTPUT=str(output),
        GITHUB_STEP_SUMMARY=str(folder / "summary.md"),
    )
    return done.returncode, done.stdout, done.stderr, output.read_text(encoding="utf-8")


class TestLint:
    def test_findings_fail_the_step(self, tmp_path: Path) -> None:
        (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
        code, out, _, output = lint(tmp_path, format="flake8")
        assert (code, output) == (1, "exit-code=1\n")
        assert out.startswith("hazard.py:5:5: JDP204 ")

    def test_nothing_found(self, tmp_path: Path) -> None:
        (tmp_path / "clean.py").write_text("import jax\n", encoding="utf-8")
        code, out, _, output = lint(tmp_path, format="flake8")
        assert (code, out, output) == (0, "", "exit-code=0\n")

    def test_wrong_settings(self, tmp_path: Path) -> None:
        (tmp_path / "placement-lint.toml").write_text("fixx = true\n", encoding="utf-8")
        code, _, err, output = lint(tmp_path, format="flake8")
        assert (code, output) == (2, "exit-code=2\n")
        assert "unknown setting `fixx`" in err

    def test_paths_and_options(self, tmp_path: Path) -> None:
        for name in ("a b", "c"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "hazard.py").write_text(HAZARD, encoding="utf-8")
        (tmp_path / "other.py").write_text(HAZARD, encoding="utf-8")
        _, out, _, _ = lint(tmp_path, format="flake8", paths="a b\nc\n")
        assert [line.split(":")[0] for line in out.splitlines()] == [
            "a b/hazard.py",
            "c/hazard.py",
        ]
        options = "--ignore JDP204 --extend-exclude *.py"
        code, out, _, _ = lint(tmp_path, format="flake8", args=options)
        assert (code, out) == (0, "")

    def test_what_stands_in_an_input_is_not_run(self, tmp_path: Path) -> None:
        for evil in ("$(touch ran)", "`touch ran`", "; touch ran", "' ; touch ran '", "--help"):
            code, _, _, _ = lint(tmp_path, paths=evil, format="flake8")
            assert code == 2
            lint(tmp_path, args=evil, format="flake8")
        assert not (tmp_path / "ran").exists()

    def test_the_summary_of_the_job(self, tmp_path: Path) -> None:
        (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
        summary = tmp_path / "summary.md"
        summary.write_text("An earlier step.\n", encoding="utf-8")
        assert lint(tmp_path)[0] == 1
        text = summary.read_text(encoding="utf-8")
        assert text.startswith("An earlier step.\n### placement-lint\n\nFound 1 finding in 1 of")
        assert "| JDP204 | <code>hazard.py&#58;5&#58;5</code> |" in text
        lint(tmp_path, summary="false")
        lint(tmp_path, args="--diff")
        assert summary.read_text(encoding="utf-8") == text

    def test_a_working_directory_and_settings(self, tmp_path: Path) -> None:
        folder = tmp_path / "a b"
        folder.mkdir()
        (folder / "hazard.py").write_text(HAZARD, encoding="utf-8")
        (folder / "ci.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        given = {"format": "flake8", "working-directory": "a b"}
        code, out, _, _ = lint(tmp_path, **given)
        assert (code, out.partition(" ")[0]) == (1, "hazard.py:5:5:")
        assert lint(tmp_path, **given, config="ci.toml")[0] == 0
        code, out, _, output = lint(tmp_path, **{**given, "working-directory": "nosuch"})
        assert (code, output) == (2, "exit-code=2\n")
        assert out == "::error::placement-lint: there is no such working directory\n"

    def test_quoted_words(self, tmp_path: Path) -> None:
        for name in ("old code", "c"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "hazard.py").write_text(HAZARD, encoding="utf-8")
        _, out, _, _ = lint(tmp_path, format="flake8", args="--extend-exclude 'old code/'")
        assert [line.split(":")[0] for line in out.splitlines()] == ["c/hazard.py"]
        code, out, _, output = lint(tmp_path, format="flake8", args="--extend-exclude 'old")
        assert (code, output) == (2, "exit-code=2\n")
        assert out == "::error::placement-lint: a quote in args is not closed\n"

    @pytest.mark.skipif("sarif" not in FORMATS, reason="a format that is not there yet")
    def test_annotations_and_sarif(self, tmp_path: Path) -> None:
        (tmp_path / "hazard.py").write_text(HAZARD, encoding="utf-8")
        code, out, _, _ = lint(tmp_path, sarif="found.sarif")
        assert code == 1
        assert re.search(r"^::(error|warning) .*file=hazard\.py,.*line=5", out, re.MULTILINE)
        sarif = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))
        assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["JDP204"]


@pytest.mark.hook
@pytest.mark.parametrize("version", ["", "0"])
def test_it_installs_itself(version: str, tmp_path: Path) -> None:
    path = tmp_path / "path"
    environment = {
        "ACTION": str(TOP),
        "VERSION": version,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_PATH": str(path),
    }
    done = run_bash(step("Install placement-lint")["run"], tmp_path, None, **environment)
    if version:
        # There is no such version: the step fails, and does not go on with another one.
        assert done.returncode != 0
        return
    assert done.returncode == 0, done.stderr
    program = Path(path.read_text(encoding="utf-8").strip()) / "placement-lint"
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("placement-lint ")
