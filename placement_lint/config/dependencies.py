"""Which versions of JAX a project asks for, read from the files in which it says so.

`pyproject.toml` (PEP 621, Poetry, PEP 735), `setup.cfg`, and `requirements*.txt`, in the nearest
folder above a file in which one of them names jax. Nothing is installed or resolved: only what is
written there about jax itself counts, not what other packages would bring.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placement_lint.config import toml
from placement_lint.config.listings import Listings
from placement_lint.regular import MOST_OF_SETTINGS, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = "jax"
"""jaxlib is no second voice: its version is given by that of jax."""

_MENTION = PACKAGE.encode()
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;#)@]*)",
    re.ASCII,
)
_BOUND = re.compile(r"(?P<operator>===|[<>=!~]=|[<>])\s*(?P<version>v?[0-9][\w.!+-]*\*?)", re.ASCII)
_CARET = re.compile(r"(?P<sign>[\^~]?)\s*(?P<version>[0-9]+(?:\.[0-9]+)*)(?P<star>\.\*)?")
_MOST_DIGITS = 9
_MOST_REQUIREMENTS, _MOST_BOUNDS = 200, 50
_DELIMITER = re.compile(r"[=:]")
_WORD_END = re.compile(r"[-_.]")


@dataclass(frozen=True)
class Requirement:
    """What one line asks of jax: conditions as (operator, version), all to be met."""

    bounds: tuple[tuple[str, str], ...]
    """A version may end in `.*`."""
    source: str
    """The file that it is from."""

    @property
    def text(self) -> str:
        """The line as PEP 508 would write it."""
        return PACKAGE + ",".join(f"{operator}{version}" for operator, version in self.bounds)


class Requirements:
    """What projects require of jax; each file is read once."""

    def __init__(self, listings: Listings | None = None) -> None:
        """Read nothing yet."""
        self._listings = listings or Listings()
        self.unreadable: dict[str, str] = {}
        """The files that are there and could not be read, each with the reason."""
        self._known: dict[str, tuple[Requirement, ...]] = {}

    def of(self, folder: str) -> tuple[Requirement, ...]:
        """Return every line about jax that holds for the files in a folder.

        Files that cannot be read or parsed say nothing: whoever needs them will find out.
        """
        while True:
            if folder not in self._known:
                self._known[folder] = self._of_folder(folder)
            parent = os.path.dirname(folder)
            # A repository ends where it ends: what lies around it is another's.
            is_top = parent == folder or self._listings.is_repository(folder)
            if self._known[folder] or is_top:
                return self._known[folder]
            folder = parent

    def _of_folder(self, folder: str) -> tuple[Requirement, ...]:
        readers = (("pyproject.toml", _in_pyproject), ("setup.cfg", _in_setup_cfg))
        for name, read in readers:
            path = os.path.join(folder, name)
            text = self._text(path) if self._listings.may_have(folder, name) else None
            if text is not None:
                found = _requirements(read(text), path)
                if any(requirement.bounds for requirement in found):
                    return found
        return self._in_requirements(folder)

    def _in_requirements(self, folder: str) -> tuple[Requirement, ...]:
        if not self._listings.may_have(folder, "requirement"):
            return ()
        try:
            names = sorted(filter(_is_requirements, os.listdir(folder)))
        except OSError:
            return ()
        # The plain name first: it says what the project needs, others what its tests or docs need.
        for name in sorted(names, key=lambda name: (name.lower() != "requirements.txt", name)):
            path = os.path.join(folder, name)
            text = self._text(path)
            found = () if text is None else _requirements(_lines(text.splitlines()), path)
            if any(requirement.bounds for requirement in found):
                return found
        return ()

    def _text(self, path: str) -> str | None:
        """Read a file that mentions jax."""
        try:
            data = read_regular(path, MOST_OF_SETTINGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.unreadable[path] = error.strerror or str(error)
            return None
        return data.decode("utf-8-sig", "replace") if _MENTION in data.lower() else None


def _requirements(
    lines: Iterable[tuple[tuple[str, str], ...]], path: str
) -> tuple[Requirement, ...]:
    """Return what lines ask for, each once. Of more than anybody writes, the first ones count."""
    every = dict.fromkeys(tuple(dict.fromkeys(bounds))[:_MOST_BOUNDS] for bounds in lines)
    return tuple(Requirement(bounds, path) for bounds in [*every][:_MOST_REQUIREMENTS])


def _is_requirements(name: str) -> bool:
    stem, ending = os.path.splitext(name.lower())
    words = {"requirement", "requirements"}
    return ending in {".txt", ".in"} and not words.isdisjoint(_WORD_END.split(stem))


def _in_setup_cfg(text: str) -> Iterator[tuple[tuple[str, str], ...]]:
    sections = _sections(text)
    yield from _lines(sections.get("options", {}).get("install_requires", ()))
    for lines in sections.get("options.extras_require", {}).values():
        yield from _lines(lines)


def _sections(text: str) -> dict[str, dict[str, list[str]]]:
    """Read what setup.cfg says: by section and option, the lines of a value.

    As `configparser` does, which takes time that grows with the square of the spaces on a line, and
    of the lines that are no option; here these say nothing.
    """
    sections: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    lines: list[str] | None = None
    indent = 0
    for line in text.split("\n"):
        value = line.strip()
        if not value or value[0] in "#;":
            continue
        level = len(line) - len(line.lstrip())
        if lines is not None and level > indent:
            lines.append(value)
            continue
        indent, lines = level, None
        if value[0] == "[" and "]" in value:
            section = sections.setdefault(value[1 : value.rindex("]")], {})
        elif delimiter := _DELIMITER.search(value):
            lines = [value[delimiter.end() :].strip()]
            section[value[: delimiter.start()].strip().lower()] = lines
    return sections


def _in_pyproject(text: str) -> Iterator[tuple[tuple[str, str], ...]]:
    try:
        table = toml.loads(text)
    except (ValueError, RecursionError):
        return
    project = _table(table, "project")
    listed = [project.get("dependencies")]
    listed += [*_table(project, "optional-dependencies").values()]
    listed += [*_table(table, "dependency-groups").values()]
    for lines in listed:
        if isinstance(lines, list):
            # A group may also include another one, by a table.
            yield from _lines(line for line in lines if isinstance(line, str))
    poetry = _table(_table(table, "tool"), "poetry")
    groups = [poetry, *_table(poetry, "group").values()]
    keys = ("dependencies", "dev-dependencies")
    tables = [group for group in groups if isinstance(group, dict)]
    for entries in (_table(table, key) for table in tables for key in keys):
        for name, value in entries.items():
            if _is_jax(name):
                yield from _poetry(value)


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _is_jax(name: str) -> bool:
    return name.lower() == PACKAGE


def _lines(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Read requirements as PEP 508 writes them; what a marker says of other machines counts too."""
    for line in lines:
        requirement = _REQUIREMENT.match(line)
        if requirement is not None and _is_jax(requirement["name"]):
            yield tuple(
                (bound["operator"], bound["version"])
                for bound in _BOUND.finditer(requirement["bounds"])
            )


def _poetry(value: object) -> Iterator[tuple[tuple[str, str], ...]]:
    """Read what Poetry takes: a text, a table with `version`, or a list of such tables."""
    if isinstance(value, list):
        for item in value:
            yield from _poetry(item)
    elif isinstance(value, dict):
        yield from _poetry(value.get("version"))
    elif isinstance(value, str):
        for alternative in value.split("||"):
            yield tuple(
                bound for part in alternative.split(",") for bound in _poetry_bounds(part.strip())
            )


def _poetry_bounds(part: str) -> list[tuple[str, str]]:
    bound = _BOUND.fullmatch(part)
    if bound is not None:
        return [(bound["operator"], bound["version"])]
    short = _CARET.fullmatch(part)
    if short is None:
        return []
    version = short["version"]
    # One of so many digits is newer than all there is, however many more there are.
    numbers = [int(number[:_MOST_DIGITS]) for number in version.split(".")]
    if short["sign"] == "^":
        return [(">=", version), ("<", _next(numbers, _first_that_counts(numbers)))]
    if short["sign"] == "~":
        return [(">=", version), ("<", _next(numbers, min(1, len(numbers) - 1)))]
    return [("==", version + (short["star"] or ""))]


def _first_that_counts(numbers: list[int]) -> int:
    """Return the place of the number that `^` keeps: the first that is not zero, else the last."""
    return next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)


def _next(numbers: list[int], place: int) -> str:
    return ".".join(map(str, [*numbers[:place], numbers[place] + 1]))
