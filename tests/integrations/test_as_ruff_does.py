"""Comments that silence, and per-file ignores: read as ruff reads them, in a real ruff.

Each case is written once, for two rules that speak of the same place: ruff's F821 (an undefined
name) where JDP204 (a discarded `device_put`) stands in ours, and so on. Where a tool does something
else than the other, the case says so: what ruff does, and why it is not done here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from placement_lint.cli.check import main
from placement_lint.config.settings import Settings
from placement_lint.lint.linter import Linter

HEAD = "import jax\nx = d = 1\n"
WORDS = {
    "CALL": ("missing", "jax.device_put"),
    "HIT": ("F821", "JDP204"),
    "hit": ("f821", "jdp204"),
    "IDLE": ("F632", "JDP101"),
    "OFF": ("E711", "JDP405"),
    "NEW": ("F999", "JDP999"),
    "SHORT": ("F82", "JDP20"),
    "AGAIN": ("RUF100", "JDP902"),
    "UNKNOWN": ("RUF102", "JDP904"),
}
"""Words of the cases: for ruff, for us."""

FLAKE8 = "flake8 reads it so, whose comment it is"
MEANT = "it is plain what is meant"
LAST_LINE = "a formatter moves the comment there when it splits a call"
NOT_OURS = "a blanket one may be of use to any linter"
OFF = "what was not looked for in this run may be found in the next one"
WHICH = "of a code nobody can tell what was meant; a newer version may have it"
REASON = "a reason may be worth more than the code: it stays, as a comment"
TWICE = "of two comments that silence one finding both are of use"
BEGINNING = "the beginning of a code stands for all rules that begin so, as in flake8"


@dataclass(frozen=True)
class Case:
    """One comment. `here`: what is found where that is not what ruff finds, and why."""

    name: str
    text: str
    found: str = ""
    """What ruff finds: pairs of a word and a line, counted behind the head."""
    becomes: str | None = None
    """What ruff's fix of the comment makes of it."""
    here: str | None = None
    becomes_here: str | None = None
    because: str = ""


CASES = [
    Case("a code", "CALL(x, d)  # noqa: HIT"),
    Case("all", "CALL(x, d)  # noqa"),
    Case("all, and nothing there", "y = 2  # noqa", "AGAIN:1", "y = 2", here="", because=NOT_OURS),
    Case("a code, and nothing there", "y = 2  # noqa: HIT", "AGAIN:1", "y = 2"),
    Case("one of two", "CALL(x, d)  # noqa: HIT, IDLE", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("the second", "CALL(x, d)  # noqa: IDLE, HIT", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("a code of another tool first", "CALL(x, d)  # noqa: XYZ501, HIT"),
    Case("another tool's stays", "y = 2  # noqa: XYZ501, HIT", "AGAIN:1", "y = 2  # noqa: XYZ501"),
    Case("behind ours", "y = 2  # noqa: HIT, XYZ501", "AGAIN:1", "y = 2  # noqa: XYZ501"),
    Case("between", "y = 2  # noqa: HIT, XYZ1, IDLE", "AGAIN:1", "y = 2  # noqa: XYZ1"),
    Case("twice", "CALL(x, d)  # noqa: HIT, HIT", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("twice for nothing", "y = 2  # noqa: HIT, HIT", "AGAIN:1", "y = 2"),
    Case(
        "an unknown code", "CALL(x, d)  # noqa: NEW", "HIT:1 UNKNOWN:1", "CALL(x, d)",
        becomes_here="CALL(x, d)  # noqa: NEW", because=WHICH,
    ),
    Case(
        "an unknown code beside a known one", "CALL(x, d)  # noqa: NEW, HIT", "UNKNOWN:1",
        "CALL(x, d)  # noqa: HIT", becomes_here="CALL(x, d)  # noqa: NEW, HIT", because=WHICH,
    ),
    Case("a small code", "CALL(x, d)  # noqa: hit", "HIT:1", here="", because=MEANT),
    Case("in capitals", "CALL(x, d)  # NOQA: HIT"),
    Case("in some capitals", "CALL(x, d)  # NoQA: HIT"),
    Case("without spaces", "CALL(x, d)  #noqa:HIT"),
    Case("a space before the colon", "CALL(x, d)  # noqa : HIT"),
    Case("many spaces", "CALL(x, d)  #  noqa:  HIT"),
    Case("a tab", "CALL(x, d)  # noqa:\tHIT"),
    Case("no comma", "CALL(x, d)  # noqa: IDLE HIT", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("no space", "CALL(x, d)  # noqa: IDLE,HIT", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("two commas", "CALL(x, d)  # noqa: HIT,,IDLE", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("a comma first", "CALL(x, d)  # noqa: ,HIT"),
    Case("a comma last", "y = 2  # noqa: HIT,", "AGAIN:1", "y = 2"),
    Case("nothing between", "CALL(x, d)  # noqa: HITIDLE", "AGAIN:1", "CALL(x, d)  # noqa: HIT"),
    Case("a reason", "CALL(x, d)  # noqa: HIT because"),
    Case("a reason behind a dash", "CALL(x, d)  # noqa: HIT - because"),
    Case(
        "a reason for nothing", "y = 2  # noqa: HIT because", "AGAIN:1", "y = 2",
        becomes_here="y = 2  # because", because=REASON,
    ),
    Case("a comment behind", "y = 2  # noqa: HIT # because", "AGAIN:1", "y = 2  # because"),
    Case("a comment before", "y = 2  # because # noqa: HIT", "AGAIN:1", "y = 2  # because"),
    Case("a comment before, of use", "CALL(x, d)  # because # noqa: HIT"),
    Case("a word before", "CALL(x, d)  # because noqa: HIT", "HIT:1"),
    Case(
        "two comments", "CALL(x, d)  # noqa: IDLE # noqa: HIT", "HIT:1 AGAIN:1",
        "CALL(x, d)  # noqa: HIT", here="AGAIN:1",
        because=MEANT,
    ),
    Case("no code", "CALL(x, d)  # noqa: because", "HIT:1", here="", because=FLAKE8),
    Case("a colon alone", "CALL(x, d)  # noqa:", "HIT:1", here="", because=FLAKE8),
    Case("a second colon", "CALL(x, d)  # noqa: HIT: because", "HIT:1", here="", because=FLAKE8),
    Case("brackets", "CALL(x, d)  # noqa: HIT(because)", "HIT:1", here="", because=FLAKE8),
    Case("a longer word", "CALL(x, d)  # noqabc", "HIT:1", here="", because=FLAKE8),
    Case("a hyphen", "CALL(x, d)  # noqa-not: HIT", "HIT:1", here="", because=FLAKE8),
    Case(
        "the beginning of a code", "CALL(x, d)  # noqa: SHORT", "HIT:1 UNKNOWN:1", "CALL(x, d)",
        here="", because=BEGINNING,
    ),
    Case("on the line above", "# noqa: HIT\nCALL(x, d)", "HIT:2 AGAIN:1", "CALL(x, d)"),
    Case("alone in a block", "if x:\n    # noqa: HIT\n    y = 2", "AGAIN:2", "if x:\n    y = 2"),
    Case("behind a string of lines", "CALL(x, d, s='''\n''')  # noqa: HIT"),
    Case("in a string", "CALL(x, d, s='# noqa: HIT')", "HIT:1"),
    Case("in a string of lines", "CALL(x, d, s='''\n# noqa: HIT\n''')", "HIT:1"),
    Case("in a docstring", "def f():\n    '''\n    # noqa: HIT\n    '''"),
    Case("behind a backslash", "CALL(x, \\\n    d)  # noqa: HIT"),
    Case("behind the bracket", "CALL(  # noqa: HIT\n    x,\n    d,\n)"),
    Case(
        "behind the last bracket", "CALL(\n    x,\n    d,\n)  # noqa: HIT", "HIT:1 AGAIN:4",
        "CALL(\n    x,\n    d,\n)", here="", because=LAST_LINE,
    ),
    Case(
        "in the middle", "CALL(\n    x,  # noqa: HIT\n    d,\n)", "HIT:1 AGAIN:2",
        "CALL(\n    x,\n    d,\n)",
    ),
    Case("after a semicolon", "CALL(x, d); CALL(x, d)  # noqa: HIT"),
    Case("behind a header", "if x: CALL(x, d)  # noqa: HIT"),
    Case("a file of ruff's", "# ruff: noqa: HIT\nCALL(x, d)"),
    Case("a file of flake8's", "# flake8: noqa: HIT\nCALL(x, d)"),
    Case("a file, for nothing", "# ruff: noqa: HIT\ny = 2", "AGAIN:1", "y = 2"),
    Case(
        "all of a file", "# ruff: noqa\nCALL(x, d)", "", here="HIT:2",
        because="it is said to ruff, which need not know of this tool",
    ),
    Case("off", "y = 2  # noqa: OFF", "AGAIN:1", "y = 2", here="", because=OFF),
    Case("the rule of comments itself", "y = 2  # noqa: IDLE, AGAIN"),
    Case("ruff's own, behind", "CALL(x, d)  # ruff: ignore[HIT] because"),
    Case("ruff's own, of another tool", "CALL(x, d)  # ruff: ignore[XYZ501]", "HIT:1"),
    Case("ruff's own, above", "# ruff: ignore[HIT] because\nCALL(\n    x,\n    d,\n)"),
    Case(
        "ruff's own, above another",
        "# ruff: ignore[HIT]\ny = 2\nCALL(x, d)",
        "HIT:3 AGAIN:1",
        "y = 2\nCALL(x, d)",
    ),
    Case("ruff's own, for nothing", "y = 2  # ruff: ignore[HIT]", "AGAIN:1", "y = 2"),
    Case(
        "ruff's own, one of two",
        "CALL(x, d)  # ruff: ignore[HIT, IDLE]",
        "AGAIN:1",
        "CALL(x, d)  # ruff: ignore[HIT]",
    ),
    Case("ruff's own, without codes", "CALL(x, d)  # ruff: ignore", "HIT:1"),
    Case("ruff's own, in a string", "CALL(x, d, s='# ruff: ignore[HIT]')", "HIT:1"),
    Case("ruff's own, for a file", "CALL(x, d)\n# ruff: file-ignore[HIT] because"),
    Case("ruff's own, for a file, behind", "CALL(x, d)  # ruff: file-ignore[HIT]", "HIT:1"),
    Case("a range", "# ruff: disable[HIT]\nCALL(x, d)\n# ruff: enable[HIT]\nCALL(x, d)", "HIT:4"),
    Case(
        "a range of two",
        "# ruff: disable[HIT, XYZ1]\nCALL(x, d)\n# ruff: enable[HIT,XYZ1]\nCALL(x, d)",
        "HIT:4",
    ),
    Case(
        "a range without an end",
        "CALL(x, d)\n# ruff: disable[HIT]\nCALL(x, d)\nif x:\n    CALL(x, d)",
        "HIT:1",
    ),
    Case("another end", "# ruff: disable[HIT]\nCALL(x, d)\n# ruff: enable[XYZ1]\nCALL(x, d)"),
    Case(
        "to the end of the block",
        "if x:\n    # ruff: disable[HIT]\n    CALL(x, d)\n    if d:\n"
        "        CALL(x, d)\nCALL(x, d)",
        "HIT:6",
    ),
    Case(
        "an end further right",
        "# ruff: disable[HIT]\nif x:\n    CALL(x, d)\n    # ruff: enable[HIT]\n"
        "    CALL(x, d)\nCALL(x, d)",
    ),
    Case(
        "a range in a range",
        "# ruff: disable[HIT]\nif x:\n    # ruff: disable[HIT]\n"
        "    CALL(x, d)\n    # ruff: enable[HIT]\nCALL(x, d)\n"
        "# ruff: enable[HIT]\nCALL(x, d)",
        "HIT:8 AGAIN:3",
        "# ruff: disable[HIT]\nif x:\n    CALL(x, d)\nCALL(x, d)\n"
        "# ruff: enable[HIT]\nCALL(x, d)",
        here="HIT:8",
        because=TWICE,
    ),
    Case("a range behind code", "y = 2  # ruff: disable[HIT]\nCALL(x, d)", "HIT:2"),
    Case(
        "a range for nothing",
        "# ruff: disable[HIT]\ny = 2\n# ruff: enable[HIT]\nCALL(x, d)",
        "HIT:4 AGAIN:1",
        "y = 2\nCALL(x, d)",
    ),
    Case(
        "one of two in a range",
        "# ruff: disable[HIT, IDLE]\nCALL(x, d)\n# ruff: enable[HIT, IDLE]",
        "AGAIN:1",
        "# ruff: disable[HIT]\nCALL(x, d)\n# ruff: enable[HIT]",
    ),
]  # fmt: skip
AS_FLAKE8 = [case for case in CASES if case.because in {FLAKE8, BEGINNING}]


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed; the dev extra brings it")
    return found


def written(text: str, whose: int) -> str:
    for word, both in WORDS.items():
        text = text.replace(word, both[whose])
    return text


def of_words(text: str) -> set[tuple[str, int]]:
    pairs = (each.split(":") for each in text.split())
    return {(word, int(line)) for word, line in pairs}


def wording(whose: int) -> dict[str, str]:
    return {both[whose]: word for word, both in WORDS.items()}


def lay_out(folder: Path, whose: int) -> None:
    for number, case in enumerate(CASES):
        text = HEAD + written(case.text, whose) + "\n"
        (folder / f"case_{number}.py").write_text(text, encoding="utf-8")


def by_case(lines: list[tuple[str, str, int]], whose: int) -> dict[str, set[tuple[str, int]]]:
    """Give what was found, by case; lines are counted behind the head."""
    found: dict[str, set[tuple[str, int]]] = {case.name: set() for case in CASES}
    for path, code, line in lines:
        case = CASES[int(Path(path).stem.partition("_")[2])]
        found[case.name].add((wording(whose)[code], line - HEAD.count("\n")))
    return found


RUFF = [
    "check", "--isolated", "--no-cache", "--preview", "--select", "F821,F632,RUF100,RUF102",
    "--config", 'lint.external=["XYZ"]',
]  # fmt: skip


@pytest.fixture(scope="module")
def ruff_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ruff")
    lay_out(folder, 0)
    return folder


@pytest.fixture(scope="module")
def found_by_ruff(ruff_folder: Path) -> dict[str, set[tuple[str, int]]]:
    line = [program("ruff"), *RUFF, "--output-format", "json", "."]
    done = subprocess.run(line, cwd=ruff_folder, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    return by_case([(f["filename"], f["code"], f["location"]["row"]) for f in found], 0)


@pytest.fixture(scope="module")
def fixed_by_ruff(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("fixed")
    lay_out(folder, 0)
    line = [program("ruff"), *RUFF, "--fix", "--unsafe-fixes", "--quiet", "."]
    subprocess.run(line, cwd=folder, capture_output=True, check=False)
    return {
        case.name: (folder / f"case_{number}.py").read_text(encoding="utf-8")
        for number, case in enumerate(CASES)
    }


@pytest.fixture(scope="module")
def found_by_flake8(ruff_folder: Path) -> dict[str, set[tuple[str, int]]]:
    line = [program("flake8"), "--isolated", "--select", "F821", "-j", "1", "."]
    done = subprocess.run(line, cwd=ruff_folder, capture_output=True, text=True, check=False)
    rows = [row.split(":", 3) for row in done.stdout.splitlines()]
    return by_case([(path, rest.split()[0], int(at)) for path, at, _, rest in rows], 0)


@pytest.fixture(scope="module")
def our_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ours")
    lay_out(folder, 1)
    return folder


@pytest.fixture(scope="module")
def found_by_us(our_folder: Path) -> dict[str, set[tuple[str, int]]]:
    files = [str(each) for each in sorted(our_folder.iterdir())]
    found = Linter(lambda _: Settings(), folders=True).check(files).findings
    return by_case([(each.path, each.code, each.span.line) for each in found], 1)


@pytest.fixture(scope="module")
def fixed_by_us(our_folder: Path, found_by_us: object) -> dict[str, str]:
    """Give what the fixes of comments, and no others, make of the cases."""
    files = {case.name: our_folder / f"case_{number}.py" for number, case in enumerate(CASES)}
    everything = Linter(lambda _: Settings(), folders=True).check(
        [str(path) for path in files.values()]
    )
    texts = {str(path): path.read_text(encoding="utf-8") for path in files.values()}
    for finding in everything.findings:
        if finding.code == "JDP902" and finding.fix is not None:
            for edit in sorted(finding.fix.edits, reverse=True):
                before = texts[finding.path]
                lines = before.splitlines(keepends=True)
                starts = [sum(map(len, lines[:at])) for at in range(len(lines) + 1)]
                begin = starts[edit.span.line - 1] + edit.span.column - 1
                end = starts[edit.span.end_line - 1] + edit.span.end_column - 1
                texts[finding.path] = before[:begin] + edit.text + before[end:]
    return {name: texts[str(path)] for name, path in files.items()}


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_case
def test_comments_are_read_as_ruff_reads_them(
    case: Case,
    found_by_ruff: dict[str, set[tuple[str, int]]],
    found_by_us: dict[str, set[tuple[str, int]]],
) -> None:
    assert found_by_ruff[case.name] == of_words(case.found)
    differs = case.here is not None
    assert found_by_us[case.name] == of_words(case.here if case.here is not None else case.found)
    assert not differs or case.because


@each_case
def test_comments_are_mended_as_ruff_mends_them(
    case: Case, fixed_by_ruff: dict[str, str], fixed_by_us: dict[str, str]
) -> None:
    by_ruff = case.text if case.becomes is None else case.becomes
    assert fixed_by_ruff[case.name] == HEAD + written(by_ruff, 0) + "\n"
    here = by_ruff
    if case.becomes_here is not None:
        here = case.becomes_here
    elif case.here is not None and "AGAIN" not in case.here:
        here = case.text
    assert fixed_by_us[case.name] == HEAD + written(here, 1) + "\n"


@pytest.mark.parametrize("case", AS_FLAKE8, ids=lambda case: case.name)
def test_where_ruff_differs_from_flake8_it_is_flake8_that_is_followed(
    case: Case, found_by_flake8: dict[str, set[tuple[str, int]]]
) -> None:
    assert case.here is not None
    assert found_by_flake8[case.name] == {pair for pair in of_words(case.here) if pair[0] == "HIT"}


# -- files ----------------------------------------------------------------------------------------

FILES = [
    "a.py", "conftest.py", "tests/a.py", "tests/sub/a.py", "src/a.py", "src/pkg/a.py",
    "src/tests/a.py", "src/conftest.py",
]  # fmt: skip
CODES = {"F401": "JDP204", "F632": "JDP101", "F4": "JDP20", "ALL": "ALL"}
GITIGNORE = "the patterns of all settings here are those of .gitignore"


@dataclass(frozen=True)
class Ignores:
    """Settings that leave rules out in some files. `FOLDER` is where the settings file is."""

    name: str
    table: dict[str, str]
    left_out: str
    """The files in which ruff then says nothing, as words; `*`: all."""
    more: dict[str, str] | None = None
    base: dict[str, str] | None = None
    """What a file says that the settings extend; it is in a folder of its own."""
    options: tuple[str, ...] = ()
    folder: str = "."
    """In which the command is run."""
    here: str | None = None
    because: str = ""


TESTS = "tests/a.py tests/sub/a.py"
SRC = "src/a.py src/pkg/a.py src/tests/a.py src/conftest.py"
EVERY_A = "a.py tests/a.py tests/sub/a.py src/a.py src/pkg/a.py src/tests/a.py"
IGNORES = [
    Ignores("a name", {"a.py": "F401"}, EVERY_A),
    Ignores("what is in a folder", {"tests/*": "F401"}, TESTS),
    Ignores("what is in it at any depth", {"tests/**": "F401"}, TESTS),
    Ignores("in any such folder", {"**/tests/**": "F401"}, f"{TESTS} src/tests/a.py"),
    Ignores("files below a folder", {"src/**/*.py": "F401"}, SRC),
    Ignores("a file from here", {"./src/a.py": "F401"}, "src/a.py"),
    Ignores("all but a name", {"!a.py": "F401"}, "conftest.py src/conftest.py"),
    Ignores("all but a folder", {"!tests/**": "F401"}, f"a.py conftest.py {SRC}"),
    Ignores("all but two", {"!{tests,src}/**": "F401"}, "a.py conftest.py"),
    Ignores("alternatives", {"{a,b}.{py,pyi}": "F401"}, EVERY_A),
    Ignores("a set", {"[a-b].py": "F401"}, EVERY_A),
    Ignores("any letter", {"?.py": "F401"}, EVERY_A),
    Ignores("another case", {"A.py": "F401"}, ""),
    Ignores("an absolute path", {"FOLDER/src/a.py": "F401"}, "src/a.py"),
    Ignores("an absolute folder", {"FOLDER/tests/**": "F401"}, TESTS),
    Ignores("from a folder below", {"src/a.py": "F401"}, "src/a.py", folder="src"),
    Ignores("the beginning of a code", {"tests/**": "F4"}, TESTS),
    Ignores("all rules", {"tests/**": "ALL"}, TESTS),
    Ignores("no rule", {"tests/**": ""}, ""),
    Ignores("two that match", {"tests/**": "F632", "**/a.py": "F401"}, EVERY_A),
    Ignores("more", {"tests/**": "F401"}, f"{TESTS} {SRC}", more={"src/**": "F401"}),
    Ignores("more of one", {"a.py": "F632"}, EVERY_A, more={"a.py": "F401"}),
    Ignores("in place of what is extended", {"src/**": "F401"}, SRC, base={"a.py": "F401"}),
    Ignores("what is extended", {}, "conftest.py src/conftest.py", base={"conftest.py": "F401"}),
    Ignores(
        "more than is extended", {}, f"{TESTS} conftest.py src/conftest.py",
        more={"tests/**": "F401"}, base={"conftest.py": "F401"},
    ),
    Ignores(
        "the command line in place", {"tests/**": "F401"}, SRC,
        options=("--per-file-ignores", "src/**:F401"),
    ),
    Ignores(
        "the command line besides", {"tests/**": "F401"}, f"{TESTS} {SRC}",
        options=("--extend-per-file-ignores", "src/**:F401"),
    ),
    Ignores(
        "where the command stands", {}, "src/pkg/a.py",
        options=("--per-file-ignores", "pkg/a.py:F401"), folder="src",
    ),
    Ignores("though selected", {"tests/**": "F401"}, TESTS, options=("--select", "F401")),
    Ignores(
        "a folder", {"tests": "F401"}, "", here=f"{TESTS} src/tests/a.py", because=GITIGNORE
    ),
    Ignores("files of a folder", {"tests/*.py": "F401"}, TESTS, here="tests/a.py",
            because=GITIGNORE),
    Ignores("from the top", {"/src/a.py": "F401"}, "", here="src/a.py", because=GITIGNORE),
]  # fmt: skip


def settings_text(case: Ignores, folder: Path, *, ours: bool) -> dict[str, str]:
    """Give the settings files, by name."""

    def table(name: str, entries: dict[str, str] | None) -> str:
        lines = []
        for glob, codes in (entries or {}).items():
            words = [CODES[code] if ours else code for code in codes.split()]
            lines.append(f"{json.dumps(glob.replace('FOLDER', str(folder)))} = {json.dumps(words)}")
        head = name if ours else f"lint.{name}"
        return f"[{head}]\n" + "\n".join(lines) + "\n" if entries else ""

    name = "placement-lint.toml" if ours else "ruff.toml"
    rules = ["JDP204", "JDP101"] if ours else ["F401", "F632"]
    text = f"select = {json.dumps(rules)}\n" if ours else f"lint.select = {json.dumps(rules)}\n"
    files = {}
    if case.base is not None:
        text = f'extend = "base/base.toml"\n{text}'
        files["base/base.toml"] = table("per-file-ignores", case.base)
    text += table("per-file-ignores", case.table) + table("extend-per-file-ignores", case.more)
    return {name: text, **files}


def with_files(folder: Path, text: str, settings: dict[str, str]) -> None:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, content in settings.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def left_out(found: set[str]) -> set[str]:
    return {name for name in FILES if name not in found}


@pytest.mark.parametrize("case", IGNORES, ids=lambda case: case.name)
def test_files_are_left_out_as_ruff_does(
    case: Ignores,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs, ours = (tmp_path / "theirs").resolve(), (tmp_path / "ours").resolve()
    with_files(theirs, "import os\n", settings_text(case, theirs, ours=False))
    line = [program("ruff"), "check", "--no-cache", "--output-format", "json", *case.options, "."]
    done = subprocess.run(
        line, cwd=theirs / case.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    found = {Path(f["filename"]).relative_to(theirs).as_posix() for f in json.loads(done.stdout)}
    below = {name for name in FILES if name.startswith(f"{case.folder}/") or case.folder == "."}
    assert left_out(found) & below == set(case.left_out.split())

    hazard = "import jax\njax.device_put([], jax.devices()[0])\n"
    with_files(ours, hazard, settings_text(case, ours, ours=True))
    options = [option.replace("F401", "JDP204") for option in case.options]
    monkeypatch.chdir(ours / case.folder)
    assert main(["--no-cache", "--output-format", "json", *options, "."]) in {0, 1}
    reported = json.loads(capsys.readouterr().out)["findings"]
    found = {
        (Path.cwd() / each["path"]).resolve().relative_to(ours).as_posix() for each in reported
    }
    wanted = case.left_out if case.here is None else case.here
    assert left_out(found) & below == set(wanted.split())
    assert case.here is None or case.because


def test_a_comment_about_what_is_left_out_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ruff says of a rule that is left out, for a file or at all, that it is not enabled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import os  # noqa: F401\n", encoding="utf-8")
    for option in (["--per-file-ignores", "a.py:F401"], ["--ignore", "F401"]):
        line = [program("ruff"), "check", "--isolated", "--no-cache", "--select", "F401,RUF100"]
        done = subprocess.run([*line, *option, "."], capture_output=True, text=True, check=False)
        assert "non-enabled: `F401`" in done.stdout
    (tmp_path / "a.py").write_text("import jax\ny = 2  # noqa: JDP204\n", encoding="utf-8")
    assert main(["--isolated", "."]) == 1
    for options in (["--per-file-ignores", "a.py:JDP204"], ["--ignore", "JDP204"]):
        assert main(["--isolated", *options, "."]) == 0
    assert capsys.readouterr().out.count("JDP902") == 1
