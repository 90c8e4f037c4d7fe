"""Reads `fixtures/programs/<group>/<name>.txt`: programs of several files, and what is found.

A header of comment lines says what the program is. Of these, each `# run: …` is a statement that
starts it; a program without one is only read; `# needs: package` is a package without which it is
not run; `# todo-fix: why` says that its safe fixes are known
to be wrong. `# file: package/data.py` begins each file, with the expectations of
`tests.fixture_cases` at the ends of its lines, and a last comment `# made here` on every line that
must be the first related place of a JDP201 or JDP202. `# becomes:` (or `# becomes (unsafe):`)
begins the files that fixing changes, whole. Where there is one, nothing is
left to be found in the other files; without one, fixing changes nothing. All of this says what is
right also where `# todo-missed: …` or `# todo-false-alarm: …` says that it is not so yet: then
putting `error` in the place of the one, or taking away the other, is all that is to be done.
"""

import functools
import importlib.util
import itertools
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.fixture_cases import FIXTURES, Annotated, annotated

PROGRAMS = FIXTURES / "programs"

_FILE = re.compile(r"^# file: (?P<path>\S+\.py)\n", re.MULTILINE)
_BECOMES = re.compile(r"^# becomes(?P<unsafe> \(unsafe\))?:\n", re.MULTILINE)
_MADE_HERE = re.compile(r"[ \t]*# made here$", re.MULTILINE)
_NEEDS = re.compile(r"^# needs: (?P<package>\S+)$", re.MULTILINE)
_RUN = re.compile(r"^# run: (?P<statement>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """One file of a program, as it is written, with what is expected of it."""

    expected: Annotated
    made_here: frozenset[int]
    """The lines that the first related places must be at."""

    def without_findings(self) -> "Text":
        """Give the same text, in which nothing is to be found."""
        return Text(Annotated(self.expected.text, ()), frozenset())


@dataclass(frozen=True)
class ProgramCase:
    """A program of several files."""

    group: str
    name: str
    files: dict[str, Text]
    becomes: dict[str, Text]
    becomes_unsafe: dict[str, Text]
    run: str | None
    """What starts it; None for a program that is only read."""
    needs: tuple[str, ...]
    """The packages without which it cannot run."""
    fix_is_wrong: bool
    """It is known that safe fixes do not make of it what they should."""

    @property
    def id(self) -> str:
        """What the program is called in a test report."""
        return f"{self.group}/{self.name}"

    @property
    def missing(self) -> list[str]:
        """The packages that it needs, and that are not here."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]

    @property
    def undecided(self) -> frozenset[tuple[str, int, str]]:
        """The places about which it is known that the rules are wrong."""
        return frozenset(
            (path, line, code)
            for path, text in self.files.items()
            for line, code in text.expected.undecided
        )

    def texts(self) -> dict[str, str]:
        """Give the files as they are linted and run."""
        return {path: text.expected.text for path, text in self.files.items()}

    def modules(self, texts: dict[str, str] | None = None) -> dict[str, str]:
        """Give the program as modules by name; `main` is what starts it.

        `texts` are its files, if they are others than those that are linted.
        """
        texts = self.texts() if texts is None else texts
        modules = {module_name(path): text for path, text in texts.items()}
        for name in [*modules]:
            for package in itertools.accumulate(name.split(".")[:-1], "{}.{}".format):
                modules.setdefault(package, "")  # a namespace package
        if self.run is not None:
            assert "main" not in modules
            modules["main"] = self.run + "\n"
        return modules

    def fixed(self, *, unsafe: bool = False) -> dict[str, Text]:
        """Give all files as they must be after fixing, with what must be left to be found."""
        changed = {**self.becomes, **(self.becomes_unsafe if unsafe else {})}
        if not changed:
            return self.files
        return {
            path: changed.get(path, text.without_findings()) for path, text in self.files.items()
        }


def module_name(path: str) -> str:
    """Give the name under which a file is imported; the folder `src` is on the path."""
    parts = PurePosixPath(path).with_suffix("").parts
    if parts[0] == "src":
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_program(path: Path) -> ProgramCase:
    """Read one program. Raises ValueError for what the format does not allow."""
    before, *fixed = _BECOMES.split(path.read_text(encoding="utf-8"))
    header, *_ = _FILE.split(before, maxsplit=1)
    if any(line and not line.startswith("#") for line in header.split("\n")):
        raise ValueError(f"{path}: its header is not only comments")
    if len(_NEEDS.findall(header)) != header.count("# needs"):
        raise ValueError(f"{path}: each package that it needs has a line `# needs: package`")
    sections: dict[bool, dict[str, Text]] = {False: {}, True: {}}
    for unsafe, section in zip(fixed[::2], fixed[1::2], strict=True):
        sections[bool(unsafe)] = _read_files(path, section)
    files = _read_files(path, before)
    strange = {*sections[False], *sections[True]} - set(files)
    if not files or strange:
        raise ValueError(f"{path}: no files, or fixed ones that were not there: {strange}")
    run = "\n".join(match["statement"] for match in _RUN.finditer(header)) or None
    return ProgramCase(
        path.parent.name, path.stem, files, sections[False], sections[True], run,
        tuple(_NEEDS.findall(header)), "\n# todo-fix: " in header,
    )  # fmt: skip


def _read_files(path: Path, section: str) -> dict[str, Text]:
    _, *parts = _FILE.split(section)
    names = parts[::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: {max(names, key=names.count)} is there twice")
    return {name: _read_text(text) for name, text in zip(names, parts[1::2], strict=True)}


def _read_text(text: str) -> Text:
    lines = text.split("\n")
    made_here = {number for number, line in enumerate(lines, 1) if _MADE_HERE.search(line)}
    return Text(annotated(_MADE_HERE.sub("", text)), frozenset(made_here))


@functools.cache
def all_programs(root: Path = PROGRAMS) -> tuple[ProgramCase, ...]:
    """Read every program, in order. What was read of a folder is kept: several tests ask for it."""
    return tuple(read_program(path) for path in sorted(root.glob("*/*.txt")))
