"""What happens when a node is executed, step by step, and which parts of it are executed at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.syntax.dotted import dotted, whole_of
from placement_lint.syntax.guards import is_false_at_import
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from placement_lint.semantic.module_summary import (
        Kind,
    )
    from placement_lint.semantic.program_queries import EffectOrigin
    from placement_lint.syntax.names import Names


@dataclass(frozen=True)
class Event:
    """One thing that happens."""

    kind: Kind
    node: cst.CSTNode
    """The statement or the call by which it happens in this file."""
    what: str
    """`jax.devices()`, `import jax`; for a variable its name."""
    origin: EffectOrigin | None = None
    """Where it really happens, if in another file."""
    is_direct: bool = True
    """Whether it is the node itself that does it, and not a local function that it calls."""

    @property
    def where(self) -> str:
        """What did it, and where, if in another file."""
        if self.origin is not None and self.origin.what == self.what:
            return str(self.origin)
        return f"{self.what} ({self.origin})" if self.origin else self.what


@dataclass(frozen=True)
class ImportStep:
    """An import of a module of which it is not known without the other files what it does."""

    node: cst.CSTNode
    name: str
    is_direct: bool = True


@dataclass(frozen=True)
class CallElsewhere:
    """A call of something of another file, by its qualified name."""

    node: cst.Call
    name: str
    is_direct: bool = True


@dataclass(frozen=True)
class Branches:
    """Two branches of which one is executed."""

    body: tuple[ExecutionStep, ...]
    orelse: tuple[ExecutionStep, ...]


@dataclass(frozen=True)
class OtherWays:
    """What is executed of a compound statement on some ways through it only."""

    node: cst.CSTNode


ExecutionStep: TypeAlias = "Event | ImportStep | CallElsewhere | Branches | OtherWays"


def executed(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Return the parts of a node that are executed whenever it is, in order."""
    if isinstance(node, cst.FunctionDef):
        return [*node.decorators, *_defaults(node.params)]
    if isinstance(node, cst.Lambda):
        return _defaults(node.params)
    if isinstance(node, cst.If | cst.While | cst.IfExp):
        return [node.test]
    if isinstance(node, cst.For):
        return [node.iter]
    if isinstance(node, cst.BooleanOperation):
        return [node.left]
    if isinstance(node, cst.ListComp | cst.SetComp | cst.DictComp):
        iterated = node.for_in.iter
        drawn = [] if node.for_in.ifs or node.for_in.inner_for_in else _first_drawn(node)
        is_filled = isinstance(iterated, cst.Tuple | cst.List | cst.Set) and iterated.elements
        return [iterated, *(drawn if is_filled else [])]
    if isinstance(node, cst.BaseComp):
        return [node.for_in.iter]
    if isinstance(node, cst.Try | cst.TryStar):
        return [node.body, *([node.finalbody] if node.finalbody else [])]
    if isinstance(node, cst.Match):
        return [node.subject]
    if isinstance(node, cst.Assert | cst.Annotation | cst.TypeAlias | cst.Import):
        return []
    return children(node)


def bodies_of_other_ways(node: cst.CSTNode, names: Names) -> Iterator[cst.CSTNode]:
    """Yield what is executed of a compound statement on some ways through it only."""
    if isinstance(node, cst.If):
        if not is_false_at_import(node.test, names):
            yield node.body
    elif isinstance(node, cst.For | cst.While):
        yield node.body
    elif isinstance(node, cst.Try | cst.TryStar):
        yield from (handler.body for handler in node.handlers)
    elif isinstance(node, cst.Match):
        yield from (case.body for case in node.cases)
    orelse = getattr(node, "orelse", None)
    if orelse is not None:
        yield orelse


def _first_drawn(node: cst.ListComp | cst.SetComp | cst.DictComp) -> list[cst.BaseExpression]:
    """Return what a comprehension computes for each item, and so for the first one."""
    return [node.key, node.value] if isinstance(node, cst.DictComp) else [node.elt]


def _defaults(params: cst.Parameters) -> list[cst.CSTNode]:
    every = [*params.posonly_params, *params.params, *params.kwonly_params]
    return [param.default for param in every if param.default is not None]


def executed_before(ancestor: cst.CSTNode, child: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """Return the parts of a compound statement that are executed before one of its children."""
    if isinstance(ancestor, cst.If | cst.While):
        return [] if child is ancestor.test else [ancestor.test]
    if isinstance(ancestor, cst.For):
        return [ancestor.iter] if child is ancestor.body else []
    if isinstance(ancestor, cst.With):
        return ancestor.items if child is ancestor.body else []
    if isinstance(ancestor, cst.Try | cst.TryStar):
        return [ancestor.body] if child is ancestor.orelse or child is ancestor.finalbody else []
    return []


def as_done_by(node: cst.Call, step: ExecutionStep) -> ExecutionStep:
    """Return a step of a local function as one of the call of it."""
    if isinstance(step, Branches):
        body = tuple(as_done_by(node, each) for each in step.body)
        return Branches(body, tuple(as_done_by(node, each) for each in step.orelse))
    return step if isinstance(step, OtherWays) else replace(step, node=node, is_direct=False)


def called(call: cst.Call) -> str:
    """Return a call as a message names it: `jax.devices()`, `jnp.zeros(…)`."""
    item = "[…]" if isinstance(call.func, cst.Subscript) else ""
    return f"{dotted(whole_of(call.func) if item else call.func)}{item}({'…' if call.args else ''})"
