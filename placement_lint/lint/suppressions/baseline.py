"""Findings that are known: a file of them, against which a run reports only what is new.

An entry names a finding by its rule, its file, and the text of its line in the function around it,
and says how often that is there; no line numbers. What is found more often than that is new.
Entries only become fewer by themselves: `shrunk` takes out what is found no longer.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.config.values import SettingsError
from placement_lint.files.temporary import target_of, write_whole
from placement_lint.fingerprint import VERSION as FINGERPRINT_VERSION
from placement_lint.fingerprint import Texts
from placement_lint.lint.gc_pause import collection_paused
from placement_lint.lint.suppressions.comments import NEVER_SILENT
from placement_lint.regular import MOST_OF_BASELINE, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from placement_lint.config.settings import Settings
    from placement_lint.files.source import Source
    from placement_lint.findings import Finding

FORMAT = "placement-lint baseline"
VERSION = 1
_MOST_OF_ONE = 10**9
"""How often a finding may be known: more than a file of any size holds."""


class BaselineError(SettingsError):
    """A baseline that cannot be used; the message names the file."""


@dataclass(frozen=True, order=True)
class Entry:
    """One line of one function in which a rule finds something."""

    path: str
    """Relative to the baseline's folder, with forward slashes."""
    code: str
    fingerprint: str


@dataclass(frozen=True)
class Baseline:
    """What is known, by how often it is there."""

    path: str
    entries: Mapping[Entry, int]

    @property
    def count(self) -> int:
        """How many findings are known."""
        return sum(self.entries.values())


@dataclass(frozen=True)
class Compared:
    """What came of putting the findings of a run to a baseline."""

    new: tuple[Finding, ...]
    known: int
    found: Mapping[Entry, int]
    """How often each of the entries is found now."""


def load(path: str) -> Baseline:
    """Read a baseline. Raises BaselineError."""
    try:
        data = read_regular(path, MOST_OF_BASELINE)
    except OSError as error:
        message = f"{path}: the baseline cannot be read: {error.strerror or error}"
        raise BaselineError(message) from error
    try:
        table = _parsed(data)
    except (ValueError, RecursionError) as error:
        message = f"{path}: not a baseline: not valid JSON"
        raise BaselineError(message) from error
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        message = f'{path}: not a baseline: no "format": "{FORMAT}" in it'
        raise BaselineError(message)
    versions = (table.get("version"), table.get("fingerprints"))
    if versions != (VERSION, FINGERPRINT_VERSION):
        message = f"{path}: a baseline of another version of placement-lint; write it again"
        raise BaselineError(message)
    return Baseline(path, _entries(path, table.get("findings")))


@collection_paused()
def _parsed(data: bytes) -> Any:
    # Millions of small objects, none of them garbage.
    return json.loads(data)


def _entries(path: str, listed: object) -> dict[Entry, int]:
    entries: dict[Entry, int] = {}
    for number, each in enumerate(listed if isinstance(listed, list) else [None], 1):
        entry = _entry(each)
        if entry is None or entry[0] in entries:
            message = f"{path}: a damaged baseline: entry {number} is wrong"
            raise BaselineError(message)
        entries[entry[0]] = entry[1]
    return entries


def _entry(each: object) -> tuple[Entry, int] | None:
    if not isinstance(each, dict) or set(each) != {"path", "code", "fingerprint", "count"}:
        return None
    names, count = [each[key] for key in ("path", "code", "fingerprint")], each["count"]
    if not all(isinstance(name, str) and name for name in names):
        return None
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_OF_ONE:
        return None
    return Entry(*names), count


def text_of(entries: Mapping[Entry, int]) -> str:
    """Return the text of a baseline file: one entry a line, in one order."""
    lines = [
        json.dumps({"path": entry.path, "code": entry.code, "count": count,
                    "fingerprint": entry.fingerprint})
        for entry, count in sorted(entries.items())
    ]  # fmt: skip
    listed = ",\n".join(f"    {line}" for line in lines)
    inside = f"\n{listed}\n  " if lines else ""
    head = {"format": FORMAT, "version": VERSION, "fingerprints": FINGERPRINT_VERSION}
    told = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    return f'{{\n{told}  "findings": [{inside}]\n}}\n'


def entries_of(
    findings: Iterable[Finding], sources: Callable[[str], Source | None], folder: str
) -> dict[Entry, int]:
    """Return the entries for findings. What was not analysed is not among them: that stays said."""
    return dict(Counter(entry for _, entry in _named(findings, sources, folder)))


def compare(
    baseline: Baseline,
    findings: Sequence[Finding],
    sources: Callable[[str], Source | None],
) -> Compared:
    """Separate new findings from known ones.

    Of equal lines the first ones are the known ones: nobody can tell which of them was added.
    """
    found: Counter[Entry] = Counter()
    known: set[int] = set()
    for finding, entry in _named(findings, sources, str(Path(baseline.path).parent)):
        found[entry] += 1
        if found[entry] <= baseline.entries.get(entry, 0):
            known.add(id(finding))
    new = tuple(finding for finding in findings if id(finding) not in known)
    return Compared(new, len(known), found)


def shrunk(
    baseline: Baseline, found: Mapping[Entry, int], is_checked: Callable[[str, str], bool]
) -> dict[Entry, int]:
    """Return the entries without those that are found no longer.

    `is_checked` tells, of a path as it is in the baseline and a code, whether that rule looked at
    that file, or could not because it is gone. Nothing else is known to be found no longer.
    """
    left = {
        entry: min(count, found.get(entry, 0)) if is_checked(entry.path, entry.code) else count
        for entry, count in baseline.entries.items()
    }
    return {entry: count for entry, count in left.items() if count}


def _named(
    findings: Iterable[Finding], sources: Callable[[str], Source | None], folder: str
) -> list[tuple[Finding, Entry]]:
    """Return the findings that a baseline may have, in order, each with its entry."""
    named = []
    ordered = sorted(findings, key=lambda finding: finding.sort_key)
    for path, group in groupby(ordered, key=lambda finding: finding.path):
        known_as = relative(path, folder)
        texts = Texts(path, sources(path))

        def named_as(_: str, name: str = known_as) -> str:
            return name

        for finding in group:
            if finding.code not in NEVER_SILENT:
                fingerprint = texts.fingerprint(finding, named_as)
                named.append((finding, Entry(known_as, finding.code, fingerprint)))
    return named


def relative(path: str, folder: str) -> str:
    """Return the name that a file has in a baseline in some folder."""
    try:
        name = os.path.relpath(path, folder or ".")
    except ValueError:
        # On another drive.
        name = str(Path(path).absolute())
    return name.replace(os.sep, "/")


class Baselines:
    """The baselines of a run, each read once. Which one holds for a file, its settings say."""

    def __init__(
        self, settings_for: Callable[[str], Settings], *, is_tolerant: bool = False
    ) -> None:
        """Take what tells the settings of a file.

        `is_tolerant`: a baseline that cannot be used is an error only if it is that of the current
        folder; else it is noted, and the findings for which it holds are left out.
        """
        self._settings_for = settings_for
        self._is_tolerant = is_tolerant
        self._read: dict[str, Baseline] = {}
        self.known = 0
        """How many findings were known so far."""
        self.unusable: dict[str, BaselineError] = {}
        """Baselines that could not be used."""
        self._found: dict[str, Counter[Entry]] = {}

    def of(self, path: str) -> Baseline | None:
        """Return the baseline that holds for a file. Raises BaselineError."""
        name = self._settings_for(path).baseline
        if name is None:
            return None
        if name not in self._read:
            self._read[name] = load(name)
        return self._read[name]

    def new(
        self, findings: Iterable[Finding], sources: Callable[[str], Source | None]
    ) -> tuple[Finding, ...]:
        """Return the findings that are not known, in their order. Raises BaselineError."""
        findings = tuple(findings)
        left: dict[int, None] = {}
        groups: dict[str | None, list[Finding]] = {}
        for finding in findings:
            try:
                baseline = self.of(finding.path)
            except BaselineError as error:
                self._note(finding.path, error)
                continue
            groups.setdefault(None if baseline is None else baseline.path, []).append(finding)
        for name, group in groups.items():
            if name is None:
                new: tuple[Finding, ...] = tuple(group)
            else:
                compared = compare(self._read[name], group, sources)
                new = compared.new
                self.known += compared.known
                self._found.setdefault(name, Counter()).update(compared.found)
            left.update(dict.fromkeys(map(id, new)))
        return tuple(finding for finding in findings if id(finding) in left)

    def shrunk(
        self, files: Iterable[str], is_checked: Callable[[str, str], bool]
    ) -> list[tuple[Baseline, dict[Entry, int]]]:
        """Return the baselines with entries that are found no longer, and what is left of each.

        `is_checked` tells, of a file that exists and a code, whether that would have been found.
        Raises BaselineError.
        """
        for path in files:
            try:
                self.of(path)
            except BaselineError as error:
                self._note(path, error)
        done = []
        for name, baseline in sorted(self._read.items()):
            folder = Path(name).parent

            def checked(path: str, code: str, folder: Path = folder) -> bool:
                there = str(folder / path)
                # Of a path that no system has, this says no, where Path.exists raises.
                return not os.path.exists(there) or is_checked(there, code)  # noqa: PTH110

            left = shrunk(baseline, self._found.get(name, {}), checked)
            if left != baseline.entries:
                done.append((baseline, left))
        return done

    def _note(self, path: str, error: BaselineError) -> None:
        name = self._settings_for(path).baseline
        if name is None or not self._is_tolerant or name == self._settings_for("_").baseline:
            raise error
        self.unusable[name] = error

    def is_inside(self, baseline: Baseline, files: Iterable[str]) -> bool:
        """Return whether a baseline lies in the project or repository of its files."""
        place = os.path.realpath(baseline.path)
        projects = {
            settings.project or Path.cwd()
            for settings in map(self._settings_for, files)
            if settings.baseline == baseline.path
        }
        return any(Path(_top(project)) in Path(place).parents for project in projects)


def _top(folder: Path) -> str:
    """Return the repository that a folder lies in; itself, where there is none."""
    real = Path(os.path.realpath(folder))
    around = (real, *real.parents)
    return str(next((each for each in around if os.path.lexists(each / ".git")), real))


def write(path: str, entries: Mapping[Entry, int]) -> None:
    """Write a baseline, whole or not at all. Raises BaselineError."""
    try:
        write_whole(target_of(path), text_of(entries).encode())
    except OSError as error:
        message = f"{path}: the baseline cannot be written: {error.strerror or error}"
        raise BaselineError(message) from error
