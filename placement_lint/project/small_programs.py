"""Small programs that say where arrays go: all of their files are interpreted together.

A mesh, its axes, the shardings over it and the arrays on it are often each of another file, and no
single name says that it leads to one of them. So it is with a device and what is NumPy, and with
what objects hold that a callback or the worker of a loader runs. A few files
are interpreted in no time; which files of a large program are worth it, `sharing_files` and
`check_program.group` say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placement_lint.files.test_paths import is_test_path
from placement_lint.project.graph import closure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from placement_lint.prefilter.conditions import FileText

MOST_FILES = 24
"""Files of a program that is interpreted as a whole."""
MOST_CHARACTERS = 150_000
"""Their text, all together."""
LIGHTER = 4
"""Text of files that say nothing of JAX counts for so much less: tables and settings."""

_SAYING_WHERE = frozenset({
    b"NamedSharding", b"default_backend", b"default_device", b"device_put", b"from_dlpack",
    b"io_callback", b"jax_default_device", b"make_mesh", b"num_workers", b"pure_callback",
    b"set_mesh", b"shard_map", b"use_mesh", b"with_sharding_constraint",
})  # fmt: skip
_BEHIND: tuple[tuple[bytes, re.Pattern[bytes]], ...] = (
    (b"platform", re.compile(rb"\.platform\b")),
    (b"callback", re.compile(rb"\bdebug\.callback\b")),
    (b"devices", re.compile(rb"\bjax\.devices\s*\(")),
    (b"local_devices", re.compile(rb"\bjax\.local_devices\s*\(")),
    (b"Mesh", re.compile(rb"\bMesh\s*\(")),
)
"""Words that say so in some code only."""
_MAKING_OF_DATA = re.compile(
    rb"array\s*\(\s*[\w.\[\]'\"]{0,40}"
    rb"(?:data|image|label|sample|seq|test|token|train|val|[xX]_|[yY]_)"
)

_WORKERS = b"num_workers"


def says_where(text: FileText) -> bool:
    """Return whether a file may say on which devices arrays are, makes one of NumPy data, or lets
    something run functions that must not compute: a loader may do so that itself says nothing of
    JAX.
    """
    if not text.jax:
        return _WORKERS in text.data
    words = text.words
    return bool(words) and (
        not _SAYING_WHERE.isdisjoint(words)
        or any(word in words and code.search(text.data) is not None for word, code in _BEHIND)
        or _MAKING_OF_DATA.search(text.data) is not None
    )


def small_programs(
    saying_where: Iterable[str],
    sizes: Mapping[str, int],
    imports: Iterable[tuple[str, str, str]],
    mentioning: Collection[str],
) -> set[str]:
    """Return the files of all small programs of several files of which one says where arrays go.

    A program is the files that import one another, in any number of steps; a test is none of it,
    unless it is the test that says so. `sizes`: of all files of the run; `imports`: who
    imports what from where; `mentioning`: the files that mention JAX, of which each has some.
    """
    starts = {*saying_where}
    adjacent: dict[str, set[str]] = {}
    for importer, imported, _ in imports:
        if importer in starts or not is_test_path(importer):
            adjacent.setdefault(importer, set()).add(imported)
            adjacent.setdefault(imported, set()).add(importer)
    found: set[str] = set()
    seen: set[str] = set()
    for path in sorted(starts & adjacent.keys()):
        if path not in seen:
            program = closure([path], adjacent)
            seen |= program
            is_about_jax = not program.isdisjoint(mentioning)
            found |= program if is_about_jax and _is_small(program, sizes) else set()
    return found


def _is_small(program: Collection[str], sizes: Mapping[str, int]) -> bool:
    return (
        1 < len(program) <= MOST_FILES
        and sum(sizes.get(path, 0) for path in program) <= MOST_CHARACTERS
    )
