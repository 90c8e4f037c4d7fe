"""Conditions as text, and back, so that what rules need can be known without importing a rule.

A condition is its class and its attributes, whatever these are: a new kind of condition needs
nothing here.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from placement_lint.files import test_paths
from placement_lint.prefilter import conditions
from placement_lint.prefilter.conditions import Needs

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXPRESSION = conditions._Expression
_SEQUENCES: dict[str, Any] = {"frozenset": frozenset, "set": set, "tuple": tuple, "list": list}


def write_needs(needs: Iterable[Needs]) -> list[str]:
    """Return conditions, each as one line. The lines are to be read together, in this order: what
    comes again, in whichever, is written once.

    A condition on the path of a file has a function of `files.test_paths`.
    """
    writer = _Writer()
    return [_text(writer.described(need)) for need in needs]


def read_needs(lines: Iterable[str]) -> list[Needs]:
    """Return the conditions that were written. What they have in common is one object."""
    reader = _Reader()
    return [_checked(reader.made(json.loads(line)), line) for line in lines]


def _checked(need: object, line: str) -> Needs:
    if not isinstance(need, Needs):
        raise TypeError(line)
    return need


class _Writer:
    """Describes conditions; a part that comes again is named by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def described(self, value: Any) -> Any:
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, bytes):
            return {"bytes": value.decode("latin-1")}
        if isinstance(value, _EXPRESSION):
            return {"expression": [self.described(value._pattern), int(value._flags)]}
        if isinstance(value, Needs):
            return self._need(value)
        name = getattr(value, "__name__", "")
        if name and value is getattr(test_paths, name, None):
            return {"path": name}
        if isinstance(value, dict):
            pairs = ([self.described(key), self.described(each)] for key, each in value.items())
            return {"dict": _sorted(pairs)}
        for name, kind in _SEQUENCES.items():
            if type(value) is kind:
                items = [self.described(each) for each in value]
                return {name: _sorted(items) if kind in {set, frozenset} else items}
        message = f"no condition can have a {type(value).__name__}"
        raise TypeError(message)

    def _need(self, need: Needs) -> Any:
        key = _text(_Writer()._whole(need))
        if key in self._numbers:
            return {"again": self._numbers[key]}
        described = self._whole(need)
        self._numbers[key] = len(self._numbers)
        return described

    def _whole(self, need: Needs) -> Any:
        kind = type(need)
        attributes = {
            name: self.described(each)
            for name, each in sorted(vars(need).items())
            # What is worked out of the others is worked out again.
            if not isinstance(getattr(kind, name, None), functools.cached_property)
        }
        return {kind.__name__: attributes}


class _Reader:
    """Makes conditions of their descriptions."""

    def __init__(self) -> None:
        self._needs: list[Needs] = []

    def made(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((name, inside),) = value.items()
        if name == "bytes":
            return inside.encode("latin-1")
        if name == "expression":
            return _EXPRESSION(self.made(inside[0]), inside[1])
        if name == "dict":
            return {self.made(key): self.made(each) for key, each in inside}
        if name == "path":
            return getattr(test_paths, inside)
        if name == "again":
            return self._needs[inside]
        if name in _SEQUENCES:
            return _SEQUENCES[name](map(self.made, inside))
        need = object.__new__(getattr(conditions, name))
        for attribute, each in inside.items():
            object.__setattr__(need, attribute, self.made(each))
        self._needs.append(need)
        return need


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=_text)


def _text(described: Any) -> str:
    return json.dumps(described, separators=(",", ":"), ensure_ascii=True)
