"""Conditions that ask whether something was deleted: `x.is_deleted()`, by helpers as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.objects import DonationObjects
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.elsewhere import questions_of
from placement_lint.semantic.file_view import FileView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.semantic.donation.choices import Things

_ASKS = "is_deleted"


def is_deletion_asked(node: cst.CSTNode) -> bool:
    """Return whether an expression is `x.is_deleted()`."""
    method = node.func if isinstance(node, cst.Call) else None
    return isinstance(method, cst.Attribute) and method.attr.value == _ASKS


class DeletionQuestions(DonationObjects, ABC):
    """What conditions ask of the things that may be gone."""

    @abstractmethod
    def evaluate(self, node: cst.BaseExpression) -> Things: ...

    def ask_whether_deleted(self, test: cst.BaseExpression) -> None:
        """Know nothing more of the deletion of what a condition asks for.

        In the condition itself, in what its names are bound to, and by functions of the program:
        `gone = not is_alive(x)` and then `if gone:`.
        """
        for call in self._calls_in(test):
            for asked in self._asked_by(call):
                for part in self.evaluate(asked):
                    if isinstance(part, BufferPart) and part.root:
                        self.state.forget(part)

    def _calls_in(self, test: cst.BaseExpression) -> Iterator[cst.Call]:
        pending = [test]
        for name in (test, *self.tree.every(cst.Name, below=test)):
            bound = self.names.sole_value(name) if isinstance(name, cst.Name) else None
            pending += [] if bound is None else [bound]
        for each in pending:
            for call in (each, *self.tree.every(cst.Call, below=each)):
                if isinstance(call, cst.Call):
                    yield call

    def _asked_by(self, call: cst.Call) -> Iterator[cst.BaseExpression]:
        """Yield what a call asks of whether it is deleted, as far as it may be."""
        if isinstance(call.func, cst.Attribute) and is_deletion_asked(call):
            yield call.func.value
            return
        named = (cst.Attribute, cst.Name)
        given = [each.value for each in call.args if isinstance(each.value, named)]
        gone = [each for each in given if self.state.gone(self.evaluate(each), ()) is not None]
        if gone and _ASKS in questions_of(call, FileView(self.facts)):
            yield from gone
