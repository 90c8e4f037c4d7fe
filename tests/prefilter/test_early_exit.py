"""What is passed over before the rules are there could not have been flagged by them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.files.store import FileStore
from placement_lint.prefilter import early_exit
from placement_lint.prefilter.conditions import FileText
from placement_lint.rules.registry import all_rules
from tests.fixture_cases import all_cases
from tests.program_cases import all_programs

PLAIN = b'"""Nothing of interest."""\n\nimport os\n\nprint(os.name)\n'
TOP = str(Path(__file__).parents[2])
_WORD = re.compile("|".join(re.escape(word.decode()) for word in early_exit.WORDS), re.IGNORECASE)


def test_no_case_with_a_finding_is_passed_over() -> None:
    flagged = [case for case in all_cases() if case.before.findings]
    assert len(flagged) > 500
    assert [
        case.name for case in flagged if early_exit.is_plain("a.py", case.before.text.encode())
    ] == []


def test_no_program_is_passed_over() -> None:
    for program in all_programs():
        plain = [
            early_exit.is_plain(path, text.expected.text.encode())
            for path, text in program.files.items()
        ]
        assert not all(plain), program.id


def test_without_the_words_no_rule_has_what_it_needs() -> None:
    """All words of all fixtures are there but these, so that what else a rule asks for is met.

    But for one that asks for no other word than NumPy's where a text is so large that each name is
    taken for possible; in each case alone it asks in vain, too. And but for JDP506: a file that
    forks needs no such word, but what starts the backend before has one, in whichever file it is.
    """
    texts = [case.before.text for case in all_cases()]
    assert rules_with_needs_in("\n".join(texts)) <= {"JDP401", "JDP506"}
    met = [rules_with_needs_in(text) for text in texts if "import *" not in text]
    assert {code for codes in met for code in codes} <= {"JDP506"}


def test_with_the_words_each_rule_has_what_it_needs() -> None:
    text = FileText("\n".join(case.before.text for case in all_cases()).encode(), jax=True)
    silent = {rule.code for rule in all_rules() if not rule.needs.met_by(text)}
    # These ask for no text, for one that is no program, or for one without a word.
    assert silent <= {"JDP503", "JDP507", "JDP900", "JDP901", "JDP903"}


def rules_with_needs_in(text: str) -> set[str]:
    """Return the rules that pass a text from which the words are taken out."""
    without = _WORD.sub("qq", text).encode()
    assert early_exit.is_plain("a.py", without)
    said = FileText(without, jax=False)
    return {rule.code for rule in all_rules() if rule.needs.met_by(said)}


@pytest.mark.parametrize(
    ("path", "data", "plain"),
    [
        ("a.py", PLAIN, True),
        ("a.pyi", b"", True),
        ("a.py", b"\xef\xbb\xbf" + PLAIN, True),
        ("a.py", b"def f(:\n", True),  # what cannot matter is not parsed
        ("a.ipynb", PLAIN, False),
        ("a", PLAIN, False),
        ("a.py", PLAIN + b"import jax\n", False),
        ("a.py", PLAIN + b"x = 1  # NOQA: JdP201\n", False),
        ("a.py", b"# coding: utf-16\n" + PLAIN, False),
        ("a.py", b"\n# -*- coding: latin-1 -*-\n" + PLAIN, False),
        ("a.py", b"name = '\xff'\n", False),
        ("a.py", b"x = " + b"(" * 2000 + b")" * 2000 + b"\n", False),
    ],
)
def test_a_file_is_plain(path: str, data: bytes, *, plain: bool) -> None:
    assert early_exit.is_plain(path, data) is plain


def test_a_run_over_plain_files_says_what_it_always_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(PLAIN)
    (tmp_path / "b.py").write_bytes(PLAIN)
    fast = main([".", "--no-cache"]), capsys.readouterr()
    monkeypatch.setattr(early_exit, "MOST_FILES", 1)
    assert (main([".", "--no-cache"]), capsys.readouterr()) == fast
    assert fast[0] == 0
    assert fast[1].err == "No findings in 2 files.\n"


def test_what_cannot_be_read_is_found_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_bytes(PLAIN)
    (tmp_path / "b.py").write_bytes(b"name = '\xff'\n")
    assert main([str(tmp_path), "--no-cache", "--isolated"]) == 1
    assert "b.py:1:1: JDP900" in capsys.readouterr().out
    there, gone = str(tmp_path / "a.py"), str(tmp_path / "gone.py")
    assert early_exit.nothing_can_be_found([there], FileStore())
    assert not early_exit.nothing_can_be_found([there, gone], FileStore())


def test_a_wrong_selector_is_wrong_for_plain_files_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_bytes(PLAIN)
    (tmp_path / "placement-lint.toml").write_text('ignore = ["JDP999"]\n', encoding="utf-8")
    assert main([str(tmp_path / "a.py"), "--no-cache"]) == 2
    assert "unknown rule `JDP999`" in capsys.readouterr().err


def test_no_rule_is_imported_for_plain_files(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(PLAIN)
    code = (
        f"import sys\nsys.path.insert(0, {TOP!r})\n"
        f"from placement_lint.cli import main\nmain([{str(path)!r}, '--isolated'])\n"
        "print([n for n in sys.modules if n.split('.')[:2] in "
        "(['libcst'], ['placement_lint', 'rules'], ['placement_lint', 'placement'])])\n"
        "print(sum(n.startswith('placement_lint') for n in sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    rules, count = run.stdout.splitlines()
    assert rules == "[]"
    assert int(count) <= 44
