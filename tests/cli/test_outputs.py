from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.config.options import FORMATS

Lint = Callable[..., tuple[int, str, str]]
FOUND = "hazard.py:5:5: JDP204 "


def text_of(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


class TestSeveralAtOnce:
    def test_files_in_formats_beside_what_is_printed(self, lint: Lint) -> None:
        code, out, _ = lint(
            *("hazard.py", "--output-file", "sarif:found.sarif"),
            *("--output-file=json:found.json", "--output-file", "junit:found.xml"),
        )
        assert code == 1
        assert out.startswith(FOUND)
        assert json.loads(text_of("found.sarif"))["runs"][0]["invocations"][0]["exitCode"] == 1
        assert json.loads(text_of("found.json"))["findings"][0]["code"] == "JDP204"
        assert text_of("found.xml").startswith('<?xml version="1.0"')

    def test_every_format(self, lint: Lint) -> None:
        options = [word for form in FORMATS for word in ("--output-file", f"{form}:out.{form}")]
        assert lint("hazard.py", *options)[0] == 1
        for form in FORMATS:
            assert "JDP204" in text_of(f"out.{form}")
        assert text_of("out.flake8") == lint("hazard.py")[1]
        assert "\x1b" not in text_of("out.full")

    def test_a_file_alone_takes_the_place_of_what_is_printed(self, lint: Lint) -> None:
        options = ("--output-file", "a.txt", "--output-file", "json:a.json")
        assert lint("hazard.py", *options)[:2] == (1, "")
        assert text_of("a.txt").startswith(FOUND)
        assert lint("hazard.py", "--output-format", "jsonl", "--output-file", "a.txt")[1] == ""
        assert json.loads(text_of("a.txt"))["code"] == "JDP204"

    @pytest.mark.parametrize(
        ("form", "hint"), [("sarfi", "did you mean `sarif`?"), ("html", "use one of flake8, full")]
    )
    def test_an_unknown_format_loses_no_report(self, form: str, hint: str, lint: Lint) -> None:
        code, out, err = lint("hazard.py", "--output-file", f"{form}:x")
        assert (code, out) == (2, "")
        assert err.startswith(f"error: --output-file: unknown format `{form}`; {hint}")
        assert not Path(f"{form}:x").exists()

    def test_a_dash_is_standard_output(self, lint: Lint) -> None:
        assert lint("hazard.py", "--output-file", "-")[1] == lint("hazard.py")[1]
        code, out, _ = lint("hazard.py", "--output-file", "jsonl:-", "--output-file", "a.txt")
        assert (code, json.loads(out)["line"]) == (1, 5)
        assert not Path("-").exists()

    def test_a_colon_in_a_name(self, lint: Lint) -> None:
        lint("hazard.py", "--output-file", "./yaml:x")
        assert text_of("yaml:x").startswith(FOUND)
        lint("hazard.py", "--output-file", "json:json:x")
        assert json.loads(text_of("json:x"))["version"] == 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["json:a", "sarif:a"], "can take one report, not several"),
            (["json:a", "sarif:./a"], "can take one report, not several"),
            (["json:-", "sarif:-"], "standard output can take one report, not several"),
            (["-", "json:-"], "standard output can take one report"),
            (["a", "b"], "a and b would be the same: say the format of one, as in json:b"),
            (["json:"], "the name of the file is missing"),
            ([""], "the name of the file is missing"),
            (["json:no/a"], "no/a: cannot be written: there is no directory no"),
            (["json:folder"], "folder: cannot be written: it is a directory"),
        ],
    )
    def test_what_contradicts_itself(self, lint: Lint, arguments: list[str], message: str) -> None:
        Path("folder").mkdir()
        options = [f"--output-file={argument}" for argument in arguments]
        code, out, err = lint("hazard.py", *options)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
        # Nothing was linted first, and nothing written.
        assert {path.name for path in Path().iterdir()} == {
            *("broken.py", "clean.py", "folder", "hazard.py"),
        }

    def test_beside_a_diff(self, lint: Lint) -> None:
        code, _, err = lint("hazard.py", "--diff", "--output-file", "json:a")
        assert code == 2
        assert "--diff writes no findings" in err
        assert lint("hazard.py", "--diff", "--statistics")[0] == 2
        assert lint("hazard.py", "--diff", "--output-file", "a")[:2] == (1, "")
        assert text_of("a").startswith("--- hazard.py\n")


class TestFiles:
    def test_a_file_is_whole_or_not_there(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("a.json").write_text("before", encoding="utf-8")

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        options = ("--output-file", "json:a.json", "--no-cache")
        code, out, err = lint("hazard.py", *options)
        assert code == 2
        assert "error: a.json: cannot be written: No space left on device\n" in err
        assert out.startswith(FOUND)
        assert text_of("a.json") == "before"
        assert [path.name for path in Path().glob("a.json*")] == ["a.json"]

    def test_one_that_fails_does_not_lose_the_others(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("a.json").write_text("before", encoding="utf-8")
        allowed = os.access
        monkeypatch.setattr(
            os,
            "access",
            lambda path, mode: not str(path).endswith("a.json") and allowed(path, mode),
        )
        options = ("--output-file", "json:a.json", "--output-file", "sarif:b.sarif")
        code, out, err = lint("hazard.py", *options)
        assert code == 2
        assert "error: a.json: cannot be written: it is read-only\n" in err
        assert out.startswith(FOUND)
        assert text_of("a.json") == "before"
        assert "JDP204" in text_of("b.sarif")

    @pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
    def test_modes_and_links_stay(self, lint: Lint) -> None:
        Path("real").mkdir()
        Path("real/a.json").write_text("before", encoding="utf-8")
        Path("real/a.json").chmod(0o640)
        Path("a.json").symlink_to("real/a.json")
        lint("hazard.py", "--output-file", "json:a.json", "--output-file", "sarif:b.sarif")
        assert Path("a.json").is_symlink()
        assert "JDP204" in text_of("real/a.json")
        assert stat.S_IMODE(Path("real/a.json").stat().st_mode) == 0o640
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE(Path("b.sarif").stat().st_mode) == 0o666 & ~mask

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_a_pipe_stays_one(self, lint: Lint) -> None:
        os.mkfifo("pipe")
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append(text_of("pipe")))
        reader.start()
        lint("hazard.py", "--output-file", "jsonl:pipe")
        reader.join()
        assert json.loads(read[0])["code"] == "JDP204"
        assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
        lint("hazard.py", "--output-file", "json:/dev/null")
        assert not Path("/dev/null").is_file()


class TestFailOn:
    def test_only_what_is_as_bad_counts(self, lint: Lint) -> None:
        text = "import jax\n\nd = jax.devices('cpu')[0]\nx = jax.device_put(1)  # noqa: JDP999\n"
        Path("w.py").write_text(text + "# placement-lint: ignore[JDP204]\n", encoding="utf-8")
        _, out, _ = lint("w.py", "--output-format", "jsonl")
        severities = {json.loads(line)["severity"] for line in out.splitlines()}
        assert severities
        assert "error" not in severities
        assert lint("w.py")[0] == 1
        assert lint("w.py", "--fail-on", "info")[0] == 1
        assert lint("w.py", "--fail-on", "error")[0] == 0
        assert lint("w.py", "hazard.py", "--fail-on", "error")[0] == 1
        Path("placement-lint.toml").write_text('fail-on = "error"\n', encoding="utf-8")
        assert lint("w.py")[0] == 0
        assert lint("w.py", "--fail-on=info")[0] == 1

    def test_what_could_not_be_analysed_always_counts(self, lint: Lint) -> None:
        assert lint("broken.py", "--fail-on", "error")[0] == 1
        assert lint("broken.py", "--fail-on", "error", "--diff")[0] == 1
        assert lint("nosuch", "--fail-on", "error")[0] == 2

    def test_a_level_there_is_not(self, lint: Lint) -> None:
        code, _, err = lint("clean.py", "--fail-on", "fatal")
        assert code == 2
        assert "--fail-on: unknown value `fatal`" in err


class TestMaxFindings:
    @pytest.fixture(autouse=True)
    def many(self, files: Path) -> None:
        line = "    jax.device_put(x, d)\n"
        text = "import jax\n\n\ndef f(x, d):\n" + line * 5 + "    return x\n"
        (files / "hazard.py").write_text(text, encoding="utf-8")

    def test_no_more_are_written_and_all_are_counted(self, lint: Lint) -> None:
        code, out, err = lint("hazard.py", "--max-findings", "2")
        assert code == 1
        assert out.count("\n") == 2
        assert "note: 3 more findings are not written: max-findings\n" in err
        assert "Found 5 findings" in err
        code, out, err = lint("hazard.py", "--max-findings=0", "-q")
        assert (code, out) == (1, "")
        assert "5 more findings" in err
        assert "1 more finding is not" in lint("hazard.py", "--max-findings=4")[2]
        assert "max-findings" not in lint("hazard.py", "--max-findings", "5")[2]

    def test_reports_say_so(self, lint: Lint) -> None:
        options = ("--output-format=json", "--output-file=sarif:a", "--output-file=-")
        report = json.loads(lint("hazard.py", "--max-findings", "2", *options)[1])
        assert (len(report["findings"]), report["summary"]["omitted"]) == (2, 3)
        (run,) = json.loads(text_of("a"))["runs"]
        assert len(run["results"]) == 2
        (note,) = run["invocations"][0]["toolExecutionNotifications"]
        assert note["message"]["text"] == "3 more findings are left out (--max-findings)"

    def test_the_setting(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text("max-findings = 1\n", encoding="utf-8")
        assert lint("hazard.py")[1].count("\n") == 1
        assert lint("hazard.py", "--max-findings", "9")[1].count("\n") == 5
        assert lint("hazard.py", "--max-findings", "-1")[0] == 2

    def test_statistics_count_all(self, lint: Lint) -> None:
        code, out, err = lint("hazard.py", "--statistics", "--max-findings", "2")
        assert code == 1
        assert out.startswith("5  JDP204  [*] device-put-discarded\n")
        assert "max-findings" not in err


class TestStatistics:
    def test_as_text(self, lint: Lint) -> None:
        code, out, err = lint("hazard.py", "broken.py", "--statistics")
        assert code == 1
        assert out == (
            "1  JDP204  [*] device-put-discarded\n"
            "1  JDP901      invalid-syntax\n"
            "[*] fixable with `--fix`, [-] partly, or with `--unsafe-fixes`\n"
        )
        assert "Found 2 findings" in err
        assert lint("clean.py", "--statistics")[:2] == (0, "")

    def test_as_json(self, lint: Lint) -> None:
        out = lint("hazard.py", "--statistics", "--output-format", "json")[1]
        assert json.loads(out) == {
            "version": 1,
            "statistics": [
                {
                    "code": "JDP204",
                    "name": "device-put-discarded",
                    "severity": "error",
                    "count": 1,
                    "fixable": 1,
                    "fixable_unsafely": 0,
                }
            ],
        }

    def test_files_in_a_format_get_the_findings(self, lint: Lint) -> None:
        _, out, _ = lint("hazard.py", "--statistics", "--output-file", "jsonl:a")
        assert out.startswith("1  JDP204")
        assert json.loads(text_of("a"))["line"] == 5
        assert lint("hazard.py", "--statistics", "--output-file", "b")[1] == ""
        assert text_of("b") == out

    @pytest.mark.parametrize("form", ["sarif", "junit", "jsonl", "github"])
    def test_not_in_every_format(self, lint: Lint, form: str) -> None:
        message = f"--statistics is written as text or json, not as {form}\n"
        for options in (["--output-format", form], ["--output-file", f"{form}:-"]):
            code, out, err = lint("hazard.py", "--statistics", *options)
            assert (code, out) == (2, "")
            assert message in err
        Path("placement-lint.toml").write_text(f'output-format = "{form}"\n', encoding="utf-8")
        code, out, err = lint("hazard.py", "--statistics")
        assert (code, out) == (2, "")
        assert message in err


class TestTiming:
    def test_it_is_said_beside_the_findings(self, lint: Lint) -> None:
        _, out, err = lint("hazard.py", "--timing", "--no-cache")
        assert out == lint("hazard.py")[1]
        assert err.startswith("time in seconds:\n  finding files ")
        for part in ("reading files", "filter", "parsing", "interpretation", "rules"):
            assert f"\n  {part} " in err
        assert "\n  the whole run " in err
        assert "time in seconds" not in lint("hazard.py")[2]

    def test_in_processes(
        self, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Path.cwd() == files
        from placement_lint.lint.run import check_files

        always = {**(check_files.__kwdefaults__ or {}), "parallel_bytes": 0}
        monkeypatch.setattr(check_files, "__kwdefaults__", always)
        for number in range(3):
            Path(f"h{number}.py").write_text(text_of("hazard.py"), encoding="utf-8")
        main([".", "--timing", "--no-cache", "-j", "2"])
        out, err = capsys.readouterr()
        assert out.count("JDP204") == 4
        assert "\n  waiting for other processes " in err
        assert "\n  parsing " in err

    def test_from_the_cache(self, lint: Lint) -> None:
        lint("hazard.py")
        err = lint("hazard.py", "--timing")[2]
        assert "\n  cache " in err
        assert "parsing" not in err


class TestWrongSettings:
    def test_sarif_has_a_place_for_them(self, lint: Lint) -> None:
        Path("placement-lint.toml").write_text("selct = []\n", encoding="utf-8")
        code, out, err = lint("hazard.py", "--output-format", "sarif")
        assert code == 2
        assert "unknown setting `selct`" in err
        (invocation,) = json.loads(out)["runs"][0]["invocations"]
        assert invocation["executionSuccessful"] is False
        (wrong,) = invocation["toolConfigurationNotifications"]
        assert "unknown setting `selct`" in wrong["message"]["text"]
        code, out, _ = lint("hazard.py", "--output-file", "sarif:a", "--output-file", "json:b")
        assert (code, out) == (2, "")
        assert json.loads(text_of("a"))["runs"][0]["results"] == []
        assert not Path("b").exists()


class TestTheSameEveryTime:
    @pytest.mark.parametrize("form", sorted({*FORMATS} - {"json"}))
    def test_from_the_cache_and_in_any_order(self, lint: Lint, form: str) -> None:
        silent = "  # placement-lint: ignore[JDP204] why\n"
        text = text_of("hazard.py").replace("(x, d)\n", "(x, d)" + silent)
        Path("silent.py").write_text(text, encoding="utf-8")
        names = ["hazard.py", "silent.py", "broken.py"]
        told = ("--output-format", form)
        cold = lint(*names, *told, "--no-cache")[:2]
        assert lint(*names, *told)[:2] == cold
        assert lint(*names, *told)[:2] == cold
        assert lint(*reversed(names), *told, "--no-cache")[:2] == cold

    def test_json_but_for_what_it_says_of_the_run(self, lint: Lint) -> None:
        reports = [
            json.loads(lint("hazard.py", "--output-format", "json", *options)[1])
            for options in (["--no-cache"], [], [])
        ]
        for report in reports:
            del report["summary"]
        assert reports[0] == reports[1] == reports[2]

    def test_a_terminal_changes_only_what_is_for_people(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        piped = {form: lint("hazard.py", "--output-format", form)[1] for form in FORMATS[3:]}
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm-kitty")
        for form, text in piped.items():
            assert lint("hazard.py", "--output-format", form)[1] == text


class TestLinks:
    @pytest.fixture(autouse=True)
    def site(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PLACEMENT_LINT_DOCS", "https://docs.example")

    LINK = "\x1b]8;;https://docs.example/rules/JDP204/\x1b\\"

    def test_on_a_terminal_that_knows_them(
        self, lint: Lint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full = ("hazard.py", "--output-format", "full")
        assert "\x1b" not in lint(*full)[1]
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm-kitty")
        assert lint(*full)[1].startswith(
            f"{self.LINK}\x1b[1;31merror[JDP204]\x1b[0m\x1b]8;;\x1b\\: "
        )
        assert lint("hazard.py", "--statistics")[1].startswith(f"1  {self.LINK}")
        assert "\x1b]8" not in lint(*full, "--color", "never")[1]
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in lint(*full)[1]

    def test_forced(self, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_HYPERLINK", "1")
        out = lint("hazard.py", "--output-format", "full")[1]
        assert out.startswith(f"{self.LINK}error[JDP204]\x1b]8;;\x1b\\: ")
        assert "\x1b" not in lint("hazard.py")[1]
        lint("hazard.py", "--output-file", "full:a")
        assert "\x1b" not in text_of("a")

    def test_none_without_a_site(self, lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_HYPERLINK", "1")
        monkeypatch.delenv("PLACEMENT_LINT_DOCS")
        assert "\x1b" not in lint("hazard.py", "--output-format", "full")[1]


class TestNotebooks:
    def test_the_cell_is_in_every_format(self, lint: Lint) -> None:
        code = ["import jax\n", "\n", "def f(x, d):\n", "    jax.device_put(x, d)\n"]
        cells = [
            {"cell_type": "markdown", "source": "# title", "metadata": {}},
            {"cell_type": "code", "source": code, "metadata": {}},
        ]
        document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        Path("n.ipynb").write_text(json.dumps(document, indent=1), encoding="utf-8")
        lines = text_of("n.ipynb").split("\n")
        line = next(number for number, text in enumerate(lines, 1) if "jax.device_put" in text)
        out = {form: lint("n.ipynb", "--output-format", form)[1] for form in FORMATS}
        assert out["flake8"].startswith("n.ipynb:cell 2:4:5: JDP204 ")
        assert " --> n.ipynb:cell 2:4:5\n" in out["full"]
        (found,) = json.loads(out["json"])["findings"]
        assert (found["cell"], found["line"]) == (2, 4)
        assert json.loads(out["jsonl"]) == found
        # Services show the line of the file, and no columns, which are others in its JSON.
        (result,) = json.loads(out["sarif"])["runs"][0]["results"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"] == {"startLine": line, "endLine": line}
        assert place["logicalLocations"] == [{"name": "cell 2", "kind": "cell"}]
        assert result["message"]["text"].startswith("cell 2, line 4: the result of")
        assert f"::error file=n.ipynb,line={line},endLine={line},title=" in out["github"]
        assert "::n.ipynb:cell 2:4:5: JDP204 " in out["github"]
        (issue,) = json.loads(out["gitlab"])
        assert issue["location"]["lines"] == {"begin": line, "end": line}
        assert "cell 2, line 4" in issue["description"]
        assert 'name="JDP204 device-put-discarded at cell 2:4:5"' in out["junit"]
        (diagnostic,) = json.loads(out["rdjson"])["diagnostics"]
        assert diagnostic["location"]["range"]["start"] == {"line": line}
        assert diagnostic["message"].startswith("cell 2, line 4: ")
        assert "suggestions" not in diagnostic

    @pytest.mark.parametrize("cached", [False, True])
    def test_so_is_that_of_what_a_finding_goes_back_to(self, lint: Lint, cached: bool) -> None:
        codes = [
            ["import jax\n", "cpu = jax.devices('cpu')[0]"],
            ["with jax.default_device(cpu):\n", "    x = jax.numpy.zeros((8, 8))"],
            ["x[0]"],
        ]
        cells = [{"cell_type": "code", "source": code, "metadata": {}} for code in codes]
        document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        Path("n.ipynb").write_text(json.dumps(document, indent=1), encoding="utf-8")
        lines = text_of("n.ipynb").split("\n")
        line = next(number for number, text in enumerate(lines, 1) if "numpy.zeros" in text)
        if cached:
            lint("n.ipynb")
        out = {
            form: lint("n.ipynb", "--output-format", form)[1]
            for form in ("full", "json", "sarif", "rdjson")
        }
        assert " --> n.ipynb:cell 2:2:9\n" in out["full"]
        assert "2 |     x = jax.numpy.zeros((8, 8))\n" in out["full"]
        (related,) = json.loads(out["json"])["findings"][0]["related"]
        assert (related["cell"], related["line"], related["column"]) == (2, 2, 9)
        (place,) = json.loads(out["sarif"])["runs"][0]["results"][0]["relatedLocations"]
        assert place["physicalLocation"]["region"] == {"startLine": line, "endLine": line}
        assert place["logicalLocations"] == [{"name": "cell 2", "kind": "cell"}]
        (diagnostic,) = json.loads(out["rdjson"])["diagnostics"]
        assert "note: n.ipynb:cell 2:2:9: " in diagnostic["message"]
