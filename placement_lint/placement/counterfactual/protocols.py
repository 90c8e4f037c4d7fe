"""What counterfactual executions need of the program that was executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.values import Value
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module


class ExecutedProgram(Protocol):
    """A program that was executed: `placement.interpreter.Program`."""

    @property
    def modules(self) -> dict[str, Module]: ...

    @property
    def is_tampered(self) -> bool: ...

    @property
    def sets_mesh(self) -> bool: ...

    def module_of(self, place: Place) -> Module: ...

    def node(self, place: Place) -> cst.CSTNode: ...

    def suppose(self, supposed: Supposition) -> ExecutedProgram: ...

    def unseen(self) -> Iterator[Value]: ...

    def left(self) -> Iterator[Value]: ...
