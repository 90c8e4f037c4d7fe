"""Files that a program writes to by storing items, as in `file["name"] = rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from placement_lint.semantic.file_view import FileView

_FILES = (
    "h5py.", "netCDF4.", "numpy.lib.format.open_memmap", "numpy.memmap", "shelve.", "tables.",
    "zarr.",
)  # fmt: skip
_GROUPS = frozenset({"create_dataset", "create_group", "require_dataset", "require_group"})


def is_file(name: cst.Name, ctx: FileView) -> bool:
    """Return whether what is stored under a name goes to a file, which takes it from the host."""
    for binding in ctx.names.bindings(name):
        made = binding.value
        if isinstance(binding.node, cst.WithItem):
            return True
        if isinstance(made, cst.Call) and (
            (ctx.called(made) or "").startswith(_FILES)
            or (isinstance(made.func, cst.Attribute) and made.func.attr.value in _GROUPS)
        ):
            return True
    return False
