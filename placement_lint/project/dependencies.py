"""What a result depends on beside its own file: what other files of the run answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placement_lint.semantic.module_summary import Summary
    from placement_lint.semantic.program_queries import (
        CallsAsked,
        CallsFromElsewhere,
        DonationElsewhere,
        EffectOrigin,
        FunctionEffects,
        GivenComputation,
        ImportEffects,
        KnownType,
    )
    from placement_lint.syntax.set_meshes import MeshSetting


@dataclass
class Dependencies:
    """Questions, each with its answer."""

    names: dict[str, str | None] = field(default_factory=dict)
    """From qualified names to the name of JAX that each stands for."""
    foreign: set[str] = field(default_factory=set)
    """First parts of names that no file of the run has to do with."""
    calls: dict[str, EffectOrigin | None] = field(default_factory=dict)
    """From functions to where the program calls them."""
    words: dict[tuple[bytes, ...], bool] = field(default_factory=dict)
    """Whether the program contains one of these elsewhere."""
    imports: dict[str, ImportEffects] = field(default_factory=dict)
    """What importing does, by the name of the module."""
    importers: dict[str, str | None] = field(default_factory=dict)
    """From files to one that imports each."""
    functions: dict[tuple[str, int, str], FunctionEffects | None] = field(default_factory=dict)
    """What calling functions of other files does: by the name, the files followed, and the file, if
    that is known."""
    called: dict[tuple[str, CallsAsked], CallsFromElsewhere] = field(default_factory=dict)
    """How other files call the functions of the file, by what was asked of these calls."""
    tensorflow: dict[str, EffectOrigin | None] = field(default_factory=dict)
    """Where TensorFlow is imported by what the file imports, by the name of the module."""
    places: dict[str, bool] = field(default_factory=dict)
    """Whether other files put arrays on what the file binds to each name."""
    given: tuple[GivenComputation, ...] | None = None
    """What other files let callbacks and worker processes run of the file; None: nobody asked."""
    donations: dict[str, DonationElsewhere | None] = field(default_factory=dict)
    """What things of other files donate, by their qualified names."""
    types: dict[tuple[str, str, bool], KnownType | None] = field(default_factory=dict)
    """The types of what other files define: by the file, if that is known, the name, and whether
    it is called."""
    passed: dict[tuple[str, int | None, str], frozenset[KnownType | None]] = field(
        default_factory=dict
    )
    """The types of what other files pass for a parameter of a function of the file: by the
    function, the place and the name."""
    version_flags: dict[str, bool | None] = field(default_factory=dict)
    """Whether what other files define is worked out of the version of JAX, by qualified names."""
    mesh_setting: MeshSetting | None = None
    """How another file of its program may set meshes; None: nobody asked."""
    brings_donation: bool | None = None
    """Whether the file imports from one that may donate; None where nobody asked."""

    def add(self, other: Dependencies) -> bool:
        """Add other questions; return whether those of both have the same answers."""
        is_same = True
        for name, theirs in vars(other).items():
            mine = getattr(self, name)
            if isinstance(mine, dict):
                is_same &= _added(mine, theirs)
            elif isinstance(mine, set):
                mine |= theirs
            elif theirs is not None:
                is_same &= mine is None or mine == theirs
                setattr(self, name, theirs)
        return is_same


@dataclass
class Donated:
    """What names of a file donate, as others have asked for them, with the answers that it got."""

    code: str = ""
    """A digest of its code; "" before the cache takes it up."""
    donations: dict[str, DonationElsewhere | None] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    """What names stand for that it has by an import."""
    answers: Dependencies = field(default_factory=Dependencies)
    is_settled: bool = True
    """False: one question had different answers."""

    def add(self, other: Donated) -> None:
        """Add what was found out of the same file by another question, or another process."""
        self.is_settled &= other.is_settled
        self.is_settled &= _added(self.donations, other.donations)
        self.is_settled &= _added(self.targets, other.targets)
        self.is_settled &= self.answers.add(other.answers)


def _added(mine: dict[Any, Any], theirs: dict[Any, Any]) -> bool:
    is_same = all(mine.get(key, answer) == answer for key, answer in theirs.items())
    mine.update(theirs)
    return is_same


@dataclass
class CallsMade:
    """In which lines a file calls functions, with the answers that it got on its names."""

    lines: dict[str, int | None] = field(default_factory=dict)
    """By the qualified name of the function, the line of the first call; None: there is none."""
    answers: Dependencies = field(default_factory=Dependencies)

    def add(self, other: CallsMade) -> None:
        """Add what was found out of the same file by another question, or another process."""
        self.lines.update(other.lines)
        self.answers.add(other.answers)


@dataclass
class Learned:
    """What was found out of files on the way, whichever of them was asked about."""

    summaries: dict[str, Summarised] = field(default_factory=dict)
    donations: dict[str, Donated] = field(default_factory=dict)
    calls: dict[str, CallsMade] = field(default_factory=dict)


@dataclass(frozen=True)
class Summarised:
    """What executing a file does, with what it was told then."""

    summary: Summary
    answers: Dependencies


@dataclass
class ProgramReads:
    """What files that were executed together depend on, beside the answers to each of them."""

    codes: dict[str, str] = field(default_factory=dict)
    """Digests of the code of the files that were executed."""
    words: dict[str, dict[bytes, bool]] = field(default_factory=dict)
    """Words that rules looked for in the texts of these, and whether they are there."""
    found: dict[tuple[str, str], tuple[str, str] | None] = field(default_factory=dict)
    """From a file and a name in it to the file that this leads into, and the rest of the name."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Sets of names that were looked for, by what stands for them."""
    said: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether a file that was not executed says one of a set of names."""
    placing: dict[str, bool] = field(default_factory=dict)
    """Whether such a file does something with devices."""
    passing: list[str] = field(default_factory=list)
    """The names by which placements may get from file to file."""
    passed: dict[str, str] = field(default_factory=dict)
    """Digests of what files do with these names."""
