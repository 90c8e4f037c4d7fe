"""What the executions of one kind have left behind: those that happen, or those on tracers."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

from placement_lint.placement.domain.containers import Containers, sites
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.domain.state import DefaultDevice, State, Variable
    from placement_lint.placement.domain.values import Generator, Value

CallKey: TypeAlias = (
    "tuple[tuple[tuple[str, Value], ...], tuple[DefaultDevice, ...], DefaultDevice,"
    "MeshesInForce | None, bool, bool, bool, bool]"
)
"""A way to call a function: with which arguments, under which default device and meshes (None: it
does not matter which), in a loop or not, and in one that is not executed item by item, compiled or
not, there to fail or not."""


Kinds: TypeAlias = tuple[str, ...]
"""What the arguments of a call are, one word for each: arrays, those of NumPy, or anything else."""

NO_SITES: frozenset[Site] = frozenset()
NO_OBJECTS: frozenset[Instance] = frozenset()
"""Those of the many executions that make none."""


class Reads:
    """What an execution read of the variables around it, with what each held: None, if nothing.

    Those of a function that calls many others are many, and a dictionary takes three times as much.
    """

    __slots__ = ("_held", "_names", "_settled")

    def __init__(
        self, reads: Mapping[Variable, Value | None], settled: Mapping[Variable, Value]
    ) -> None:
        """Take all of them; `settled`: of the attributes that the execution sets, see `allowed`."""
        self._names = tuple(reads)
        self._held = tuple(reads.values())
        self._settled = tuple(map(settled.get, self._names)) if settled else ()

    def items(self) -> Iterator[tuple[Variable, Value | None, Value | None]]:
        """Return each variable with what it held, and with what it may hold besides that."""
        return zip(self._names, self._held, self._settled or repeat(None), strict=False)


def allowed(held: Value | None, now: Value | None, settled: Value | None) -> bool:
    """Return whether an execution does the same where a variable does not hold the same `now`.

    So it does where it sets an attribute before it reads it, or never does, if all that the
    attribute holds now is in what it sets: whether it takes the place of that or is joined to it,
    it gives the same. Not so of a container, which may change under another name.
    """
    return (
        settled is not None
        and (held or NOTHING) <= (now or NOTHING) <= settled
        and not any(sites(now or NOTHING))
    )


@dataclass
class Execution:
    """One execution of a function, and what it depends on and does besides its result."""

    result: Value
    reads: Reads
    writes: dict[Variable, Value]
    base: DefaultDevice | None
    """The default device that it left behind, where it changed it."""
    made: AbstractSet[Site]
    """The containers that it made, and that nothing but its result holds."""
    objects: AbstractSet[Instance]
    """The objects that it made, and that nothing but its result holds."""
    released: frozenset[Place] | None = frozenset()
    """What of its caller's it left; None: something that cannot be named."""
    entered: tuple[DefaultDevice, ...] = ()
    """What it entered, through an `ExitStack` or by hand, and did not leave."""
    suspended: dict[Variable, Value] | None = None
    """What its variables hold at the `yield` of a context manager that goes on at its end."""
    moves: bool = False
    """Something is copied in it, or may be: whether it is, the default device of its callers
    decides."""
    touches: bool = True
    """A placement comes in, or is asked for, in it or in what it calls."""
    meshes: MeshesInForce | None = None
    """The meshes that it left in force, where it changed them."""
    asks_meshes: bool = True
    """What it does depends on the meshes in force where it is called, or changes them."""

    @property
    def is_plain(self) -> bool:
        """Whether it is over at its end, and leaves the default device as it was."""
        return (
            self.suspended is None
            and self.base is None
            and self.meshes is None
            and not self.entered
            and self.released is not None
            and not self.released
        )

    is_general: bool = False
    """It holds for all data that has no placement: what it read was unknown to it, or equal."""


@dataclass
class ExecutionLedger:
    """What is known of functions and objects by the executions so far."""

    executed: set[Place] = field(default_factory=set)
    results: dict[Place, Value] = field(default_factory=dict)
    memo: dict[Place, dict[CallKey, list[Execution]]] = field(default_factory=dict)
    running: set[Place] = field(default_factory=set)
    recursed_through: dict[Place, dict[Place, None]] = field(default_factory=dict)
    """The functions by way of which a function calls itself: what they gave depends on that."""
    forgotten: int = 0
    """How often what such functions gave was forgotten."""
    final: MutableMapping[Variable, Value] = field(default_factory=dict)
    """What held at the end of the bodies that were executed. `keep` sets it."""
    attributes: dict[Place, dict[Variable, None]] = field(default_factory=dict)
    """Those variables of it that are attributes of objects, by the class of these."""
    beneath: ExecutionLedger | None = None
    """The one of what happened, for one of what is traced."""
    instances: dict[Place, dict[Instance, None]] = field(default_factory=dict)
    sets_default: set[Place] = field(default_factory=set)
    """Functions that change the default device outside of every block."""
    recursed: dict[Place, list[tuple[dict[str, Value], State]]] = field(default_factory=dict)
    """Calls of functions from inside of themselves, that are still to be executed."""
    again: dict[Place, int] = field(default_factory=dict)
    repeated: dict[Place, Value] = field(default_factory=dict)
    """What calls of functions from inside of themselves give, while that is known."""
    executions: int = 0
    widened: dict[Place, dict[Kinds, dict[str, Value]]] = field(default_factory=dict)
    """For functions that are called in too many ways: what holds for all of those of one kind."""
    over_full: set[tuple[Place, Kinds, str]] = field(default_factory=set)
    """Of those functions, the parameters with too many alternatives."""
    unconsumed: dict[Generator, State] = field(default_factory=dict)
    """Generators of which nothing was consumed yet, and where they were made."""
    consumed_under: dict[Place, set[DefaultDevice]] = field(default_factory=dict)
    """The default devices under which an iterator is consumed, by the place that makes it."""
    cached: MutableMapping[tuple[Place, Instance | None], Value] = field(default_factory=dict)
    """What the calls of functions gave that keep what the first ones gave; of a cached property,
    by the object."""
    containers: Containers = field(default_factory=Containers)
    acting: set[Place] = field(default_factory=set)
    """Functions that by themselves, not for what their callers give them, copy something, or hand a
    placement to code that is not followed and may be their callers'. So do those with an effect on
    the default device."""
    placing: dict[Place, Value] = field(default_factory=dict)
    """What functions give that they did not only pass on from their callers."""
    holding: dict[Place, set[tuple[str, str]]] = field(default_factory=dict)
    """Classes in whose objects a function puts placed arrays that its callers did not give it: the
    name of such a function, which a lambda has none of, and the attribute."""

    def keep(self, key: Variable, held: Value) -> None:
        """Note what a variable holds at the end of a body."""
        owner = key[0]
        if isinstance(owner, Instance):
            self.attributes.setdefault(owner.cls, {})[key] = None
        self.final[key] = held

    def attributes_of(self, cls: Place) -> list[Variable]:
        """Return the attributes that objects of a class have at the end of bodies."""
        beneath = [] if self.beneath is None else self.beneath.attributes_of(cls)
        return [*dict.fromkeys((*beneath, *self.attributes.get(cls, ())))]

    def made(self, instance: Instance) -> bool:
        """Return whether an object was made here, or in what happened."""
        if instance in self.instances.get(instance.cls, ()):
            return True
        return self.beneath is not None and self.beneath.made(instance)

    def on_tracers(self) -> ExecutionLedger:
        """Return an empty one, in which nothing happens that is seen here.

        What happened here is seen there.
        """
        return ExecutionLedger(
            final=ChainMap({}, self.final),
            cached=ChainMap({}, self.cached),
            beneath=self,
        )
