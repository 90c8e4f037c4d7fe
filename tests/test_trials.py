"""A test of many checks fails for each one that fails, and for none."""

import pytest

from tests.trials import Share, Trials


def failed_by(names: dict[str, BaseException | None]) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        make(names)
    return str(caught.value)


def make(names: dict[str, BaseException | None]) -> None:
    with Trials() as trials:
        for name, error in names.items():
            with trials.of(name):
                if error is not None:
                    raise error


def test_each_that_fails_is_named() -> None:
    said = failed_by(
        {
            "one": AssertionError("1 is not 2"),
            "two": None,
            "three": KeyError("x"),
            "four": pytest.fail.Exception("no such function"),
        }
    )
    assert "== one\n" in said
    assert "AssertionError: 1 is not 2" in said
    assert "KeyError: 'x'" in said
    assert "no such function" in said
    assert said.endswith("3 of 4 failed: one, three, four")


def test_no_check_at_all_fails() -> None:
    assert failed_by({}) == "nothing was checked"


def test_all_that_hold_pass() -> None:
    with Trials() as trials:
        for name in "ab":
            with trials.of(name):
                assert name in "ab"
    assert (trials.made, trials.failed) == (["a", "b"], {})


def test_what_ends_the_run_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt), Trials() as trials, trials.of("one"):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError), Trials():
        raise ZeroDivisionError


def test_a_share_takes_turns() -> None:
    ways = ["a", "b", "c"]
    chosen = [Share(number, every=False).of(ways) for number in range(4)]
    assert chosen == [["a"], ["b"], ["c"], ["a"]]
    assert Share(1, every=True).of(ways) == ways
    assert Share(5, every=False).of([]) == []
    assert [Share(number, every=False).one_in(2) for number in range(3)] == [True, False, True]
    assert Share(1, every=True).one_in(2)


def test_a_share_takes_the_next_way_that_applies() -> None:
    ways = ["a", "b", "c"]
    chosen = [Share(number, every=False).of(ways, "ab".__contains__) for number in range(3)]
    assert chosen == [["a"], ["b"], ["a"]]
    assert Share(0, every=False).of(ways, "d".__contains__) == []
    assert Share(0, every=True).of(ways, "ca".__contains__) == ["a", "c"]
