"""What rules may ask about the run as a whole, of which they see one file at a time."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Protocol

from placement_lint.syntax.set_meshes import MeshSetting

GIVEN_BY_CALL = "()"
"""Behind the name of a function: what calling that gives, if it is a function."""
IN_TABLE = "["
"""Behind the name of a table, before the key of a function in it: a literal, or `ANY_KEY`."""
ANY_KEY = "*"
GIVING = (
    *(b"pure_callback", b"io_callback", b"debug.callback"),
    *(b"DataLoader", b"mp_prefetch", b"num_proc"),
)
"""A file that gives something to a callback or a worker process has one of these."""

QUESTIONS = frozenset({
    "Tracer", "axis_names", "axis_sizes", "is_deleted", "is_fully_addressable",
    "is_fully_replicated", "jax.default_backend", "jax.device_count", "jax.devices",
    "jax.distributed.is_initialized", "jax.host_count", "jax.host_id", "jax.local_device_count",
    "jax.local_devices", "jax.process_count", "jax.process_index", "shape",
})  # fmt: skip
"""What helpers of programs ask, by the names of functions of JAX, of attributes of arrays and
meshes, and of the class of tracers."""

ONLY_READS = 0
"""For the number of files: only what the function itself reads on the host is asked for."""


@dataclass(frozen=True)
class EffectOrigin:
    """A place in some file of the run, in words that a message can use."""

    path: str
    line: int
    what: str
    """Such as `jax.devices()` or `import jax`."""

    def __str__(self) -> str:
        return f"{self.what} in {self.path}:{self.line}"


@dataclass(frozen=True)
class ImportEffects:
    """What importing a module of the run certainly does, in it and in what it imports."""

    imports_jax: EffectOrigin | None = None
    starts_backend: EffectOrigin | None = None
    """And does not give it up after that."""
    sets_variables: dict[str, EffectOrigin] = field(default_factory=dict)
    gives_backend_up: EffectOrigin | None = None
    """Before it starts it again, if it does that as well."""


NOTHING = ImportEffects()


@dataclass(frozen=True)
class JaxCall:
    """A call of JAX in a function, by its qualified name."""

    name: str
    line: int
    is_placed: bool
    """It says where its result goes, or is put somewhere at once."""
    path: str = ""
    """Its file, if it is in a function that the function calls of another one."""


@dataclass(frozen=True)
class FunctionEffects:
    """What calling a function of another file runs."""

    path: str
    calls: tuple[JaxCall, ...]
    """Those of JAX, also in functions that it calls, in the order of the text."""
    is_traced: bool
    """JAX traces it: calling it runs a compiled program."""
    starts_backend: EffectOrigin | None
    is_compiled: bool = False
    """It is compiled where it is defined, for the device of its arguments."""
    reads: frozenset[int | str] = frozenset()
    """Where `ONLY_READS` was asked for: by position and by name, the arguments that it always reads
    on the host, to keep or to show them."""
    runs_compiled: bool = False
    """It calls a function that is compiled where it is defined, of any file."""
    asks: tuple[str, ...] = ()
    """Those of `QUESTIONS` that it asks, or functions of its file that it calls, in order: also
    where a cache keeps the answer."""

    def origin(self, call: JaxCall) -> EffectOrigin:
        """Return where a call is."""
        return EffectOrigin(call.path or self.path, call.line, call.name)


class GivenTo(enum.Enum):
    """What calls the function."""

    CALLBACK = "callback"
    """A device, which waits for it."""
    WORKERS = "workers"
    """The worker processes of a data loader."""


@dataclass(frozen=True)
class GivenComputation:
    """A computation in a file that another one lets a callback or a worker process run."""

    line: int
    name: str
    """Of what is called there, as it is qualified."""
    to: GivenTo
    by: EffectOrigin
    """The call that gives the function."""
    is_certain: bool


class DonationKind(enum.Enum):
    """What it is that has to do with a donation."""

    COMPILED = "compiled"
    FUNCTION = "function"
    """It donates what it is given, by calling something else, or returns what donates."""
    CLASS = "class"


class CallsAsked(enum.Enum):
    """What is asked of the calls of a function in other files."""

    USES = "uses"
    """Whether there are any."""
    STARTS = "starts"
    """What has started the backend before them."""
    IMPORTS = "imports"
    """What has imported JAX before them."""
    COMPILES = "compiles"
    """What compiles the functions that they are in."""
    CATCHES = "catches"
    """Which exceptions are caught around them."""


@dataclass(frozen=True)
class CallsFromElsewhere:
    """The calls of a function in other files of the run, tests aside, as far as was asked."""

    is_used: bool
    before: EffectOrigin | None = None
    """What has started the backend, or imported JAX, before each of them; None if it may not be
    so."""
    traced_by: str | None = None
    """What compiles the functions that they are in; None if one may be in no such function."""
    is_known: bool = False
    """Of a method: one of them is certainly of an object of its class."""
    caught: frozenset[str] = frozenset()
    """Those of `RAISED` that are caught around each of them."""


RAISED = ("builtins.RuntimeError", "builtins.ValueError")
"""What JAX raises where arrays, devices or meshes do not fit."""


@dataclass(frozen=True)
class DonationElsewhere:
    """Which of its arguments something of another file donates, or what it returns does."""

    kind: DonationKind
    by: str = ""
    """The qualified name of what compiles it."""
    positions: tuple[int, ...] = ()
    keywords: tuple[str, ...] = ()
    first: int | None = None
    """From which argument on all are donated."""
    static: tuple[int | str, ...] = ()
    is_certain: bool = True
    parameters: tuple[str, ...] = ()
    """Those that go by position."""
    unused: tuple[str, ...] = ()
    """Parameters that the compiled function does not use."""
    takeovers: tuple[tuple[str, int], ...] = ()
    """For parameters that are donated, whether an output takes the buffer."""
    is_method: bool = False
    """Of a class: the object is its first argument."""
    returned: tuple[tuple[str, DonationElsewhere], ...] = ()
    """What a function returns that donates; of a tuple, the items by their keys."""
    assumed: tuple[str, ...] = ()
    """Parameters of a function that say what is donated, of which the default was taken."""
    by_flags: tuple[tuple[str, str, bool, DonationElsewhere], ...] = ()
    """What it does for a parameter that is `True` or `False`, where that is something else, and
    whether this is the default."""


@dataclass(frozen=True)
class KnownType:
    """A class of which something is an object."""

    name: str
    """Qualified; of a class of the run: its name in the file."""
    path: str = ""
    """The file of the run that defines the class."""
    items: tuple[KnownType | None, ...] = ()
    """The types of the items of a tuple of fixed length, or of those that a list begins with."""


ARRAY = KnownType("jax.Array")
"""Of what another file certainly makes; elsewhere an array has no type."""


class RunView(Protocol):
    """The files of the run, as far as one of them, at a path, has to do with the others.

    A program is a file that nothing imports, with all that it imports. What is asked about the
    program of a file is asked about each program that the file is a part of.
    """

    def calls(self, path: str, function: str) -> EffectOrigin | None:
        """Return a call of a function in another file of a program that a file is part of.

        The function is named by its qualified name, such as `jax.distributed.initialize`.
        """
        ...

    def mentions(self, path: str, *words: bytes) -> bool:
        """Return whether another file of a program that a file is part of contains one of these."""
        ...

    def mesh_setting(self, path: str) -> MeshSetting:
        """Return how another file of a program that a file is part of may set meshes."""
        ...

    def importer(self, path: str) -> str | None:
        """Return a file of the run, no test, that imports a file or something in it."""
        ...

    def importing(self, path: str, name: str) -> ImportEffects:
        """Return what an import in a file does: of a module by its name, as Python writes it."""
        ...

    def function(
        self, path: str, name: str, files: int = 1, file: str = ""
    ) -> FunctionEffects | None:
        """Return what calling something of another file does, by its qualified name in a file.

        Or by its name in the file `file`.
        It is a function, a class, a method by the name of its class, or what a function gives, by
        its name and `GIVEN_BY_CALL`. None where that is not known. What it calls is followed in its
        own file, or through so many files; with `ONLY_READS`, nothing is.
        """
        ...

    def calls_from_elsewhere(
        self, path: str, function: str, asked: CallsAsked
    ) -> CallsFromElsewhere:
        """Return how other files call a function that a file defines at its top level.

        Or a method, by the name of its class: `Trainer.fit`. Only what is asked is found out.
        """
        ...

    def tensorflow_by(self, path: str, name: str) -> EffectOrigin | None:
        """Return where TensorFlow is imported, and computes, by what a file imports.

        `name` is that of the module, as Python writes it.
        """
        ...

    def is_place_elsewhere(self, path: str, name: str) -> bool:
        """Return whether another file puts arrays on what a file binds to a name.

        That is a device, or a function that returns one, or what its objects hold: `Cls.name`.
        """
        ...

    def given_elsewhere(self, path: str) -> tuple[GivenComputation, ...]:
        """Return the computations in a file that others let callbacks and worker processes run."""
        ...

    def donation(self, path: str, name: str) -> DonationElsewhere | None:
        """Return what something of another file donates, by its qualified name in a file.

        It is a function, a class, or an attribute of a class by its name. None where that is
        nothing, or not known.
        """
        ...

    def object_type(
        self, path: str, name: str, *, called: bool, file: str = ""
    ) -> KnownType | None:
        """Return the type of what another file defines, or of what calling it gives.

        It is named by its qualified name in a file, or by that in the file `file`: a function, a
        class, a variable, or an attribute of one of these. None where that is not known.
        """
        ...

    def passed_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> frozenset[KnownType | None]:
        """Return the types of what other files pass to a function or class of a file, tests aside.

        `place` and `name` are those of the parameter, `place` None for one by keyword only. None
        among them: what a call passes is of no known type. Nothing: none of them calls it.
        """
        ...

    def is_about_version(self, path: str, name: str) -> bool | None:
        """Return whether what another file defines is worked out of the version of JAX.

        It is named by its qualified name in a file: a variable, or a function. None where that is
        not known.
        """
        ...


UNUSED = CallsFromElsewhere(False)


class Alone:
    """A run of one file: there is nothing else to know."""

    def calls(self, path: str, function: str) -> EffectOrigin | None:
        return None

    def mentions(self, path: str, *words: bytes) -> bool:
        return False

    def mesh_setting(self, path: str) -> MeshSetting:
        return MeshSetting.NEVER

    def importer(self, path: str) -> str | None:
        return None

    def importing(self, path: str, name: str) -> ImportEffects:
        return NOTHING

    def function(
        self, path: str, name: str, files: int = 1, file: str = ""
    ) -> FunctionEffects | None:
        return None

    def calls_from_elsewhere(
        self, path: str, function: str, asked: CallsAsked
    ) -> CallsFromElsewhere:
        return UNUSED

    def tensorflow_by(self, path: str, name: str) -> EffectOrigin | None:
        return None

    def is_place_elsewhere(self, path: str, name: str) -> bool:
        return False

    def given_elsewhere(self, path: str) -> tuple[GivenComputation, ...]:
        return ()

    def donation(self, path: str, name: str) -> DonationElsewhere | None:
        return None

    def object_type(
        self, path: str, name: str, *, called: bool, file: str = ""
    ) -> KnownType | None:
        return None

    def passed_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> frozenset[KnownType | None]:
        return frozenset()

    def is_about_version(self, path: str, name: str) -> bool | None:
        return None
