"""What a run remembers of its files for the next one.

A file's record holds as long as its text and its settings are what they were, and what it asks
other files of the run has the same answers. After a change of one file, only those are checked
again to which it matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from placement_lint.lint.incremental.codec import Codec

if TYPE_CHECKING:
    from placement_lint.lint.file_results import FileResult
    from placement_lint.project.dependencies import (
        CallsMade,
        Dependencies,
        Donated,
        ProgramReads,
        Summarised,
    )
    from placement_lint.project.file_facts import FileFacts


@dataclass(frozen=True)
class Prefiltered:
    """What the bytes of a file say about it, by its settings."""

    size: int
    """Of its code, in bytes."""
    mentions_roots: bool
    carries: bool
    commits: bool
    chooses: bool
    passes: bool
    """Whether it may hold a finding, by its own words."""
    puts: tuple[str, ...] = ()
    """The functions in it that put arrays somewhere: other files may call them."""
    meshes: tuple[str, ...] = ()
    """The functions and variables by which others may come by a mesh that it makes."""
    makers: tuple[str, ...] = ()
    """The functions that make a mesh with axes which their callers name."""
    says_where: bool = False
    """Whether it may say on which devices arrays are."""
    donates: bool = False
    """Whether it may donate something: other files may call it."""
    gives: bool = False
    """Whether it may give functions of other files to callbacks or data loaders."""
    asks_where: bool = False
    """Whether a rule may ask where arrays are, by its words."""
    is_to_be_parsed: bool = False
    """Whether it is still to be seen that it can be parsed, since no rule will."""


@dataclass(frozen=True)
class ImportGain:
    """Whether a file may hold a finding by what it imports from other files of the run."""

    names_digest: str
    """A digest of what those names stand for."""
    passes: bool


@dataclass(frozen=True)
class Checked:
    """What was found in a file that was checked alone."""

    result: FileResult
    answers: Dependencies
    accelerator: bool
    """Whether the program that it belongs to was taken to have one."""


@dataclass(frozen=True)
class TextDigest:
    """The text of a file, and the settings that it was checked by."""

    content: str
    """A digest of its bytes."""
    settings: str
    """A digest."""


@dataclass(frozen=True)
class Group:
    """What was found in files that were interpreted together."""

    results: Mapping[str, FileResult]
    answers: Mapping[str, Dependencies]
    reads: ProgramReads


@dataclass
class Records:
    """What a run knows of the last one, and notes for the next."""

    texts: dict[str, TextDigest] = field(default_factory=dict)
    """The files as they are now."""
    sorted: dict[str, Prefiltered] = field(default_factory=dict)
    facts_by_file: dict[str, FileFacts] = field(default_factory=dict)
    gains: dict[str, ImportGain] = field(default_factory=dict)
    checked: dict[str, Checked] = field(default_factory=dict)
    summaries: dict[str, Summarised] = field(default_factory=dict)
    donations: dict[str, Donated] = field(default_factory=dict)
    calls: dict[str, CallsMade] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    """By a digest of which files may have to do with one another, and how they import."""


def records_codec() -> Codec:
    """Return what encodes and decodes `Records`."""
    return Codec(Records, types_of_records())


def types_of_records() -> dict[str, Any]:
    """Return what the names mean that the annotations of records have, by name."""
    from placement_lint.findings import Finding
    from placement_lint.lint.file_results import FileResult
    from placement_lint.lint.results import Suppressed
    from placement_lint.project.dependencies import (
        CallsMade,
        Dependencies,
        Donated,
        ProgramReads,
        Summarised,
    )
    from placement_lint.project.file_facts import FileFacts
    from placement_lint.semantic.module_summary import Step, Summary
    from placement_lint.semantic.program_queries import (
        CallsAsked,
        CallsFromElsewhere,
        DonationElsewhere,
        DonationKind,
        EffectOrigin,
        FunctionEffects,
        GivenComputation,
        ImportEffects,
        JaxCall,
        KnownType,
    )
    from placement_lint.syntax.set_meshes import MeshSetting

    classes = (
        *(Dependencies, FileFacts, FileResult, Finding, ImportEffects, EffectOrigin),
        *(
            CallsAsked,
            CallsFromElsewhere,
            FunctionEffects,
            GivenComputation,
            JaxCall,
            KnownType,
            Summarised,
            Suppressed,
        ),
        *(CallsMade, ProgramReads, Donated, DonationElsewhere, DonationKind, MeshSetting),
    )
    names = {each.__name__: each for each in classes}
    aliases = {"Mapping": Mapping, "Revealed": Any, "Step": Step, "Summary": Summary}
    return {**names, **aliases}
