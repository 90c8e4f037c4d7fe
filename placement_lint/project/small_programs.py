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

MOST_FILES = 24
"""Files of a program that is interpreted as a whole."""
MOST_CHARACTERS = 150_000
"""Their text, all together."""
LIGHTER = 4
"""Text of files that say nothing of JAX counts for so much less: tables and settings."""

_SAYING_WHERE = re.compile(
    rb"\b(?:NamedSharding|make_mesh|set_mesh|use_mesh|shard_map|with_sharding_constraint)\b"
    rb"|\b(?:device_put|default_device|from_dlpack|jax_default_device)\b"
    rb"|\b(?:io_callback|pure_callback|debug\.callback|num_workers)\b"
    rb"|\bdefault_backend\b|\.platform\b|\bjax\.(?:local_)?devices\s*\("
    rb"|\bMesh\s*\("
    rb"|array\s*\(\s*[\w.\[\]'\"]{0,40}"
    rb"(?:data|image|label|sample|seq|test|token|train|val|[xX]_|[yY]_)"
)


def says_where(data: bytes) -> bool:
    """Return whether a file may say on which devices arrays are, makes one of NumPy data, or lets
    something run functions that must not compute.
    """
    return b"jax" in data and _SAYING_WHERE.search(data) is not None


def small_programs(
    saying_where: Iterable[str],
    sizes: Mapping[str, int],
    imports: Iterable[tuple[str, str, str]],
) -> set[str]:
    """Return the files of all small programs of several files of which one says where arrays go.

    A program is the files that import one another, in any number of steps; a test is none of it,
    unless it is the test that says so. `sizes`: of all files of the run; `imports`: who
    imports what from where.
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
            found |= program if _is_small(program, sizes) else set()
    return found


def _is_small(program: Collection[str], sizes: Mapping[str, int]) -> bool:
    return (
        1 < len(program) <= MOST_FILES
        and sum(sizes.get(path, 0) for path in program) <= MOST_CHARACTERS
    )
