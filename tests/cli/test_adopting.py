"""`--add-noqa`, `--baseline`, `--write-baseline` and `--update-baseline`, as they are called."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import warm

if TYPE_CHECKING:
    Process = Callable[..., subprocess.CompletedProcess[bytes]]

Lint = Callable[..., tuple[int, str, str]]

HAZARD = Path("hazard.py")
CALL = "    jax.device_put(x, d)\n"
SILENT = "    jax.device_put(x, d)  # noqa: JDP204\n"


@pytest.fixture(autouse=True)
def _without_what_is_broken(files: Path) -> None:
    (files / "broken.py").unlink()


def entries(path: str = "b.json") -> list[dict[str, object]]:
    listed = json.loads(Path(path).read_text(encoding="utf-8"))["findings"]
    assert isinstance(listed, list)
    return listed


def add(text: str, path: Path = HAZARD) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


class TestAddNoqa:
    def test_the_next_run_is_clean(self, lint: Lint) -> None:
        before = HAZARD.read_text(encoding="utf-8")
        assert lint("--add-noqa", ".") == (0, "", "Suppressed 1 finding in 1 file.\n")
        assert HAZARD.read_text(encoding="utf-8") == before.replace(CALL, SILENT)
        assert lint(".")[:2] == (0, "")
        assert lint("--add-noqa", ".") == (0, "", "Suppressed 0 findings.\n")
        assert HAZARD.read_text(encoding="utf-8") == before.replace(CALL, SILENT)

    def test_with_a_reason(self, lint: Lint) -> None:
        assert lint("--add-noqa=see #12", ".")[0] == 2
        assert lint("--add-noqa=see ticket 12", ".")[0] == 0
        assert "# noqa: JDP204 see ticket 12\n" in HAZARD.read_text(encoding="utf-8")

    def test_by_rule(self, lint: Lint) -> None:
        add("\n\njax.default_device = jax.devices('cpu')[0]\n")
        assert lint("--select", "JDP204", "--add-noqa", ".")[0] == 0
        assert SILENT in HAZARD.read_text(encoding="utf-8")
        assert [line.split()[1] for line in lint(".")[1].splitlines()] == ["JDP101"]

    def test_what_stands_behind_it_is_a_path(self, lint: Lint) -> None:
        assert lint("--add-noqa", "nosuch")[0] == 2
        assert CALL in HAZARD.read_text(encoding="utf-8")
        assert lint("--add-noqa", "hazard.py")[0] == 0
        assert SILENT in HAZARD.read_text(encoding="utf-8")

    def test_diff_changes_nothing(self, lint: Lint) -> None:
        before = HAZARD.read_text(encoding="utf-8")
        code, out, err = lint("--add-noqa", "--diff", ".")
        assert (code, err) == (1, "Would suppress 1 finding in 1 file.\n")
        assert HAZARD.read_text(encoding="utf-8") == before
        subprocess.run(["git", "apply", "-"], input=out.encode(), check=True)
        assert HAZARD.read_text(encoding="utf-8") == before.replace(CALL, SILENT)
        assert lint("--add-noqa", "--diff", ".")[:2] == (0, "")

    def test_what_cannot_be_silenced_is_said(self, lint: Lint) -> None:
        Path("broken.py").write_text("import jax\njax.device_put(x, d\n", encoding="utf-8")
        code, out, err = lint("--add-noqa", ".")
        assert code == 1
        assert out.startswith("broken.py:")
        assert "JDP901" in out
        assert out.count("\n") == 1
        assert err == "Suppressed 1 finding in 1 file, 1 left.\n"

    def test_a_file_that_may_not_be_written(self, lint: Lint) -> None:
        HAZARD.chmod(0o444)
        code, out, err = lint("--add-noqa", ".")
        assert code == 1
        assert "JDP204" in out
        assert "note: hazard.py: not silenced: read-only\n" in err

    def test_standard_input(self, process: Process) -> None:
        data = HAZARD.read_bytes()
        done = process("--add-noqa", "-", "--stdin-filename", "x.py", stdin=data)
        assert done.returncode == 0
        assert done.stdout == data.replace(CALL.encode(), SILENT.encode())
        assert done.stderr == b"Suppressed 1 finding in 1 file.\n"
        again = process("--add-noqa", "-", stdin=done.stdout)
        assert (again.returncode, again.stdout) == (0, done.stdout)
        diff = process("--add-noqa", "--diff", "-", "--stdin-filename", "x.py", stdin=data)
        assert diff.returncode == 1
        assert diff.stdout.startswith(b"--- x.py\n+++ x.py\n")

    def test_what_is_known_stays_as_it_is(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        add("\n\ndef g(y, d):\n    jax.device_put(y, d)\n")
        assert lint("--baseline", "b.json", "--add-noqa", ".")[0] == 0
        text = HAZARD.read_text(encoding="utf-8")
        assert CALL in text
        assert "jax.device_put(y, d)  # noqa: JDP204\n" in text


class TestBaseline:
    def test_what_is_known_is_not_reported(self, lint: Lint) -> None:
        code, out, err = lint("--write-baseline", "b.json", ".")
        assert (code, out) == (0, "")
        assert err.startswith("1 finding written to b.json.\n")
        code, out, err = lint("--baseline", "b.json", ".")
        assert (code, out) == (0, "")
        assert err.startswith("1 known finding not shown: the baseline has it.\n")

    def test_growth_is_a_finding(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        add("\n\ndef g(x, d):\n    jax.device_put(x, d)\n")
        code, out, _ = lint("--baseline", "b.json", ".")
        assert code == 1
        assert out.startswith("hazard.py:10:5: JDP204 ")
        assert out.count("\n") == 1

    def test_moved_lines_are_known(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        text = HAZARD.read_text(encoding="utf-8")
        HAZARD.write_text("# More.\n\n\n" + text.replace("return x", "return d"), encoding="utf-8")
        assert lint("--baseline", "b.json", ".")[:2] == (0, "")

    @pytest.mark.parametrize("jobs", ["1", "2"])
    @pytest.mark.parametrize("cache", [(), ("--no-cache",)])
    def test_with_processes_and_the_cache(
        self, process: Process, jobs: str, cache: tuple[str, ...]
    ) -> None:
        process("--write-baseline", "b.json", ".")
        for _ in range(2):
            done = process("--baseline", "b.json", "-j", jobs, *cache, ".")
            assert (done.returncode, done.stdout) == (0, b"")
        add("\n\ndef g(x, d):\n    jax.device_put(x, d)\n")
        for _ in range(2):
            done = process("--baseline", "b.json", "-j", jobs, *cache, ".")
            assert done.returncode == 1
            assert done.stdout.count(b"\n") == 1

    def test_standard_input(self, process: Process) -> None:
        process("--write-baseline", "b.json", ".")
        data = HAZARD.read_bytes()
        named = ("-", "--stdin-filename", "hazard.py", "--baseline", "b.json")
        assert process(*named, stdin=data).returncode == 0
        more = data + b"\n\ndef g(x, d):\n    jax.device_put(x, d)\n"
        done = process(*named, stdin=more)
        assert (done.returncode, done.stdout.count(b"\n")) == (1, 1)
        assert process("-", "--baseline", "b.json", stdin=data).returncode == 1

    def test_known_findings_are_fixed_too(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        code, _, err = lint("--baseline", "b.json", "--fix", ".")
        assert code == 0
        assert CALL not in HAZARD.read_text(encoding="utf-8")
        assert "note: 1 finding in b.json no longer occurs; --update-baseline removes it" in err

    def test_it_is_a_setting(self, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("sub").mkdir()
        Path("sub/s.py").write_text(HAZARD.read_text(encoding="utf-8"), encoding="utf-8")
        lint("--write-baseline", "known/b.json", ".")
        Path("known").mkdir()
        assert lint("--write-baseline", "known/b.json", ".")[0] == 0
        assert [each["path"] for each in entries("known/b.json")] == ["../hazard.py", "../sub/s.py"]
        Path("placement-lint.toml").write_text('baseline = "known/b.json"\n', encoding="utf-8")
        assert lint(".")[0] == 0
        assert lint("--isolated", ".")[0] == 1
        monkeypatch.chdir("sub")
        assert lint(".")[0] == 0
        assert lint("s.py")[0] == 0
        assert lint("../hazard.py")[0] == 0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (None, "b.json: the baseline cannot be read: No such file or directory"),
            ("{}", 'b.json: not a baseline: no "format": "placement-lint baseline" in it'),
            ("[", "b.json: not a baseline: not valid JSON"),
        ],
    )
    @pytest.mark.parametrize("more", [(), ("--update-baseline",), ("--write-baseline", "b.json")])
    def test_one_that_cannot_be_used(
        self, lint: Lint, text: str | None, message: str, more: tuple[str, ...]
    ) -> None:
        if text is not None:
            Path("b.json").write_text(text, encoding="utf-8")
        elif "--write-baseline" in more:
            return
        code, out, err = lint("--baseline", "b.json", *more, ".")
        assert (code, out) == (2, "")
        assert err == f"error: {message}\n"
        assert text is None or Path("b.json").read_text(encoding="utf-8") == text

    def test_json_output_leaves_them_out(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        out = lint("--baseline", "b.json", "--output-format", "json", ".")[1]
        assert json.loads(out)["findings"] == []

    def test_quiet(self, lint: Lint) -> None:
        assert lint("--write-baseline", "b.json", ".", "-q") == (0, "", "")
        assert lint("--baseline", "b.json", ".", "-q") == (0, "", "")
        HAZARD.write_text("", encoding="utf-8")
        assert lint("--baseline", "b.json", "--update-baseline", ".", "-q") == (0, "", "")
        assert entries() == []


class TestFewer:
    def test_what_is_found_no_longer(self, lint: Lint) -> None:
        add("\n\ndef g(x, d):\n    jax.device_put(x, d)\n")
        lint("--write-baseline", "b.json", ".")
        HAZARD.write_text(HAZARD.read_text(encoding="utf-8").replace(CALL, SILENT, 1), "utf-8")
        code, _, err = lint("--baseline", "b.json", ".")
        assert code == 0
        assert "note: 1 finding in b.json no longer occurs; --update-baseline removes it" in err
        assert len(entries()) == 2
        code, _, err = lint("--baseline", "b.json", "--update-baseline", ".")
        assert code == 0
        assert "Removed 1 finding from b.json.\n" in err
        assert len(entries()) == 1
        assert "no longer" not in lint("--baseline", "b.json", ".")[2]

    def test_it_never_grows(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        before = Path("b.json").read_bytes()
        add("\n\ndef g(x, d):\n    jax.device_put(x, d)\n")
        assert lint("--baseline", "b.json", "--update-baseline", ".")[0] == 1
        assert Path("b.json").read_bytes() == before

    def test_a_file_that_is_gone(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        HAZARD.unlink()
        assert "no longer occurs" in lint("--baseline", "b.json", ".")[2]
        lint("--baseline", "b.json", "--update-baseline", ".")
        assert entries() == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ["clean.py"],  # a commit hook sees a part of the program
            ["hazard.py"],
            [".", "--select", "JDP1"],
            [".", "--ignore", "JDP204"],
            [".", "--min-confidence", "definite"],
            [".", "--target-jax", "0.4.30"],
            [".", "--exclude", "hazard.py"],
            ["sub"],
        ],
    )
    def test_what_was_not_looked_at_is_kept(self, lint: Lint, arguments: list[str]) -> None:
        Path("sub").mkdir()
        Path("sub/s.py").write_text("import jax\n", encoding="utf-8")
        lint("--write-baseline", "b.json", ".")
        text = HAZARD.read_text(encoding="utf-8")
        HAZARD.write_text(text.replace(CALL, SILENT), encoding="utf-8")
        code, _, err = lint("--baseline", "b.json", "--update-baseline", *arguments)
        assert code == 0
        assert "Removed" not in err
        assert len(entries()) == 1
        assert "no longer" not in lint("--baseline", "b.json", *arguments)[2]

    def test_what_cannot_be_parsed_is_kept(self, lint: Lint) -> None:
        lint("--write-baseline", "b.json", ".")
        HAZARD.write_text("import jax\njax.device_put([], d\n", encoding="utf-8")
        code, out, _ = lint("--baseline", "b.json", "--update-baseline", ".")
        assert (code, "JDP901" in out) == (1, True)
        assert len(entries()) == 1

    def test_a_part_of_the_program_written_anew(self, lint: Lint) -> None:
        Path("sub").mkdir()
        Path("sub/s.py").write_text(HAZARD.read_text(encoding="utf-8"), encoding="utf-8")
        lint("--write-baseline", "b.json", ".")
        assert len(entries()) == 2
        HAZARD.write_text("", encoding="utf-8")
        lint("--write-baseline", "b.json", "sub")
        assert len(entries()) == 2
        lint("--write-baseline", "b.json", ".")
        assert [each["path"] for each in entries()] == ["sub/s.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add-noqa", "--fix"], "--add-noqa and --fix"),
        (["--add-noqa", "--write-baseline", "b.json"], "--add-noqa and --write-baseline"),
        (["--add-noqa=a # b"], "--add-noqa: a reason is one line of text without a #"),
        (
            ["--write-baseline", "b.json", "--diff"],
            "--diff cannot be combined with --write-baseline",
        ),
        (["--update-baseline", "--diff"], "--diff cannot be combined with --write-baseline"),
        (["--write-baseline", "b.json", "-"], "cannot be written for standard input"),
        (
            ["--write-baseline", "b.json", "--update-baseline"],
            "--update-baseline cannot be combined",
        ),
        (["--update-baseline", "."], "there is no baseline; name one with --baseline FILE"),
        (["--baseline", "", "."], "no path"),
    ],
)
def test_what_makes_no_sense(lint: Lint, arguments: list[str], message: str) -> None:
    code, out, err = lint(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert CALL in HAZARD.read_text(encoding="utf-8")
    assert not Path("b.json").exists()


def test_flake8_knows_the_baseline_too(files: Path, lint: Lint) -> None:
    pytest.importorskip("flake8", reason="flake8 is not installed; the dev extra brings it")
    lint("--write-baseline", "b.json", ".")
    add("\n\ndef g(x, d):\n    jax.device_put(x, d)\n")
    Path("placement-lint.toml").write_text('baseline = "b.json"\n', encoding="utf-8")
    command = warm.command("flake8", "--select", "JDP")
    done = subprocess.run([*command, "."], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("./hazard.py:10:5: JDP204 ")
    assert done.stdout.count("\n") == 1
    named = [*command, "--stdin-display-name", "hazard.py", "-"]
    text = HAZARD.read_text(encoding="utf-8")
    done = subprocess.run(named, input=text, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("hazard.py:10:5: JDP204 ")
    assert done.stdout.count("\n") == 1
    Path("b.json").write_text("{}", encoding="utf-8")
    done = subprocess.run([*command, "."], capture_output=True, text=True, check=False)
    assert "not a baseline" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
