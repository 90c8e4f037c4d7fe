"""A module that is loaded when it is first used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from placement_lint.syntax.lazy import deferred

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the name of a package that nobody has imported."""
    name = "deferred_by_the_test"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("class Thing: pass\n")
    (tmp_path / name / "part.py").write_text(f"from {name} import Thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [each for each in sys.modules if each.startswith(name)]:
        del sys.modules[loaded]


def imported(part: str = "") -> Any:
    """Import it, or a module in it, by a statement."""
    scope: dict[str, Any] = {}
    exec(f"import deferred_by_the_test{part} as found", scope)  # noqa: S102
    return scope["found"]


def test_is_loaded_by_its_first_use(module: str) -> None:
    with deferred(module):
        stand_in = imported()
        assert imported() is stand_in
    assert module not in sys.modules
    thing = stand_in.Thing
    real = sys.modules[module]
    assert thing is real.Thing
    assert stand_in.Thing is thing
    assert imported() is real
    assert real is not stand_in


def test_use_in_the_block(module: str) -> None:
    with deferred(module):
        stand_in = imported()
        assert stand_in.Thing.__module__ == module
        assert imported() is sys.modules[module] is not stand_in
    assert module in sys.modules


def test_other_forms_of_import_in_the_block_load_it(module: str) -> None:
    with deferred(module):
        part = imported(".part")
    assert sys.modules[module].Thing is part.Thing


def test_module_that_is_there_already(module: str) -> None:
    real = imported()
    with deferred(module):
        assert imported() is real
    assert imported() is real


def test_attribute_that_it_does_not_have(module: str) -> None:
    with deferred(module):
        stand_in = imported()
    with pytest.raises(AttributeError, match="nothing"):
        stand_in.nothing  # noqa: B018


def test_failure_in_the_block_leaves_nothing_behind(module: str) -> None:
    with pytest.raises(KeyError), deferred(module):
        raise KeyError
    assert module not in sys.modules


def test_modules_of_a_package_in_another_one_do_not_load_it(module: str, tmp_path: Path) -> None:
    inner = f"{module}.inner"
    (tmp_path / module / "inner").mkdir()
    (tmp_path / module / "inner" / "__init__.py").write_text("from .part import one\ntwo = 2\n")
    (tmp_path / module / "inner" / "part.py").write_text("one = 1\n")
    with deferred(inner):
        assert imported(".inner.part").one == 1
        stand_in = sys.modules[inner]
        assert "two" not in vars(stand_in)
        assert stand_in.two == 2
        assert sys.modules[inner] is imported(".inner") is not stand_in
    assert sys.modules[inner].one == 1
