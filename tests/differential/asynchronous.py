"""Asynchronous functions of random programs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.differential.closures import Closures
from tests.differential.expressions import MATRIX, VECTOR, Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COROUTINE, ROWS, CONTEXT_OF_ROWS = "coroutine", "async rows", "async context"


class Asynchronous(Closures):
    """Writes one module; knows coroutines."""

    in_async = False

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        if self.level >= 3:
            if self.in_async:
                found += [self.await_] * 3 + [self.async_for, self.async_with, self.async_with]
            if self.in_function is None and self.indent == 0:
                found += [self.asynchronous] * 2 + [self.run_coroutine] * 2
        return found

    @contextlib.contextmanager
    def function_body(self, result: str, bound: dict[str, str]) -> Iterator[None]:
        """Write the body of a function."""
        outer, self.in_async = self.in_async, False
        with super().function_body(result, bound):
            yield
        self.in_async = outer

    def asynchronous(self) -> None:
        """Define something asynchronous."""
        self.pick([self.coroutine, self.coroutine, self.async_generator, self.async_context])()

    def _asynchronous(self, kind: str) -> list[Signature]:
        return [each for each in self.scope.functions if each.result == kind]

    def coroutine(self) -> None:
        """Write `async def f(a): …`, and run it."""
        name = self.new("co")
        self.line(f"async def {name}(a):")
        with self.function_body(MATRIX, {"a": MATRIX}):
            self.in_async = True
            if self.chance(30):
                self.line("await asyncio.sleep(0)")
            self.statements(3)
            self.line(f"return {self.expression(MATRIX, 1)}")
        self.scope.functions.append(Signature(name, (MATRIX,), COROUTINE, ("a",)))
        self.run_coroutine()

    def run_coroutine(self) -> None:
        """Write `asyncio.run(f(x))`: in a module's own body only, where no loop runs yet."""
        known = self._asynchronous(COROUTINE)
        if not known:
            return self.assign()
        chosen, name = self.pick(known), self.target(MATRIX)
        self.line(f"{name} = asyncio.run({chosen.name}({self.arguments(chosen, 1)}))")
        self.bind(name, MATRIX)
        return None

    def await_(self) -> None:
        """Write `x = await f(y)`."""
        known = self._asynchronous(COROUTINE)
        if not known:
            return self.assign()
        chosen, name = self.pick(known), self.target(MATRIX)
        self.line(f"{name} = await {chosen.name}({self.arguments(chosen, 1)})")
        self.bind(name, MATRIX)
        return None

    def async_generator(self) -> None:
        """Write `async def g(a): … yield …`."""
        name = self.new("ag")
        self.line(f"async def {name}(a):")
        with self.function_body("generator", {"a": MATRIX}):
            self.in_async = self.in_generator = True
            self.statements(1)
            self.line("for row in a:")
            self.line(f"    yield {self.choose(['row', 'row * 2'])}")
        self.scope.functions.append(Signature(name, (MATRIX,), ROWS, ("a",)))

    def async_for(self) -> None:
        """Write `async for x in g(m)`."""
        known = self._asynchronous(ROWS)
        if not known or self.indent > 4:
            return self.assign()
        chosen, vector = self.pick(known), self.new(VECTOR)
        self.line(f"async for {vector} in {chosen.name}({self.arguments(chosen, 1)}):")
        with self.loop():
            self.scope.variables[vector] = VECTOR
            self.statements(2)
        return None

    def async_context(self) -> None:
        """Write a `@contextlib.asynccontextmanager` that enters a default device."""
        name = self.new("on_host")
        self.line("@contextlib.asynccontextmanager")
        self.line(f"async def {name}():")
        self.line(f"    with jax.default_device({self.default_device()}):")
        self.line("        yield")
        self.scope.functions.append(Signature(name, (), CONTEXT_OF_ROWS))

    def async_with(self) -> None:
        """Write `async with on_host():`."""
        known = self._asynchronous(CONTEXT_OF_ROWS)
        if not known or self.indent > 4:
            return self.assign()
        return self.with_body(f"async with {self.pick(known).name}():")
