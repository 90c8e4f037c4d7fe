"""The page of features: each that is there has its test, and each that is not says so."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, TOP

PAGE = DOCS / "compared.md"
FEATURES = """
selection by code, prefix or name; an unknown code is an error; per-file ignores; rules off by
default; severity; confidence; target version of the library; target version of the language; old
codes and names go on working; stability policy; third-party rules; inline suppression with codes;
suppression on the line above; block suppression; whole-file suppression; unused suppressions are
found; unknown codes in suppressions are found; suppressions written for you; only changed lines;
baseline; fixes; safe and unsafe fixes; a diff; fixes until none is left; a rule explained in the
terminal; a page for each rule; pages made from the rules themselves; hazard and fix run for real;
lines as flake8 writes them; frames of the code; JSON, JSON lines; SARIF; GitHub annotations;
GitLab code quality; JUnit, rdjson; Markdown; several outputs at once; custom output template;
statistics; a limit to what is written; progress; colour; links on terminals; documented exit
codes; findings are no success; a level to fail on; a missing path is an error; settings in
`pyproject.toml`; settings of each folder; an unknown setting is an error; a JSON schema of the
settings; settings on the command line, or none; the settings and files that hold are shown; what
git ignores, and excludes; standard input with a name; notebooks; shell completion; a cache;
several processes; watch mode; a language server; code actions; a flake8 plugin; pre-commit hooks;
a GitHub action; values are followed; from a function to its callers; from file to file; no code of
what is linted is run; a harness for tests of rules; a rule begun for you
"""
"""What linters were compared by. None of them may be lost, be it only that there is none here."""

_ROW = re.compile(r"^\| (?!feature )([^|-][^|]*) \| (\w+) \|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py(?:::\w+)+)`")
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_every_feature_is_there_once() -> None:
    wanted = [" ".join(feature.split()) for feature in FEATURES.split(";")]
    assert [row[0] for row in ROWS] == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_there_has_a_test_and_what_is_not_says_why(row: tuple[str, str, str, str]) -> None:
    _, here, note, shown_by = row
    tests = _TEST.findall(shown_by)
    assert here in {"yes", "partly", "no"}
    assert _TEST.sub("", shown_by).replace(",", "").strip() == ""
    assert bool(tests) == (here != "no")
    assert note.strip() or here == "yes"


@pytest.mark.every
def test_every_test_is_collected() -> None:
    named = sorted({f"tests/{test}" for row in ROWS for test in _TEST.findall(row[3])})
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:xdist"]
    run = subprocess.run(
        # xdist's option is among those of the project.
        [*line, "-o", "addopts=--strict-markers", "-p", "no:cacheprovider", *named],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    collected = {line.partition("[")[0] for line in run.stdout.splitlines() if "::" in line}
    assert collected == set(named)
