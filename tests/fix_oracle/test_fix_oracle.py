"""Programs, fixed and run: a fix changes no place of computation, and cures what it is for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.fix_oracle.alignment import Alignment
from tests.fix_oracle.examine import NOT_STARTED, RAN, examine, report
from tests.fix_oracle.fixing import Applied, Fixed, How, findings, fix
from tests.fix_oracle.judge import COPYING, asked, judge
from tests.fix_oracle.record import newest, read
from tests.fix_oracle.sources import (
    GENERATORS,
    OWN,
    fixture_programs,
    own_programs,
    program_named,
    random_programs,
    written_programs,
)
from tests.marks import RUNS_PROGRAMS
from tests.program_cases import all_programs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fix_oracle.client import Modules, WatchClient
    from tests.fix_oracle.judge import Judgement
    from tests.fix_oracle.sources import Program

pytestmark = RUNS_PROGRAMS

_SAMPLE = {"loops": 3}
_MANY = 100


def check(
    subtests: pytest.Subtests, oracle: WatchClient, programs: Iterable[Program]
) -> Counter[str]:
    """Examine programs; fail with a report of each that a fix does wrong. Count their states."""
    states: Counter[str] = Counter()
    for program in programs:
        with subtests.test(program.name):
            examined = examine(oracle, program)
            states[examined.state] += 1
            if examined.wrong:
                pytest.fail(report(examined), pytrace=False)
    return states


def test_sample(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    """Some of each kind; `pytest -m every tests/fix_oracle` takes all that are written."""
    sample = [
        random_programs(family, number)
        for family in GENERATORS
        for number in range(_SAMPLE.get(family, 1))
    ]
    assert check(subtests, oracle, sample)[RAN] >= 3


@pytest.mark.every
def test_some_own_programs(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    """Some of the shapes that a fix has to survive; `test_own_programs` takes all."""
    programs = own_programs()
    assert len(programs) >= 20
    assert not check(subtests, oracle, programs[::4])[NOT_STARTED]


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_own_programs(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    assert not check(subtests, oracle, own_programs())[NOT_STARTED]


@pytest.mark.parametrize("one_in", [3, pytest.param(1, marks=pytest.mark.every)])
def test_what_is_asked_can_be_had(
    subtests: pytest.Subtests, oracle: WatchClient, one_in: int
) -> None:
    """Of most of these shapes a right fix is written beside them, by hand: it passes.

    One shape in three; all of them with `pytest -m every tests/fix_oracle -k asked`.
    """
    fixes = [case for case in all_programs(OWN.parent) if case.becomes]
    assert len(fixes) >= 10
    for case in fixes[::one_in]:
        with subtests.test(case.id):
            texts = {path: text.expected.text for path, text in case.fixed().items()}
            judgement = judged_by_hand(oracle, case.modules(), case.modules(texts))
            assert [*map(str, judgement.verdicts)] == []
            assert judgement.exempt
            assert judgement.copies


def judged_by_hand(oracle: WatchClient, modules: Modules, after: Modules) -> Judgement:
    """Judge a fix of which only the texts are known: of what is found no longer."""
    found, left = findings(modules), findings(after)
    alignments = {
        name: Alignment(text).edited([(0, len(text), after[name])])
        for name, text in modules.items()
    }
    still = {(each.code, each.module, alignments[each.module].kept(each.place)) for each in left}
    applied = [
        Applied(each.code, each.module, each.place, "by hand", unsafe=False)
        for each in found
        if each.code in COPYING and (each.code, each.module, each.place) not in still
    ]
    fixed = Fixed(How(unsafe=False), after, alignments, applied, left)
    before_asked, after_asked = asked(fixed)
    before = oracle.watch(modules, [0], before_asked)
    return judge(
        modules, fixed, found, list(zip(before, oracle.watch(after, [0], after_asked), strict=True))
    )


@pytest.mark.every
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", GENERATORS)
def test_random_programs(subtests: pytest.Subtests, oracle: WatchClient, family: str) -> None:
    check(subtests, oracle, (random_programs(family, number) for number in range(_MANY)))


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_fixtures(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    states = check(subtests, oracle, fixture_programs())
    assert states[RAN] >= 350
    assert states[NOT_STARTED] <= 100


@pytest.mark.every
@pytest.mark.timeout(3600)
def test_written_programs(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    programs, _ = written_programs()
    states = check(subtests, oracle, programs)
    assert states[RAN] >= 40
    assert not states[NOT_STARTED]


@pytest.mark.parametrize("family", GENERATORS)
def test_a_number_gives_the_same_program(family: str) -> None:
    assert random_programs(family, 7) == random_programs(family, 7)
    assert random_programs(family, 7).modules != random_programs(family, 8).modules
    assert program_named(f"{family}/7") == random_programs(family, 7)


@pytest.mark.parametrize("one_in", [4, pytest.param(1, marks=pytest.mark.every)])
def test_what_is_left_after_fixing_is_what_is_found_in_the_fixed_text(one_in: int) -> None:
    """In one program in four; in all with `pytest -m every tests/fix_oracle -k left_after`."""
    programs = [*own_programs(), *(random_programs("loops", n) for n in range(5))]
    for program in programs[::one_in]:
        fixed = fix(program.modules, How(unsafe=True))
        assert fixed.found == findings(fixed.modules), program.name


def test_training_loops_are_of_many_kinds() -> None:
    """What each of them may hold is in some of them."""
    texts = ["\n".join(random_programs("loops", n).modules.values()) for n in range(400)]
    parts = [
        "enumerate(", "zip(", "batches(", "jax.lax.scan", "NamedSharding", "donate_argnums",
        "cached_property", "ExitStack", "jnp.bfloat16", "jnp.full((8, 4)", "jax.tree.map(lambda a",
        "class Trainer", '__name__ == "__main__"', "import data", "from pkg.data import",
        "jax.devices()[1]", "next(it)", "while i", "fast_head(", "dynamic_slice_in_dim",
        "[np.array(", "jax.device_put(xs[i])", "np.asarray(xs", "print(",
    ]  # fmt: skip
    missing = [part for part in parts if not any(part in text for text in texts)]
    assert missing == []


@pytest.mark.every
def test_what_once_went_wrong_goes_right(subtests: pytest.Subtests, oracle: WatchClient) -> None:
    """The programs that the newest record says were examined again."""
    path = newest()
    assert path is not None
    assert check(subtests, oracle, map(program_named, read(path).judged_again))[RAN] >= 1
