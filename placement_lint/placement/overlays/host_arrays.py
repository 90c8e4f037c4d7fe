"""Methods of NumPy arrays, and of the archives of arrays that NumPy opens."""

from __future__ import annotations

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.containers import view_of
from placement_lint.placement.domain.values import PLAIN, Host, Mapping, Value, value


def host_method(atom: Host, name: str) -> Value:
    """Return what a method of a NumPy array gives, or one of an archive: `np.load(path).items()`.

    What an archive holds are arrays, each all that is kept under its name. Arrays have no methods
    of these names.
    """
    if name in {"item", "tolist", "tobytes"}:
        return PLAIN
    if name in {"items", "keys", "values"}:
        return value(view_of(Mapping((), value(Host(from_file=atom.from_file))), name))
    keeps_all = name in transfer.SIZE_KEEPING_METHODS
    return value(Host(atom.from_file and keeps_all, read=atom.read if keeps_all else None))
