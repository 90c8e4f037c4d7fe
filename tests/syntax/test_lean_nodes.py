"""Nodes made from the tree of Python's own parser are those that LibCST reads, one by one.

`pytest -m every tests/syntax/test_lean_nodes.py` compares the standard library and thousands of the
fuzzers' inputs.
"""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst
import pytest

from placement_lint.files.source import Source
from placement_lint.files.store import FileStore
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions, FileResult, Sight
from placement_lint.rules.registry import all_rules
from placement_lint.syntax import parse
from placement_lint.syntax.deep_stack import run_deep
from placement_lint.syntax.lean import punctuation, tree
from placement_lint.syntax.parse import ParsedFile
from placement_lint.syntax.tree import Tree
from tests.fixture_cases import all_cases
from tests.fuzz.kinds import inputs_of
from tests.fuzz.trees import python_files
from tests.lean_nodes import Outcome, compared, lean_module, without_punctuation
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from collections.abc import Iterable

TOP = Path(__file__).parents[2]
OWN = [*python_files(TOP / "placement_lint"), *python_files(TOP / "tests")]
TEXTS = sorted({case.before.text for case in all_cases()})

SAME = r'''
x = 1; y = 2;
x = 1;  # c
if x: pass
if x: a; b;
if x: a; \
  b
class A: x = 1; y = 2
if x:
    a
elif y:
    b
else:
    if z: c
for x in y: pass
else: pass
async def f():
    async for x in y: await x
    async with a as b, c: yield
    return [x async for x in y if a if b for z in x]
while x: break
else: continue
try: pass
except A: pass
except (B, C) as e: pass
except: pass
else: pass
finally: pass
with (a, b): pass
with (a): pass
with (a, b) as c: pass
with (a as c, b,): pass
with a, (b) as (c, d): pass
del a
del a,
del (a),
del (a  # ,
     )
del (a, b)
del (a, b),
del a, b[0]
a[b, c], a[(b, c)], a[(b), c], a[(b), (c)], a[((b), c)], a[()], a[(b,)], a[b,], a[(b),]
a[b:c, ::d], a[:], a[(b  # )
  , c)], a[(b  # (
  ), c]
a[(b, c), d], a[((b, c), d)], a[(x for x in y), z], a[b := 1], a[(b := 1)]
f(x for x in y), f(*a, **k, b=1), f(a, *b, c, d=1, *e, **g), f(a=1, *b), f((x for x in y), z)
class B(x, *y, metaclass=M, **k): pass
class C(x, a=1, *y): pass
class D(): pass
def f(a, /, b: int = 1, *args: A, c, d=2, **kw: B) -> C: pass
def f(*, a): pass
def f(a=1, /, *, b): pass
lambda: 0
lambda *a, b=1, **k: 0
lambda a, /: 0
@a.b(c)
@d
def f():
    global x, y
    def g():
        nonlocal z
@e
class F: pass
print >>f, x
from . import a
from .. import a as b
from ...x.y import (b, c as d,)
from q import *
import a, b.c as d, e.f.g
raise
raise A
raise A from b
assert a
assert a, b
return_ = yield_ = 1
a, b = c = d,
a = *b, c
(a) = (b)
a: int
(a): int
a: int = 3
a.b: c.d[e]
a += 1; a @= b; a //= c; a **= d; a >>= e; a <<= f; a &= g; a ^= h; a |= i; a %= j; a -= k; a *= l
a /= m
a < b <= c == d != e >= f > g is h is not i in j not in k
not a, -a, +a, ~a, a or b and c, (a or b) or c, a or (b or c), a and b and c and d
a if b else c
a @ b ** -c // d % e << f >> g & h ^ i | j
{}, {1}, {1: 2}, {**a, b: c}, {*a, b}, [*a], (*a,), (), [], (a), ((a)), (a, b), ((a), (b))
{a for b in c}, {a: b for c in d}, [a for b in c], (a for b in (yield))
0x_ff, 0XFF, 1_000, 1e5, 1E5, 1., .5, 1j, 1.5J, 0o17, 0b1, ..., None, True, False
"a", 'a', "", '', """a""", \'\'\'a\'\'\', "a\"b", 'a"b', "a'b", r"a\b", b"a", Rb'a', bR"a", u"a"
"a" "b", "a" 'b', 'a' "b", "a"  """b""" \'c\', "" "", """""" ""
("a"  # "c"
 "b"
 r"c")
"a" \
  "b"
f"{a.b.c!r:>4} {d}", f"{a:=5}", f"{a:}", f"{True}{None}", f"{{{a}}}", f"é{a}", rF"""{a}"""
f"a", f"{a}", f"a{b!r:>{c}}d", f"{a=}", f"{{}}{a}", f'{a["b"]}', rf"\d{a}", F"{a:%H}" "b" f"{c}"
("a"
 f"{b}"
 "c" f"{d:{e}.{f}}")
f"""
{a
}"""
f"{lambda_: 1}", f"{(lambda x: 1)}", f"{a,}", f"{a if b else c}", f"{ {1: 2}[1] }"
x = (yield)
x = yield a, b
await_ = a.b.c(d)[e].f
print(a := 1, (b := 2))
"""doc"""
ünicode = naïve("µs")  # ﬁ
'''.replace("\\'", "'")

MATCH = """
match x, y:
    case 1 | "a" | -1.5 | 1 + 2j | None: pass
    case a.b | (c.d): pass
    case _ if z: pass
    case [a, *_, b], (c, *d), []: pass
    case (a), b: pass
    case ((a), b): pass
    case (a): pass
    case (a,): pass
    case (): pass
    case [a], [b]: pass
    case (a  # ,
          , b): pass
    case {"a": 1, b.c: d, **rest}: pass
    case {}: pass
    case A(b, c=d) as e: pass
    case A(): pass
    case str() | [int(), *_] as f: pass
    case *a, b: pass
    case a,: pass
match = case = 1
match(x)
"""

NEWER = {
    (3, 11): """
try: pass
except* A: pass
except* (B, C) as e: pass
a[*b], a[*b, c], a[b, *c], a[(*b, c)], a[(*b,)]
""",
    (3, 12): """
type A = int
type B[T] = list[T]
def f[T: int, *Ts, **P](a: T) -> T: pass
class C[T](D[T], metaclass=E): pass
class F[T: (A, B)]: pass
f"{a["b"]}", f"{f"{a}" + f'{b}'}", f"{a  # c
}"
""",
    (3, 13): """
type A[T = int, *Ts = *tuple[int], **P = [int]] = B
def f[T: int = bool](): pass
""",
}  # fmt: skip


def _statements(text: str) -> list[str]:
    """Return the statements at the top of a text, each as it is written."""
    lines = text.strip("\n").split("\n")
    starts = sorted({_first_line(each) for each in ast.parse("\n".join(lines)).body})
    ends = [*starts[1:], len(lines) + 1]
    return [
        "\n".join(lines[start - 1 : end - 1]) + "\n"
        for start, end in zip(starts, ends, strict=True)
    ]


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *[each.lineno for each in decorators]])


def _newer() -> list[str]:
    return [text for version, text in NEWER.items() if sys.version_info >= version]


@pytest.mark.parametrize("text", [SAME, MATCH, *_newer()])
def test_each_construct_gives_the_same_nodes(subtests: pytest.Subtests, text: str) -> None:
    for statement in _statements(text):
        for written in (
            statement,
            statement.rstrip("\n"),
            "".join(f"    {line}" for line in ["", *statement.splitlines(keepends=True)])
            if "'''" in statement or '"""' in statement or "\\\n" in statement
            else "if x:\n" + "".join(f"\t{each}\n" for each in statement.splitlines()),
            statement.replace("\n", "\r\n"),
            f"# ü\n'ü'; {statement}" if "\n" not in statement.rstrip("\n") else statement,
        ):
            with subtests.test(written):
                if _is_python(written):
                    assert compared(written) is not Outcome.LEFT


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize(
    "text", ["", "\n", "# c\n", "\n\n  # c", "x", '"""doc"""', "\\\n", "x\\\n"]
)
def test_nothing_and_next_to_nothing_give_the_same_nodes(text: str) -> None:
    assert not _is_python(text) or compared(text) in {Outcome.SAME, Outcome.REFUSED}


@pytest.mark.parametrize(
    "text",
    [
        "x = \n",  # no Python
        "\ufeffx = 1\n",
        "x = 1\ry = 2\n",
        "ﬁ = 1\n",  # a name that Python spells in another way
        "if x:  # c \\\n    y\n",
        "def f(*a: *b): pass\n",
    ],
)
def test_what_is_not_sure_is_left_to_libcst(text: str) -> None:
    assert run_deep(lean_module, text) is None


def _compare(subtests: pytest.Subtests, texts: Iterable[tuple[str, str]]) -> Counter[Outcome]:
    outcomes: Counter[Outcome] = Counter()
    for name, text in texts:
        with subtests.test(name):
            outcomes[run_deep(compared, text)] += 1
    return outcomes


def _read(paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for path in paths:
        try:
            yield str(path), path.read_bytes().decode()
        except UnicodeDecodeError:
            continue


def test_the_fixtures_give_the_same_nodes(subtests: pytest.Subtests) -> None:
    """It takes some: `pytest -m every` takes all of them."""
    _compare_texts(subtests, _sample(TEXTS, 100))


@pytest.mark.every
def test_all_fixtures_give_the_same_nodes(subtests: pytest.Subtests) -> None:
    _compare_texts(subtests, _all_texts())


def _compare_texts(subtests: pytest.Subtests, texts: list[str]) -> None:
    outcomes = _compare(subtests, ((text, text) for text in texts))
    assert outcomes[Outcome.LEFT] <= len(texts) / 100


def test_files_of_this_project_give_the_same_nodes(subtests: pytest.Subtests) -> None:
    """It takes some: `pytest -m every` takes all of them, and the standard library."""
    outcomes = _compare(subtests, _read(OWN[::140]))
    assert outcomes[Outcome.SAME] > 6


@pytest.mark.every
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("share", range(10))
def test_the_standard_library_gives_the_same_nodes(subtests: pytest.Subtests, share: int) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    files = [path for path in python_files(library) if "site-packages" not in path.parts]
    outcomes = _compare(subtests, _read([*files, *OWN][share::10]))
    assert outcomes[Outcome.LEFT] < outcomes[Outcome.SAME] / 20


@pytest.mark.parametrize("kind", ["mutations", "spellings", "grammar", "programs"])
def test_inputs_of_the_fuzzers_give_the_same_nodes(subtests: pytest.Subtests, kind: str) -> None:
    """It takes a few: `pytest -m every` takes thousands."""
    _compare_inputs(subtests, kind, 5 if kind == "programs" else 20)


@pytest.mark.every
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["mutations", "spellings", "grammar", "programs", "hypothesmith"])
def test_many_inputs_of_the_fuzzers_give_the_same_nodes(
    subtests: pytest.Subtests, kind: str
) -> None:
    _compare_inputs(subtests, kind, 300 if kind in {"programs", "hypothesmith"} else 3000)


def _compare_inputs(subtests: pytest.Subtests, kind: str, count: int) -> None:
    for number in range(count):
        for given in inputs_of(kind, number):
            # Those of other encodings are some other text then, which will do.
            _compare(subtests, [(given.origin, given.data.decode(errors="replace"))])


# -- findings -----------------------------------------------------------------------------------


def lint(text: str) -> FileResult:
    return lint_source(Source("case.py", text), FileOptions(all_rules(), sight=Sight.WHOLE))


def _all_texts() -> list[str]:
    of_programs = [
        each.expected.text for program in all_programs() for each in program.files.values()
    ]
    return [*TEXTS, *of_programs]


def _sample(texts: list[str], count: int) -> list[str]:
    return random.Random(1).sample(texts, count)  # noqa: S311


def test_what_is_found_does_not_depend_on_who_parses(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes some fixtures: `pytest -m every` takes all of them."""
    _compare_findings(subtests, monkeypatch, _sample(_all_texts(), 75))


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_nothing_that_is_found_depends_on_who_parses(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compare_findings(subtests, monkeypatch, _all_texts())


def _compare_findings(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    """Compare what is found, fixes and places included, and see that nothing reads punctuation."""
    without_punctuation(monkeypatch)
    found = [lint(text) for text in texts]
    monkeypatch.setattr(parse, "MAKES_LEAN_NODES", False)
    for text, result in zip(texts, found, strict=True):
        with subtests.test(text):
            assert lint(text) == result


HAZARD = "import jax\n\n\ndef f(x):\n    jax.device_put(x)  # said\n    return x\n"


def test_only_a_file_with_something_to_report_is_parsed_by_libcst(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    parse_module = cst.parse_module

    def counted(text: str) -> cst.Module:
        parsed.append(text)
        return parse_module(text)

    monkeypatch.setattr(cst, "parse_module", counted)
    assert not lint(HAZARD.replace("    jax", "    return jax")).findings
    assert not parsed
    assert lint(HAZARD).findings
    assert parsed == [HAZARD]


DECORATED = '''\
import functools

import jax
from jax.sharding import PartitionSpec


@functools.cache
@ functools.wraps(
    print)
def f():
    """Lines
    of text."""
    return "a" """b
c"""


mesh = jax.make_mesh((1,), ("data",))
one = jax.NamedSharding(mesh, PartitionSpec("model"))
two = jax.NamedSharding(mesh, PartitionSpec("model"))  # noqa: JDP701
'''


def test_what_comments_silence_is_known_without_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cst, "parse_module", lambda _: pytest.fail("LibCST was asked"))
    found = lint(DECORATED)
    assert [(each.code, each.span.line) for each in found.findings] == [("JDP701", 18)]
    assert found.suppressed


def test_a_text_that_libcst_reads_in_another_way_is_looked_at_as_libcst_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_another_way = HAZARD.replace("(x)", "(y)").replace("return x", "return y")
    expected, other = lint(HAZARD), lean_module(in_another_way)
    monkeypatch.setattr(tree, "lean_module", lambda *_: other)
    assert expected.findings
    assert lint(HAZARD) == expected


def test_a_text_that_libcst_refuses_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> cst.Module:
        raise KeyError(text)

    monkeypatch.setattr(cst, "parse_module", refuse)
    assert [each.code for each in lint(HAZARD).findings] == ["JDP901"]


def test_a_node_stays_the_object_that_it_is() -> None:
    parsed = parse.parse(Source("code.py", HAZARD), FileStore())
    assert isinstance(parsed, ParsedFile)
    (call,) = [each for each in Tree(parsed.module).nodes if isinstance(each, cst.Call)]
    assert parsed.is_lean
    assert parsed.module.code != HAZARD
    start, end = parsed.spans.inner(call)
    assert HAZARD[start:end] == "jax.device_put(x)"
    assert not parsed.is_lean
    assert parsed.module.code == HAZARD


def test_other_nodes_are_told_from_those_of_a_text() -> None:
    for other in ("x = 1", "f(x, y)", "f(x).y", "f(y)", "f(*x)", "f(x)\nf(x)"):
        lean = lean_module("f(x)")
        assert lean is not None
        assert not punctuation.copy_punctuation(lean, cst.parse_module(other))
