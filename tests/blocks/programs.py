"""Random programs that set `jax.default_device` for a while, in statements of every shape."""

import random
from collections.abc import Callable, Iterator

_STEPS = ("    ", "  ", "\t")


class Program:
    """One random program. What it notes tells where arrays are made and what names hold."""

    def __init__(self, seed: int) -> None:
        """Write it."""
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.count = 0
        self.step = self.chance.choice(_STEPS)
        self.open = 0
        body = self.block(3, in_function=False)
        if self.chance.random() < 0.5:
            body = ["def main():", *self.indented(self.block(3, in_function=True)), "main()", *body]
        self.text = "\n".join(["import jax", *body]) + self.chance.choice(["\n", ""])

    def fresh(self) -> int:
        """Give a number that was not given before."""
        self.count += 1
        return self.count

    def indented(self, lines: list[str]) -> list[str]:
        """Indent lines, but not what is marked as the inside of a string."""
        return [line if line.startswith("\0") or not line else self.step + line for line in lines]

    def block(self, depth: int, *, in_function: bool) -> list[str]:
        """Give some statements."""
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            lines += self.chance.choice(self.kinds(depth, in_function=in_function))()
            if self.chance.random() < 0.2:
                lines += self.chance.choice([[""], ["# said"], ["", "", "# said"]])
        return lines

    def kinds(self, depth: int, *, in_function: bool) -> list[Callable[[], list[str]]]:
        """Give what may stand here."""

        def inner() -> list[str]:
            return self.block(depth - 1, in_function=in_function)

        simple: list[Callable[[], list[str]]] = [
            self.probe, self.string, self.formatted, self.continued, self.semicolons, self.walrus,
        ]  # fmt: skip
        if depth == 0:
            return simple
        compound: list[Callable[[], list[str]]] = [
            lambda: ["if d:", *self.indented(inner()), "else:", *self.indented(inner())],
            lambda: [
                f"for i{self.fresh()} in range(2):",
                *self.indented([*inner(), self.chance.choice(["continue", "break", "pass"])]),
            ],
            lambda: ["try:", *self.indented(inner()), "finally:", *self.indented(self.probe())],
            lambda: [
                "try:",
                *self.indented([*inner(), f"note(1 / 0){'':2}# fails"]),
                "except ZeroDivisionError:",
                *self.indented(self.probe()),
            ],
            lambda: self.class_(inner()),
            lambda: self.pair(inner),
            lambda: self.pair(inner),
            lambda: self.saved_pair(inner),
            lambda: self.saved_pair(inner),
            lambda: self.guarded(inner),
            lambda: self.guarded(inner),
            lambda: self.precise(inner),
        ]
        if not self.open:
            compound.append(lambda: self.function(depth))
        return simple + compound

    # -- simple statements --------------------------------------------------------------------

    def probe(self) -> list[str]:
        """Look where an array is made."""
        return [f"where('p{self.fresh()}')"]

    def string(self) -> list[str]:
        """Note a string of several lines."""
        return [f'note("""a{self.fresh()}', "\0    b", "\0", '\0\tc""")']

    def formatted(self) -> list[str]:
        """Note an f-string of several lines with an expression in it."""
        return [f'note(f"""a{self.fresh()}', "\0  {1 +", "\0   1} b", '\0""",', self.step + ")"]

    def continued(self) -> list[str]:
        """Note the sum of two lines."""
        return [f"x{self.fresh()} = note(1) + \\", f"{self.step * 2}1", f"note(x{self.count})"]

    def semicolons(self) -> list[str]:
        """Have several statements on a line."""
        number = self.fresh()
        return [f"y{number} = where('s{number}'); note(y{number})  # both"]

    def walrus(self) -> list[str]:
        """Bind a name in a comprehension."""
        number = self.fresh()
        return [f"if (w{number} := [k for k in range(3)]): note(w{number})"]

    # -- compound ones ------------------------------------------------------------------------

    def class_(self, inner: list[str]) -> list[str]:
        """Run statements in a class body."""
        name = f"C{self.fresh()}"
        body = ['"""Says', "\0  it.", '\0  """', f"z = where('{name}')", *inner]
        return [f"class {name}:", *self.indented(body), f"note([{name}.z, {name}.__doc__])"]

    def function(self, depth: int) -> list[str]:
        """Define a function, decorated and with a default, and call it."""
        number = self.fresh()
        name = f"f{number}"
        body = [f"global g{number}", f"g{number} = where('{name}')"]
        body += [*self.block(depth - 1, in_function=True), f"return g{number}"]
        return [
            "@(lambda f: f)",
            f"def {name}(a=where('default of {name}')):",
            *self.indented(body),
            f"note({name}())",
        ]

    def device(self) -> str:
        """Name a device, on one line or on several."""
        number = self.chance.randrange(4)
        return self.chance.choice(
            [f"d[{number}]", f"(d[{number}])", f"d[\n{self.step * 3}{number}]"]
        )

    def within(self, inner: Callable[[], list[str]]) -> list[str]:
        """Give the statements between a set and its reset."""
        self.open += 1
        lines = [*self.probe(), *inner()]
        self.open -= 1
        return lines

    def pair(self, inner: Callable[[], list[str]]) -> list[str]:
        """Set, and reset to None."""
        return [
            *f"jax.default_device = {self.device()}{self.chance.choice(['', '  # set'])}".split(
                "\n"
            ),
            *self.within(inner),
            f"jax.default_device = None{self.chance.choice(['', '  # reset'])}",
        ]

    def saved_pair(self, inner: Callable[[], list[str]]) -> list[str]:
        """Save, set, and restore."""
        name = f"old{self.fresh()}"
        return [
            f"{name} = jax.default_device",
            *f"jax.default_device = {self.device()}".split("\n"),
            *self.within(inner),
            f"jax.default_device = {name}",
        ]

    def guarded(self, inner: Callable[[], list[str]]) -> list[str]:
        """Set, and reset or restore in a `finally`."""
        name = f"old{self.fresh()}" if self.chance.random() < 0.5 else "None"
        setting = f"jax.default_device = {self.device()}".split("\n")
        final = [*self.chance.choice([[], self.probe()]), f"jax.default_device = {name}"]
        final += self.chance.choice([[], [], self.probe()])
        between = self.chance.choice([[], self.probe(), ["# said", ""]])
        handler = ["except ZeroDivisionError:", *self.indented(self.probe())]
        handlers = self.chance.choice(
            [[], handler, [*handler, "else:", *self.indented(self.probe())]]
        )
        tail = [*handlers, "finally:", *self.indented(final)]
        lines = [] if name == "None" else [f"{name} = jax.default_device"]
        if self.chance.random() < 0.3:
            return [*lines, "try:", *self.indented([*setting, *self.within(inner)]), *tail]
        return [*lines, *setting, *between, "try:", *self.indented(self.within(inner)), *tail]

    def precise(self, inner: Callable[[], list[str]]) -> list[str]:
        """Set another context for a while."""
        return [
            "jax.default_matmul_precision = 'float32'",
            *inner(),
            "jax.default_matmul_precision = None",
        ]


def programs(count: int) -> Iterator[str]:
    """Give random programs that compile."""
    seed = found = 0
    while found < count:
        text = Program(seed).text.replace("\0", "")
        seed += 1
        if "jax.default_device =" in text or "jax.default_matmul_precision =" in text:
            found += 1
            yield text
