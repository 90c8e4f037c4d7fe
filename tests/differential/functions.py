"""Functions of random programs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.differential.expressions import (
    ARRAYS,
    CONTEXT,
    DICT,
    MATRICES,
    MATRIX,
    PAIR,
    VECTOR,
    Signature,
)
from tests.differential.patterns import Patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Functions(Patterns):
    """Writes one module; knows functions."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        if self.level >= 3:
            found += [self.call_jitted, self.local_function, self.generator_loop]
            if self.in_function is None and self.indent == 0:
                found += [self.function] * 6
        return found

    def function(self) -> None:
        """Define a function of one of many kinds."""
        self.pick([
            self.plain_function, self.plain_function, self.plain_function, self.jitted_function,
            self.generator_function, self.context_helper, self.lambda_, self.partial,
            self.recursive, self.decorated, self.variadic, self.factory,
        ])()  # fmt: skip

    @contextlib.contextmanager
    def function_body(self, result: str, bound: dict[str, str]) -> Iterator[None]:
        """Write the body of a function."""
        outer = (self.in_function, self.in_loop, self.in_generator)
        self.in_function, self.in_loop, self.in_generator = result, 0, False
        outside = self.scope
        self.scope = outside.copy()
        # What a function binds becomes its own: outer names are read only.
        self.scope.variables = {
            name: kind for name, kind in outside.variables.items() if kind != CONTEXT
        }
        self.scope.frozen = frozenset(self.scope.variables) - set(bound)
        self.scope.variables.update(bound)
        self.indent += 1
        self._rebind_global(outer[0])
        yield
        self.indent -= 1
        self.scope = outside
        self.in_function, self.in_loop, self.in_generator = outer

    def _rebind_global(self, outer: str | None) -> None:
        """Write `global x`, now and then, in a function of the module itself."""
        known = [name for name in self.names(MATRIX) if name in self.scope.frozen]
        own = [name for name in known if "." not in name and name in self.module_names]
        if (
            own
            and outer is None
            and self.in_function not in {"none", "generator"}
            and (self.chance(8))
        ):
            name = str(self.pick(own))
            self.line(f"global {name}")
            self.scope.frozen -= {name}

    def plain_function(self, prefix: str = "") -> Signature:
        """Write `def f(a, b=…): …; return …`."""
        name = self.new("f")
        kinds = [str(self.pick([MATRIX, MATRIX, VECTOR, DICT])) for _ in range(self.number(0, 2))]
        result = str(self.pick([MATRIX, MATRIX, VECTOR, PAIR, DICT]))
        names = [self.new("a") for _ in kinds]
        defaults = 1 if kinds and kinds[-1] in ARRAYS and self.chance(25) else 0
        parts = list(names)
        if defaults:
            parts[-1] += f"={self.expression(kinds[-1], 1)}"
        self.line(f"{prefix}def {name}({', '.join(parts)}):")
        with self.function_body(result, dict(zip(names, kinds, strict=True))):
            self.statements(3)
            self.line(f"return {self.expression(result, 1)}")
        signature = Signature(name, tuple(kinds), result, tuple(names), defaults)
        self.scope.functions.append(signature)
        return signature

    def variadic(self) -> None:
        """Write `def f(*args, **kwargs)`."""
        name = self.new("f")
        if self.chance(50):
            self.line(f"def {name}(*args):")
            with self.function_body(MATRIX, {"args": MATRICES}):
                self.statements(2)
                self.line(f"return {self.choose(['args[0]', 'args[0] + args[1]', 'sum(args)'])}")
            self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX))
        else:
            self.line(f"def {name}(first, **kwargs):")
            with self.function_body(MATRIX, {"first": MATRIX}):
                self.statements(1)
                self.line(f"return {self.choose(['first', 'first + kwargs.get(chr(97), 0)'])}")
            self.scope.functions.append(Signature(name, (MATRIX,), MATRIX, ("first",)))

    def jitted_function(self) -> None:
        """Write `@jax.jit` in its several forms; its body runs on tracers."""
        name = self.new("step")
        body = self.choose(["x + y", "x @ y", "x * 2", "jnp.sin(x) + y[0]", "x + y.shape[0]"])
        form = self.number(0, 3)
        if form == 0:
            self.line("@jax.jit")
            self.line(f"def {name}(x, y):")
        elif form == 1:
            self.line("@functools.partial(jax.jit, static_argnames=())")
            self.line(f"def {name}(x, y):")
        elif form == 2:
            self.line(f"{name} = jax.jit(lambda x, y: {body})")
            self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX))
            return
        else:
            inner = self.new("f")
            self.line(f"def {inner}(x, y):")
            self.line(f"    return {body}")
            self.line(f"{name} = jax.jit({inner})")
            self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX))
            return
        self.line(f"    return {body}")
        self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX))

    def call_jitted(self) -> None:
        """Write `jax.jit(f)(x)` on the spot."""
        body = self.choose(["q * 2", "q + 1", "q @ q"])
        transform = self.choose(["jax.jit", "jax.checkpoint", "jax.vmap"])
        if transform == "jax.vmap":
            body = "q * 2"
        name = self.target(MATRIX)
        self.line(f"{name} = {transform}(lambda q: {body})({self.expression(MATRIX, 1)})")
        self.bind(name, MATRIX)

    def generator_function(self) -> None:
        """Write a generator, with or without a block around its yields."""
        name = self.new("g")
        self.line(f"def {name}(a):")
        with self.function_body("generator", {"a": MATRIX}):
            self.in_generator = True
            self.statements(1)
            form = self.number(0, 3)
            if form == 0:
                self.line("for row in a:")
                self.line(f"    yield {self.choose(['row', 'row * 2'])}")
            elif form == 1:
                self.line(f"yield {self.expression(VECTOR, 1)}")
                self.statements(1)
                self.line(f"yield {self.expression(VECTOR, 1)}")
            elif form == 2:
                self.line(f"with jax.default_device({self.default_device()}):")
                self.line(f"    made = {self.expression(MATRIX, 0)}")
                self.line("for i in range(2):")
                self.line("    yield made[i]")
            else:
                self.line(f"yield from {self.expression(MATRIX, 1)}")
        self.scope.functions.append(Signature(name, (MATRIX,), "generator"))

    def generator_loop(self) -> None:
        """Write `for x in g(m)`."""
        known = [each for each in self.scope.functions if each.result == "generator"]
        if not known or self.indent > 4:
            return self.assign()
        chosen = self.pick(known)
        vector = self.new(VECTOR)
        self.line(f"for {vector} in {chosen.name}({self.arguments(chosen, 1)}):")
        with self.loop():
            self.scope.variables[vector] = VECTOR
            self.statements(2)
        return None

    def context_helper(self) -> None:
        """Write a `@contextlib.contextmanager` that enters a default device, and a use of it."""
        name = self.new("on_host")
        self.line("@contextlib.contextmanager")
        form = self.number(0, 2)
        if form == 0:
            self.line(f"def {name}():")
            self.line(f"    with jax.default_device({self.default_device()}):")
            self.line("        yield")
            call = f"{name}()"
        elif form == 1:
            self.line(f"def {name}(device):")
            self.line("    with jax.default_device(device):")
            self.line("        yield device")
            call = f"{name}({self.device()})"
        else:
            self.line(f"def {name}():")
            self.line("    try:")
            self.line("        yield")
            self.line("    finally:")
            self.line(f"        {self.expression(MATRIX, 1)}")
            call = f"{name}()"
        self.with_body(f"with {call}:")

    def lambda_(self) -> None:
        """Write `f = lambda a: …`."""
        name = self.new("f")
        outside = self.scope
        self.scope = outside.copy()
        self.scope.variables["q"] = MATRIX
        text = self.expression(MATRIX, 2)
        self.scope = outside
        if ":=" in text:
            text = "q * 2"
        self.line(f"{name} = lambda q: {text}")
        self.scope.functions.append(Signature(name, (MATRIX,), MATRIX, ("q",)))

    def partial(self) -> None:
        """Write `functools.partial(f, x)`."""
        known = [each for each in self.scope.functions if each.parameters]
        if not known:
            self.plain_function()
            return
        chosen = self.pick(known)
        name = self.new("f")
        bound = self.expression(chosen.parameters[0], 1)
        self.line(f"{name} = functools.partial({chosen.name}, {bound})")
        self.scope.functions.append(
            Signature(
                name, chosen.parameters[1:], chosen.result, chosen.names[1:],
                min(chosen.defaults, len(chosen.parameters) - 1),
            )
        )  # fmt: skip

    def recursive(self) -> None:
        """Write a function that calls itself."""
        name = self.new("f")
        self.line(f"def {name}(a, depth=2):")
        with self.function_body(MATRIX, {"a": MATRIX}):
            self.line("if depth == 0:")
            self.line(f"    return {self.expression(MATRIX, 1)}")
            self.statements(1)
            self.line(f"return {name}({self.expression(MATRIX, 1)}, depth - 1)")
        self.scope.functions.append(Signature(name, (MATRIX,), MATRIX, ("a",)))

    def decorated(self) -> None:
        """Write a function under a decorator: one of the program, or a default device."""
        form = self.number(0, 1)
        if form == 0:
            name = self.new("logged")
            self.line(f"def {name}(function):")
            self.line("    @functools.wraps(function)")
            self.line("    def wrapper(*args, **kwargs):")
            self.line("        return function(*args, **kwargs)")
            self.line("    return wrapper")
            self.line(f"@{name}")
        else:
            self.line(f"@jax.default_device({self.default_device()})")
        self.plain_function()

    def factory(self) -> None:
        """Write a function that makes a closure."""
        name, made = self.new("make"), self.new("f")
        self.line(f"def {name}(kept):")
        with self.function_body("function", {"kept": MATRIX}):
            self.statements(1)
            self.line("def inner(a):")
            with self.function_body(MATRIX, {"a": MATRIX}):
                self.statements(1)
                self.line(f"return {self.choose(['a + kept', 'kept', 'kept * 2'])}")
            self.line("return inner")
        self.line(f"{made} = {name}({self.expression(MATRIX, 1)})")
        self.scope.functions.append(Signature(made, (MATRIX,), MATRIX, ("a",)))

    def local_function(self) -> None:
        """Write a function in a function or a block."""
        if self.indent > 2:
            return self.assign()
        signature = self.plain_function()
        if self.indent:
            # Bound in this body only.
            name = self.target(signature.result)
            self.line(f"{name} = {signature.name}({self.arguments(signature, 1)})")
            self.bind(name, signature.result)
        return None
