"""What was probably meant by a word that is unknown."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 80
"""No name is longer, and the distance of two words takes time with the product of their lengths."""
_DIGITS, _LETTERS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_FORMATS_ELSEWHERE = {
    "azure": "sarif",
    "codeclimate": "gitlab",
    "emacs": "flake8",
    "grouped": "full",
    "parsable": "flake8",
    "pylint": "flake8",
    "text": "full",
}
"""Formats of other linters, and which of ours serves the same programs or readers."""


def value_hint(word: str, known: Iterable[str]) -> str | None:
    """Return which value was probably meant by an unknown one, in a few words."""
    known = [*known]
    elsewhere = _FORMATS_ELSEWHERE.get(word)
    if elsewhere in known:
        return f"use `{elsewhere}`"
    near = nearest(word, known)
    return None if near is None else f"did you mean `{near}`?"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the one of the words that the given one was probably meant to be.

    It is a few typing errors away: one, two from five letters on, three from ten. None: there is
    no such word. A hyphen in the place of an underscore is no error.
    """
    if len(word) > _LONGEST:
        return None
    most = 1 if len(word) < 5 else 2 if len(word) < 10 else 3
    given = word.replace("_", "-")
    found = [(_distance(given, each.replace("_", "-"), most), each) for each in words]
    near = min((each for each in found if each[0] <= most), default=None, key=lambda each: each[0])
    return None if near is None else near[1]


def nearest_code(word: str, codes: Iterable[str]) -> str | None:
    """Return the code of a rule that a word was probably meant to be.

    Where only the number is another one, nobody can tell: a letter must be wrong, or the length.
    """
    if len(word) > _LONGEST:
        return None
    known = [*codes]
    longer = [code for code in known if word.startswith(code)]
    return next((code for code in (*longer, *known) if _is_misspelt(word, code)), None)


def _is_misspelt(word: str, code: str) -> bool:
    letters, number = code.rstrip(_DIGITS), code.lstrip(_LETTERS)
    if word.endswith(number):
        return _distance(word[: -len(number)], letters, 1) == 1
    return len(word) != len(code) and _distance(word, code, 1) == 1


def _distance(left: str, right: str, most: int) -> int:
    """Return how many letters have to be put in, left out, replaced or swapped with the next one.

    More than `most` if it is more.
    """
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    last: list[int] = [*range(len(right) + 1)]
    for row, a in enumerate(left, 1):
        now = [row]
        for column, b in enumerate(right, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (a != b))
            is_swapped = row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b
            now.append(min(cost, before[column - 2] + 1) if is_swapped else cost)
        before, last = last, now
    return last[-1]
