"""What the program defines, by its place in the text: functions, classes and their objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.placement.domain.one_of_equal import OneOfEqual
from placement_lint.placement.domain.ordering import Named
from placement_lint.placement.domain.sized import Sized

if TYPE_CHECKING:
    from placement_lint.placement.domain.places import Place


@dataclass(frozen=True)
class Function(Sized):
    """A function of the program: a `def` or a lambda."""

    place: Place


@dataclass(frozen=True)
class Class(Sized):
    """A class of the program."""

    place: Place


@dataclass(frozen=True, eq=False)
class Instance(Named, Sized, metaclass=OneOfEqual):
    """An object of a class of the program, by the call that made it.

    It is part of the key of each of its attributes: equal ones are one, which is compared quickly.
    """

    cls: Place
    site: Place
    through: Place | None = None
    """The last call that gave another object like it, with other fields: `device_put(x, d)`. Of
    the calls before that one nothing is kept, so that there are not ever more of them."""
    nth: int = 0
    """In which round of a loop that is executed item by item; 0: in none."""

    @property
    def owner(self) -> Place:
        """What the containers belong to that it alone holds."""
        return self.through or self.site


@dataclass(frozen=True)
class External(Sized):
    """A name in a module of the program that was not read yet: nothing in it carries a placement.

    It is read once something is called in it with an array that does.
    """

    module: str
    name: str
