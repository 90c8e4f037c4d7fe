"""Where runs leave what they found out for the next one: `.placement_lint_cache`.

For each way in which the tool is called there are two files of JSON. The first says what the files
of the run looked like and what came of it all: where nothing has changed, that is the answer, and
neither LibCST nor the rules are imported. The second is read where something has changed. Nothing
in either is executed. What is damaged, or of another version of anything, is as good as absent.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from placement_lint.files.unsaved import unsaved
from placement_lint.lint.incremental.cache_key import key_for
from placement_lint.lint.incremental.codec import (
    finding_from_json,
    finding_to_json,
    suppressed_from_json,
    suppressed_to_json,
)
from placement_lint.lint.results import Outcome, SkipKind, Skipped
from placement_lint.regular import MOST_OF_RECORDS, most_of, read_regular
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from placement_lint.files.source import Source
    from placement_lint.lint.incremental.records import Memory

FOLDER = ".placement_lint_cache"

_FORMAT = 4
_FIRST, _SECOND = ".run.json", ".files.json"
_MOST_RUNS = 32
_MOST_BYTES = 64 * 1024 * 1024
_SETTLED = 2_000_000_000
"""In nanoseconds: a file changed less than this before it was read may change once more without
that showing in its times."""
_WRITING = ".writing-"
_ABOUT = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# What placement-lint found out, to be faster the next time. Delete it whenever you like.\n",
}

Stamp = tuple[int, int, int, int]
"""Of a file: size, inode, and when it and its status changed, in nanoseconds. Zeros: not known."""

_NO_STAMP: Stamp = (0, 0, 0, 0)


@dataclass(frozen=True)
class Seen:
    """A file as the last run saw it."""

    stamp: Stamp
    content: str
    settings: str


@dataclass(frozen=True)
class Last:
    """What the last run left."""

    files: Mapping[str, Seen]
    surroundings: Any
    outcome: Any
    """Findings and what was passed over, as JSON has them; None where they may change by chance."""
    second: str
    """The name of what belongs to it in the second file."""


@dataclass
class Cache:
    """What is kept for one way of calling the tool."""

    folder: str
    name: str
    is_own: bool = True
    """Whether the folder is where nobody asked for one. Then what it holds is used only if this
    user's key has signed it: a repository cannot bring it along."""
    started: int = field(default_factory=time.time_ns)
    problem: str = ""
    """Why what was found out could not be kept."""

    def last(self) -> Last | None:
        """Read what the last run left; None where there is nothing of use."""
        try:
            value = self._read(_FIRST)
            if value is None or value["identity"] != self._identity():
                return None
            settings = value["settings"]
            files = {
                path: Seen(tuple(stamp), content, settings[number])
                for path, stamp, content, number in value["files"]
            }
            return Last(files, value["surroundings"], value["outcome"], value["second"])
        except Exception:  # damaged, or deleted meanwhile: as good as absent
            return None

    def memory(self, last: Last) -> Memory | None:
        """Read what the last run remembered of each file."""
        from placement_lint.lint.incremental.records import from_json

        try:
            value = self._read(_SECOND)
            if value is None or value["second"] != last.second:
                return None
            return from_json(value)
        except Exception:  # damaged: as good as absent
            return None

    def keep(
        self, files: Mapping[str, Seen], surroundings: Any, outcome: Outcome | None, memory: Memory
    ) -> None:
        """Write what a run found out; what cannot be written is not kept."""
        from placement_lint.lint.incremental.records import to_json

        second = blake2b(os.urandom(16), digest_size=8).hexdigest()
        try:
            self._make_folder()
            self._write(_SECOND, {"second": second, **to_json(memory)})
            self._keep_first(files, surroundings, _outcome_to(outcome), second)
            self._prune()
        except Exception as error:  # what was found is reported all the same
            self.problem = _why(error)

    def keep_stamps(self, files: Mapping[str, Seen], last: Last) -> None:
        """Write what files look like now whose text is what it was."""
        try:
            self._keep_first(files, last.surroundings, last.outcome, last.second)
        except Exception as error:  # what was found is reported all the same
            self.problem = _why(error)

    def _keep_first(
        self, files: Mapping[str, Seen], surroundings: Any, outcome: Any, second: str
    ) -> None:
        numbers: dict[str, int] = {}
        rows = [
            [path, seen.stamp, seen.content, numbers.setdefault(seen.settings, len(numbers))]
            for path, seen in files.items()
        ]
        first = {
            "identity": self._identity(),
            "settings": [*numbers],
            "files": rows,
            "surroundings": surroundings,
            "outcome": outcome,
            "second": second,
        }
        self._write(_FIRST, first)

    # -- files ------------------------------------------------------------------------------------

    def _identity(self) -> list[Any]:
        """Give all that has to be the same for a record to be of use."""
        return [_FORMAT, *_tool()]

    @cached_property
    def _key(self) -> bytes:
        """What records are signed with. Raises KeyProblemError."""
        return key_for(os.path.dirname(os.path.abspath(self.folder))) if self.is_own else b""

    def _signature(self, text: bytes) -> str:
        return blake2b(text, digest_size=16, key=self._key).hexdigest()

    def _make_folder(self) -> None:
        _ = self._key  # without one nothing could be used again
        os.makedirs(self.folder, exist_ok=True)
        if self.is_own and not _is_folder(self.folder):
            message = f"{self.folder} is a link"
            raise OSError(message)
        for name, text in _ABOUT.items():
            path = os.path.join(self.folder, name)
            if not os.path.lexists(path):
                with open(path, "x", encoding="utf-8") as file:
                    file.write(text)

    def _read(self, suffix: str) -> Any:
        """Read one of the files; None where there is none, or not the one that was written."""
        try:
            if self.is_own and not _is_folder(self.folder):
                return None
            data = read_regular(os.path.join(self.folder, self.name + suffix), MOST_OF_RECORDS)
            checksum, _, text = data.partition(b"\n")
            is_ours = compare_digest(checksum, self._signature(text).encode())
            return json.loads(text) if is_ours else None
        except (OSError, ValueError, RecursionError, MemoryError):
            return None  # absent, unreadable or damaged: the run finds out for itself

    def _write(self, suffix: str, value: Any) -> None:
        """Put a file in its place in one step."""
        # With all that it brings, a tenth of a run that only reads.
        import tempfile

        text = json.dumps(value, separators=(",", ":")).encode("ascii")
        if len(text) > MOST_OF_RECORDS:
            message = f"what is known of so many files takes more than {MOST_OF_RECORDS >> 20} MiB"
            raise ValueError(message)
        descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=_WRITING)
        try:
            with open(descriptor, "wb") as file:
                file.write(self._signature(text).encode() + b"\n" + text)
            os.replace(temporary, os.path.join(self.folder, self.name + suffix))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _prune(self) -> None:
        """Delete the oldest records where there are too many, and what a killed run left."""
        with os.scandir(self.folder) as entries:
            kept = [
                (entry.stat(follow_symlinks=False), entry.path)
                for entry in entries
                if _is_ours(entry.name) and entry.name not in _ABOUT
            ]
        kept.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
        size = 0
        for number, (status, path) in enumerate(kept):
            size += status.st_size
            is_left_over = (
                os.path.basename(path).startswith(_WRITING)
                and status.st_mtime_ns < self.started - 3600 * 10**9
            )
            if is_left_over or number >= 2 * _MOST_RUNS or size > _MOST_BYTES:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def cache_for(root: str, call: Sequence[str], folder: str | None = None) -> Cache:
    """Give the cache of a way of calling the tool: from where, and for which paths.

    `root` is the folder of the project; `folder` is where the cache is to be, if anywhere else.
    """
    name = _digest(json.dumps([os.path.realpath("."), *call]).encode())[:20]
    return Cache(folder or os.path.join(root, FOLDER), name, is_own=folder is None)


def clean(folder: str) -> bool:
    """Delete a cache, and give whether there was one. What else lies in the folder stays.

    Raises OSError where it cannot be deleted.
    """
    if not os.path.isdir(folder) or os.path.islink(folder):
        return False
    with os.scandir(folder) as entries:
        ours = [entry.path for entry in entries if _is_ours(entry.name)]
    for path in ours:
        os.unlink(path)
    with contextlib.suppress(OSError):  # something else lies in it
        os.rmdir(folder)
    return bool(ours)


def _is_ours(name: str) -> bool:
    return name in _ABOUT or name.endswith((_FIRST, _SECOND)) or name.startswith(_WRITING)


def digest(data: bytes) -> str:
    """Give what stands for the content of a file."""
    return blake2b(data, digest_size=16).hexdigest()


_digest = digest


def stamp_of(path: str, before: int) -> Stamp:
    """Give what a file looks like from outside, if it has long been so: since before a time."""
    stamp = _stamp(path)
    if stamp is None or max(stamp[2:]) > before - _SETTLED:
        return _NO_STAMP
    return stamp


def unchanged(path: str, seen: Seen) -> bool:
    """Tell whether a file surely is what it was, without reading it."""
    return seen.stamp == _stamp(path)


def _stamp(path: str) -> Stamp | None:
    if unsaved(path) is not None:
        # The file on the disk says nothing about it.
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def recall(
    last: Last,
    files: Sequence[str],
    settings: Callable[[str], str],
    surroundings: Any,
    sources: Callable[[str], Source | None],
    started: float,
) -> tuple[Outcome | None, dict[str, Seen]]:
    """Give what came of the last run if nothing has changed since, and the files as they are now.

    The files are those of which it had to be found out; none where nothing had to.
    """
    if last.outcome is None or last.surroundings != surroundings or [*last.files] != [*files]:
        return None, {}
    renewed: dict[str, Seen] = {}
    now = time.time_ns()
    for path, seen in last.files.items():
        if seen.settings != settings(path):
            return None, {}
        if not unchanged(path, seen):
            stamp = stamp_of(path, now)
            try:
                content = digest(read_regular(path, most_of(path)))
            except OSError:
                return None, {}
            if content != seen.content:
                return None, {}
            renewed[path] = Seen(stamp, content, seen.settings)
    try:
        findings, skipped, suppressed = last.outcome
        outcome = Outcome(
            findings=tuple(map(finding_from_json, findings)),
            skipped=tuple(Skipped(path, reason, SkipKind(kind)) for path, reason, kind in skipped),
            files=len(files),
            parsed=0,
            cached=len(files),
            seconds=time.perf_counter() - started,
            fixed=(),
            sources=sources,
            suppressed=tuple(map(suppressed_from_json, suppressed)),
        )
    except Exception:
        return None, {}  # damaged: as good as absent
    return outcome, {**last.files, **renewed} if renewed else {}


def _outcome_to(outcome: Outcome | None) -> Any:
    if outcome is None:
        return None
    return [
        [*map(finding_to_json, outcome.findings)],
        [[skip.path, skip.reason, skip.kind.value] for skip in outcome.skipped],
        [*map(suppressed_to_json, outcome.suppressed)],
    ]


def _tool() -> list[Any]:
    """Give what findings depend on beside the files: this tool, LibCST, Python."""
    import importlib.util

    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    libcst = importlib.util.find_spec("libcst")
    theirs = [] if libcst is None or libcst.origin is None else [libcst.origin]
    codes = [code_of(ours, _modules(ours)), *(code_of(os.path.dirname(at), [at]) for at in theirs)]
    return [__version__, *codes, sys.implementation.cache_tag, [*sys.version_info[:3]]]


def code_of(folder: str, modules: Iterable[str]) -> str:
    """Give what stands for the code of a package.

    That is what its installer noted of it, which is the same for each installation of one version;
    where it noted nothing, or one of these modules was changed since, when each of them was.
    """
    stamps = sorted(_stamped(path) for path in modules)
    record = _record_of(folder)
    told = repr(stamps).encode()
    if record is not None and all(changed <= record[1] for _, _, changed in stamps):
        told = record[0]
    return blake2b(told, digest_size=8).hexdigest()


def _stamped(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def _record_of(folder: str) -> tuple[bytes, int] | None:
    """Give the digests that the installer of a package noted of its files, and when it did."""
    place, name = os.path.split(folder)
    start = os.fsencode(f"{name}/")
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(f"{name}-") and entry.name.endswith(".dist-info"):
                path = os.path.join(entry.path, "RECORD")
                lines = read_regular(path, MOST_OF_RECORDS).splitlines()
                # Others are about what the installer has made, and where.
                own = [line for line in lines if line.startswith(start) and b"sha256=" in line]
                if own:
                    return b"\n".join(sorted(own)), os.stat(path).st_mtime_ns
    return None


def _modules(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _modules(entry.path)
            elif entry.name.endswith((".py", ".json")):
                yield entry.path


def _is_folder(path: str) -> bool:
    """Tell whether this is a folder, and no link to one."""
    return stat.S_ISDIR(os.lstat(path).st_mode)
