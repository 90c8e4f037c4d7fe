"""What a run remembers of its files for the next one.

A file's record holds as long as its text and its settings are what they were, and the other files
of the run tell it what they told it then: so a change in one file makes those be looked at again
that it matters to, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from placement_lint.lint.incremental.codec import (
    result_from_json,
    result_to_json,
    summary_from_json,
    summary_to_json,
)
from placement_lint.project import file_facts, queries
from placement_lint.project.dependencies import Summarised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from placement_lint.lint.file_results import FileResult
    from placement_lint.project.dependencies import Dependencies
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
    is_to_be_parsed: bool = False
    """Whether it is still to be seen that it can be parsed, since no rule will."""


@dataclass(frozen=True)
class ImportGain:
    """Whether a file may hold a finding by what it imports from other files of the run."""

    told: str
    """A digest of what those names stand for."""
    passes: bool


@dataclass(frozen=True)
class Checked:
    """What was found in a file that was looked at alone."""

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
    groups: dict[str, Group] = field(default_factory=dict)
    """By a digest of all that the files say which may have to do with one another."""


def to_json(records: Records) -> dict[str, Any]:
    """Give a records as what JSON has."""
    return {
        "texts": {path: [text.content, text.settings] for path, text in records.texts.items()},
        "sorted": {path: [*vars(each).values()] for path, each in records.sorted.items()},
        "facts_by_file": {
            path: file_facts.to_json(each) for path, each in records.facts_by_file.items()
        },
        "gains": {path: [each.told, each.passes] for path, each in records.gains.items()},
        "checked": {
            path: [result_to_json(each.result), queries.to_json(each.answers), each.accelerator]
            for path, each in records.checked.items()
        },
        "summaries": {
            path: [summary_to_json(each.summary), queries.to_json(each.answers)]
            for path, each in records.summaries.items()
        },
        "groups": {
            digest: [
                {path: result_to_json(result) for path, result in group.results.items()},
                {path: queries.to_json(each) for path, each in group.answers.items()},
            ]
            for digest, group in records.groups.items()
        },
    }


def _sorted(size: object, *flags: object) -> Prefiltered:
    if not isinstance(size, int) or not all(isinstance(flag, bool) for flag in flags):
        raise TypeError(size, flags)
    return Prefiltered(size, *cast("list[bool]", flags))


def _gain(told: object, passes: object) -> ImportGain:
    if not isinstance(told, str) or not isinstance(passes, bool):
        raise TypeError(told, passes)
    return ImportGain(told, passes)


def from_json(value: Any) -> Records:
    """Give what `to_json` has made. Raises KeyError, TypeError or ValueError for anything else."""
    return Records(
        {path: TextDigest(*text) for path, text in value["texts"].items()},
        {path: _sorted(*each) for path, each in value["sorted"].items()},
        {path: file_facts.from_json(each) for path, each in value["facts_by_file"].items()},
        {path: _gain(*each) for path, each in value["gains"].items()},
        {
            path: Checked(result_from_json(result), queries.from_json(answers), accelerator)
            for path, (result, answers, accelerator) in value["checked"].items()
        },
        {
            path: Summarised(summary_from_json(summary), queries.from_json(answers))
            for path, (summary, answers) in value["summaries"].items()
        },
        {
            digest: Group(
                {path: result_from_json(result) for path, result in results.items()},
                {path: queries.from_json(each) for path, each in answers.items()},
            )
            for digest, (results, answers) in value["groups"].items()
        },
    )
