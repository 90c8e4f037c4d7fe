"""The one walk: a LibCST module as flat arrays of nodes, parents and subtree ends.

LibCST's own visitors are recursive and cost as much as the parse itself; this walk keeps an
explicit stack, skips whitespace and punctuation, and everything after it (scopes, dispatch,
"is this inside that") reads the arrays.
"""

from __future__ import annotations

import dataclasses
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, TypeVar, overload

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    A = TypeVar("A", bound=cst.CSTNode)
    B = TypeVar("B", bound=cst.CSTNode)
    C = TypeVar("C", bound=cst.CSTNode)
    D = TypeVar("D", bound=cst.CSTNode)

# Fields that hold whitespace, punctuation, or names that no scope resolves.
SKIPPED_FIELDS = frozenset({
    "colon", "comma", "dot", "encoding", "end", "equal", "first_colon", "footer", "header",
    "indent", "lbrace", "lbracket", "leading_lines", "leading_whitespace",
    "lines_after_decorators", "lpar",
    "newline", "operator", "posonly_ind", "rbrace", "rbracket", "rpar", "second_colon",
    "semicolon", "separator", "start", "trailing_comma", "trailing_whitespace",
    "asynchronous", "relative", "default_indent", "default_newline", "has_trailing_newline",
})  # fmt: skip
# By the names of types: this module is imported where LibCST may not be needed.
_SKIPPED_BY_TYPE = {
    "Arg": {"keyword", "star"},
    "Attribute": {"attr"},
    "ClassDef": {"name"},
    "FunctionDef": {"name"},
    "Global": {"names"},
    "Import": {"names"},
    "ImportFrom": {"names", "module"},
    "MatchAs": {"name"},
    "MatchKeywordElement": {"key"},
    "MatchMapping": {"rest"},
    "MatchStar": {"name"},
    "Nonlocal": {"names"},
    "Param": {"name", "star"},
}
# LibCST declares these fields in another order than the source has them.
_SOURCE_ORDER = {
    "ClassDef": ("decorators", "type_parameters", "bases", "keywords", "body"),
    "ExceptHandler": ("type", "name", "body"),
    "ExceptStarHandler": ("type", "name", "body"),
    "FunctionDef": ("decorators", "type_parameters", "params", "returns", "body"),
    "IfExp": ("body", "test", "orelse"),
    "MatchCase": ("pattern", "guard", "body"),
    "Parameters": ("posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"),
    "TypeAlias": ("name", "type_parameters", "value"),
}


def _child_fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """Return the fields of a node type that the walk follows, in source order."""
    if kind.__name__ in _SOURCE_ORDER:
        return _SOURCE_ORDER[kind.__name__]
    skipped = SKIPPED_FIELDS | _SKIPPED_BY_TYPE.get(kind.__name__, set())
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in skipped and not field.name.startswith("whitespace")
    )


_fields_by_type: dict[type[cst.CSTNode], tuple[str, ...]] = {}
_are_nodes: dict[type, bool] = {}


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the children of one node that the walk follows, in source order."""
    kind = type(node)
    fields = _fields_by_type.get(kind)
    if fields is None:
        fields = _fields_by_type[kind] = _child_fields(kind)
    found: list[cst.CSTNode] = []
    for name in fields:
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            found.extend(value)
        elif _is_node(kind):
            found.append(value)
    return found


def _is_node(kind: type) -> bool:
    """Return whether a type is one of nodes. Asked once a type: it is slow for abstract classes."""
    known = _are_nodes.get(kind)
    if known is None:
        known = _are_nodes[kind] = issubclass(kind, cst.CSTNode)
    return known


class _Numbers:
    """The numbers from zero on, as many as the largest tree has nodes."""

    known: list[int] = []  # noqa: RUF012 - never changed, but replaced


def _numbers(count: int) -> list[int]:
    """Return the numbers from zero on, at least so many: the same objects for all trees."""
    known = _Numbers.known
    if len(known) < count:
        # Another thread that does the same at this time has other objects, and equal ones.
        known = _Numbers.known = [*known, *range(len(known), count)]
    return known


class Tree:
    """One module as arrays in pre-order: node `i` has the parent `parents[i]` and the descendants
    `i + 1` up to `ends[i]`.
    """

    def __init__(self, module: cst.Module) -> None:
        """Walk the module once."""
        self.module = module
        self.nodes: list[cst.CSTNode] = []
        self._index_by_id: dict[int, int] | None = None
        self._places_by_type: dict[type[cst.CSTNode], array[int]] | None = None
        parents = self._walk(module)
        # A list has an object of 32 bytes for each number, and large programs have many nodes.
        self.parents = array("i", parents)
        self.ends = array("i", self._subtree_ends(parents))

    def _walk(self, module: cst.Module) -> list[int]:
        """Collect the nodes, and return their parents."""
        nodes, fields_by_type = self.nodes, _fields_by_type
        parents: list[int] = []
        are_nodes = _are_nodes
        stack: list[tuple[cst.CSTNode, int]] = [(module, -1)]
        pop, push = stack.pop, stack.append
        while stack:
            node, parent = pop()
            index = len(nodes)
            nodes.append(node)
            parents.append(parent)
            kind = type(node)
            fields = fields_by_type.get(kind)
            if fields is None:
                fields = fields_by_type[kind] = _child_fields(kind)
            for name in reversed(fields):
                value = getattr(node, name)
                kind = type(value)
                if kind is tuple or kind is list:
                    for child in reversed(value):
                        push((child, index))
                    continue
                is_node = are_nodes.get(kind)
                if is_node is None:
                    is_node = _is_node(kind)
                if is_node:
                    push((value, index))
        return parents

    @staticmethod
    def _subtree_ends(parents: list[int]) -> list[int]:
        ends = list(range(1, len(parents) + 1))
        for index in range(len(ends) - 1, 0, -1):
            parent = parents[index]
            ends[parent] = max(ends[parent], ends[index])
        return ends

    def index(self, node: cst.CSTNode) -> int:
        """Return a node's place in the arrays. Raises KeyError for one that the walk skipped."""
        if self._index_by_id is None:
            numbers = _numbers(len(self.nodes))
            self._index_by_id = {id(node): numbers[at] for at, node in enumerate(self.nodes)}
        return self._index_by_id[id(node)]

    def trim(self) -> None:
        """Free what is quickly found out again: memory is wanted for other files."""
        self._index_by_id = self._places_by_type = None

    def contains(self, node: cst.CSTNode) -> bool:
        """Return whether the walk came by this node."""
        try:
            self.index(node)
        except KeyError:
            return False
        return True

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the parent of a node, None for the module."""
        index = self.parents[self.index(node)]
        return None if index < 0 else self.nodes[index]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Return the parent, its parent, and so on up to the module."""
        index = self.parents[self.index(node)]
        while index >= 0:
            yield self.nodes[index]
            index = self.parents[index]

    def around(self, node: cst.CSTNode, kind: type[A]) -> A | None:
        """Return the innermost node of a type that a node is in; not itself."""
        return next((each for each in self.ancestors(node) if isinstance(each, kind)), None)

    def descendants(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Return everything below a node, in source order."""
        index = self.index(node)
        for position in range(index + 1, self.ends[index]):
            yield self.nodes[position]

    @overload
    def every(self, a: type[A], /, *, below: cst.CSTNode | None = None) -> Iterator[A]: ...

    @overload
    def every(
        self, a: type[A], b: type[B], /, *, below: cst.CSTNode | None = None
    ) -> Iterator[A | B]: ...

    @overload
    def every(
        self, a: type[A], b: type[B], c: type[C], /, *, below: cst.CSTNode | None = None
    ) -> Iterator[A | B | C]: ...

    @overload
    def every(
        self,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        /,
        *,
        below: cst.CSTNode | None = None,
    ) -> Iterator[A | B | C | D]: ...

    @overload
    def every(
        self, *kinds: type[cst.CSTNode], below: cst.CSTNode | None = None
    ) -> Iterator[cst.CSTNode]: ...

    def every(
        self, *kinds: type[cst.CSTNode], below: cst.CSTNode | None = None
    ) -> Iterator[cst.CSTNode]:
        """Return every node of exactly these types, in the module or below a node, in source order.

        Of one type, finding the first takes no time, however many others there are.
        """
        places: Iterable[int]
        if len(kinds) == 1:
            places = self._places(kinds[0], below)
        else:
            found: list[int] = []
            for kind in kinds:
                found += self._places(kind, below)
            # Each kind is in order: to merge them is all that there is to do.
            found.sort()
            places = found
        return map(self.nodes.__getitem__, places)

    def names_in(self, node: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
        """Return every name and attribute in an expression, itself among them, in source order."""
        if isinstance(node, cst.Name | cst.Attribute):
            yield node
        yield from self.every(cst.Name, cst.Attribute, below=node)

    def _places(self, kind: type[cst.CSTNode], below: cst.CSTNode | None) -> Sequence[int]:
        if self._places_by_type is None:
            by_type: dict[type[cst.CSTNode], list[int]] = {}
            for place, node in enumerate(self.nodes):
                by_type.setdefault(type(node), []).append(place)
            self._places_by_type = {each: array("i", by_type[each]) for each in by_type}
        places = self._places_by_type.get(kind, ())
        if below is None or not places:
            return places
        top = self.index(below)
        start = bisect_left(places, top + 1)
        return places[start : bisect_left(places, self.ends[top], start)]

    def has_below(self, places: Sequence[int], ancestor: cst.CSTNode) -> bool:
        """Return whether one of some places, which are in order, is below a node."""
        top = self.index(ancestor)
        first = bisect_left(places, top + 1)
        return first < len(places) and places[first] < self.ends[top]

    def is_inside(self, node: cst.CSTNode, ancestor: cst.CSTNode) -> bool:
        """Return whether a node is a given one or below it."""
        top = self.index(ancestor)
        return top <= self.index(node) < self.ends[top]
