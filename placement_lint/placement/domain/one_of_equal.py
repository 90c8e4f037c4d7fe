"""Things of which equal ones are one object: to hash and to compare them takes no time."""

from __future__ import annotations

import threading
from typing import ClassVar
from weakref import WeakValueDictionary


class OneOfEqual(type):
    """Makes a class of a dataclass with `eq=False` that gives one object for equal arguments.

    So in all threads, as long as anything has it. For what is part of keys, and made seldom.
    """

    _made: ClassVar[WeakValueDictionary[tuple[object, ...], object]] = WeakValueDictionary()
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __call__(cls, /, *args: object, **named: object) -> object:
        made = super().__call__(*args, **named)
        with cls._lock:
            return cls._made.setdefault((cls, *vars(made).values()), made)
