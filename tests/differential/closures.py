"""Functions of random programs that keep, hand on, set, or give bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.expressions import DICT, ITERATOR, MATRIX, VECTOR, Signature
from tests.differential.functions import Functions

if TYPE_CHECKING:
    from collections.abc import Callable


class Closures(Functions):
    """Writes one module; knows functions that are more than what they are given."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        if self.level >= 3:
            found += [self.iterator, self.consume, self.consume]
            if self.in_function is None and self.indent == 0:
                found += [self.closure] * 5
        return found

    def closure(self) -> None:
        """Define a function of one of many kinds."""
        self.pick([
            self.remembering, self.configuring, self.loading_by_configuration, self.forwarding,
            self.by_keyword_only, self.cached, self.consumer, self.partial_by_keyword,
            self.delegating_generator, self.context_with_value, self.reduced, self.by_name,
        ])()  # fmt: skip

    def remembering(self) -> None:
        """Write a closure that binds a variable of the function around it."""
        name, made = self.new("make"), self.new("f")
        self.line(f"def {name}(kept):")
        with self.function_body("function", {"kept": MATRIX}):
            if self.chance(40):
                self.line(f"with jax.default_device({self.default_device()}):")
                self.line(f"    kept = {self.expression(MATRIX, 0)}")
            self.line("def inner(a):")
            with self.function_body(MATRIX, {"a": MATRIX}):
                self.line("nonlocal kept")
                self.scope.variables["kept"] = MATRIX
                self.statements(1)
                self.line(f"kept = {self.choose(['a', 'kept + a', self.expression(MATRIX, 1)])}")
                self.line(f"return {self.choose(['kept', 'a', 'kept + a'])}")
            self.line("return inner")
        self.line(f"{made} = {name}({self.expression(MATRIX, 1)})")
        self.scope.functions.append(Signature(made, (MATRIX,), MATRIX, ("a",)))

    def configuring(self) -> None:
        """Write a function that sets the default device for good, and call it."""
        name = self.new("configure")
        if self.chance(50):
            self.line(f"def {name}():")
            new = self.choose([self.default_device_object(), "None"])
            self.line(f'    jax.config.update("jax_default_device", {new})')
            call = f"{name}()"
        else:
            self.line(f"def {name}(device=None):")
            self.line('    jax.config.update("jax_default_device", device)')
            call = f"{name}({self.choose(['', self.default_device_object()])})"
        if self.chance(30):
            self.line("if inputs.flag():")
            call = f"    {call}"
        self.line(call)

    def default_device_object(self) -> str:
        """Name a device, not a platform: mostly the host."""
        return self.choose([*self.names("device"), 'jax.devices("cpu")[0]', self.device()])

    def loading_by_configuration(self) -> None:
        """Write a loader that sets the default device and sets it back."""
        name, made = self.new("f"), self.new(MATRIX)
        host = self.default_device_object()
        self.line(f"def {name}():")
        update = 'jax.config.update("jax_default_device", {})'
        form = self.number(0, 2)
        with self.function_body(MATRIX, {}):
            if form == 2:
                self.line("before = jax.config.jax_default_device")
            self.line(update.format(host))
            if form == 1:
                self.line("try:")
                self.line(f"    {made} = {self.choose(self.leaves(MATRIX))}")
                self.line("finally:")
                self.line(f"    {update.format('None')}")
            else:
                self.line(f"{made} = {self.choose(self.leaves(MATRIX))}")
                self.line(update.format("before" if form == 2 else "None"))
            self.line(f"return {made}")
        self.scope.functions.append(Signature(name, (), MATRIX))

    def forwarding(self) -> None:
        """Write a function that hands all its arguments on."""
        known = [each for each in self.scope.functions if each.result == MATRIX]
        if not known:
            self.plain_function()
            return
        chosen = self.pick(known)
        name = self.new("f")
        self.line(f"def {name}(*args, **kwargs):")
        if self.chance(40):
            self.line(f"    with jax.default_device({self.default_device()}):")
            self.line(f"        return {chosen.name}(*args, **kwargs)")
        else:
            self.line(f"    return {chosen.name}(*args, **kwargs)")
        self.scope.functions.append(
            Signature(name, chosen.parameters, chosen.result, chosen.names, chosen.defaults)
        )

    def by_keyword_only(self) -> None:
        """Write a function with parameters that can be given by position or by name only."""
        name, first, second = self.new("f"), self.new("a"), self.new("a")
        default = self.expression(MATRIX, 1)
        self.line(f"def {name}({first}, /, *, {second}={default}):")
        with self.function_body(MATRIX, {first: MATRIX, second: MATRIX}):
            self.statements(2)
            self.line(f"return {self.choose([first, second, f'{first} + {second}'])}")
        result = self.target(MATRIX)
        self.line(f"{result} = {name}({self.expression(MATRIX, 1)}, {second}={default})")
        self.bind(result, MATRIX)
        self.scope.functions.append(Signature(name, (MATRIX,), MATRIX))

    def cached(self) -> None:
        """Write a loader whose result is kept."""
        name = self.new("f")
        self.line(self.choose(["@functools.cache", "@functools.lru_cache(maxsize=None)"]))
        self.line(f"def {name}():")
        with self.function_body(MATRIX, {}):
            if self.chance(60):
                self.line(f"with jax.default_device({self.default_device()}):")
                self.line(f"    return {self.choose(self.leaves(MATRIX))}")
            else:
                self.line(f"return {self.expression(MATRIX, 1)}")
        self.scope.functions.append(Signature(name, (), MATRIX))

    def consumer(self) -> None:
        """Write a function that goes through an iterator that it is given."""
        name = self.new("f")
        self.line(f"def {name}(rows):")
        with self.function_body(VECTOR, {"rows": ITERATOR}):
            total = self.new(VECTOR)
            self.line(f"{total} = {self.expression(VECTOR, 0)}")
            self.line("for row in rows:")
            self.line(f"    {total} = {self.choose([f'{total} + row', 'row', 'row * 2'])}")
            self.line(f"return {total}")
        self.scope.functions.append(Signature(name, (ITERATOR,), VECTOR, ("rows",)))

    def partial_by_keyword(self) -> None:
        """Write `functools.partial(f, b=x)`."""
        known = [
            each
            for each in self.scope.functions
            if each.names and len(each.names) == len(each.parameters) and not each.defaults
            and each.result == MATRIX
        ]  # fmt: skip
        if not known:
            self.plain_function()
            return
        chosen, name = self.pick(known), self.new("f")
        bound = self.expression(chosen.parameters[-1], 1)
        self.line(f"{name} = functools.partial({chosen.name}, {chosen.names[-1]}={bound})")
        self.scope.functions.append(Signature(name, chosen.parameters[:-1], chosen.result))

    def delegating_generator(self) -> None:
        """Write a generator that goes through another one."""
        known = [each for each in self.scope.functions if each.result == "generator"]
        if not known:
            self.generator_function()
            return
        chosen, name = self.pick(known), self.new("g")
        self.line(f"def {name}(a):")
        with self.function_body("generator", {"a": MATRIX}):
            self.in_generator = True
            if self.chance(50):
                self.line(f"yield from {chosen.name}(a)")
            else:
                self.line(f"for row in {chosen.name}(a):")
                self.line(f"    yield {self.choose(['row', 'row * 2'])}")
        self.scope.functions.append(Signature(name, (MATRIX,), "generator"))

    def context_with_value(self) -> None:
        """Write `with on_host() as x`."""
        name, made = self.new("on_host"), self.new(MATRIX)
        self.line("@contextlib.contextmanager")
        self.line(f"def {name}():")
        self.line(f"    with jax.default_device({self.default_device()}):")
        self.line(f"        yield {self.choose(self.leaves(MATRIX))}")
        self.line(f"with {name}() as {made}:")
        self.bind(made, MATRIX)
        self.indent += 1
        self.statements(2)
        self.indent -= 1

    def reduced(self) -> None:
        """Write `functools.reduce`, and other functions that call functions."""
        name = self.target(MATRIX)
        form = self.choose([
            "functools.reduce(lambda p, q: p + q, $ms, $m)",
            "list(filter(lambda q: q.ndim == 2, $ms))[0]",
            "max([$m], key=lambda q: q.ndim)",
        ])  # fmt: skip
        self.line(f"{name} = {self.fill(form, 1)}")
        self.bind(name, MATRIX)

    def by_name(self) -> None:
        """Write a call of a function with what is in a dict, `f(**d)`."""
        name, result = self.new("f"), self.target(MATRIX)
        self.line(f"def {name}(a, b):")
        with self.function_body(MATRIX, {"a": MATRIX, "b": MATRIX}):
            self.statements(1)
            self.line(f"return {self.choose(['a', 'a + b', 'a @ b'])}")
        self.line(f"{result} = {name}(**{self.expression(DICT, 1)})")
        self.bind(result, MATRIX)
        self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX, ("a", "b")))

    # -- generators that are consumed elsewhere --------------------------------------------------

    def iterator(self) -> None:
        """Make an iterator, to be gone through later."""
        known = [each for each in self.scope.functions if each.result == "generator"]
        name = self.new(ITERATOR)
        if known and self.chance(60):
            chosen = self.pick(known)
            text = f"{chosen.name}({self.arguments(chosen, 1)})"
        else:
            text = self.expression(ITERATOR, 1)
        if self.chance(35) and self.indent < 4:
            self.line(f"with jax.default_device({self.default_device()}):")
            text = f"    {name} = {text}"
            self.line(text)
        else:
            self.line(f"{name} = {text}")
        self.bind(name, ITERATOR)

    def consume(self) -> None:
        """Go through an iterator, or take one item of it."""
        known = self.names(ITERATOR)
        if not known or self.indent > 4:
            return self.assign()
        name = str(self.pick(known))
        if self.chance(50):
            vector = self.new(VECTOR)
            self.line(f"for {vector} in {name}:")
            with self.loop():
                self.scope.variables[vector] = VECTOR
                self.statements(2)
        else:
            vector = self.target(VECTOR)
            self.line(f"{vector} = next({name}, {self.expression(VECTOR, 0)})")
            self.bind(vector, VECTOR)
        return None
