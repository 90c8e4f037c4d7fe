"""What a run has written, and what decided that, for the next one with the same arguments.

That is the arguments and the environment, the stamps of all files and folders that the run looked
at, of the settings around them and of the code of this tool, and which names that decide something
are in the folders above. Nothing is kept where one of the files was changed a moment before.
"""

from __future__ import annotations

import os
import sys
from array import array
from itertools import accumulate, chain

from placement_lint.cli import streams
from placement_lint.files.folders import OWN, decides, upwards
from placement_lint.files.stamps import blake2b, stamp_of
from placement_lint.lint.incremental.cache_folder import WRITTEN, CacheFolder
from placement_lint.lint.incremental.cache_key import KeyProblemError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from placement_lint.files.discovery import Found
    from placement_lint.files.stamps import Stamp

VARIABLES = frozenset({
    *("APPDATA", "COLUMNS", "HOME", "LOCALAPPDATA", "USERPROFILE", "XDG_CACHE_HOME"),
    *("XDG_CONFIG_HOME", "FORCE_COLOR", "FORCE_HYPERLINK", "NO_COLOR", "TERM", "TERM_PROGRAM"),
    *("DOMTERM", "KONSOLE_VERSION", "VTE_VERSION", "WT_SESSION"),
})  # fmt: skip
"""The variables of the environment that may decide what a run writes, beside our own."""
_PREFIX = "PLACEMENT_LINT_"
_OUTPUT, _ERRORS = b"1", b"2"
"""What a text begins with that goes to standard output, or to standard error."""
_SURROGATES = "surrogatepass"

_NEVER_STAMPED = b".git"
"""Only whether it is there decides something, and it changes all the time."""


class FinishedRun:
    """What a run has looked at and written, and when it began."""

    def __init__(
        self,
        paths: Sequence[str],
        found: Found,
        written: Iterable[tuple[bool, str]],
        code: int,
        began: int,
    ) -> None:
        self.paths = paths
        self.found = found
        self.written = written
        self.code = code
        self.began = began


def repeated(name: str, path: str, *, is_own: bool) -> int | None:
    """Write what a folder has under a name, and return the exit code of the run that wrote it.

    None where there is nothing, or something has changed. Raises OutputError.
    """
    if not os.path.exists(os.path.join(path, name)):
        return None
    try:
        known = CacheFolder(path, is_own=is_own, is_signed=True).read_bytes(name)
        if known is None:
            return None
        code, paths, stamps, absent, around, *texts = _unpacked(known)
        if not _is_unchanged(paths, stamps, absent, around):
            return None
        written = [(text[:1] == _OUTPUT, text[1:].decode("utf-8", _SURROGATES)) for text in texts]
        exit_code = int(code)
    except (KeyProblemError, ValueError):
        return None
    streams.write_again(written)
    return exit_code


def keep(arguments: Sequence[str], run: FinishedRun, folder: CacheFolder) -> None:
    """Keep what a run has written, if it can be seen whether what it looked at has changed."""
    try:
        record = _record(run)
        if record is not None:
            folder.signed().write_bytes(name_of(arguments), record)
            folder.prune()
    except (OSError, KeyProblemError, ValueError, OverflowError):
        pass  # the next run finds out for itself


def name_of(arguments: Sequence[str]) -> str:
    """Return the name of the record: by all that decides what is written, but for files."""
    variables = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith(_PREFIX)
    )
    shown = [
        (streams.is_terminal(each), streams.columns(each)) for each in (sys.stdout, sys.stderr)
    ]
    told = [os.getcwd(), [*arguments], variables, shown, __file__, sys.version, sys.path]
    digest = blake2b(repr(told).encode("utf-8", _SURROGATES), digest_size=10)
    return digest.hexdigest() + WRITTEN


def _is_unchanged(paths: bytes, stamps: bytes, absent: bytes, around: bytes) -> bool:
    """Return whether files and folders are what they were, and no others decide something."""
    try:
        now = map(stamp_of, map(os.stat, _split(paths)))
        if _written_stamps(now) != stamps or any(map(os.path.exists, _split(absent))):
            return False
        listed = _unpacked(around)
        return all(
            _deciding(folder) == _split(names)
            for folder, names in zip(listed[::2], listed[1::2], strict=True)
        )
    except (OSError, OverflowError):
        return False


def _record(run: FinishedRun) -> bytes | None:
    """Return what is kept of a run; None where it could not be seen whether all is as it was.

    Raises OSError, OverflowError or ValueError for what has no stamp.
    """
    from placement_lint.config.load import user_folder
    from placement_lint.files import store
    from placement_lint.files.discovery import SUFFIXES
    from placement_lint.files.folders import one_in_each
    from placement_lint.lint.incremental.tool_identity import tool_files

    found = run.found
    if any(link.endswith(SUFFIXES) for link in found.links) or any(
        map(os.path.islink, found.files)
    ):
        # Where it leads decides under which name a file is checked, and whether it is.
        return None
    globs = {*found.globs}
    walked = [os.fsencode(each) for each in found.folders if not _is_own(each, globs)]
    around = _around(run.paths, found.files, {*walked})
    user = user_folder(os.environ)
    if os.path.isdir(user):
        around.append(os.fsencode(user))
    deciding = {folder: _deciding(folder) for folder in (*walked, *around)}
    tool = tool_files()
    perhaps = [*dict.fromkeys(map(os.fsencode, (*found.globs, *found.links, user)))]
    looked_at = [
        *map(os.fsencode, (*run.paths, *found.files, *tool)),
        *walked,
        *filter(os.path.exists, perhaps),
        *(
            os.path.join(folder, name)
            for folder, names in deciding.items()
            for name in names
            if name.lower() != _NEVER_STAMPED
        ),
    ]
    settled = dict.fromkeys(looked_at)
    # A module of the tool that is new shows in its folder, as do folders that Python makes there.
    paths = [*settled, *map(os.fsencode, one_in_each(tool))]
    # Asked for once: what changes after that has other ones.
    stamps = [*map(stamp_of, map(os.stat, paths))]
    newest = max(max(stamp[2:]) for stamp in stamps[: len(settled)])
    if newest > run.began - store.SETTLED:
        # A change after that one would not show.
        return None
    absent = [path for path in perhaps if path and not os.path.exists(path)]
    listed = [part for each in around for part in (each, b"\0".join(deciding[each]))]
    texts = [
        (_OUTPUT if is_output else _ERRORS) + text.encode("utf-8", _SURROGATES)
        for is_output, text in run.written
    ]
    parts = (b"%d" % run.code, b"\0".join(paths), _written_stamps(stamps), b"\0".join(absent))
    return _packed((*parts, _packed(listed), *texts))


def _is_own(folder: str, globs: set[str]) -> bool:
    """Return whether a folder is one of ours: all in it is ignored, by what we put there."""
    is_named_so = os.path.basename(folder) == OWN
    return is_named_so and os.path.join(folder, ".gitignore") in globs


def _around(paths: Iterable[str], files: Sequence[str], walked: set[bytes]) -> list[bytes]:
    """Return the folders that were not walked, and in which something may decide."""
    from placement_lint.files.folders import one_in_each

    starts = {os.getcwd(), *map(os.path.abspath, one_in_each(files))}
    starts.update(map(os.path.abspath, filter(os.path.isdir, paths)))
    return sorted({os.fsencode(folder) for start in starts for folder in upwards(start)} - walked)


def _deciding(folder: bytes) -> list[bytes]:
    """Return the names in a folder that may decide something. Raises OSError."""
    return sorted(name for name in os.listdir(folder) if decides(os.fsdecode(name)))


def _written_stamps(stamps: Iterable[Stamp]) -> bytes:
    """Return stamps as they are kept. Raises OverflowError for a time that nobody has."""
    return array("Q", chain.from_iterable(stamps)).tobytes()


def _split(names: bytes) -> list[bytes]:
    return names.split(b"\0") if names else []


def _packed(parts: Sequence[bytes]) -> bytes:
    return b" ".join(b"%d" % len(part) for part in parts) + b"\n" + b"".join(parts)


def _unpacked(data: bytes) -> list[bytes]:
    """Return the parts of what `_packed` gave. Raises ValueError for what it never gives."""
    sizes, _, rest = data.partition(b"\n")
    ends = [*accumulate(map(int, sizes.split()))]
    return [rest[start:end] for start, end in zip([0, *ends], ends, strict=False)]
