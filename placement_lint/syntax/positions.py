"""Where nodes stand in the text: computed only for a file that has something to report.

LibCST nodes carry no positions; they are what the offsets add up to while the module is written
out again. That is the price of a whole code generation, so nothing on the way to a finding asks.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING

import libcst as cst
from libcst._nodes.internal import CodegenState

from placement_lint.syntax.deep_stack import TooDeepError
from placement_lint.syntax.pieces import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.files.source import Source
    from placement_lint.syntax.pieces import Pieces

Offsets = tuple[int, int]


class _Recorder(CodegenState):
    """A code generation that notes at which offset each node begins and ends."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.offset = 0
        self.outer: dict[int, Offsets] = {}
        self.inner: dict[int, Offsets] = {}
        self.comments: list[Offsets] = []
        self._open: list[int] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._open.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        span = (self._open.pop(), self.offset)
        self.outer[id(node)] = span
        if type(node) is cst.Comment:
            self.comments.append(span)

    @contextlib.contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Iterator[None]:
        start = self.offset
        # What is broken off has no end.
        yield
        end = self.offset
        if start_node is not None:
            start = self._known(start_node)[0]
        if end_node is not None:
            end = self._known(end_node)[1]
        self.inner[id(node)] = (start, end)

    def _known(self, node: cst.CSTNode) -> Offsets:
        return self.inner.get(id(node)) or self.outer[id(node)]


class _FoundError(Exception):
    """The node that is looked for begins and ends where is known by now."""


class _Seeker(_Recorder):
    """A recorder that goes no further than one node."""

    def __init__(self, module: cst.Module, node: cst.CSTNode) -> None:
        super().__init__(module)
        self._node = node

    def after_codegen(self, node: cst.CSTNode) -> None:
        super().after_codegen(node)
        # What has an inner span has it by now.
        if node is self._node:
            raise _FoundError


def _generate(node: cst.CSTNode, recorder: _Recorder) -> None:
    """Generate the code of a node. Raises TooDeepError where this Python cannot do so."""
    try:
        node._codegen(recorder)
    except RecursionError as error:
        raise TooDeepError from error


def text_before(module: cst.Module, node: cst.CSTNode) -> str:
    """Return the code of a module up to where a node begins, without parentheses around it.

    It costs what stands above the node, and not the whole module. Needs `run_deep`.
    """
    seeker = _Seeker(module, node)
    with contextlib.suppress(_FoundError):
        _generate(module, seeker)
    start = (seeker.inner.get(id(node)) or seeker.outer[id(node)])[0]
    return "".join(seeker.tokens)[:start]


class Spans:
    """The offsets of every node and comment of one module, as offsets into the source's text."""

    def __init__(self, module: cst.Module, source: Source, pieces: Pieces | None = None) -> None:
        """Generate the code once. Deep expressions need `run_deep` around this.

        Of a module that was parsed in `pieces`, only the statements that are new are generated.
        Raises TooDeepError for what is deeper than Python 3.12 and 3.13 can write out.
        """
        self._stretches = _stretches(module, pieces) or [_generated(module, [module])]
        generated = "".join(stretch.text for stretch in self._stretches)
        self.exact = generated == source.text
        """Whether LibCST gives the text back unchanged: without that nothing may be edited."""
        self._shift = None if self.exact else _alignment(generated, source.text)
        self._bases = [0, *itertools.accumulate(stretch.length for stretch in self._stretches)]
        self.comments = [
            self._mapped(span, base)
            for stretch, base in zip(self._stretches, self._bases, strict=False)
            for span in stretch.comments
        ]

    def inner(self, node: cst.CSTNode) -> Offsets:
        """Return a node's span without parentheses around it and without whitespace it owns."""
        key = id(node)
        number = self._number(key)
        stretch = self._stretches[number]
        return self._mapped(stretch.inner.get(key) or stretch.outer[key], self._bases[number])

    def outer(self, node: cst.CSTNode) -> Offsets:
        """Return a node's span with its parentheses (and, for a statement, comments above it)."""
        key = id(node)
        number = self._number(key)
        return self._mapped(self._stretches[number].outer[key], self._bases[number])

    def _number(self, key: int) -> int:
        """Return which stretch a node is in. Raises KeyError for one of another module."""
        return self._numbers[key] if len(self._stretches) > 1 else 0

    @functools.cached_property
    def _numbers(self) -> dict[int, int]:
        numbers: dict[int, int] = {}
        for number, stretch in enumerate(self._stretches):
            numbers.update(dict.fromkeys(stretch.outer, number))
        return numbers

    def _mapped(self, span: Offsets, base: int) -> Offsets:
        start, end = span[0] + base, span[1] + base
        if self._shift is None:
            return start, end
        # By its last character: what follows it may be text that LibCST has dropped.
        return (self._shift[start], self._shift[end - 1] + 1 if end > start else self._shift[end])


def _stretches(module: cst.Module, pieces: Pieces | None) -> list[Stretch]:
    """Return the statements of a module, those that are known already as they were recorded.

    Empty where nothing is kept, and where the end of the text is not that of its last statement.
    """
    if pieces is None or not module.has_trailing_newline:
        return []
    now: dict[int, tuple[cst.CSTNode, Stretch]] = {}
    stretches = [_generated(module, module.header)]
    for statement in module.body:
        # Addresses identify its nodes for as long as it is held.
        before = pieces.stretches.get(id(statement))
        stretch = before[1] if before is not None else _generated(module, [statement])
        now[id(statement)] = (statement, stretch)
        stretches.append(stretch)
    pieces.stretches = now
    return [*stretches, _generated(module, module.footer)]


def _generated(module: cst.Module, nodes: Sequence[cst.CSTNode]) -> Stretch:
    """Generate nodes of a module that stand one behind the other, at no indentation."""
    recorder = _Recorder(module)
    for node in nodes:
        _generate(node, recorder)
    return Stretch(
        "".join(recorder.tokens),
        recorder.offset,
        recorder.outer,
        recorder.inner,
        recorder.comments,
    )


def _alignment(generated: str, text: str) -> list[int]:
    """Map offsets of generated code to the text it came from, where LibCST drops or changes
    whitespace: carriage returns as line ends and form feeds.
    """
    mapping: list[int] = []
    position = 0
    for character in generated:
        while (
            position < len(text)
            and text[position] != character
            and not (character == "\n" and text[position] == "\r")
        ):
            position += 1
        mapping.append(min(position, len(text)))
        position += 1
    mapping.append(len(text))
    return mapping
