"""Functions that pin the program to the CPU once they are called: which files have their names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from placement_lint.files.store import FileStore
from placement_lint.project import platform

if TYPE_CHECKING:
    import pytest

    from placement_lint.project.platform import Takes

COUNT = 12
OFFERED = {f"pin_{number}": frozenset({f"use_{number}"}) for number in range(COUNT)}
IMPORTERS = {
    f"pin_{number}": {f"pin_{number + 1}" if number + 1 < COUNT else "user"}
    for number in range(COUNT)
}


class Texts(FileStore):
    """Files with one text, and how often each was asked for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self._text = text

    def text(self, path: str) -> str:
        self.asked[path] += 1
        return self._text


def taken(
    text: str, takes: Takes = lambda _, names: (bool(names), frozenset())
) -> tuple[set[str], Texts]:
    store = Texts(text)
    takers = platform._Takers(OFFERED, IMPORTERS, store, takes)
    return {path for path in OFFERED if takers.take(path)}, store


def test_each_importing_file_is_read_once() -> None:
    none, store = taken("reuse_3() and use_33()")
    assert not none
    assert {*store.asked.values()} == {1}
    assert len(store.asked) == COUNT


def test_a_file_that_imports_by_way_of_others_takes_a_name() -> None:
    assert taken("others.use_3()")[0] == {"pin_3"}


def test_names_count_as_taken_where_too_many_files_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "_MOST_LOOKED_AT", COUNT + 3)
    assert taken("nothing()")[0] == {*OFFERED} - {"pin_0"}


def test_what_calls_a_function_is_offered_too() -> None:
    def takes(path: str, names: frozenset[str]) -> tuple[bool, frozenset[str]]:
        if "again" in names:
            return path == "user", frozenset()
        return False, frozenset({"again"} if path == "pin_5" else ())

    assert taken("use_3() or again()", takes)[0] == {"pin_3"}
    assert not taken("use_3()", takes)[0]


def test_functions_that_call_one_another_come_to_an_end() -> None:
    assert not taken("use_3()", lambda path, _: (False, frozenset({path})))[0]
