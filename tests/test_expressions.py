r"""No regular expression takes more work than in proportion to the text that it looks at.

`tests/pumping.py` derives from each expression the texts on which it may; `tests/backtracking.py`
counts the steps on such a text, on one of twice the size, and on one of four times. A table of
texts that somebody thinks of is no check: that was here before, and held `(?:[^()#]|#[^\n]*)*` in
brackets for linear, since nobody thought of an open bracket before the comments; it also left out
all that `Given` and module variables hold inside of something else, and excused what was guarded.
"""

from __future__ import annotations

import functools
import random
import re
import subprocess
import sys
import time
from dataclasses import replace
from zlib import crc32

import pytest

from tests.backtracking import UnsupportedError, program_of
from tests.expressions import PUT_TOGETHER, Expression, all_expressions, calls
from tests.fixture_cases import FIXTURES
from tests.pumping import ENDINGS, Attack, Automaton, superlinear

SEARCH = frozenset({"search"})

SOON = 0.025
"""Seconds. What is linear takes a fifth of it or less, what is quadratic the fourfold or more."""
LONG = 20_000
"""Characters."""
GROWTH = 9.0
"""For four times the text: between the 4 of what is linear and the 16 of what is quadratic."""
FEW = 4
"""Endings that are tried by default: half of them show all that is known to be bad."""
PARTS = 8


@functools.cache
def expressions() -> list[Expression]:
    """Give the expressions of the package, which takes seconds: not while tests are collected."""
    return all_expressions()


def not_linear(tried: list[Expression], *, endings: int) -> dict[str, Attack]:
    """Give those that are not linear, each with a text that shows it."""
    bad = {
        f"{each.name}: {each.pattern!r}": next(
            superlinear(each.pattern, each.flags, each.methods, endings=endings), None
        )
        for each in tried
    }
    return {name: found[0] for name, found in bad.items() if found is not None}


def test_every_expression_is_linear() -> None:
    """One in ninety, some endings; all by `pytest -m every tests/test_expressions.py`."""
    chosen = [each for each in expressions() if crc32(repr(each.pattern).encode()) % 90 == 0]
    assert len(chosen) > 1
    assert not_linear(chosen, endings=FEW) == {}


@pytest.mark.every
@pytest.mark.parametrize("part", range(PARTS))
def test_every_expression_is_linear_on_every_text(part: int) -> None:
    assert not_linear(expressions()[part::PARTS], endings=ENDINGS) == {}


@pytest.mark.every
@pytest.mark.parametrize("part", range(PARTS))
def test_every_expression_is_as_fast_as_it_is_counted(subtests: pytest.Subtests, part: int) -> None:
    """On long texts, by the clock: what `re` does is what is counted."""
    for each in expressions()[part::PARTS]:
        program = program_of(each.pattern, each.flags)
        searches = bool(each.methods - {"match", "fullmatch"})
        with subtests.test(each.name):
            for attack in Automaton(program, searches=searches).attacks():
                assert growth(each, attack) < GROWTH, attack


def growth(expression: Expression, attack: Attack) -> float:
    """Give how many times as long four times as much takes; 0.0 where it takes no time."""
    count = LONG // len(attack.word)
    long = seconds(expression, attack.text(count), times=1)
    if long > SOON:
        long = min(long, seconds(expression, attack.text(count), times=2))
    if long < SOON:
        return 0.0
    return long / max(seconds(expression, attack.text(count // 4), times=3), 1e-6)


def seconds(expression: Expression, text: str, *, times: int) -> float:
    """Give the processor's time that looking at a text takes: the shortest of some."""
    found = []
    for _ in range(times):
        started = time.process_time()
        expression.apply(text)
        found.append(time.process_time() - started)
    return min(found)


# -- none is left out -----------------------------------------------------------------------------


def test_there_are_expressions_of_every_kind() -> None:
    assert len(expressions()) > 160
    assert any(isinstance(each.pattern, bytes) for each in expressions())
    names = {each.name.rpartition(" ")[2] for each in expressions()}
    # The first in a class, the second in a condition.
    assert names >= {"ABOUT_COMMENTS", "SETS_VARIABLES"}
    made = {path for path, _, pattern in calls() if pattern is None}
    assert made == PUT_TOGETHER.keys()


_NOTED = """\
import contextlib, pathlib, re, sys
import placement_lint
from placement_lint.syntax import late_patterns
# Each is to be compiled where it is written.
late_patterns.patterns_compiled_late = contextlib.nullcontext
top = pathlib.Path(placement_lint.__file__).parent
noted, compile = set(), re._compile
def note(pattern, flags):
    frame = sys._getframe(2)
    path = pathlib.Path(frame.f_code.co_filename)
    if top in path.parents and not isinstance(pattern, re.Pattern):
        noted.add((path.relative_to(top).as_posix(), pattern, int(flags)))
    return compile(pattern, flags)
re._compile = note
from placement_lint.cli import main
from placement_lint.cli.parser import Parser
sys.argv = ["placement-lint", "--no-cache", "--jobs=1", "--exit-zero", "--quiet", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print(repr(sorted(noted, key=repr)))
"""


def test_whatever_a_run_compiles_is_among_them() -> None:
    """Wherever it comes from, found by listening to `re` while the fixtures are linted."""
    folders = [str(FIXTURES / name) for name in ("programs", "JDP204", "JDP301", "JDP501")]
    command = [sys.executable, "-c", _NOTED, *folders]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not run.stderr
    noted = eval(run.stdout.splitlines()[-1], {"re": re})  # noqa: S307
    known = {(each.pattern, int(each.flags)) for each in expressions()}
    assert len(noted) > 60
    for path, pattern, flags in noted:
        # The flag that says of a text that it is one is not written by anybody.
        compiled = re.compile(pattern, flags).flags & ~re.UNICODE
        assert (pattern, int(compiled)) in known or path in PUT_TOGETHER, (path, pattern)


# -- what is seen ---------------------------------------------------------------------------------

BAD = (
    r"(?:a+)+b",
    r"(?:a|a)*b",
    r"(?:a|ab|b)*c",
    r"(?:a?b?)*c",
    r"(?:a*)*b",
    r"(?:a|aa)+$",
    r"(?:(?:a|b)+,?)*;",
    r"(?:ab)*c",
    r"[^\n]*\n",
    r"(?:[^()#]|#[^\n]*\n)*",
    r"a*b",
    r"a*a*b",
    r"\s+$",
    r"x*y*x*z",
    r"\w+\d+;",
    r"(?:.*_)?cpu(?:_.*)?;",
    r"ab?a*b?a*c",
    r"(?=a*b)a",
    r"(?!.*x).",
    r"a{2,}a{3,}b",
    r"a{0,500}b",
    r"(?:ab{0,300}){0,300}c",
    r"a*?b",
    r"(?i)a*A*b",
    r"\bwith\b.*\bas\b.*:;",
    r"\([^()]*,[^()]*\)",
    r"\{([^{}]*,[^{}]*)\}",
    r"import[ \t]*\(?[ \t]*\*",
    r"(?<![\w.])\w+[\s)]*(?:#[^\n]*\n[\s)]*)*\(",
    r"device(?:[\s\\]|#[^\n]*\n)*=",
    r"(?<!\w)(\w+)[ \t]*(?::[^=\n]*)?=",
    r"#\s*noqa\s*:[^\n]*jdp[0-9]",
    r"environ\b\[[^\]]*\]=",
    r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'',
    r'"""(?:\\.|[^\\])*?"""',
)
"""Expressions that are not linear where they are searched for; many stood in the package."""

OLD_NAMES = r"[ \t\f]*(?:\\\n[ \t\f]*)*(?:\((?:[^()#]|#[^\n]*)*\)|(?:[^\n\\;#]|\\\n)*)"
"""What read the names of an import until a comment of ten lines showed that it never ended."""

LINEAR = (
    r"a",
    r"a+",
    r"^(?:(?:a|b)+,)*;",
    r"(?<!b)(?:ab)*c",
    r"(?<![\w ])[\w ]+b",
    r"[^\n]*(?:\n|\Z)",
    r"(?:[^()#]|#[^\n]*)*",
    r"a{0,3}b",
    r"(?<!\s)\s*=",
    r"\w+|\s+",
    r"#[^\n]*|\"[^\"]*(?:\"|\Z)",
    r"(?:foo|bar|baz)\b",
    r"^[ \t]*x",
    r"x(?=[ab])",
)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("pattern", BAD)
def test_what_is_not_linear_is_seen(pattern: str) -> None:
    assert next(superlinear(pattern, 0, SEARCH, endings=FEW), None)


@pytest.mark.parametrize(
    "pattern",
    [
        OLD_NAMES,
        r"(?:.*[-_.])?requirements?(?:[-_.].*)?\.(?:txt|in)",
        r"(?:a+)+b",
    ],
)
@pytest.mark.parametrize("method", ["match", "fullmatch"])
def test_what_is_not_linear_is_seen_where_it_is_not_searched_for(pattern: str, method: str) -> None:
    assert next(superlinear(pattern, 0, frozenset({method}), endings=FEW), None)


def test_the_check_of_all_names_one_that_never_ends() -> None:
    good = expressions()[:3]
    bad = replace(good[0], pattern=OLD_NAMES, flags=0, methods=frozenset({"match"}))
    assert [*not_linear([*good, bad], endings=FEW)] == [f"{bad.name}: {bad.pattern!r}"]


@pytest.mark.parametrize("pattern", LINEAR)
def test_what_is_linear_is_not_accused(pattern: str) -> None:
    assert [*superlinear(pattern, 0, SEARCH)] == []


def test_what_is_searched_for_at_one_place_only_is_not_accused() -> None:
    assert [*superlinear(r"a*b", 0, frozenset({"match"}))] == []


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?P<x>a)(?(x)b|c)"])
def test_what_cannot_be_counted_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedError):
        program_of(pattern)


@pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.every)])
def test_what_is_counted_is_what_re_does(one_in: int) -> None:
    """On random texts of the characters that matter, an expression finds what `re` finds.

    One in four; all by `pytest -m every tests/test_expressions.py`.
    """
    chance = random.Random(20)  # noqa: S311
    patterns = [(each.pattern, each.flags) for each in expressions()[::one_in]]
    patterns += [(pattern, 0) for pattern in (*BAD, *LINEAR)]
    wrong: dict[str, list[str]] = {}
    for pattern, flags in patterns:
        program = program_of(pattern, flags)
        alphabet = Automaton(program, searches=True).alphabet[:12]
        words = re.findall(r"[A-Za-z_]{2,}", str(pattern))[:20]
        for _ in range(6):
            pieces = chance.choices([*alphabet, *words], k=chance.randrange(1, 12))
            text = "".join(pieces)
            if isinstance(pattern, str):
                found = [match.span() for match in re.finditer(pattern, text, flags)]
            else:
                data = text.encode("latin-1")
                found = [match.span() for match in re.finditer(pattern, data, flags)]
            if program.spans(text) != found:
                wrong.setdefault(f"{pattern!r}", []).append(text)
    assert wrong == {}
