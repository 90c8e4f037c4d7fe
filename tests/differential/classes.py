"""Classes of random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.asynchronous import Asynchronous
from tests.differential.expressions import DICT, MATRIX, VECTOR, Class, Signature

if TYPE_CHECKING:
    from collections.abc import Callable


class Classes(Asynchronous):
    """Writes one module; knows classes."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        if self.level >= 4:
            found += [self.instance] * 5
            if self.in_function is None and self.indent == 0:
                found += [self.class_] * 5
        return found

    def class_(self) -> None:
        """Define a class."""
        self.pick([self.plain_class, self.plain_class, self.dataset, self.data_class])()

    def plain_class(self) -> None:
        """Write a class with attributes, methods and a property, perhaps with a base class."""
        bases = [each for each in self.scope.classes if each.parameters == (MATRIX,)]
        base = self.pick(bases) if bases and self.chance(40) else None
        made = Class(self.new("C"), (MATRIX,))
        self.line(f"class {made.name}{f'({base.name})' if base else ''}:")
        self.indent += 1
        if base is not None:
            made.attributes.update(base.attributes)
            made.methods += base.methods
            made.rows, made.properties = base.rows, base.properties
        self.line("def __init__(self, a):")
        with self.function_body("none", {"a": MATRIX}):
            if base is not None:
                self.line("super().__init__(a)")
            for _ in range(self.number(1, 2)):
                attribute = self.new("t")
                kind = str(self.pick([MATRIX, MATRIX, VECTOR, DICT]))
                if self.chance(45):
                    self.line(f"with jax.default_device({self.default_device()}):")
                    self.line(f"    self.{attribute} = {self.expression(kind, 1)}")
                else:
                    self.line(f"self.{attribute} = {self.expression(kind, 1)}")
                made.attributes[attribute] = kind
                self.scope.variables[f"self.{attribute}"] = kind
        self._methods(made)
        self.indent -= 1
        self.scope.classes.append(made)

    def _methods(self, made: Class) -> None:
        own = {
            f"self.{name}": kind
            for name, kind in made.attributes.items()
            if name not in made.properties
        }
        for _ in range(self.number(1, 2)):
            name = self.new("method")
            result = str(self.pick([MATRIX, VECTOR]))
            self.line(f"def {name}(self, a):")
            with self.function_body(result, {"a": MATRIX, **own}):
                self.statements(2)
                settable = sorted(made.attributes.keys() - made.properties)
                if settable and self.chance(20):
                    attribute = str(self.pick(settable))
                    kind = made.attributes[attribute]
                    self.line(f"self.{attribute} = {self.expression(kind, 1)}")
                self.line(f"return {self.expression(result, 1)}")
            made.methods.append(Signature(name, (MATRIX,), result, ("a",)))
        if self.chance(30):
            name = self.new("t")
            self.line("@property")
            self.line(f"def {name}(self):")
            with self.function_body(MATRIX, own):
                self.line(f"return {self.expression(MATRIX, 1)}")
            made.attributes[name] = MATRIX
            made.properties |= {name}

    def dataset(self) -> None:
        """Write a dataset: loads under a default device, gives items."""
        made = Class(self.new("Dataset"), (), {"tokens": MATRIX}, rows=True)
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line("def __init__(self):")
        with self.function_body("none", {}):
            if self.chance(80):
                self.line(f"with jax.default_device({self.default_device()}):")
                self.line(f"    self.tokens = {self.choose(self.leaves(MATRIX))}")
            else:
                self.line(f"self.tokens = {self.expression(MATRIX, 1)}")
            if self.chance(25):
                self.line(f"self.tokens = jax.device_put(self.tokens, {self.target_of_put()})")
        self.line("def __len__(self):")
        self.line("    return len(self.tokens)")
        self.line("def __getitem__(self, index):")
        self.line(f"    return self.tokens[index]{self.choose(['', ' * 2'])}")
        self.line("def __iter__(self):")
        if self.chance(50):
            self.line("    return iter(self.tokens)")
        else:
            self.line("    for i in range(len(self)):")
            self.line("        yield self[i]")
        self.indent -= 1
        self.scope.classes.append(made)

    def data_class(self) -> None:
        """Write a dataclass or a named tuple."""
        made = Class(self.new("Batch"), (MATRIX, VECTOR), {"x": MATRIX, "y": VECTOR})
        if self.chance(60):
            self.line("@dataclasses.dataclass")
            self.line(f"class {made.name}:")
            self.indent += 1
            self.line("x: jax.Array")
            self.line("y: jax.Array")
            if self.chance(50):
                self._methods(made)
            self.indent -= 1
        else:
            self.line("import collections")
            self.line(f'{made.name} = collections.namedtuple("{made.name}", "x y")')
        self.scope.classes.append(made)

    def instance(self) -> None:
        """Make an instance, or use one."""
        scope = self.scope
        if not scope.classes:
            return self.assign()
        if not scope.instances or self.chance(40):
            made = self.pick(scope.classes)
            name = self.new("o")
            arguments = ", ".join(self.expression(kind, 1) for kind in made.parameters)
            self.line(f"{name} = {made.name}({arguments})")
            if self.indent == 0:
                scope.instances[name] = made
            for attribute, kind in made.attributes.items():
                scope.variables[f"{name}.{attribute}"] = kind
            scope.frozen |= {f"{name}.{attribute}" for attribute in made.properties}
            return None
        name = str(self.pick(sorted(scope.instances)))
        made = scope.instances[name]
        if made.rows and self.chance(60):
            vector = self.new(VECTOR)
            if self.chance(50):
                self.line(f"{vector} = {name}[0]")
                self.bind(vector, VECTOR)
            else:
                self.line(f"for {vector} in {name}:")
                with self.loop():
                    self.scope.variables[vector] = VECTOR
                    self.statements(2)
        elif made.methods:
            method = self.pick(made.methods)
            new = self.target(method.result)
            self.line(f"{new} = {name}.{method.name}({self.arguments(method, 1)})")
            self.bind(new, method.result)
        else:
            self.assign()
        return None
