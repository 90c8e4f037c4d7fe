"""Arguments that a call takes from a dict by `**options`, which the file writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.semantic.written_tables import entries_of
from placement_lint.syntax.calls import Arguments

if TYPE_CHECKING:
    import libcst as cst

    from placement_lint.semantic.file_view import FileView


class AllArguments(Arguments):
    """The arguments of a call, those of `**options` included where their dict is written out.

    That is a display or `dict(…)`, also as an item of a dict of such: `**PRESETS["fast"]`, or with
    more options on top of it.
    """

    def __init__(self, call: cst.Call, view: FileView) -> None:
        """Sort the arguments of a call."""
        super().__init__(call)
        spread = [argument.value for argument in call.args if argument.star == "**"]
        for each in spread:
            entries = entries_of(each, view, known=True)
            for name, given in ({} if entries is None else entries).items():
                self.keywords.setdefault(name, given)
