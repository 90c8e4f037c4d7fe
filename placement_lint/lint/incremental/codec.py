"""Dataclasses as what JSON has, and back, by the types of their fields: for the cache alone.

A dataclass is the list of its fields, without those marked `results.NOT_KEPT`. A value of a union
of several types is a pair: the number of its type, and the value. A set is a list in an order that
depends on nothing but its elements; a dictionary whose keys are no strings is a list of pairs.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class _Form(NamedTuple):
    """How the values of one type are written and read."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    plain: type | None = None
    """The type, where JSON has it: then values stay what they are."""


class Codec:
    """Encodes and decodes the values of one type."""

    def __init__(self, kind: Any, names: Mapping[str, Any] | None = None) -> None:
        """Take the type, and what names mean that annotations have and no module imports."""
        self._names = dict(names or {})
        self._forms: dict[Any, _Form] = {}
        self._form = self._form_of(kind)

    def encode(self, value: Any) -> Any:
        """Return a value as what JSON has."""
        return self._form.encode(value)

    def decode(self, value: Any) -> Any:
        """Return what `encode` was given.

        Raises TypeError, ValueError or IndexError for what no value of the type is encoded as.
        """
        return self._form.decode(value)

    def _form_of(self, kind: Any) -> _Form:
        if kind not in self._forms:
            # A type may be a part of itself.
            self._forms[kind] = _Form(
                lambda value: self._forms[kind].encode(value),  # noqa: PLW0108 - not yet made
                lambda value: self._forms[kind].decode(value),  # noqa: PLW0108
            )
            self._forms[kind] = self._made(kind)
        return self._forms[kind]

    def _made(self, kind: Any) -> _Form:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any:
            return _Form(_same, _same)
        if origin in {typing.Union, types.UnionType}:
            return self._union(arguments)
        if origin is tuple and arguments[-1] is not ...:
            return _row([*map(self._form_of, arguments)], list, tuple)
        if origin in {list, tuple, set, frozenset}:
            return _sequence(origin, self._form_of(arguments[0]))
        if origin in {dict, Mapping}:
            key, value = map(self._form_of, arguments)
            return _named(value) if arguments[0] is str else _pairs(_row([key, value], list, tuple))
        if kind is bytes:
            return _Form(lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1"))
        if dataclasses.is_dataclass(kind):
            return self._dataclass(kind)
        if issubclass(kind, enum.Enum):
            return _Form(lambda value: value.value, kind)
        return _Form(_same, functools.partial(_checked, kind), kind)

    def _dataclass(self, kind: Any) -> _Form:
        hints = typing.get_type_hints(kind, localns=self._names)
        fields = [each for each in dataclasses.fields(kind) if each.metadata.get("kept", True)]
        names = [each.name for each in fields]
        are_first = fields == [*dataclasses.fields(kind)][: len(fields)]
        in_order = are_first and not any(each.kw_only for each in fields)
        return _row(
            [self._form_of(hints[name]) for name in names],
            lambda value: [getattr(value, name) for name in names],
            (lambda values: kind(*values))
            if in_order
            else lambda values: kind(**dict(zip(names, values, strict=True))),
        )

    def _union(self, kinds: tuple[Any, ...]) -> _Form:
        plain = [kind for kind in kinds if kind is not types.NoneType]
        if len(plain) == 1:
            encode, decode, _ = self._form_of(plain[0])
            return _Form(
                encode if encode is _same else lambda each: None if each is None else encode(each),
                lambda each: None if each is None else decode(each),
            )
        forms = [self._form_of(kind) for kind in kinds]

        def tagged(value: Any) -> list[Any]:
            number = kinds.index(type(value))
            return [number, forms[number].encode(value)]

        def untagged(value: Any) -> Any:
            number, content = _checked(list, value)
            return forms[_checked(int, number)].decode(content)

        return _Form(tagged, untagged)


def _same(value: Any) -> Any:
    return value


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(kind, value)
    return value


def _row(
    forms: list[_Form], read: Callable[[Any], list[Any]], make: Callable[[list[Any]], Any]
) -> _Form:
    encoders = [form.encode for form in forms]

    def encode(value: Any) -> list[Any]:
        row = zip(encoders, read(value), strict=True)
        return [each if encoder is _same else encoder(each) for encoder, each in row]

    # A warm run decodes some ten thousand rows and little else.
    plain = [(at, form.plain) for at, form in enumerate(forms) if form.plain is not None]
    others = [(at, form.decode) for at, form in enumerate(forms) if form.plain is None]

    def decode(value: Any) -> Any:
        if len(_checked(list, value)) != len(forms):
            raise ValueError(value)
        for at, kind in plain:
            if type(value[at]) is not kind:
                raise TypeError(kind, value[at])
        row = [*value]
        for at, decoder in others:
            row[at] = decoder(row[at])
        return make(row)

    return _Form(encode, decode)


def _sequence(origin: type, form: _Form) -> _Form:
    def encode(value: Any) -> list[Any]:
        return list(value) if form.encode is _same else [*map(form.encode, value)]

    def encode_set(value: Any) -> list[Any]:
        # Sorted as written: not all elements can be compared, such as None and dataclasses.
        return sorted(encode(value), key=repr)

    return _Form(
        encode_set if origin in {set, frozenset} else encode,
        lambda value: origin(map(form.decode, _checked(list, value))),
    )


def _named(form: _Form) -> _Form:
    return _Form(
        _same
        if form.encode is _same
        else lambda value: {name: form.encode(each) for name, each in value.items()},
        lambda value: {name: form.decode(each) for name, each in _checked(dict, value).items()},
    )


def _pairs(pair: _Form) -> _Form:
    return _Form(
        lambda value: [*map(pair.encode, value.items())],
        lambda value: dict(map(pair.decode, _checked(list, value))),
    )
