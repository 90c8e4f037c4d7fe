"""What rules say of themselves, read from their files: a page is there before a rule is imported.

To import one rule is to import what it works with, which takes longer than to print a page a
hundred times. All that a page holds is in the class as literals, so that the parser of Python
gives it away; a test compares it with the classes.
"""

from __future__ import annotations

import os

from placement_lint.prefilter import NEEDED_FILE

TYPE_CHECKING = False

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

    from placement_lint.rules.base import Rule

_FOLDER = os.path.dirname(__file__)
_ONLY_AST = 0x400
"""`ast.PyCF_ONLY_AST`: the module `ast` itself, which gives it a name, is not needed."""


class Page:
    """One rule's page, and the facts about the rule."""

    __slots__ = ("code", "fix", "name", "pedantic", "severity", "text")

    def __init__(
        self, code: str, name: str, text: str, *, severity: str, fix: str | None, pedantic: bool
    ) -> None:
        """`text` is a docstring, whose indentation is removed."""
        self.code = code
        self.name = name
        self.severity = severity
        self.fix = fix
        self.pedantic = pedantic
        self.text = _dedented(text)

    def section(self, title: str) -> str:
        """Return the text under a heading; empty where there is no such heading."""
        _, _, rest = self.text.partition(f"\n## {title}\n")
        return rest.partition("\n## ")[0].strip()

    @property
    def summary(self) -> str:
        """The first sentence, in one line."""
        return " ".join(self.text.split("\n\n")[0].split())

    def is_called(self, word: str) -> bool:
        """Return whether a word is the rule's code or name."""
        return word.upper() == self.code or word.lower() == self.name


def all_pages() -> list[Page]:
    """Return every rule's page, sorted by code."""
    pages = [*_read([b"\n    code"])] or [_of_class(rule) for rule in _imported()]
    return sorted(pages, key=lambda page: page.code)


def pages_of(codes: Iterable[str]) -> dict[str, Page]:
    """Return the pages of some rules by code, without reading those of the others."""
    wanted = {*codes}
    quoted = [f'"{code}"'.encode() for code in wanted]
    found = {page.code: page for page in _read(quoted) if page.code in wanted}
    if wanted - found.keys():
        found = {page.code: page for page in all_pages() if page.code in wanted}
    return found


def find_page(word: str) -> Page | None:
    """Return the page of the rule with a code or a name, without regard to case."""
    quoted = [f'"{name}"'.encode("utf-8", "surrogatepass") for name in (word.upper(), word.lower())]
    pages = (page for read in (_kept, _read) for page in read(quoted))
    return next((page for page in pages if page.is_called(word)), None)


def _kept(words: list[bytes]) -> Iterator[Page]:
    """Yield the page of the rule with the first of some words as its code, if it is known in which
    file that is.
    """
    try:
        _, _, line = (b"\n" + _bytes(NEEDED_FILE)).partition(b"\n" + words[0].strip(b'"') + b"\t")
        path = os.path.join(_FOLDER, *line.partition(b"\t")[0].decode().split(".")[2:]) + ".py"
        yield from _in_source(_bytes(path), path) if line else ()
    except OSError:
        return


def _read(words: list[bytes]) -> Iterator[Page]:
    """Yield the pages in the files that have one of some words."""
    # A rule is a file in its family's folder.
    families = [each.path for each in os.scandir(_FOLDER) if each.is_dir()]
    paths = (os.path.join(family, name) for family in families for name in os.listdir(family))
    for path in paths:
        data = _bytes(path) if path.endswith(".py") else b""
        if any(word in data for word in words):
            yield from _in_source(data, path)


def _bytes(path: str) -> bytes:
    # Without the layers of `open`, which for so many small files are most of the time.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


def _in_source(data: bytes, path: str) -> Iterator[Page]:
    tree: ast.Module = compile(data, path, "exec", _ONLY_AST, dont_inherit=True)
    for node in tree.body:
        facts = _literals(node)
        if "code" in facts and "text" in facts:
            yield Page(
                str(facts["code"]),
                str(facts["name"]),
                str(facts["text"]),
                severity=str(facts["severity"]).lower(),
                fix=str(facts["fix"]).lower() if facts.get("fix") else None,
                pedantic=bool(facts.get("pedantic")),
            )


def _literals(node: ast.stmt) -> dict[str, object]:
    """Return what a class body assigns, as far as it can be read; of `Severity.ERROR` the
    `ERROR`.
    """
    facts: dict[str, object] = {}
    for statement in getattr(node, "body", ()):
        value = getattr(statement, "value", None)
        targets = getattr(statement, "targets", ())
        if not targets:
            text = getattr(value, "value", None)
            if isinstance(text, str):
                facts.setdefault("text", text)
        for target in targets:
            many = hasattr(target, "elts") and hasattr(value, "elts")
            names = getattr(target, "elts", ()) if many else [target]
            values = getattr(value, "elts", ()) if many else [value]
            for one, its in zip(names, values, strict=False):
                facts[getattr(one, "id", "")] = getattr(its, "attr", getattr(its, "value", None))
    return facts


def _imported() -> tuple[type[Rule], ...]:
    """Return the rules of a package that was installed without its sources."""
    from placement_lint.rules.registry import all_rules

    return all_rules()


def _of_class(rule: type[Rule]) -> Page:
    return Page(
        rule.code,
        rule.name,
        rule.__doc__ or "",
        severity=rule.severity.value,
        fix=None if rule.fix is None else rule.fix.value,
        pedantic=rule.pedantic,
    )


def _dedented(text: str) -> str:
    """Remove the indentation that a class gives its docstring, where Python has not yet."""
    first, _, rest = text.strip("\n").partition("\n")
    lines = rest.split("\n")
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    depth = min(indents, default=0)
    return "\n".join([first.strip(), *(line[depth:].rstrip() for line in lines)]).strip()
