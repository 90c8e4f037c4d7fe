"""Statements of random programs: straight lines, and control flow."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.differential.expressions import (
    ARRAYS,
    CONTEXT,
    DEVICE,
    DICT,
    KINDS,
    LETTERS,
    MATRICES,
    MATRIX,
    PAIR,
    SCALAR,
    VECTOR,
    VECTORS,
    Expressions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_FORMS = (
    "{}",
    "print({})",
    "float(({}).sum())",
    "print(f'{{{}}}')",
    "len({})",
    "({}).shape",
    "np.asarray({})",
    "{}",
    "{}",
    "assert ({}).ndim >= 0",
    "str({})",
    "({}).block_until_ready()",
)
_SCALAR_FORMS = ("{}", "print({})", "float({})", "bool({} > 0)", "({}).item()")


class Statements(Expressions):
    """Writes one module; knows statements."""

    # -- statements ---------------------------------------------------------------------------

    def statements(self, at_most: int, *, at_least: int = 1) -> None:
        """Write a body's statements."""
        for position in range(at_most):
            if position >= at_least and (self.budget <= 0 or self.chance(12)):
                return
            self.statement()

    def statement(self) -> None:
        """Write one statement."""
        self.pick(self.forms())()

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here; what is there twice is chosen more often."""
        simple = [
            *[self.assign] * 4, self.bare, self.bare, self.augment, self.unpack, self.mutate,
            *[self.with_block] * 3, self.context, self.delete, self.configure,
        ]  # fmt: skip
        if self.level < 2:
            return simple
        return [
            *simple, self.if_, self.if_, self.for_, self.for_, self.while_, self.try_, self.match,
            self.exit_stack, self.conditional_context, self.several_contexts,
        ]  # fmt: skip

    def assign(self) -> None:
        """Write `x = …`, in its several forms."""
        kind = str(self.pick(KINDS))
        text = self.expression(kind)
        name = self.target(kind)
        form = self.number(0, 9)
        if form == 8:
            other = self.new(kind)
            self.line(f"{name} = {other} = {text}")
            self.bind(other, kind)
        elif form == 9 and name not in self.scope.variables:
            self.line(f"{name}: object = {text}")
        else:
            self.line(f"{name} = {text}")
        self.bind(name, kind)

    def bare(self) -> None:
        """Write an expression for what it does."""
        text, kind = self.array()
        if self.chance(8):
            name = self.new(kind)
            self.line(f"print({name} := {text})")
            self.bind(name, kind)
            return
        form = self.choose(_SCALAR_FORMS if kind == SCALAR else _FORMS)
        if "f'" in form and ("'" in text or '"' in text):
            form = "{}"
        self.line(form.format(text))

    def augment(self) -> None:
        """Write `x += …`."""
        known = [name for kind in (MATRIX, VECTOR) for name in self.bindable(kind)]
        if not known:
            return self.assign()
        name = str(self.pick(known))
        right = self.choose(["1", "2.0", self.expression(self.scope.variables[name], 1)])
        return self.line(f"{name} {self.choose(['+=', '*=', '-='])} {right}")

    def unpack(self) -> None:
        """Write `a, b = …`."""
        form = self.number(0, 5)
        if form == 0:
            first, second = self.new(MATRIX), self.new(VECTOR)
            self.line(f"{first}, {second} = {self.expression(PAIR, 1)}")
            self.bind(first, MATRIX)
            self.bind(second, VECTOR)
        elif form == 1:
            first, rest = self.new(VECTOR), self.new(VECTORS)
            self.line(f"{first}, *{rest} = {self.expression(MATRIX, 1)}")
            self.bind(first, VECTOR)
            self.bind(rest, VECTORS)
        elif form == 2:
            names = [self.new(VECTOR) for _ in range(4)]
            self.line(f"{', '.join(names)} = {self.expression(MATRIX, 1)}")
            for name in names:
                self.bind(name, VECTOR)
        elif form == 3:
            first, second = self.target(MATRIX), self.target(VECTOR)
            self.line(f"{first}, {second} = {self.fill('$m, $v', 1)}")
            self.bind(first, MATRIX)
            self.bind(second, VECTOR)
        elif form == 4:
            first, rest = self.new(MATRIX), self.new(MATRICES)
            self.line(f"{first}, *{rest} = {self.fill('[$m, $m]', 1)}")
            self.bind(first, MATRIX)
            self.bind(rest, MATRICES)
        else:
            known = self.bindable(MATRIX)
            if len(known) < 2:
                return self.assign()
            one, other = str(self.pick(known)), str(self.pick(known))
            self.line(f"{one}, {other} = {other}, {one}")
        return None

    def mutate(self) -> None:
        """Change a container."""
        lists, dicts = self.names(MATRICES), self.names(DICT)
        if lists and self.chance(50):
            name = str(self.pick(lists))
            forms = ["{}.append({})", "{}[0] = {}", "{}.insert(0, {})", "{}.extend([{}])"]
            form = self.pick(forms if name in self.scope.frozen else [*forms, "{} += [{}]"])
            self.line(str(form).format(name, self.expression(MATRIX, 1)))
        elif dicts:
            name = str(self.pick(dicts))
            form = self.pick(['{}["a"] = {}', '{}["b"] = {}', "{}.update(b={})"])
            self.line(str(form).format(name, self.expression(MATRIX, 1)))
        else:
            self.assign()

    def delete(self) -> None:
        """Write `del x`."""
        own = [name for kind in ARRAYS for name in self.bindable(kind) if "." not in name]
        if self.level < 3 and self.indent == 0 and len(own) > 3:
            name = str(self.pick(own))
            self.line(f"del {name}")
            del self.scope.variables[name]
        else:
            self.assign()

    def context(self) -> None:
        """Write `ctx = jax.default_device(d)`, or a device under a name."""
        if self.in_loop or self.chance(60):
            name = self.new("cpu")
            self.line(f'{name} = jax.devices("cpu")[0]')
            self.bind(name, DEVICE)
        else:
            name = self.new(CONTEXT)
            self.line(f"{name} = jax.default_device({self.default_device()})")
            self.bind(name, CONTEXT)

    def configure(self) -> None:
        """Write `jax.config.update("jax_default_device", d)`, not too often."""
        if self.chance(70) or self.in_function is not None:
            return self.assign()
        new = self.choose([*self.names(DEVICE), 'jax.devices("cpu")[0]', "None", self.device()])
        return self.line(f'jax.config.update("jax_default_device", {new})')

    def default_context(self) -> str:
        """Write the context expression of a `with`."""
        known = self.names(CONTEXT)
        if known and self.chance(25):
            name = str(self.pick(known))
            del self.scope.variables[name]
            return name
        return f"jax.default_device({self.default_device()})"

    def with_body(self, head: str) -> None:
        """Write a `with`, after which its names stay bound: its body always runs."""
        self.line(head)
        self.indent += 1
        self.statements(3)
        self.indent -= 1

    def with_block(self) -> None:
        """Write `with jax.default_device(d):`."""
        if self.indent > 4:
            return self.assign()
        return self.with_body(f"with {self.default_context()}:")

    def several_contexts(self) -> None:
        """Write `with a, b:`."""
        other = self.choose(
            ["contextlib.nullcontext()", f"jax.default_device({self.default_device()})",
             "contextlib.suppress(KeyError)", 'jax.named_scope("x")'],
        )  # fmt: skip
        pair = [self.default_context(), other]
        first = self.number(0, 1)
        self.with_body(f"with {pair[first]}, {pair[1 - first]}:")

    def conditional_context(self) -> None:
        """Write `with (a if … else b):`."""
        other = self.choose(
            ["contextlib.nullcontext()", f"jax.default_device({self.default_device()})",
             "jax.default_device(None)"],
        )  # fmt: skip
        host = f"jax.default_device({self.default_device()})"
        if self.chance(50):
            self.with_body(f"with ({host} if inputs.flag() else {other}):")
        else:
            name = self.new(CONTEXT)
            self.line(f"{name} = {host} if inputs.flag() else {other}")
            self.with_body(f"with {name}:")

    def exit_stack(self) -> None:
        """Write `with contextlib.ExitStack() as stack:`, with a context entered sooner or later."""
        name = self.new("stack")
        self.line(f"with contextlib.ExitStack() as {name}:")
        with self.body():
            self.statements(1)
            enter = f"{name}.enter_context(jax.default_device({self.default_device()}))"
            if self.chance(40):
                self.line("if inputs.flag():")
                self.indent += 1
                self.line(enter)
                self.indent -= 1
            else:
                self.line(enter)
            self.statements(2)

    def condition(self) -> str:
        """Write a condition that the input decides, sometimes after a look at an array."""
        if self.chance(20):
            return f"inputs.flag() and ({self.expression(SCALAR, 1)}) > -1e9"
        return "inputs.flag()"

    def if_(self) -> None:
        """Write `if … elif … else`."""
        if self.indent > 4:
            return self.assign()
        self.line(f"if {self.condition()}:")
        with self.body():
            self.statements(3)
            self.leave()
        if self.chance(25):
            self.line(f"elif {self.condition()}:")
            with self.body():
                self.statements(2)
        if self.chance(60):
            self.line("else:")
            with self.body():
                self.statements(2)
        return None

    def leave(self) -> None:
        """Leave early, sometimes: the loop, or the function."""
        if self.in_loop and self.chance(25):
            self.line(self.choose(["break", "continue"]))
        elif self.in_function in LETTERS and not self.in_generator and self.chance(25):
            self.line(f"return {self.expression(str(self.in_function), 1)}")

    @contextlib.contextmanager
    def loop(self) -> Iterator[None]:
        """Write the body of a loop."""
        self.in_loop += 1
        with self.body():
            yield
        self.in_loop -= 1

    def for_(self) -> None:
        """Write `for x in …`, over several things."""
        if self.indent > 4:
            return self.assign()
        vector, other, matrix = self.new(VECTOR), self.new(VECTOR), self.new(MATRIX)
        heads: list[tuple[str, dict[str, str]]] = [
            ("for _ in range(inputs.count()):", {}),
            (f"for {vector} in $m:", {vector: VECTOR}),
            (f"for {matrix} in $ms:", {matrix: MATRIX}),
            (f"for _, {matrix} in $d.items():", {matrix: MATRIX}),
            (f"for i, {vector} in enumerate($m):", {vector: VECTOR}),
            (f"for {vector}, {other} in zip($m, $m):", {vector: VECTOR, other: VECTOR}),
            ("for i in range($m.shape[0]):", {}),
            (f"for {matrix} in ($m, $m):", {matrix: MATRIX}),
        ]
        head, bound = self.pick(heads)
        self.line(self.fill(head, 1))
        with self.loop():
            self.scope.variables.update(bound)
            self.statements(3)
            if self.chance(20):
                self.line("if inputs.flag():")
                self.indent += 1
                self.line(self.choose(["break", "continue"]))
                self.indent -= 1
                self.statements(1)
        if self.chance(15):
            self.line("else:")
            with self.body():
                self.statements(2)
        return None

    def while_(self) -> None:
        """Write `while inputs.flag():`."""
        if self.indent > 4:
            return self.assign()
        if self.chance(70):
            self.line(f"while {self.condition()}:")
            with self.loop():
                self.statements(3)
        else:
            self.line("while True:")
            with self.loop():
                self.statements(2)
                self.line("if not inputs.flag():")
                self.indent += 1
                self.line("break")
                self.indent -= 1
                self.statements(2)
        return None

    def try_(self) -> None:
        """Write `try … except … else … finally`."""
        if self.indent > 4:
            return self.assign()
        self.line("try:")
        with self.body():
            self.statements(2)
            if self.chance(70):
                self.line("inputs.fail()")
            self.statements(1)
        only_finally = self.chance(15)
        if not only_finally:
            self.line("except (ValueError, KeyError) as error:")
            with self.body():
                self.statements(2)
                self.leave()
            if self.chance(25):
                self.line("else:")
                with self.body():
                    self.statements(2)
        if only_finally or self.chance(25):
            self.line("finally:")
            with self.body():
                self.statements(2)
        return None

    def match(self) -> None:
        """Write `match inputs.choice():`."""
        if self.indent > 3:
            return self.assign()
        self.line("match inputs.choice():")
        self.indent += 1
        for case in ('"a"', '"b"')[: self.number(1, 2)]:
            self.line(f"case {case}{' if inputs.flag()' if self.chance(15) else ''}:")
            with self.body():
                self.statements(2)
        if self.chance(50):
            self.line(self.choose(["case _:", "case other:"]))
            with self.body():
                self.statements(2)
        self.indent -= 1
        return None
