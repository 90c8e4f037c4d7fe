"""The fixtures written another way: the same is found in them, by the rules and by JAX."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import symtable
import zlib
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.differential.programs import LEVELS, programs
from tests.marks import RUNS_PROGRAMS
from tests.metamorphic.differences import Difference, known_differences, write_differences
from tests.metamorphic.program import Variant, mapped, marked, origins, unmarked
from tests.metamorphic.subjects import (
    TRANSFORMATIONS,
    Subject,
    differs,
    subjects,
    written_otherwise,
)
from tests.metamorphic.text import Edit, NotApplicableError, Text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.metamorphic.program import Place

SUBJECTS = subjects()
KNOWN = known_differences()
_EVERY = 252
"""One in so many programs and transformations is tried by default, each in its turn."""

FOLDERS: dict[str, list[Subject]] = {}
for _subject in SUBJECTS:
    FOLDERS.setdefault(_subject.id.rpartition("/")[0], []).append(_subject)

AT_LEAST = 12
"""How many programs each transformation must apply to, of the sample that is tried."""
SELDOM = {"rename-attributes": 1, "wrap-function": 3}
"""The same, of those that ask for much."""

every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.id)


def number(text: str, below: int) -> int:
    """Choose by a text: always the same, on every machine."""
    return zlib.crc32(text.encode()) % below


# -- what is found -------------------------------------------------------------------------------


DUE = [
    (subject, name)
    for turn, subject in enumerate(SUBJECTS)
    for position, name in enumerate(TRANSFORMATIONS)
    if (name, subject.id) in KNOWN
    or (turn + position * (_EVERY // len(TRANSFORMATIONS))) % _EVERY == 0
]


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        pytest.param(
            *due,
            id=f"{due[0].id}, {due[1]}",
            marks=[pytest.mark.every] if number % 2 else [],
        )
        for number, due in enumerate(DUE)
    ],
)
def test_the_same_is_found(subject: Subject, name: str) -> None:
    """One place each, by one of the transformations; all that is known to differ still does.

    Every other one by default, and the others by `pytest -m every tests/metamorphic`;
    `pytest -m fuzz tests/metamorphic` tries every transformation at every place.
    """
    known = KNOWN.get((name, subject.id))
    try:
        variants = written_otherwise(subject, name)
    except NotApplicableError:
        if known is not None:
            raise
        return
    if known is not None:
        first = known.first % len(variants)
        tried = [*variants[first:], *variants[:first]]
        assert any(differs(subject, each) for each in tried), "no longer differs"
    else:
        difference = differs(subject, variants[number(f"{subject.id} {name}", len(variants))])
        assert difference is None, difference


@pytest.mark.fuzz
@every_subject
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_the_same_is_found_everywhere(subject: Subject, name: str) -> None:
    try:
        variants = written_otherwise(subject, name)
    except NotApplicableError:
        assert (name, subject.id) not in KNOWN
        return
    differences = [said for each in variants if (said := differs(subject, each)) is not None]
    if (name, subject.id) in KNOWN:
        assert differences, "no longer differs"
    else:
        assert not differences, "\n".join(differences)


def test_what_is_known_to_differ_is_there_and_has_a_reason() -> None:
    ids = {subject.id for subject in SUBJECTS}
    for (name, subject), known in KNOWN.items():
        assert name in TRANSFORMATIONS
        assert subject in ids
        assert len(known.reason) > 20, f"{name} {subject}: say why it differs"


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_the_transformation_applies(name: str) -> None:
    """A transformation that does nothing would be no test."""
    count, enough = 0, SELDOM.get(name, AT_LEAST)
    for subject in SUBJECTS[::8]:
        if count == enough:
            break
        try:
            variants = written_otherwise(subject, name)
        except NotApplicableError:
            continue
        count += 1
        for variant in variants:
            assert variant.program.files != subject.program.files
    assert count == enough


# -- random programs -----------------------------------------------------------------------------

# Not those that look where a function is called from, or that take part of a class: the writer of
# the programs binds names in more ways than these allow.
_ON_RANDOM = [
    "rename-variables", "alias-values", "alias-functions", "extract-expression", "inline",
    "wrap-function", "reorder",
]  # fmt: skip


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", _ON_RANDOM)
def test_the_same_is_found_in_random_programs(name: str) -> None:
    applied = 0
    # Functions are written from level 3 on.
    of_functions = name == "wrap-function"
    levels = LEVELS[2:4] if of_functions else LEVELS[:4]

    @settings(
        max_examples=20 if of_functions else 8,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(levels).flatmap(programs), st.integers(0, 1000))
    def same(modules: dict[str, str], site: int) -> None:
        nonlocal applied
        files = {f"{module}.py": text for module, text in modules.items()}
        subject = Subject(f"random {sorted(files.items())}", files, None, frozenset())
        try:
            variants = written_otherwise(subject, name)
        except NotApplicableError:
            return
        applied += 1
        difference = differs(subject, variants[site % len(variants)])
        assert difference is None, difference

    same()
    assert applied >= 3


# -- what JAX does -------------------------------------------------------------------------------

_JAX_SAMPLE = [
    "JDP201/hazards/several-uses-one-fix", "JDP201/hazards/unpacking", "JDP201/hazards/alias",
    "JDP202/hazards/methods-that-compute", "JDP202/clean/committed-then-computed",
    "programs/hazards/four-files-generator", "programs/hazards/dataclass",
]  # fmt: skip
BY_ID = {subject.id: subject for subject in SUBJECTS}


@dataclass(frozen=True)
class Observed:
    """What a run of a program showed: the lines are those of the program as it was at first."""

    printed: str | None
    """None where it is another text at every run: times, addresses."""
    error: str | None
    moved: frozenset[Place]


def observed(subject: Subject, variant: Variant) -> Observed:
    paths = {module_name(path): path for path in variant.program.files}
    modules = {name: unmarked(variant.program.files[path]) for name, path in paths.items()}
    for name in paths:
        for package in itertools.accumulate(name.split(".")[:-1], "{}.{}".format):
            modules.setdefault(package, "")  # a namespace package
    assert "main" not in modules
    from tests.differential.oracle_client import shared_oracle

    (run,) = shared_oracle().run({**modules, "main": f"{subject.run}\n"}, [0])
    places = {
        (paths[use.module], line, "moved")
        for use in run.uses
        if use.moved and use.away and not use.small
        for line in ({operand[0] for operand in use.operands} or {use.operation[0]})
    }
    return Observed(
        run.printed, run.error, frozenset(place for place, _ in mapped(places, variant))
    )


def module_name(path: str) -> str:
    """Give the name under which a file is imported; the folder `src` is on the path."""
    parts = PurePosixPath(path.removeprefix("src/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def observed_at_first(identity: str) -> Observed:
    subject = BY_ID[identity]
    first, again = (observed(subject, Variant(subject.program)) for _ in range(2))
    return first if first.printed == again.printed else replace(first, printed=None)


def check_jax(subject: Subject, variants: Iterable[Variant]) -> None:
    before = observed_at_first(subject.id)
    assert before.error is None
    for variant in variants:
        after = observed(subject, variant)
        if before.printed is None:
            after = replace(after, printed=None)
        wanted = frozenset(variant.merged.get(place, place) for place in before.moved)
        text = "\n".join(map(unmarked, variant.program.files.values()))
        assert after == Observed(before.printed, None, wanted), text


class TestJax:
    """A transformed program prints what it did, and moves arrays at the lines where it did."""

    pytestmark = RUNS_PROGRAMS

    @pytest.mark.parametrize("name", TRANSFORMATIONS)
    def test_sample(self, name: str) -> None:
        applied = 0
        for identity in _JAX_SAMPLE:
            subject = BY_ID[identity]
            with contextlib.suppress(NotApplicableError):
                variants = written_otherwise(subject, name)
                check_jax(subject, [variants[number(identity + name, len(variants))]])
                applied += 1
        assert applied or name in {"rename-attributes", "wrap-function"}

    @pytest.mark.fuzz
    @every_subject
    def test_everywhere(self, subject: Subject) -> None:
        if subject.run is None:
            pytest.skip("nothing starts it")
        if (error := observed_at_first(subject.id).error) is not None:
            pytest.skip(f"it does not run here: {error.splitlines()[0]}")
        for name in TRANSFORMATIONS:
            with contextlib.suppress(NotApplicableError):
                check_jax(subject, written_otherwise(subject, name))


# -- the tools -----------------------------------------------------------------------------------


some_or_every = pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.every)])


@some_or_every
@pytest.mark.parametrize("folder", FOLDERS)
def test_marks_are_taken_off_again(folder: str, one_in: int) -> None:
    """Of one program in four; of all by `pytest -m every tests/metamorphic`."""
    for subject in FOLDERS[folder][::one_in]:
        unmarked_files = {path: unmarked(text) for path, text in subject.program.files.items()}
        assert unmarked_files == subject.files, subject.id
        assert all(was == now for now, was in origins(subject.program).items()), subject.id


@some_or_every
@pytest.mark.parametrize("folder", FOLDERS)
def test_scopes_are_those_of_python(folder: str, one_in: int) -> None:
    """In one program in four; in all by `pytest -m every tests/metamorphic`."""
    for subject in FOLDERS[folder][::one_in]:
        check_scopes(subject)


def check_scopes(subject: Subject) -> None:
    """Each function and class binds what Python's own symbol tables say."""
    for text in subject.program.texts.values():
        tables: dict[tuple[str, int], list[set[str]]] = {}
        stack = [symtable.symtable(text.text, "case.py", "exec")]
        while stack:
            table = stack.pop()
            stack += table.get_children()
            names = {each.get_name() for each in table.get_symbols() if is_own(each)}
            if table.get_type() != "module":
                tables.setdefault((table.get_name(), table.get_lineno()), []).append(names)
        for scope in text.scopes.all:
            node = scope.node
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            # Newer Pythons inline comprehensions, older ones put a class's own cells in it.
            inner = {name for other in text.scopes.all if other.kind == "comprehension"
                     for name in other.bound}  # fmt: skip
            outer = scope.global_names | scope.nonlocal_names
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found = [
                names
                for line in {node.lineno, first}
                for names in tables.get((node.name, line), [])
            ]
            own = {name for name in scope.bound - outer - inner if not name.startswith("__")}
            assert own in [names - inner for names in found]


def is_own(symbol: symtable.Symbol) -> bool:
    return symbol.is_local() and not symbol.get_name().startswith(("__", ".")) and (
        symbol.is_assigned() or symbol.is_parameter() or symbol.is_imported()
    )  # fmt: skip


@given(st.text("ab\n é", max_size=40), st.data())
@settings(max_examples=50, database=None, derandomize=True)
def test_edits_put_back_what_was_there_change_nothing(content: str, data: st.DataObject) -> None:
    text = Text(f'x = 1\n"""{content}"""\n')
    places = sorted(data.draw(st.sets(st.integers(0, len(text.text)), max_size=6)))
    edits = [
        Edit(start, end, text.text[start:end])
        for start, end in zip(places[::2], places[1::2], strict=False)
    ]
    assert text.edited(edits) == text.text
    for line in range(1, text.text.count("\n") + 2):
        assert text.line_at(text.line_start(line)) == line


def test_overlapping_edits_are_refused() -> None:
    text = Text("abc = 1\n")
    with pytest.raises(NotApplicableError, match="two changes"):
        text.edited([Edit(0, 3, "x"), Edit(2, 4, "y")])


def test_a_difference_without_a_reason_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "differences.txt"
    found = {("inline", "a/b"): Difference("because"), ("inline", "a/c"): Difference("x: y", 3)}
    write_differences(found, file)
    assert known_differences(file) == found
    file.write_text("inline a/b\n")
    with pytest.raises(ValueError, match="inline a/b"):
        known_differences(file)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("rename-variables", "def f(x):\n    y = x\n    return y\nf(1)\n",
         "def f_named(x_named):\n    y_named = x_named\n    return y_named\nf_named(1)\n"),
        ("rename-variables", "def f(x):\n    return x\nf(x=1)\n",
         "def f_named(x):\n    return x\nf_named(x=1)\n"),
        ("rename-attributes", "class A:\n    def rows(self):\n        self.table = 1\nA().rows()\n",
         "class A:\n    def rows_named(self):\n        self.table_named = 1\nA().rows_named()\n"),
        ("alias-values", "x = 1\nprint(x)\n", "x = 1\nx_too = x\nprint(x_too)\n"),
        ("alias-functions", "import jax\njax.devices('cpu')\n",
         "import jax\njax_devices = jax.devices\njax_devices('cpu')\n"),
        ("extract-expression", "x = 1\ny = x + 1\n",
         "x = 1\ndef extracted(x):\n    return (x + 1)\ny = extracted(x)\n"),
        ("extract-statements", "x = 1\nprint(x)\n",
         "def extracted():\n    x = 1\n    return x\nx = extracted()\nprint(x)\n"),
        ("inline", "x = f(1)\ny = x + 2\n", "y = f(1) + 2\n"),
        ("move-definition", "import jax\ndef f(x):\n    return jax.jit(x)\nf(1)\n",
         "import jax\nfrom moved import f\nf(1)\n"),
        ("move-beginning", "x = 1\nprint(x)\n", "from moved import x\nprint(x)\n"),
        ("wrap-function", "def f(x):\n    return x\nf(1)\n",
         "class Holder:\n    def f(self, x):\n        return x\n\n\nholder = Holder()\n"
         "holder.f(1)\n"),
        ("wrap-variables", "x = 1\nprint(x)\n",
         "\n\nclass State:\n    pass\n\n\nstate = State()\nstate.x = 1\nprint(state.x)\n"),
        ("wrap-program", "x = 1\nprint(x)\n",
         "\n\nclass Run:\n    def __init__(self):\n        self.x = 1\n\n    def run(self):\n"
         "        print(self.x)\n\n\nRun().run()\n"),
        ("reorder", "a = 1\nb = 2\n", "b = 2\na = 1\n"),
    ],
)  # fmt: skip
def test_what_it_writes(name: str, before: str, after: str) -> None:
    variant = TRANSFORMATIONS[name](marked({"case.py": before}))[0]
    assert unmarked(variant.program.files["case.py"]) == after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rename-variables", "import jax\nprint(jax)\n"),
        ("rename-attributes", "class A(Base):\n    def rows(self): ...\n"),
        ("alias-values", "x = 1\nx = 2\nprint(x)\n"),
        ("extract-expression", "def f():\n    y = (yield 1)\n"),
        ("extract-expression", "class A:\n    x = 1\n    y = x + 1\n"),
        ("extract-statements", "for _ in (): break\n"),
        ("inline", "x = f()\ng()\nprint(x)\n"),
        ("inline", "x = f()\nprint(g(), x)\n"),
        ("inline", "x = f()\ny = [x for _ in range(2)]\n"),
        ("move-definition", "y = 1\ndef f():\n    return y\nf()\n"),
        ("move-beginning", "x = 1\nprint(x)\nx = 2\n"),
        ("wrap-function", "@cached\ndef f(): ...\nf()\n"),
        ("wrap-variables", "def f():\n    x = 1\n"),
        ("wrap-program", "x = 1\ndef f():\n    return x\nf()\n"),
        ("reorder", "a = 1\nb = a\n"),
        ("reorder", "a = f()\nb = g()\n"),
    ],
)
def test_what_it_leaves(name: str, text: str) -> None:
    with pytest.raises(NotApplicableError):
        TRANSFORMATIONS[name](marked({"case.py": text}))
