"""Statements of random programs that take values apart: patterns, stars, and `:=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.expressions import DICT, MATRICES, MATRIX, PAIR, SCALAR, VECTOR, VECTORS
from tests.differential.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Callable


class Patterns(Statements):
    """Writes one module; knows patterns."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = [*super().forms(), self.unpack_nested]
        if self.level >= 2:
            found += [self.match_structure, self.walrus]
        return found

    def unpack_nested(self) -> None:
        """Write `(a, b), c = …` and stars in the middle."""
        form = self.number(0, 3)
        if form == 0:
            names = {self.new(MATRIX): MATRIX, self.new(VECTOR): VECTOR, self.new(SCALAR): SCALAR}
            one, other, last = names
            self.line(f"({one}, {other}), {last} = {self.fill('$p, $s', 1)}")
        elif form == 1:
            names = {self.new(MATRIX): MATRIX, self.new(MATRICES): MATRICES}
            one, rest = names
            self.line(f"{one}, *{rest} = {self.fill('[*$ms, $m]', 1)}")
        elif form == 2:
            names = {self.new(VECTOR): VECTOR, self.new(VECTORS): VECTORS, self.new(VECTOR): VECTOR}
            one, rest, last = names
            self.line(f"{one}, *{rest}, {last} = {self.expression(MATRIX, 1)}")
        else:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            one, last = names
            self.line(f"[{one}, {last}] = {self.fill('$m, $m', 1)}")
        for name, kind in names.items():
            self.bind(name, kind)

    def match_structure(self) -> None:
        """Write a `match` that takes a container apart."""
        if self.indent > 3:
            return self.assign()
        form = self.number(0, 3)
        if form == 0:
            one, other = self.new(MATRIX), self.new(VECTOR)
            subject, case = self.expression(PAIR, 1), f"case ({one}, {other}):"
            bound = {one: MATRIX, other: VECTOR}
        elif form == 1:
            one = self.new(MATRIX)
            subject, case = self.expression(DICT, 1), f'case {{"a": {one}, **_others}}:'
            bound = {one: MATRIX}
        elif form == 2:
            one, rest = self.new(MATRIX), self.new(MATRICES)
            subject, case = self.expression(MATRICES, 1), f"case [{one}, *{rest}]:"
            bound = {one: MATRIX}
        else:
            one = self.new(MATRIX)
            subject = self.fill("(inputs.choice(), $m)", 1)
            case = f'case ("a" | "b", {one}):'
            bound = {one: MATRIX}
        self.line(f"match {subject}:")
        self.indent += 1
        self.line(case)
        with self.body():
            self.scope.variables.update(bound)
            self.statements(2)
        self.line("case _:")
        with self.body():
            self.statements(1)
        self.indent -= 1
        return None

    def walrus(self) -> None:
        """Write a condition that binds what it looks at."""
        if self.indent > 4:
            return self.assign()
        name = self.new(MATRIX)
        value = self.expression(MATRIX, 1)
        form = self.number(0, 2)
        if form == 0:
            self.line(f"if ({name} := {value}) is not None and inputs.flag():")
        elif form == 1:
            self.line(f"if inputs.flag() and ({name} := {value}).ndim == 2:")
        else:
            self.line(f"while ({name} := {value}) is not None and inputs.flag():")
        self.in_loop += form == 2
        with self.body():
            self.scope.variables[name] = MATRIX
            self.statements(2)
        self.in_loop -= form == 2
        if form != 1:
            self.bind(name, MATRIX)
        return None
