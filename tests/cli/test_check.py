from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placement_lint.findings import Finding, Severity, Span
from placement_lint.lint.incremental import cache_folder
from placement_lint.lint.results import Outcome

if TYPE_CHECKING:
    import subprocess

Lint = Callable[..., tuple[int, str, str]]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

FOUND = "hazard.py:5:5: JDP204 "


class TestExitCodes:
    def test_clean(self, lint: Lint) -> None:
        assert lint("clean.py") == (0, "", "No findings in 1 file.\n")

    def test_findings(self, lint: Lint) -> None:
        code, out, err = lint("hazard.py")
        assert code == 1
        assert out.startswith(FOUND)
        assert out.count("\n") == 1
        assert err == "Found 1 finding in 1 of 1 file. 1 fixable with `--fix`.\n"

    def test_check_is_the_default_command(self, lint: Lint) -> None:
        assert lint("check", "hazard.py") == lint("hazard.py")

    def test_the_current_folder_is_the_default_path(self, lint: Lint) -> None:
        assert lint() == lint(".")
        assert FOUND in lint()[1]

    def test_what_cannot_be_parsed_is_a_finding(self, lint: Lint) -> None:
        code, out, _ = lint("broken.py", "hazard.py")
        assert code == 1
        assert "broken.py:" in out
        assert "JDP901" in out
        assert FOUND in out

    def test_a_missing_path_does_not_hide_the_rest(self, lint: Lint) -> None:
        code, out, err = lint("nosuch", "hazard.py")
        assert code == 2
        assert out.startswith(FOUND)
        assert "error: nosuch: No such file or directory\n" in err

    def test_exit_zero_is_about_findings_only(self, lint: Lint) -> None:
        assert lint("hazard.py", "--exit-zero")[0] == 0
        assert lint("hazard.py", "nosuch", "--exit-zero")[0] == 2

    def test_the_short_options_of_ruff(self, lint: Lint, files: Path) -> None:
        assert lint("hazard.py", "-n", "-e", "-o", "found.txt")[:2] == (0, "")
        assert (files / "found.txt").read_text().startswith(FOUND)
        assert lint("-V")[1] == lint("--version")[1]

    def test_fixing_may_fail_a_run(self, lint: Lint, files: Path) -> None:
        hazard = (files / "hazard.py").read_text()
        assert lint("hazard.py", "--fix")[0] == 0
        assert lint("hazard.py", "--fix", "--exit-non-zero-on-fix")[0] == 0
        (files / "hazard.py").write_text(hazard)
        assert lint("hazard.py", "--fix", "--exit-non-zero-on-fix")[0] == 1
        (files / "hazard.py").write_text(hazard)
        assert lint("hazard.py", "--fix", "--exit-non-zero-on-fix", "--exit-zero")[0] == 0

    def test_an_internal_error_is_2(self, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
        from placement_lint.lint.linter import Linter

        failed = Finding(
            "JDP903", "internal-error", "m", "hazard.py", Span(1, 1, 1, 1), Severity.ERROR
        )
        outcome = Outcome((failed,), (), 1, 1, 0, 0.0, (), lambda _: None)
        monkeypatch.setattr(Linter, "check", lambda *_: outcome)
        assert lint("hazard.py", "--exit-zero")[0] == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--slect", "X"], "unknown option `--slect`; did you mean `--select`?"),
            (
                ["--output-format", "yaml"],
                "--output-format: unknown value `yaml`; use `flake8`, ",
            ),
            (["--output-format", "grouped"], "unknown value `grouped`; use `full`"),
            (["--output-file", "azure:x"], "unknown format `azure`; use `sarif`"),
            (["--target-jax", "0.7.0+"], "'0.7.0+' is not `auto` or a version such as `0.7.2`; "),
            (["--target-jax", ">=0.7"], "for a range, use `auto`: it reads the project's dep"),
            (["--fix-only"], "unknown option `--fix-only`; use `--fix`, with `--exit-zero`"),
            (["-s"], "unknown option `-s`; use `--quiet`"),
            (["-j", "0"], "'0' is neither a number of processes nor auto"),
            (["--per-file-ignores", "x"], "'x' is not PATTERN:CODES"),
            (["-", "x.py"], "standard input is linted alone"),
            (["--stdin-filename", "x.py", "y.py"], "--stdin-filename: standard input is linted"),
            (["--select"], "--select: no value"),
            (["--select", ""], "--select: no codes"),
            (["--extend-ignore", " , "], "--extend-ignore: no codes"),
            (["--fix=yes"], "--fix/--no-fix: takes no value, such as 'yes'"),
            (
                ["--select", "JDP999"],
                "--select: unknown rule `JDP999`; `placement-lint rule` lists the rules",
            ),
            (["--ignore", "device-put-discardd"], "did you mean `device-put-discarded`?"),
            (["--per-file-ignores", "a:NOPE"], "--per-file-ignores: unknown rule `NOPE`"),
            (["--config", "fix=3"], "--config fix=3: `fix` must be true or false"),
            (["--config", "nosuch.toml"], "nosuch.toml: cannot be read"),
            (
                ["--output-file", "nosuch/x", "clean.py"],
                "nosuch/x: cannot be written: there is no directory",
            ),
        ],
    )
    def test_wrong_usage_is_2(self, lint: Lint, arguments: list[str], message: str) -> None:
        code, out, err = lint(*arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert "Traceback" not in err

    def test_wrong_settings_are_2(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text("selct = []\n", encoding="utf-8")
        code, _, err = lint("clean.py")
        assert code == 2
        assert "placement-lint.toml:1:1: unknown setting `selct`; did you mean `select`?" in err
        assert lint("clean.py", "--isolated")[0] == 0

    def test_an_unknown_rule_in_a_settings_file_names_it(self, lint: Lint) -> None:
        path = Path("placement-lint.toml").absolute()
        path.write_text('ignore = ["JDP999"]\n', encoding="utf-8")
        code, _, err = lint("clean.py")
        assert code == 2
        assert err.startswith(f"error: {path}:1:12: unknown rule `JDP999`")


class TestSelection:
    def test_options_select(self, lint: Lint) -> None:
        assert lint("hazard.py", "--ignore", "JDP2")[0] == 0
        assert lint("hazard.py", "--select", "JDP9,JDP204")[0] == 1
        assert lint("hazard.py", "--ignore=device-put-discarded")[0] == 0
        assert lint("hazard.py", "--per-file-ignores", "./hazard.py:JDP204")[0] == 0
        assert lint("hazard.py", "--per-file-ignores", "other.py:JDP204")[0] == 1

    def test_paths_may_stand_between_options(self, lint: Lint) -> None:
        code, out, _ = lint("clean.py", "--select", "JDP204", "hazard.py", "-q")
        assert code == 1
        assert out.startswith(FOUND)

    def test_a_path_that_looks_like_an_option(self, lint: Lint) -> None:
        Path("-x.py").write_text(Path("hazard.py").read_text(encoding="utf-8"), encoding="utf-8")
        # The fixture adds its options behind the `--`: they too are paths there.
        code, out, err = lint("--", "-x.py")
        assert "-x.py:5:5: JDP204 " in out
        assert "error: -j: No such file" in err
        assert code == 2

    def test_settings_of_each_folder(self, lint: Lint) -> None:
        for folder in ("a", "b"):
            Path(folder).mkdir()
            Path(folder, "x.py").write_text(Path("hazard.py").read_text(), encoding="utf-8")
        Path("a/placement-lint.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        _, out, _ = lint("a", "b")
        assert out.startswith("b/x.py:5:5: JDP204 ")
        assert out.count("\n") == 1


class TestFiles:
    def test_excluded_files_are_linted_when_named_unless_forced(self, lint: Lint) -> None:
        exclude = ("--extend-exclude", "hazard.py")
        assert lint("hazard.py", *exclude)[0] == 1
        code, out, err = lint("hazard.py", *exclude, "--force-exclude")
        assert (code, out) == (0, "")
        assert err == "warning: nothing to lint: all given paths are excluded\n"

    def test_nothing_found(self, lint: Lint) -> None:
        Path("empty").mkdir()
        assert lint("empty") == (0, "", "warning: no Python files found under empty\n")
        assert lint("empty", "-q") == (0, "", "")

    def test_show_files(self, lint: Lint) -> None:
        code, out, _ = lint("--show-files", "--exclude", "clean.py")
        assert (code, out) == (0, "broken.py\nhazard.py\n")
        assert lint("--show-files", "nosuch")[0] == 2

    def test_what_is_skipped_is_said(self, lint: Lint) -> None:
        for number in range(12):
            Path(f"l{number:02}.py").symlink_to("nosuch")
        _, _, err = lint()
        assert "note: l00.py: not linted: a link to nothing\n" in err
        assert "note: 2 more like these; -v lists them\n" in err
        assert "note: l11.py: not linted: a link to nothing\n" in lint("-v")[2]
        report = json.loads(lint("--output-format", "json", "-q")[1])
        assert len(report["skipped"]) == 12


class TestFixes:
    def test_fix(self, lint: Lint) -> None:
        code, out, err = lint("hazard.py", "--fix", "--show-fixes")
        assert (code, out) == (0, "")
        assert err == (
            "hazard.py:\n  1 x JDP204 (device-put-discarded)\n"
            "Found 1 finding (1 fixed, 0 remaining).\n"
        )
        assert "    x = jax.device_put(x, d)\n" in Path("hazard.py").read_text(encoding="utf-8")

    def test_only_options_may_ask_for_fixes(self, lint: Lint) -> None:
        before = Path("hazard.py").read_text(encoding="utf-8")
        assert lint("hazard.py", "--fix", "--no-fix")[0] == 1
        Path("placement-lint.toml").write_text("fix = true\n", encoding="utf-8")
        for arguments in ((), ("--fix",), ("--config", "placement-lint.toml")):
            code, out, err = lint("hazard.py", *arguments)
            assert (code, out) == (2, "")
            assert "`fix` is not a setting of files: use --fix on the command line" in err
        Path("placement-lint.toml").write_text("unsafe-fixes = true\n", encoding="utf-8")
        assert lint("hazard.py")[0] == 1
        assert Path("hazard.py").read_text(encoding="utf-8") == before
        assert lint("hazard.py", "--isolated", "--config", "fix=true")[0] == 0
        assert Path("hazard.py").read_text(encoding="utf-8") != before

    def test_diff(self, lint: Lint) -> None:
        before = Path("hazard.py").read_text(encoding="utf-8")
        code, out, err = lint("hazard.py", "clean.py", "--diff")
        assert code == 1
        assert out.startswith("--- hazard.py\n+++ hazard.py\n@@ ")
        assert "\n+    x = jax.device_put(x, d)\n" in out
        assert err == "Would fix 1 finding (0 remaining).\n"
        assert Path("hazard.py").read_text(encoding="utf-8") == before
        assert lint("clean.py", "--diff") == (0, "", "Nothing to fix.\n")
        painted = lint("hazard.py", "--diff", "--color", "always")[1].splitlines()
        assert painted[0] == "\x1b[1m--- hazard.py\x1b[0m"
        assert "\x1b[32m+    x = jax.device_put(x, d)\x1b[0m" in painted
        assert "\x1b[1;31m-    jax.device_put(x, d)\x1b[0m" in painted

    def test_diff_is_not_clean_where_a_file_was_not_read(self, lint: Lint) -> None:
        code, out, err = lint("broken.py", "--diff")
        assert (code, out) == (1, "")
        assert "JDP901" in err

    def test_a_notebook_is_fixed_in_place(self, lint: Lint) -> None:
        cells = [
            {"cell_type": "markdown", "source": "# title", "metadata": {}},
            {"cell_type": "code", "source": Path("hazard.py").read_text(), "metadata": {}},
        ]
        text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        Path("n.ipynb").write_text(text, encoding="utf-8")
        code, out, err = lint("n.ipynb", "--diff")
        assert code == 1
        before, after = (line for line in out.splitlines()[3:] if line[:1] in "-+")
        code, out, err = lint("n.ipynb")
        assert code == 1
        assert out.startswith("n.ipynb:cell 2:5:5: JDP204 ")
        code, out, err = lint("n.ipynb", "--fix")
        assert (code, out) == (0, "")
        mended = Path("n.ipynb").read_text(encoding="utf-8")
        assert (before, after) == (f"-{text}", f"+{mended}")
        assert mended == text.replace("    jax.device_put(", "    x = jax.device_put(")
        julia = '"metadata": {"kernelspec": {"language": "julia"}}, "nb'
        julian = text.replace('"metadata": {}, "nb', julia)
        Path("n.ipynb").write_text(julian, encoding="utf-8")
        code, out, err = lint("n.ipynb")
        assert (code, out) == (0, "")
        assert "note: n.ipynb: not linted: a notebook in julia\n" in err


class TestFormats:
    def test_json(self, lint: Lint) -> None:
        code, out, _ = lint("hazard.py", "nosuch", "--output-format", "json")
        report = json.loads(out)
        assert code == 2
        assert [finding["code"] for finding in report["findings"]] == ["JDP204"]
        assert report["skipped"] == [{"path": "nosuch", "reason": "No such file or directory"}]

    def test_full(self, lint: Lint) -> None:
        _, out, _ = lint("hazard.py", "--output-format", "full")
        assert " --> hazard.py:5:5\n  |\n5 |     jax.device_put(x, d)\n" in out
        assert "\x1b" not in out
        _, out, _ = lint("hazard.py", "--output-format", "full", "--color", "always")
        assert "\x1b[1;31merror[JDP204]\x1b[0m: " in out

    def test_full_is_the_default_on_a_terminal(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert " --> hazard.py:5:5\n" in lint("hazard.py", "--color", "never")[1]
        lint("hazard.py", "--output-file", "found.txt")
        assert Path("found.txt").read_text(encoding="utf-8").startswith(FOUND)

    def test_the_setting(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text('output-format = "json"\n', encoding="utf-8")
        assert json.loads(lint("hazard.py")[1])["version"] == 1
        assert lint("hazard.py", "--output-format", "flake8")[1].startswith(FOUND)

    def test_a_file_for_the_output(self, lint: Lint) -> None:
        code, out, _ = lint("hazard.py", "--output-file", "found.txt")
        assert (code, out) == (1, "")
        assert Path("found.txt").read_text(encoding="utf-8").startswith(FOUND)

    def test_what_is_known_of_a_name(self, lint: Lint) -> None:
        text = "import jax\nx = jax.device_put(1.0, jax.devices('cpu')[0])  # reveal: x\n"
        Path("a.py").write_text(text, encoding="utf-8")
        code, out, err = lint("a.py", "--reveal")
        assert (code, err) == (0, "No findings in 1 file.\n")
        assert out.startswith('a.py:2:1: x is a JAX array, committed to jax.devices("cpu")[0]')
        assert "reveal" not in lint("a.py")[1]

    def test_what_is_excluded_and_cannot_be_kept(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text('exclude = ["clean.py"]\n', encoding="utf-8")
        Path("there").write_text("a file", encoding="utf-8")
        arguments = ("clean.py", "hazard.py", "--force-exclude", "--cache-dir", "there")
        code, _, err = lint(*arguments, "-v")
        assert code == 1
        assert "note: clean.py is excluded\n" in err
        assert "results are not cached: " in err
        assert "results are not cached: " not in lint(*arguments)[2]

    def test_that_too_much_is_to_be_kept_is_said_in_any_case(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache_folder, "MOST_OF_RECORDS", 10)
        code, _, err = lint("hazard.py")
        assert code == 1
        assert "results are not cached: the records of so many files take more than" in err

    def test_quiet_and_verbose(self, lint: Lint) -> None:
        assert lint("hazard.py", "-q")[2] == ""
        assert "1 of 1 files parsed" in lint("hazard.py", "-v", "--no-cache")[2]


class TestSettings:
    def test_show_settings(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text('ignore = ["JDP901"]\n', encoding="utf-8")
        code, out, _ = lint("--show-settings", "hazard.py", "--ignore", "JDP204")
        assert code == 0
        assert "# settings of: hazard.py\n" in out
        assert f"# read from: {Path('placement-lint.toml').absolute()}\n" in out
        assert 'ignore = ["JDP901", "JDP204"]\n' in out

    def test_without_files(self, lint: Lint) -> None:
        Path("empty").mkdir()
        assert "# read from: no settings file\n" in lint("--show-settings", "empty")[1]


class TestStandardInput:
    def test_findings(self, process: Process, files: Path) -> None:
        data = (files / "hazard.py").read_bytes()
        run = process("--stdin-filename", "a/b.py", "-", stdin=data)
        assert (run.returncode, run.stdout[:19]) == (1, b"a/b.py:5:5: JDP204 ")
        assert process("-", stdin=data).stdout.startswith(b"stdin:5:5: JDP204 ")
        assert process("--stdin-filename", "./x.py", stdin=data).stdout.startswith(b"x.py:5:5")
        assert process("-", stdin=b"").returncode == 0

    def test_fixed_text_is_the_output(self, process: Process, files: Path) -> None:
        data = b"\xef\xbb\xbf" + (files / "hazard.py").read_bytes().replace(b"\n", b"\r\n")
        run = process("--fix", "-", stdin=data)
        assert run.returncode == 0
        assert run.stdout == data.replace(b"    jax.dev", b"    x = jax.dev")
        assert run.stderr == b"Found 1 finding (1 fixed, 0 remaining).\n"

    def test_findings_go_beside_the_fixed_text(self, process: Process, files: Path) -> None:
        data = (files / "broken.py").read_bytes()
        run = process("--fix", "-", stdin=data)
        assert (run.returncode, run.stdout) == (1, data)
        assert run.stderr.startswith(b"stdin:")
        assert b"JDP901" in run.stderr

    def test_diff(self, process: Process, files: Path) -> None:
        data = (files / "hazard.py").read_bytes()
        run = process("--diff", "--stdin-filename", "a.py", "-", stdin=data)
        assert run.returncode == 1
        assert run.stdout.startswith(b"--- a.py\n+++ a.py\n@@ ")

    def test_an_excluded_name_passes_through(self, process: Process, files: Path) -> None:
        data = (files / "hazard.py").read_bytes()
        options = ("--stdin-filename", ".venv/x.py", "-")
        assert process(*options, stdin=data).returncode == 1
        run = process(*options, "--force-exclude", stdin=data)
        assert (run.returncode, run.stdout) == (0, b"")
        run = process(*options, "--force-exclude", "--fix", stdin=data)
        assert (run.returncode, run.stdout) == (0, data)

    def test_settings_are_those_of_the_name(self, process: Process, files: Path) -> None:
        (files / "a").mkdir()
        (files / "a/placement-lint.toml").write_text('ignore = ["JDP204"]\n', encoding="utf-8")
        data = (files / "hazard.py").read_bytes()
        assert process("--stdin-filename", "a/x.py", "-", stdin=data).returncode == 0
        run = process("--stdin-filename", "a/x.py", "-", "--show-settings", "--show-files")
        assert run.stdout.startswith(b"a/x.py\n# settings of: a/x.py\n")


class TestTargetJax:
    CODE = "import jax\n\nx = jax.device_put_replicated(1, jax.devices())\n"

    def write(self, files: Path, requirement: str) -> None:
        (files / "project").mkdir()
        (files / "project" / "code.py").write_text(self.CODE)
        (files / "project" / "requirements.txt").write_text(f"{requirement}\n")

    def test_from_the_project_and_said(self, files: Path, lint: Lint) -> None:
        self.write(files, "jax==0.8.1")
        code, out, err = lint("project", "-v")
        assert code == 1
        assert "JDP602" in out
        assert "note: target JAX: 0.8.1 (jax==0.8.1 in project/requirements.txt)" in err
        assert "target JAX" not in lint("project")[2]

    def test_by_the_option(self, files: Path, lint: Lint) -> None:
        self.write(files, "jax==0.8.1")
        assert lint("project", "--target-jax", "0.8.0")[:2] == (0, "")
        code, out, err = lint("project", "-v", "--target-jax=0.10.2")
        assert code == 1
        assert "JDP601" in out
        assert "target JAX: 0.10.2 (by the settings)" in err

    def test_by_the_settings(self, files: Path, lint: Lint) -> None:
        self.write(files, "jax==0.8.1")
        (files / "placement-lint.toml").write_text('target-jax = "0.7"\n')
        assert lint("project")[:2] == (0, "")

    def test_several_projects(self, files: Path, lint: Lint) -> None:
        self.write(files, "jax==0.8.1")
        _, _, err = lint(".", "-v")
        assert "note: target JAX for project: 0.8.1" in err
        assert "note: target JAX for .: " in err

    def test_no_version(self, lint: Lint) -> None:
        code, _, err = lint("clean.py", "--target-jax", "new")
        assert code == 2
        assert "'new' is not `auto` or a version" in err
