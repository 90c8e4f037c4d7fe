"""Each case has its turn of the ways to write it."""

from tests.share import Share


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
