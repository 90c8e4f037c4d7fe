"""What the execution of a function keeps while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.placement.domain.program_values import Instance

if TYPE_CHECKING:
    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.domain.state import DefaultDevice, State, Variable, Variables
    from placement_lint.placement.domain.values import Array, Atom, Value


class Yielded(NamedTuple):
    """What a generator function yields."""

    defaults: tuple[DefaultDevice, ...]
    """The default devices of which one is in force there, innermost first."""
    meshes: MeshesInForce
    """The meshes that are in force there."""
    given: Value


@dataclass
class Frame:
    """A function being executed."""

    place: Place
    entry: Variables
    own: set[int]
    """The scopes, by id, of the function and of what is defined in it."""
    around: int
    """How many blocks are around its body."""
    bindings: dict[str, Value] = field(default_factory=dict)
    """What its parameters hold."""
    builds: Atom | None = None
    """The object of which it is the initializer: others see it once that is left."""
    reads: dict[Variable, Value | None] = field(default_factory=dict)
    settled: dict[Variable, Value | None] = field(default_factory=dict)
    """Of those that are attributes, what each held at least wherever it was read, and at the end.
    None where it was read before it held anything."""
    returns: list[Value] = field(default_factory=list)
    yields: list[Yielded] = field(default_factory=list)
    made: set[Site] = field(default_factory=set)
    """The lists and dicts that the execution makes."""
    objects: set[Instance] = field(default_factory=set)
    """The objects that the execution makes."""
    suspends: bool = False
    """It ends at its `yield`, until the context manager that it makes is left."""
    paused: dict[int, State] = field(default_factory=dict)
    """By `yield`, of any other generator, in which state it was there last."""
    suspended: list[State] = field(default_factory=list)
    """What holds there."""
    resumption: State | None = None
    """What holds after its `yield`."""
    given: frozenset[Array] = frozenset()
    """The placed arrays that its caller gives it."""
    defaults: frozenset[Place] = frozenset()
    """The expressions that name the default devices under which its caller calls it."""
    moves: bool = False
    """Something is copied in it or in what it calls, or may be."""
    touches: bool = False
    """A placement comes in, or is asked for, in it or in what it calls."""
    asks_meshes: bool = False
    """What it or something that it calls does depends on the meshes in force, or changes them."""

    def settle(self, key: Variable, held: Value | None) -> None:
        """Note what an attribute holds where it is read or left; None: that it has none matters."""
        if isinstance(key[0], Instance):
            least = self.settled.get(key, held)
            if least is not held and least is not None:
                # Most are equal: then one is kept.
                least = None if held is None else least if least <= held else least & held
            self.settled[key] = least

    @property
    def is_own(self) -> bool:
        """Its caller gives it no placement: what is placed or copied in it is its own doing."""
        return not self.defaults and not self.given
