"""Whatever hazards stand in one file: fixing it ends, keeps what it must keep, and leaves none.

By default a sample is fixed; `pytest -m fuzz tests/composed` fixes 2,000 files, 200 programs of
several files, and every pair of rules three times.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.opening import decode
from placement_lint.rules.registry import all_rules
from tests.composed import programs
from tests.composed.files import Composed, cases_by_code, compiles, pair, random_file
from tests.composed.properties import fix, problems, said

if TYPE_CHECKING:
    from pathlib import Path

    from placement_lint.files.source import Source

FILES = 2_000
CHUNK = 50
SAMPLE = range(FILES, FILES + 8)
"""The files of the default run are others than those of the long one."""
TURNS = 3
PROGRAMS = 200
PAIRS = [*itertools.combinations_with_replacement(sorted(cases_by_code()), 2)]
SAMPLE_OF_PAIRS = PAIRS[7::74]


def demand(composed: Composed) -> None:
    found = {unsafe: [*problems(composed, unsafe=unsafe)] for unsafe in (False, True)}
    assert found == {False: [], True: []}, composed.name


def test_there_are_hazards_of_every_rule() -> None:
    about_files = {"JDP900", "JDP901", "JDP903"}
    assert {rule.code for rule in all_rules()} - cases_by_code().keys() == about_files
    assert len(PAIRS) > 900
    assert len(SAMPLE_OF_PAIRS) > 20


def test_the_files_are_various_and_mostly_mended() -> None:
    files = [random_file(seed) for seed in range(60)]
    assert all(compiles(composed.text) for composed in files)
    for shape in ("\t", "\r\n", "; ", '"""', "async def", "# beside", "class Wrapped"):
        assert any(shape in composed.text for composed in files), shape
    assert any(composed.data.startswith(b"\xef\xbb\xbf") for composed in files)
    assert any(not composed.data.endswith(b"\n") for composed in files)
    assert any(not composed.parts for composed in files)
    assert len({composed.data for composed in files}) == len(files)
    mended = [
        composed
        for composed in files[:20]
        if fix(decode("composed.py", composed.data), unsafe=True).counts
    ]
    assert len(mended) > 12


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_random_file(seed: int) -> None:
    demand(random_file(seed))


@pytest.mark.parametrize(("first", "second"), SAMPLE_OF_PAIRS)
def test_two_rules_in_one_file(first: str, second: str) -> None:
    demand(pair(first, second))


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(0, FILES, CHUNK))
def test_many_random_files(start: int) -> None:
    for seed in range(start, start + CHUNK):
        demand(random_file(seed))


@pytest.mark.fuzz
@pytest.mark.parametrize("turn", range(TURNS), ids=lambda turn: f"turn{turn}")
@pytest.mark.parametrize("first", sorted(cases_by_code()))
def test_every_pair_of_rules_in_one_file(first: str, turn: int) -> None:
    for one, other in PAIRS:
        if first == one:
            demand(pair(one, other, turn))


# -- several files ------------------------------------------------------------------------------


def demand_of_program(seed: int, folder: Path) -> None:
    texts = programs.random_program(seed)
    found = {
        unsafe: [*programs.problems(texts, folder / str(unsafe), unsafe=unsafe)]
        for unsafe in (False, True)
    }
    assert found == {False: [], True: []}, (seed, texts)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + 5))
def test_a_random_program(seed: int, tmp_path: Path) -> None:
    demand_of_program(seed, tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_many_random_programs(seed: int, tmp_path: Path) -> None:
    demand_of_program(seed, tmp_path)


def test_programs_are_of_several_files_and_many_are_fixed(tmp_path: Path) -> None:
    changed = 0
    for seed in range(5):
        texts = programs.random_program(seed)
        assert len(texts) > 1
        assert [*programs.problems(texts, tmp_path / str(seed), unsafe=True)] == []
        changed += any(
            (tmp_path / str(seed) / path).read_bytes() != text.encode()
            for path, text in texts.items()
        )
    assert changed > 1


# -- the properties themselves ------------------------------------------------------------------


def test_comments_are_compared_without_what_silences_rules() -> None:
    assert said("x  # noqa: JDP201 because\n# placement-lint: ignore[JDP2]\r\n#: é\n") == [
        "because",
        ": é",
    ]


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda text: text.replace("# note", ""), "comments are lost"),
        (lambda text: text.replace("import jax\n", "import jax\r\n", 1), "line ends"),
        (lambda text: text + "return 1\n", "does not compile"),
    ],
    ids=["comment", "line-end", "syntax"],
)
def test_what_fixes_break_is_seen(
    edit: object, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from tests.composed import properties

    assert callable(edit)
    text = "import jax\n# note\nx = 1\njax.device_put(x)\n"
    composed = Composed("one", text.encode(), ())
    assert [*problems(composed, unsafe=True)] == []
    real = properties.fix

    def broken(source: Source, *, unsafe: bool) -> object:
        result = real(source, unsafe=unsafe)
        return replace(result, source=replace(result.source, text=edit(result.text)))

    monkeypatch.setattr(properties, "fix", broken)
    assert any(complaint in problem for problem in problems(composed, unsafe=True))
