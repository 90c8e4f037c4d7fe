"""What libraries give that holds no value: functions, lists of devices, optimizers, open files.

What holds values, such as a `functools.partial`, is in `values`, where they are limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement_lint.placement.domain.mesh_devices import EVERY
from placement_lint.placement.domain.sized import Sized

if TYPE_CHECKING:
    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.mesh_devices import Part
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.sharding import Sharding


@dataclass(frozen=True)
class LibraryFunction(Sized):
    """A function of JAX or NumPy that is kept, passed on or bound: the table says what it does."""

    name: str
    """Its qualified name."""


@dataclass(frozen=True)
class AbstractArray(Sized):
    """A `jax.ShapeDtypeStruct` with a sharding: where an array like it is committed."""

    devices: frozenset[Device | None]
    """The devices, one of which it is."""
    sharding: Sharding | None = None
    """How it is on a mesh."""


@dataclass(frozen=True)
class Pickled(Sized):
    """What `pickle.dumps` gives."""

    of: Place
    """The expression that was pickled."""


@dataclass(frozen=True)
class Optimizer(Sized):
    """An optimizer of optax."""

    name: str
    """The function that made it, or the part of it that keeps moments."""
    keeps_moments: bool = True
    """Of the shapes of all parameters."""
    is_init: bool = False
    """It is the function `init` of one."""


@dataclass(frozen=True)
class TensorFile(Sized):
    """A file opened by `safetensors.safe_open`."""

    site: Place | None = None
    """The call that opened it."""
    is_torch: bool | None = None
    """Whether its tensors are PyTorch's, or else NumPy's; None: they are JAX's."""


@dataclass(frozen=True)
class ExitStack(Sized):
    """A `contextlib.ExitStack`, by the call that made it."""

    site: Place | None = None


@dataclass(frozen=True)
class Executor(Sized):
    """A `concurrent.futures.ThreadPoolExecutor`."""


@dataclass(frozen=True)
class Getter(Sized):
    """`operator.itemgetter(…)`, `operator.attrgetter(…)`: takes parts of what it is given."""

    keys: tuple[Key | None, ...]
    of_attributes: bool = False


@dataclass(frozen=True)
class Dispatched(Sized):
    """A function under `functools.singledispatch`: the type of the first argument chooses."""

    place: Place


@dataclass(frozen=True)
class DeviceList(Sized):
    """What `jax.devices(platform)` gives, or a part of it."""

    platform: str | None
    part: Part = EVERY
    is_local: bool = False
    """It is `jax.local_devices(…)`: those of this process."""
