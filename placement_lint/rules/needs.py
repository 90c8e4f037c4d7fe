"""What the bytes of a file must contain for a rule to be able to fire: the file filter."""

from __future__ import annotations

import abc
import itertools
import re
from dataclasses import dataclass


class Needs(abc.ABC):
    """A condition on the bytes of a file."""

    @abc.abstractmethod
    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Tell whether the file may hold a finding.

        `jax` says whether a name of JAX can be known in it: because it mentions jax, or because it
        imports from a file of the run that re-exports one.
        """


@dataclass(frozen=True)
class Word(Needs):
    """The file contains these bytes."""

    word: bytes

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Search the bytes."""
        return self.word in data


class Identifier(Needs):
    """The file contains this identifier, not only as a part of a longer one."""

    def __init__(self, identifier: bytes) -> None:
        """Take the identifier, in ASCII."""
        self._identifier = identifier
        self._pattern = re.compile(rb"(?<![A-Za-z0-9_])" + identifier + rb"(?![A-Za-z0-9_])")

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Search the bytes, for the plain word first: that is faster by far."""
        return self._identifier in data and self._pattern.search(data) is not None


class Pattern(Needs):
    """The file contains something that a regular expression matches."""

    def __init__(self, pattern: bytes, *, word: bytes = b"", ignore_case: bool = False) -> None:
        """Take the expression, and a word that is part of all it matches: that is found faster.

        Without regard to case, the word must be a short one.
        """
        self._words = _cases(word) if ignore_case else (word,)
        self._pattern = re.compile(pattern, re.IGNORECASE if ignore_case else 0)

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Search the bytes, for the plain word first."""
        return any(word in data for word in self._words) and bool(self._pattern.search(data))


@dataclass(frozen=True)
class Jax(Needs):
    """A name of JAX can be known in the file."""

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Take the answer that was found for the whole file."""
        return jax


class AnyOf(Needs):
    """One of these is met."""

    def __init__(self, *needs: Needs | bytes) -> None:
        """Take conditions, or bytes that must be there."""
        self.needs = tuple(map(_needs, needs))

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Ask each in turn."""
        return any(need.met_by(data, jax=jax) for need in self.needs)


class AllOf(Needs):
    """All of these are met."""

    def __init__(self, *needs: Needs | bytes) -> None:
        """Take conditions, or bytes that must be there."""
        self.needs = tuple(map(_needs, needs))

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Ask each in turn."""
        return all(need.met_by(data, jax=jax) for need in self.needs)


class Never(Needs):
    """No file is read for this rule: it speaks of the run itself, not of code."""

    def met_by(self, data: bytes, *, jax: bool) -> bool:
        """Answer no."""
        return False


def _cases(word: bytes) -> tuple[bytes, ...]:
    """Give a word in every mixture of capitals and small letters."""
    text = word.decode("ascii")
    mixtures = itertools.product(*zip(text.lower(), text.upper(), strict=True))
    return tuple(sorted({"".join(letters).encode() for letters in mixtures}))


def _needs(need: Needs | bytes) -> Needs:
    return Word(need) if isinstance(need, bytes) else need


NAMED_SUPPRESSION = AnyOf(
    Pattern(rb"#\s*noqa\s*:[^\n]*jdp[0-9]", word=b"jdp", ignore_case=True),
    AllOf(b"placement-lint:", b"ignore"),
)
"""A comment that silences rules of ours by name."""
