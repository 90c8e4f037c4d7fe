"""The vocabulary of the transfer table: what a call may do with arrays, and one row of the table.

D is the default device where the call runs: of the innermost `with jax.default_device(…)` of the
thread, else of `jax.config.update("jax_default_device", …)`, else the first local device.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Effect(enum.Enum):
    """The ways in which a call treats arrays."""

    CREATE = enum.auto()
    """Makes an array from nothing, from Python values or from NumPy arrays: on D, uncommitted.
    A `device=` argument commits it there."""
    COMPUTE = enum.auto()
    """Runs on D, or where a committed operand is: every uncommitted operand that is elsewhere is
    copied whole, each time."""
    IDENTITY = enum.auto()
    """Hands back the first argument: same device, same commitment, no copy."""
    CONVERT = enum.auto()
    """Makes an array of anything: an array that is already one comes back as it is, all else is
    put on D, uncommitted."""
    COPY = enum.auto()
    """As CONVERT, but an array is computed upon: it moves."""
    HOST = enum.auto()
    """Reads an array into NumPy, or never touches JAX: nothing moves."""
    PLAIN = enum.auto()
    """Looks at shapes and types only, or gives a Python value: nothing moves."""
    COMMIT = enum.auto()
    """Gives an array that is committed where the arguments say."""
    KEY = enum.auto()
    """Makes or derives a PRNG key: on D, uncommitted, and a few bytes, so that its moves do not
    count; of a committed key, where that is."""
    SAMPLE = enum.auto()
    """Draws random numbers: on D, uncommitted; with a committed key, where the key is."""
    LOAD = enum.auto()
    """Reads a file of arrays: each on D, uncommitted."""
    TRANSFORM = enum.auto()
    """Makes a function that computes (COMPUTE) from a function."""
    DISTRIBUTE = enum.auto()
    """Makes a function that spreads its arguments over devices on purpose."""
    TREE_MAP = enum.auto()
    """Applies the first argument to every leaf of the others."""

    REGROUP = enum.auto()
    """Puts the arrays of its arguments into another container, or takes them out: each as it
    is."""
    TREE_MAP_WITH_PATH = enum.auto()
    """As TREE_MAP, but the function is given the path to the leaf first."""
    REDUCE = enum.auto()
    """Folds a function over leaves or elements: the function says what happens to them."""
    ITERATE = enum.auto()
    """Iterates over its argument, which indexes it: it computes on an array."""
    SAMPLER = enum.auto()
    """Makes a function that draws random numbers (SAMPLE) from the key that it is given."""
    INITIALISE = enum.auto()
    """Makes parameters with a key, drawn and constant ones, or a function that does: on D,
    uncommitted. Of a committed key, the drawn ones where it is, the constant ones on D."""
    STATE = enum.auto()
    """Makes constants of the shapes of the arrays that it is given, and counters: on D,
    uncommitted; for a committed array, where that is. Counters always on D."""
    RESTORE = enum.auto()
    """Reads arrays back, each committed to the device that it was saved from."""
    UNPICKLE = enum.auto()
    """Reads objects back; arrays among them come back on D, uncommitted."""


UNINTERPRETED = frozenset({
    Effect.REGROUP, Effect.TREE_MAP_WITH_PATH, Effect.REDUCE, Effect.ITERATE, Effect.SAMPLER,
    Effect.INITIALISE, Effect.STATE, Effect.RESTORE, Effect.UNPICKLE,
})  # fmt: skip
"""Effects that the interpreter does not apply to calls: what such a call gives is Unknown."""


class Gives(enum.Enum):
    """What holds the arrays that a call gives."""

    ARRAY = enum.auto()
    """It is one array."""
    ARRAYS = enum.auto()
    """A list, tuple, dict or other container of arrays."""
    NOTHING = enum.auto()
    """It gives no array, whatever it computes."""


@dataclass(frozen=True)
class DeviceParameter:
    """The `device=` of a creator, which commits what it makes."""

    since: str | None = None
    """The JAX version that brought it; None: all measured versions have it."""
    stages: bool = False
    """Whether what it makes is built on D first, then copied."""
    stages_until: str | None = None
    """The newest of the measured versions that does so; None: all do."""


@dataclass(frozen=True)
class Row:
    """One callable of the table."""

    name: str
    """Its qualified name; a method or an attribute of an array is one of `jax.Array`."""
    effect: Effect
    gives: Gives = Gives.ARRAY
    certain: bool = True
    """False: for some arguments it finds nothing to do, and hands its argument back or never
    touches its data; then nothing moves."""
    loses: bool = False
    """Whether of committed operands a part of what it gives, or all, is on D, uncommitted."""
    keeps_numpy: bool = False
    """Whether what it gives of NumPy arrays is NumPy's."""
    follows: bool = False
    """Whether a creator follows a committed first argument to its device, but not an uncommitted
    one."""
    device: DeviceParameter | None = None
    since: str | None = None
    """The oldest of the measured versions that has it, or that treats it so; None: all do."""
    until: str | None = None
    """The newest of the measured versions that has it, or that treats it so; None: the newest
    still does."""
    source: str = "measured"
    """Where this was read, besides the run of every row."""


@dataclass(frozen=True)
class Library:
    """What is known of a package: all of it is data."""

    rows: list[Row] = field(default_factory=list)
    """Its functions."""
    method_rows: list[Row] = field(default_factory=list)
    """The methods of its objects."""
    optimizers_with_moments: frozenset[str] = frozenset()
    """Functions that make an optimizer whose `init` makes zeros of the shapes of all parameters."""
    classes: dict[str, frozenset[str]] = field(default_factory=dict)
    """Its classes, with the names of the methods of which there are models."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Other names of these classes."""
    array_attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    """By class, the attributes that are an array, each with the class of what holds it, or ""."""
    without_others: frozenset[str] = frozenset()
    """The classes of which no other attribute is an array."""
    taking_apart: frozenset[str] = frozenset()
    """Functions that give the arrays of an object, or others, of which the program then makes
    another one."""


def rows(
    prefix: str,
    names: str,
    effect: Effect,
    *,
    gives: Gives = Gives.ARRAY,
    certain: bool = True,
    loses: bool = False,
    keeps_numpy: bool = False,
    follows: bool = False,
    device: DeviceParameter | None = None,
    source: str = "measured",
) -> list[Row]:
    """Make a row for each of the names, which are separated by white space.

    A name may carry the range of versions that have it: `name>=0.5.3`, `name<=0.7.2`,
    `name>=0.6.2<=0.7.2`.
    """
    made = []
    for word in names.split():
        name, _, until = word.partition("<=")
        name, _, since = name.partition(">=")
        made.append(
            Row(
                f"{prefix}.{name}",
                effect,
                gives,
                certain,
                loses,
                keeps_numpy,
                follows,
                device,
                since or None,
                until or None,
                source,
            )
        )
    return made
