"""Methods of Python's containers and texts, by what they do, and what copies a container."""

from __future__ import annotations

COPYING = frozenset({"builtins.list", "builtins.tuple"})
"""What makes a container of the items of another one, in their order."""
ADDING = frozenset({"add", "append", "appendleft", "insert", "put", "put_nowait"})
"""Methods that add one thing: the last argument, or the first of a queue."""
EXTENDING = frozenset({"extend", "extendleft", "update"})
"""Methods that add what is in another container."""
STORING = ADDING | EXTENDING | {"setdefault"}
"""Methods after which a container holds what they were given, or what is in it."""
REORDERING_OR_REMOVING = frozenset({"discard", "popleft", "remove", "reverse", "rotate", "sort"})
"""Methods after which it is not known which item is where, but for `popleft`."""
CHANGING = (
    STORING
    | REORDERING_OR_REMOVING
    | {"__delitem__", "__setitem__", "clear", "get_nowait", "pop", "popitem"}
)
"""All methods that change the container. `get` of a queue does so, but that of a dict does not."""
TEXT_METHODS = frozenset({"capitalize", "casefold", "lower", "strip", "title", "upper"})
"""Methods of a text that give a text like it, without an argument."""
