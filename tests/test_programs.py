"""Programs of several files: what is found in them, what fixing makes of them, what JAX does."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from placement_lint.config.settings import Settings
from placement_lint.findings import Finding
from placement_lint.lint.linter import Linter
from placement_lint.lint.results import FixMode, Outcome
from tests.differential.oracle_client import shared_oracle
from tests.program_cases import ProgramCase, Text, all_programs, module_name, read_program
from tests.share import Share

PROGRAMS = all_programs()
CLEAN = [
    program
    for program in PROGRAMS
    if not any(text.expected.findings or text.expected.missed for text in program.files.values())
]
RUNNABLE = [program for program in PROGRAMS if program.run is not None]
MOVES = frozenset({"JDP201", "JDP202"})
FIXES = {"safe-fixes": False, "unsafe-fixes": True}

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)

Place = tuple[str, int]


def write(folder: Path, texts: dict[str, str]) -> list[str]:
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return [str(folder / path) for path in texts]


def read(folder: Path, program: ProgramCase) -> dict[str, str]:
    return {path: (folder / path).read_text(encoding="utf-8") for path in program.files}


def lint(
    paths: list[str], *, fix: FixMode = FixMode.NONE, unsafe: bool = False
) -> Outcome:  # fmt: skip
    return Linter(lambda _: Settings(unsafe_fixes=unsafe), fix=fix, folders=True).check(paths)


def inside(folder: Path, path: str) -> str:
    return Path(path).relative_to(folder).as_posix()


def check(folder: Path, outcome: Outcome, files: dict[str, Text]) -> None:
    """Compare what was found with what is expected, leaving out what is known to be wrong."""
    got = Counter(
        (inside(folder, found.path), found.span.line, found.code) for found in outcome.findings
    )
    due: Counter[tuple[str, int, str]] = Counter()
    undecided = set()
    for path, text in files.items():
        due.update((path, each.line, each.code) for each in text.expected.findings)
        undecided |= {(path, line, code) for line, code in text.expected.undecided}
    places = sorted((got | due).keys() - undecided)
    assert {place: got[place] for place in places} == {place: due[place] for place in places}, (
        describe(folder, outcome)
    )
    for path, text in files.items():
        for each in text.expected.findings:
            here = [
                found
                for found in outcome.findings
                if (inside(folder, found.path), found.span.line, found.code)
                == (path, each.line, each.code)
            ]
            if each.column is not None:
                assert each.column in {found.span.column for found in here}, (path, each, here)
            if each.text is not None:
                assert any(each.text in found.message for found in here), (path, each, here)


def describe(folder: Path, outcome: Outcome) -> str:
    return "\n".join(
        f"{inside(folder, found.path)}:{found.span.line}:{found.span.column} {found.code} "
        f"{found.message}"
        for found in outcome.findings
    )


def creation(folder: Path, finding: Finding) -> Place:
    first = finding.related[0]
    return inside(folder, first.path), first.span.line


# -- what is found --------------------------------------------------------------------------------


def test_there_are_programs() -> None:
    assert len(CLEAN) >= 30
    assert len(PROGRAMS) - len(CLEAN) >= 20
    assert len(RUNNABLE) >= 20
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.sampled(one_in=30)
@every_program
def test_findings_and_fixes(
    subtests: pytest.Subtests, program: ProgramCase, tmp_path: Path
) -> None:
    """What is found, where the arrays were made, some in any order; and what fixing makes of it.

    Where unsafe fixes give nothing else than safe ones, one of the two is tried, in turn, and where
    nothing found has a fix, on one program in four; `pytest -m every tests/test_programs.py` tries
    both on all.
    """
    outcome = lint(write(tmp_path, program.texts()))
    with subtests.test("findings"):
        check_findings(program, tmp_path, outcome)
    with subtests.test("the first related place is the creation"):
        check_creations(program, tmp_path, outcome)
    share = Share(PROGRAMS.index(program), every=False)
    if share.one_in(7):
        with subtests.test("the order of the paths does not matter"):
            check_orders(program, tmp_path, outcome)
    with subtests.test("the files are Python"):
        check_syntax(program)
    differ = program.fix_is_wrong or program.fixed(unsafe=True) != program.fixed(unsafe=False)
    if not (differ or share.one_in(4) or any(found.fix for found in outcome.findings)):
        return
    for how in Share(PROGRAMS.index(program), every=differ).of([*FIXES]):
        with subtests.test(how):
            check_fixed(program, tmp_path, outcome, unsafe=FIXES[how])


@pytest.mark.every
@every_program
@pytest.mark.parametrize("how", FIXES)
def test_both_fixes(program: ProgramCase, how: str, tmp_path: Path) -> None:
    outcome = lint(write(tmp_path, program.texts()))
    check_fixed(program, tmp_path, outcome, unsafe=FIXES[how])


def check_findings(program: ProgramCase, folder: Path, outcome: Outcome) -> None:
    check(folder, outcome, program.files)
    got = {(inside(folder, f.path), f.span.line, f.code) for f in outcome.findings}
    for path, text in program.files.items():
        for each in text.expected.missed:
            assert (path, each.line, each.code) not in got, f"no longer missed: {path} {each}"
        for each in text.expected.false_alarms:
            assert (path, each.line, each.code) in got, f"no longer a false alarm: {path} {each}"


def check_creations(program: ProgramCase, folder: Path, outcome: Outcome) -> None:
    made = {
        creation(folder, found)
        for found in outcome.findings
        if found.code in MOVES
        and (inside(folder, found.path), found.span.line, found.code) not in program.undecided
    }
    wanted = {(path, line) for path, text in program.files.items() for line in text.made_here}
    if program.undecided:
        assert made <= wanted
    else:
        assert made == wanted


def check_orders(program: ProgramCase, folder: Path, outcome: Outcome) -> None:
    paths = [str(folder / path) for path in program.files]
    assert lint(paths[::-1]).findings == outcome.findings


def check_syntax(program: ProgramCase) -> None:
    for files in (program.files, program.becomes, program.becomes_unsafe):
        for path, text in files.items():
            compile(text.expected.text, path, "exec", dont_inherit=True)


def check_fixed(program: ProgramCase, folder: Path, found: Outcome, *, unsafe: bool) -> None:
    """Fix a program in the folder in which `found` was found in it."""
    paths = write(folder, program.texts())
    outcome = lint(paths, fix=FixMode.APPLY, unsafe=unsafe)
    wanted = program.fixed(unsafe=unsafe)
    after = read(folder, program)
    texts = {path: text.expected.text for path, text in wanted.items()}
    if program.fix_is_wrong and not unsafe:
        assert after != texts, "the safe fixes are no longer wrong"
    elif not program.undecided:
        assert after == texts
        check(folder, outcome, wanted)
    again = lint(paths) if after != program.texts() else found
    assert again.findings == outcome.findings
    if again.findings and any(found.fix for found in again.findings):
        assert not lint(paths, fix=FixMode.APPLY, unsafe=unsafe).fixed
        assert read(folder, program) == after


# -- what JAX does --------------------------------------------------------------------------------


def moves(program: ProgramCase, texts: dict[str, str]) -> set[Place]:
    """Run a program and give the lines at which an array of it is copied from the host."""
    assert program.run is not None
    paths = {module_name(path): path for path in texts}
    (run,) = shared_oracle().run(program.modules(texts), [0])
    assert run.error is None, (run.error, run.error_places)
    assert run.evaluated
    return {
        (paths[use.module], line)
        for use in run.uses
        if use.moved and use.away and not use.small
        for line in ({operand[0] for operand in use.operands} or {use.operation[0]})
    }


def lines(files: dict[str, Text]) -> set[Place]:
    """Give the lines at which an array is copied, by what is expected and what is missed."""
    return {
        (path, each.line)
        for path, text in files.items()
        for each in (*text.expected.findings, *text.expected.missed)
        if each.code in MOVES
    }


@pytest.mark.skipif(sys.version_info < (3, 11), reason="co_positions is new in Python 3.11")
@pytest.mark.parametrize("program", RUNNABLE, ids=lambda program: program.id)
@pytest.mark.sampled(one_in=48)
def test_run(program: ProgramCase) -> None:
    """JAX copies arrays at the lines that are flagged, and nowhere once they are fixed.

    One program in 48; the others with `pytest -m every tests/test_programs.py -k test_run`.
    """
    if program.missing:
        pytest.skip(f"there is no {', '.join(program.missing)}")
    assert moves(program, program.texts()) == lines(program.files)
    fixed = program.fixed(unsafe=True)
    texts = {path: text.expected.text for path, text in fixed.items()}
    assert moves(program, texts) == lines(fixed)


# -- the reader of the format ---------------------------------------------------------------------


def test_the_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "group" / "name.txt"
    path.parent.mkdir()
    path.write_text(
        "# For the reader.\n# run: import b\n\n# file: p/a.py\nx = f()  # made here\n"
        '# file: b.py\nx[0]  # error: JDP201:1 "each"\n\n# becomes:\n# file: p/a.py\nx = g()\n'
    )
    (program,) = all_programs(tmp_path)
    assert (program.id, program.run) == ("group/name", "import b")
    assert program.texts() == {"p/a.py": "x = f()\n", "b.py": "x[0]\n"}
    assert program.files["p/a.py"].made_here == {1}
    assert [each.code for each in program.files["b.py"].expected.findings] == ["JDP201"]
    fixed = program.fixed()
    assert fixed["p/a.py"].expected.text == "x = g()\n"
    assert fixed["b.py"].expected.text == "x[0]\n"


@pytest.mark.parametrize(
    "text",
    ["# nothing\n", "x = 1\n# file: a.py\n", "# file: a.py\n# file: a.py\n",
     "# file: a.py\n# becomes:\n# file: b.py\n"],
    ids=["no-files", "header", "twice", "strange"],
)  # fmt: skip
def test_what_the_format_does_not_allow_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "name.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"name\.txt"):
        read_program(path)
