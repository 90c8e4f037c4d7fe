"""From a source to its tree, or to why there is none."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from placement_lint.files.store import FileStore
from placement_lint.limits.budget import unmetered
from placement_lint.timing import IMPORTING, PARSING, timed

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    import libcst as cst

    from placement_lint.files.source import Source
    from placement_lint.syntax.lean.places import KnownPlaces, LeanSpans
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.parser_guard import TooDeep
    from placement_lint.syntax.pieces import Pieces
    from placement_lint.syntax.positions import Spans
    from placement_lint.syntax.tree import Tree

    _Parse = Callable[[Source, "ParsedFile | Unparsable | None"], "ParsedFile | Unparsable"]


class Unparsable(NamedTuple):
    """Why a source cannot be parsed, and the place, from 1, in its text."""

    reason: str
    line: int
    column: int
    is_too_deep: bool = False
    """Whether nobody tried to, since that would exhaust the stack or the memory."""


class IncongruentError(Exception):
    """LibCST reads a text in another way than its tree was made, or not at all."""


class ParsedFile:
    """The tree of one text, and where its nodes stand."""

    def __init__(
        self,
        module: cst.Module,
        source: Source,
        pieces: Pieces | None = None,
        *,
        python_tree: Callable[[], ast.Module | None] | None = None,
    ) -> None:
        """Take the tree; where its nodes stand is worked out when it is asked for.

        `python_tree` gives the tree of which the nodes were made, where that is so: then they have
        no whitespace and no punctuation yet.
        """
        self.module = module
        self.pieces = pieces
        self.is_lean = python_tree is not None
        """Whether whitespace and punctuation are missing."""
        self._python_tree = python_tree
        self.is_refuted = False
        """Whether LibCST reads the text in another way: then the tree must not be used."""
        self._source = source

    def add_punctuation(self) -> None:
        """Fill in the whitespace and punctuation of all nodes. Needs `run_deep`.

        Raises IncongruentError where that cannot be done: see `is_refuted`.
        """
        if not self.is_lean:
            return
        import libcst as cst

        from placement_lint.syntax.lean.punctuation import copy_punctuation

        with timed(PARSING):
            try:
                self.is_refuted = not copy_punctuation(
                    self.module, cst.parse_module(self._source.text)
                )
            except MemoryError:
                raise
            except Exception:  # of whatever kind: LibCST also fails with KeyError and others
                self.is_refuted = True
        if self.is_refuted:
            raise IncongruentError(self._source.path)
        self.is_lean = False

    @functools.cached_property
    def spans(self) -> Spans:
        """Where the nodes stand. Needs `run_deep`. Raises what `add_punctuation` raises."""
        from placement_lint.syntax.positions import Spans

        self.add_punctuation()
        return Spans(self.module, self._source, self.pieces)

    @functools.cached_property
    def places(self) -> KnownPlaces | None:
        """Where the nodes stand, as far as that is known without LibCST. Needs `run_deep`."""
        from placement_lint.syntax.lean.places import KnownPlaces

        parsed = self._python_tree
        tree = None if parsed is None else parsed()
        if parsed is None or tree is None:
            return None
        return KnownPlaces(tree, self._source.text, parsed)

    def spans_in(self, tree: Tree) -> Spans | LeanSpans:
        """Return where the nodes of the tree of the module stand.

        Nodes without punctuation stay so, as long as nobody asks for more than is known of them.
        """
        from placement_lint.syntax.lean.places import LeanSpans, is_placeable

        if self.is_lean and is_placeable(self._source.text) and self.places is not None:
            return LeanSpans(self._source, tree, self.places, lambda: self.spans)
        return self.spans


# LibCST says the place in its message too, counted in its own way.
_LIBCST_PLACE = re.compile(r"^parser error: (?:error at (?P<line>\d+):(?P<column>\d+): )?")
_MOST_TOKENS = 4
"""More tokens than these are no help to a reader: LibCST lists all that could follow."""


def guard(source: Source) -> Unparsable | None:
    """Return what of a source would exhaust the stack or the memory."""
    from placement_lint.syntax.parser_guard import too_deep

    return _excessive(too_deep(source.text))


def _excessive(excess: TooDeep | None) -> Unparsable | None:
    if excess is None:
        return None
    reason = f"cannot be analysed: {excess.message}"
    return Unparsable(reason, excess.line, excess.column, is_too_deep=True)


MAKES_LEAN_NODES = True
"""Only tests change this, to compare: whether Python's own parser is asked first."""


def parse(
    source: Source, store: FileStore | None = None, *, is_lean: bool = True
) -> ParsedFile | Unparsable:
    """Parse a source, once for each of its texts in a store.

    The nodes may lack whitespace and punctuation until `ParsedFile.add_punctuation`; with `is_lean`
    False they do not, for whoever asks for places at once. A lasting store has other nodes for
    these, of which those of unchanged statements stay. Needs `run_deep`. Raises MemoryError, which
    says nothing of the source.
    """
    if store is not None and store.is_lasting and not is_lean:
        return store.derived(_parsed_again, source)
    if store is None:
        store = FileStore()
    if MAKES_LEAN_NODES:
        make: _Parse = functools.partial(_made_lean, store)
        found = store.derived(make, source, name=_made_lean)
        if not isinstance(found, ParsedFile):
            return found
        with contextlib.suppress(IncongruentError):
            if not is_lean:
                found.add_punctuation()
            if not found.is_refuted:
                return found
    return store.derived(_parsed_once, source)


def _parsed_once(source: Source, _: ParsedFile | Unparsable | None) -> ParsedFile | Unparsable:
    return _parsed(source)


def _made_lean(
    store: FileStore, source: Source, _: ParsedFile | Unparsable | None
) -> ParsedFile | Unparsable:
    return _parsed(source, lean_by=store)


def _parsed_again(
    source: Source, before: ParsedFile | Unparsable | None
) -> ParsedFile | Unparsable:
    pieces = before.pieces if isinstance(before, ParsedFile) else None
    return _parsed(source, in_pieces=True, before=pieces)


def _parsed(
    source: Source,
    *,
    lean_by: FileStore | None = None,
    in_pieces: bool = False,
    before: Pieces | None = None,
) -> ParsedFile | Unparsable:
    with timed(IMPORTING), unmetered():
        import libcst as cst

        from placement_lint.syntax.node_types import check_quickly

        check_quickly()

    from placement_lint.syntax import pieces
    from placement_lint.syntax.parser_guard import demand_parsable

    excess = _excessive(demand_parsable(source.text))
    if excess is not None:
        return excess
    null = source.text.find("\0")
    if null >= 0:
        # LibCST takes it in strings and comments; Python takes it nowhere.
        return Unparsable("a null byte in source code", *source.position(null))
    try:
        with timed(PARSING):
            made = None if lean_by is None else _made_of_tree(source, lean_by)
            if made is not None:
                return made
            if in_pieces:
                module, now = pieces.parse(source.text, before)
                return ParsedFile(module, source, now)
            return ParsedFile(cst.parse_module(source.text), source)
    except cst.ParserSyntaxError as error:
        by_python = _error_of_python(source.text)
        line, column = _place(error, by_python, source)
        return Unparsable(_reason(error, by_python), line, column)
    except MemoryError:
        # It may be there the next time: this says nothing of the file.
        raise
    except Exception as error:  # LibCST also fails with KeyError and others
        return Unparsable(f"LibCST cannot read it ({type(error).__name__})", 1, 1)


def _made_of_tree(source: Source, store: FileStore) -> ParsedFile | None:
    """Make the nodes of a source of what Python's own parser makes of it, where that is sure."""
    from placement_lint.syntax.lean.tree import lean_module
    from placement_lint.syntax.python_parser import python_tree

    tree = python_tree(source, store)
    module = None if tree is None else lean_module(tree, source.text)
    if module is None:
        return None
    return ParsedFile(module, source, python_tree=lambda: python_tree(source, store))


def names_of(path: str, store: FileStore) -> Names | None:
    """Return the names of a file, with its tree; `None` where it cannot be parsed."""
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

    source = store.source_if_readable(path)
    parsed = None if source is None else parse(source, store)
    return Names(Tree(parsed.module)) if isinstance(parsed, ParsedFile) else None


def _place(
    error: cst.ParserSyntaxError, by_python: SyntaxError | None, source: Source
) -> tuple[int, int]:
    """Return the line and column of an error, from 1, on one of the lines of the source.

    That of Python, where it stops too: LibCST names the token behind the one that is wrong.
    """
    told = _LIBCST_PLACE.match(error.message)
    line, column = error.raw_line, error.raw_column
    if told is not None and told["line"]:
        # The attributes are those of the next line, where there is one.
        line, column = int(told["line"]), int(told["column"])
    if by_python is not None and by_python.lineno:
        line, column = by_python.lineno, max((by_python.offset or 1) - 1, 0)
        if isinstance(by_python, IndentationError) and line <= len(source.line_starts):
            text = source.text[source.line_starts[line - 1] :].partition("\n")[0]
            column = len(text) - len(text.lstrip())
    last = len(source.line_starts) - (source.line_starts[-1] == len(source.text))
    return (line, column + 1) if line <= last else (max(last, 1), 1)


def _error_of_python(text: str) -> SyntaxError | None:
    """Return the error with which this Python stops, if it does."""
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _reason(error: cst.ParserSyntaxError, by_python: SyntaxError | None) -> str:
    """Return what is wrong: in Python's words where LibCST names the tokens that it takes."""
    reason = _LIBCST_PLACE.sub("", error.message.strip().splitlines()[0].rstrip("."))
    reason = reason.removeprefix("tokenizer error: ")
    if not reason.startswith("expected ") or by_python is None:
        return reason
    if by_python.msg == "invalid syntax":
        return reason if reason.count(", ") < _MOST_TOKENS else "unexpected token"
    return by_python.msg
