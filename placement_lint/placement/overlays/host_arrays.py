"""Methods of NumPy arrays, and of the archives of arrays that NumPy opens."""

from __future__ import annotations

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.values import (
    PLAIN,
    Host,
    Sequence,
    Value,
    join,
    value,
)


def host_method(atom: Host, name: str) -> Value:
    """Return what a method of a NumPy array gives, or one of an archive: `np.load(path).items()`.

    What an archive holds are arrays, each all that is kept under its name. Arrays have no methods
    of these names.
    """
    if name in {"item", "tolist", "tobytes"}:
        return PLAIN
    held = value(Host(from_file=atom.from_file))
    if name == "values":
        return value(Sequence(None, held))
    if name == "items":
        return value(Sequence(None, value(Sequence((PLAIN, held), join(PLAIN, held)))))
    if name == "keys":
        return value(Sequence(None, PLAIN))
    return value(Host(from_file=atom.from_file and name in transfer.SIZE_KEEPING_METHODS))
