from __future__ import annotations

import pytest

from placement_lint.jaxmodel.versions import (
    NEWEST,
    RELEASES,
    TargetVersions,
    parse_version,
    release_of,
    target_of,
    written,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.4.30", (0, 4, 30)),
        ("v0.7.0", (0, 7)),
        ("0.10", (0, 10)),
        ("0.9.0.1", (0, 9, 0, 1)),
        ("0.4.31.dev20240801+abc", (0, 4, 31)),
        ("0.5.0rc1", (0, 5)),
        (" 1 ", (1,)),
        ("0", (0,)),
        (f"0.{'9' * 5_000}", (0, 999_999_999)),
        ("", None),
        ("main", None),
    ],
)
def test_parse(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def test_zeros_at_the_end_of_a_release() -> None:
    assert release_of("v0.7.0rc1") == (0, 7, 0)
    assert release_of("main") is None


def test_releases_are_in_order_and_written_as_jax_does() -> None:
    parsed = [parse_version(release) for release in RELEASES]
    assert None not in parsed
    assert parsed == sorted(set(parsed), key=lambda version: version or ())
    assert parsed[-1] == NEWEST
    assert [written(version) for version in parsed if version] == list(RELEASES)


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ([(">=", "0.4.30")], "0.4.30", RELEASES[-1]),
        ([(">", "0.4.30")], "0.4.31", RELEASES[-1]),
        ([(">=", "0.4.32")], "0.4.33", RELEASES[-1]),
        ([("==", "0.7.2")], "0.7.2", "0.7.2"),
        ([("==", "0.7.0")], "0.7.0", "0.7.0"),
        ([("==", "0.7.*")], "0.7.0", "0.7.2"),
        ([("~=", "0.7.0")], "0.7.0", "0.7.2"),
        ([("~=", "0.7")], "0.7.0", RELEASES[-1]),
        ([(">=", "0.5"), ("<", "0.10")], "0.5.0", "0.9.2"),
        ([(">=", "0.5"), ("<=", "0.10")], "0.5.0", "0.10.0"),
        ([(">=", "0.5"), ("!=", "0.5.0")], "0.5.1", RELEASES[-1]),
        ([("===", "0.7")], "0.7.0", "0.7.0"),
        ([("!=", "0.12.*"), (">=", "0.11")], "0.11.0", "0.11.2"),
        ([("~=", "0")], RELEASES[0], RELEASES[-1]),
        ([("==", "0.5.0rc1")], "0.5.0", "0.5.0"),
        ([(">=", f"0.{'9' * 5_000}")], "0.999999999.0", "0.999999999.0"),
        # Nobody says that older ones are meant as well.
        ([("<", "0.6")], "0.5.3", "0.5.3"),
        # Older than the oldest, newer than the newest that are known.
        ([("==", "0.2.27")], "0.2.27", "0.2.27"),
        ([(">=", "9.0")], "9.0.0", "9.0.0"),
        ([(">=", "0.3")], RELEASES[0], RELEASES[-1]),
    ],
)
def test_what_conditions_leave(bounds: list[tuple[str, str]], low: str, high: str) -> None:
    target = target_of([bounds])
    assert target is not None
    assert (written(target.lowest), written(target.highest)) == (low, high)


def test_alternatives_are_joined_and_those_without_a_lower_bound_say_nothing() -> None:
    target = target_of([(("==", "0.6.2"),), (), (("==", "0.5.3"),), (("<", "0.5"),)])
    assert target == TargetVersions((0, 5, 3), (0, 6, 2))
    assert target_of([(("<", "0.2"),)]) == TargetVersions((0, 2), (0, 2))
    assert target_of([(("<=", "0.2.12"), ("!=", "0.2.10")), ()]) == TargetVersions(
        (0, 2, 10), (0, 2, 10)
    )
    assert target_of([(), ()]) is None
    assert target_of([]) is None


def test_a_target_and_a_range() -> None:
    target = TargetVersions((0, 5, 3), (0, 7, 2))
    assert target.reaches("0.7.0")
    assert not target.reaches("0.8.0")
    assert not target.reaches(None)
    assert target.all_reach("0.5.3")
    assert not target.all_reach("0.6.0")
    assert target.meets(None, None)
    assert target.meets("0.7.0", None)
    assert not target.meets("0.7.3", None)
    assert target.meets(None, "0.6.0")
    assert not target.meets(None, "0.5.3")
    assert not target.meets("0.8.0", "0.9.0")
