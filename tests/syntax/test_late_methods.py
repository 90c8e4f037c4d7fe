"""Dataclasses whose methods are compiled when they are first called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from dataclasses import InitVar, dataclass, field, replace
from types import FunctionType
from typing import ClassVar

import pytest

from placement_lint.syntax.late_methods import _FIRST, compiled_late

with compiled_late():

    @dataclass(frozen=True, order=True)
    class Point:
        """One with every kind of method."""

        x: int
        y: int = 2
        tags: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    @dataclass
    class Counted:
        """One with a factory, and a value that it does not keep."""

        start: InitVar[int]
        items: list[int] = field(default_factory=list)

        def __post_init__(self, start: int) -> None:
            self.items.append(start)

    @dataclass
    class Base:
        """One that another one calls."""

        a: int

    @dataclass(init=False)
    class Derived(Base):
        """One with an initializer of its own."""

        def __init__(self, a: int) -> None:
            super().__init__(a + 1)

    @dataclass(frozen=True, slots=True)
    class Slotted:
        """One that is made twice."""

        a: int


def test_methods_do_what_they_do_elsewhere() -> None:
    one, other = Point(1), Point(1, y=3, tags=("a",))
    assert (one.x, one.y, other.tags) == (1, 2, ("a",))
    assert one < other
    assert one != other
    assert one == Point(1, tags=("b",))
    assert len({one, Point(1), other}) == 2
    assert repr(one) == "Point(x=1, y=2, tags=())"
    assert replace(one, x=5) == Point(5)
    assert copy.copy(one) == pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 3  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.x
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required"):
        Point()  # type: ignore[call-arg]


def test_other_kinds() -> None:
    assert Counted(3).items == [3]
    assert Counted(4).items == [4]
    assert Derived(1).a == 2
    assert Base(1) == Base(1)
    assert hash(Slotted(1)) == hash(Slotted(1))
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        Slotted(1).a = 2  # type: ignore[misc]


def test_methods_make_way_for_what_is_compiled() -> None:
    with compiled_late():
        late = dataclasses.make_dataclass("Late", ["a"], frozen=True)
    before = vars(late)["__init__"]
    assert isinstance(before, FunctionType)
    assert before.__qualname__ == "Late.__init__"
    for number in range(_FIRST):
        assert late(number).a == late(a=number).a == number
    after = vars(late)["__init__"]
    assert after is not before
    assert after.__code__.co_varnames[:2] == ("self", "a")
    assert after.__qualname__ == "Late.__init__"


def test_the_first_objects_are_as_all_are() -> None:
    def made() -> list[object]:
        """Give objects of classes of all kinds, each made in several ways."""

        @dataclass
        class Noting:
            a: int
            b: list[int] = field(default_factory=list)

            def __setattr__(self, name: str, held: object) -> None:
                object.__setattr__(self, name, (name, held))

        @dataclass(frozen=True, slots=True)
        class Kept:
            shared: ClassVar[int] = 1
            a: int
            b: int = field(default=2, kw_only=True)

        @dataclass
        class Later:
            a: int
            b: int = field(init=False, default=4)

            def __post_init__(self) -> None:
                self.a += 1

        @dataclass
        class Further(Later):
            c: int = 5

        found: list[object] = []
        for _ in range(2 * _FIRST):
            for cls, args, kwargs in (
                *((Noting, (1,), {}), (Noting, (), {"a": 1, "b": [2]}), (Kept, (1,), {"b": 3})),
                *((Kept, (1, 2), {}), (Kept, (), {}), (Kept, (1,), {"c": 3}), (Later, (1,), {})),
                *((Later, (1, 2), {}), (Further, (1, 2), {}), (Further, (1,), {"a": 2})),
            ):
                try:
                    one = cls(*args, **kwargs)
                except TypeError as error:
                    found.append(str(error))
                else:
                    names = [each.name for each in dataclasses.fields(cls)]
                    found.append([getattr(one, name) for name in names])
        return found

    expected = made()
    with compiled_late():
        late = made()
    assert late == expected


def test_nothing_is_left_of_a_block() -> None:
    with compiled_late(), compiled_late():
        assert "exec" in vars(dataclasses)
    assert "exec" not in vars(dataclasses)


def test_nodes_of_libcst_are_the_same() -> None:
    code = """\
from placement_lint.syntax.late_methods import compiled_late
with compiled_late():
    import libcst as cst
module = cst.parse_module("x = f(1, y=[a for a in b])\\n")
assert module.deep_clone().deep_equals(module)
call = module.body[0].body[0].value
assert call.with_changes(func=cst.Name("g")).func.value == "g"
assert call == call != cst.Call(cst.Name("f")) and hash(call)
assert repr(cst.Pass()).startswith("Pass(")
try:
    cst.Name("")
except cst.CSTValidationError:
    print(module.code, end="")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "x = f(1, y=[a for a in b])\n"
