"""Reads `fixtures/<CODE>/hazards.py` and `clean.py`: small modules and what is found in them.

A case begins with `# case: kebab-name`, perhaps followed by options in brackets, each with a
reason: `[not in class: …]`, `[not in function: …]`, `[not in block: …]`, `[not restyled: …]`,
`[python 3.12: …]`. What a line must give is said at its end: `# error: JDP201:5 "part of the
message"`. A line `# becomes:` (or `# becomes (unsafe):`) begins the text that fixing makes of the
case. `# todo-missed: JDP201` and `# todo-false-alarm: JDP201` say at the end of a line what is
known to be wrong. No option is needed where a function reads a name of the top: such a case is not
put in a class in any event.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"

_CASE = re.compile(r"^# case: (?P<name>[a-z0-9-]+)(?P<options>(?: \[[^\]]+\])*)\n", re.MULTILINE)
_OPTION = re.compile(r"\[(?P<key>[^:\]]+): (?P<reason>[^\]]+)\]")
_BECOMES = re.compile(r"^# becomes(?P<unsafe> \(unsafe\))?:\n", re.MULTILINE)
_EXPECTATION = re.compile(
    r"[ \t]*# (?P<kind>error|todo-missed|todo-false-alarm): (?P<what>JDP\d{3}.*)$"
)
_FINDING = re.compile(r'(?P<code>JDP\d{3})(?::(?P<column>\d+))?(?: "(?P<text>[^"]*)")?')
_KNOWN_OPTIONS = re.compile(
    r"not in function|not in class|not in block|not restyled|python \d\.\d+"
)


@dataclass(frozen=True, order=True)
class Expected:
    """A finding that a line must give."""

    line: int
    code: str
    column: int | None = field(default=None, compare=False)
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Annotated:
    """A text without its expectation comments, and what those said."""

    text: str
    findings: tuple[Expected, ...]
    missed: tuple[Expected, ...] = ()
    false_alarms: tuple[Expected, ...] = ()

    @property
    def undecided(self) -> frozenset[tuple[int, str]]:
        """The places about which it is known that the rules are wrong."""
        return frozenset((each.line, each.code) for each in (*self.missed, *self.false_alarms))


@dataclass(frozen=True)
class Case:
    """One module of a fixture file."""

    code: str
    kind: str
    name: str
    before: Annotated
    becomes: Annotated | None
    becomes_unsafe: Annotated | None
    options: dict[str, str]

    @property
    def id(self) -> str:
        """What the case is called in a test report."""
        return f"{self.code}/{self.kind}/{self.name}"

    @property
    def needs_python(self) -> tuple[int, int]:
        """The oldest Python that compiles it."""
        for option in self.options:
            if option.startswith("python "):
                major, _, minor = option.removeprefix("python ").partition(".")
                return int(major), int(minor)
        return (3, 10)


def read_cases(path: Path) -> list[Case]:
    """Read one fixture file. Raises ValueError for what the format does not allow."""
    text = path.read_text(encoding="utf-8")
    starts = list(_CASE.finditer(text))
    marked = text.count("\n# case:") + text.startswith("# case:")
    if len(starts) != marked:
        message = f"{path}: {marked} lines begin with '# case:', of which {len(starts)} are right"
        raise ValueError(message)
    ends = [*(match.start() for match in starts[1:]), len(text)]
    cases = [
        _read_case(path, match, text[match.end() : end])
        for match, end in zip(starts, ends, strict=True)
    ]
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        message = f"{path}: case {max(names, key=names.count)} is there twice"
        raise ValueError(message)
    return cases


def _read_case(path: Path, match: re.Match[str], body: str) -> Case:
    options = {each["key"]: each["reason"] for each in _OPTION.finditer(match["options"])}
    unknown = [key for key in options if not _KNOWN_OPTIONS.fullmatch(key)]
    if unknown:
        message = f"{path}: case {match['name']}: unknown options {unknown}"
        raise ValueError(message)
    sections = _BECOMES.split(body)
    fixed = {
        bool(unsafe): annotated(text)
        for unsafe, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    code, kind = path.parent.name, path.stem
    before = annotated(sections[0])
    if kind == "clean" and (before.findings or before.missed or fixed):
        message = f"{path}: case {match['name']}: a clean case expects a finding or a fix"
        raise ValueError(message)
    if kind == "hazards" and code not in {each.code for each in (*before.findings, *before.missed)}:
        message = f"{path}: case {match['name']}: no {code} is expected"
        raise ValueError(message)
    return Case(code, kind, match["name"], before, fixed.get(False), fixed.get(True), options)


def annotated(text: str) -> Annotated:
    """Take the expectation comments off a text."""
    lines: list[str] = []
    found: dict[str, list[Expected]] = {"error": [], "todo-missed": [], "todo-false-alarm": []}
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        kept = line
        while match := _EXPECTATION.search(kept):
            found[match["kind"]] += [
                Expected(
                    number, each["code"], int(each["column"]) if each["column"] else None,
                    each["text"],
                )
                for each in _FINDING.finditer(match["what"])
            ]  # fmt: skip
            kept = kept[: match.start()]
        lines.append(kept)
    return Annotated(
        "\n".join(lines) + "\n",
        tuple(sorted(found["error"])),
        tuple(found["todo-missed"]),
        tuple(found["todo-false-alarm"]),
    )


def all_cases(root: Path = FIXTURES) -> list[Case]:
    """Read every fixture file, in order."""
    return [*_shipped()] if root == FIXTURES else _cases_of(root)


@functools.cache
def _shipped() -> tuple[Case, ...]:
    return tuple(_cases_of(FIXTURES))


def _cases_of(root: Path) -> list[Case]:
    return [
        case
        for kind in ("hazards", "clean")
        for path in sorted(root.glob(f"JDP*/{kind}.py"))
        for case in read_cases(path)
    ]
