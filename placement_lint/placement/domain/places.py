"""Places in a program: what the expressions are that make, commit and take things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from placement_lint.placement.domain.ordering import Named

MADE_ON_TRACERS = "\0"
"""What the name of a module begins with where traced code makes an array, that is none yet."""


class Place(NamedTuple):
    """A node of a module of the program, by the module's name and the node's index in its tree."""

    module: str
    node: int


NOWHERE: frozenset[Place] = frozenset()


class Taking(NamedTuple):
    """An operation that takes a part of an array: an index, a call, or an iteration."""

    place: Place
    """The expression that gives the part; of an iteration, what is iterated over."""
    iterated: bool = False


Causes: TypeAlias = "frozenset[Place | Taking]"
"""Of an array that is committed because something is supposed to be: the expressions of which that
is supposed, and the operations that took it from what they give."""

NO_CAUSES: Causes = frozenset()

Site: TypeAlias = "tuple[Place, ...]"
"""What a list or a dict is known by: the expression that made it, and the call that led there."""


@dataclass(frozen=True)
class ArrayOrigin(Named):
    """Where an array was made."""

    created: Place
    """The expression that made it."""
    commit_at: Place
    """The expression that a `device_put` around commits it: the one that is bound to a name."""
    device: Place | None
    """The expression that names the default device in force; None: none is."""
    is_apart: bool = True
    """False: it is in an object of a library, which `device_put` may refuse."""
    is_chosen: bool = False
    """That expression chooses, when it runs, between this device and the system's default."""

    @property
    def can_be_committed(self) -> bool:
        """Whether a `device_put` around what makes it commits it to that device."""
        return self.is_apart and not self.is_chosen
