"""Classes of random programs that do more than hold arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.classes import Classes
from tests.differential.expressions import MATRIX, VECTOR, Class, Signature

if TYPE_CHECKING:
    from collections.abc import Callable


class Objects(Classes):
    """Writes one module; knows classes of every kind."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        if self.level >= 4 and self.in_function is None and self.indent == 0:
            found += [self.object_] * 4
        return found

    def object_(self) -> None:
        """Define a class of one of many kinds."""
        self.pick([
            self.with_setter, self.with_cached_property, self.overriding, self.with_factory,
            self.callable_, self.context_class, self.data_class_with_more, self.replaced,
        ])()  # fmt: skip

    def _loaded(self, target: str) -> None:
        """Write `target = …`, mostly under a default device."""
        if self.chance(65):
            self.line(f"with jax.default_device({self.default_device()}):")
            self.line(f"    {target} = {self.choose(self.leaves(MATRIX))}")
        else:
            self.line(f"{target} = {self.expression(MATRIX, 1)}")

    def with_setter(self) -> None:
        """Write a property that can be set."""
        made = Class(self.new("C"), (MATRIX,), {"table": MATRIX})
        name = self.new("o")
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line("def __init__(self, a):")
        self.line("    self._table = a")
        self.line("@property")
        self.line("def table(self):")
        self.line(f"    return self._table{self.choose(['', ' * 2', '.T'])}")
        self.line("@table.setter")
        self.line("def table(self, new):")
        self.line(f"    self._table = {self.choose(['new', 'new + 1'])}")
        self.indent -= 1
        self.line(f"{name} = {made.name}({self.expression(MATRIX, 1)})")
        self.line(f"{name}.table = {self.expression(MATRIX, 1)}")
        self._keep(made, name)

    def with_cached_property(self) -> None:
        """Write a property that is computed when it is first asked for."""
        made = Class(self.new("C"), (), {"table": MATRIX}, properties=frozenset({"table"}))
        name = self.new("o")
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line(self.choose(["@functools.cached_property", "@property"]))
        self.line("def table(self):")
        with self.function_body(MATRIX, {}):
            self._loaded("made")
            self.line("return made")
        self.indent -= 1
        self.line(f"{name} = {made.name}()")
        self._keep(made, name)

    def overriding(self) -> None:
        """Write a class that overrides a method and calls the one of its base class."""
        base, made = self.new("C"), Class(self.new("C"), (MATRIX,), {"kept": MATRIX})
        self.line(f"class {base}:")
        self.indent += 1
        self.line("def __init__(self, a):")
        self.line("    self.kept = self.prepare(a)")
        self.line("def prepare(self, a):")
        with self.function_body(MATRIX, {"a": MATRIX}):
            self.line(f"return {self.choose(['a', 'a + 1'])}")
        self.line("def rows(self, a):")
        with self.function_body(MATRIX, {"a": MATRIX, "self.kept": MATRIX}):
            self.statements(1)
            self.line(f"return {self.choose(['self.kept', 'self.kept + a'])}")
        self.indent -= 1
        self.line(f"class {made.name}({base}):")
        self.indent += 1
        self.line("def prepare(self, a):")
        with self.function_body(MATRIX, {"a": MATRIX}):
            self._loaded("own")
            self.line(
                f"return {self.choose(['own', 'super().prepare(own)', 'super().prepare(a)'])}"
            )
        if self.chance(60):
            self.line("def rows(self, a):")
            with self.function_body(MATRIX, {"a": MATRIX, "self.kept": MATRIX}):
                more = ["super().rows(a)", "super().rows(self.kept) + 1"]
                self.line(f"return {self.choose(more)}")
        self.indent -= 1
        made.methods.append(Signature("rows", (MATRIX,), MATRIX, ("a",)))
        name = self.new("o")
        self.line(f"{name} = {made.name}({self.expression(MATRIX, 1)})")
        self._keep(made, name)

    def with_factory(self) -> None:
        """Write a class method that makes instances, and a static method."""
        made = Class(self.new("C"), (MATRIX,), {"kept": MATRIX})
        name, result = self.new("o"), self.target(MATRIX)
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line("def __init__(self, a):")
        self.line("    self.kept = a")
        self.line("@classmethod")
        self.line("def load(cls):")
        with self.function_body("none", {}):
            self._loaded("made")
            self.line("return cls(made)")
        self.line("@staticmethod")
        self.line("def twice(a):")
        self.line(f"    return {self.choose(['a * 2', 'a', 'a[:]'])}")
        self.indent -= 1
        self.line(f"{name} = {made.name}.load()")
        self._keep(made, name)
        self.line(
            f"{result} = {self.choose([made.name, name])}.twice({self.expression(MATRIX, 1)})"
        )
        self.bind(result, MATRIX)

    def callable_(self) -> None:
        """Write a class with `__call__`."""
        made = Class(self.new("C"), (MATRIX,), {"kept": MATRIX})
        name = self.new("o")
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line("def __init__(self, a):")
        self.line("    self.kept = a")
        self.line("def __call__(self, a):")
        with self.function_body(MATRIX, {"a": MATRIX, "self.kept": MATRIX}):
            self.statements(1)
            self.line(f"return {self.choose(['a', 'a + self.kept', 'self.kept'])}")
        self.indent -= 1
        self.line(f"{name} = {made.name}({self.expression(MATRIX, 1)})")
        self._keep(made, name)
        self.scope.functions.append(Signature(name, (MATRIX,), MATRIX, ("a",)))

    def context_class(self) -> None:
        """Write a class whose instances are contexts that enter a default device."""
        name = self.new("OnHost")
        device = self.default_device()
        self.line(f"class {name}:")
        self.line("    def __enter__(self):")
        self.line(f"        self.block = jax.default_device({device})")
        self.line("        self.block.__enter__()")
        self.line("        return self")
        self.line("    def __exit__(self, *error):")
        self.line("        self.block.__exit__(*error)")
        self.with_body(f"with {name}():")

    def data_class_with_more(self) -> None:
        """Write a dataclass with a default, and with what it does after it is made."""
        made = Class(self.new("Batch"), (MATRIX,), {"x": MATRIX, "y": VECTOR, "z": MATRIX})
        name = self.new("o")
        self.line(self.choose(["@dataclasses.dataclass", "@dataclasses.dataclass(kw_only=False)"]))
        self.line(f"class {made.name}:")
        self.indent += 1
        self.line("x: jax.Array")
        vector = self.choose(["jnp.ones(4)", "jnp.arange(4.0)"])
        self.line(f"y: jax.Array = dataclasses.field(default_factory=lambda: {vector})")
        self.line("def __post_init__(self):")
        with self.function_body("none", {"self.x": MATRIX, "self.y": VECTOR}):
            self._loaded("self.z")
        self.indent -= 1
        self.line(f"{name} = {made.name}({self.expression(MATRIX, 1)})")
        self._keep(made, name)

    def replaced(self) -> None:
        """Write `dataclasses.replace`."""
        known = [
            n for n, each in self.scope.instances.items() if set(each.attributes) == {"x", "y"}
        ]
        if not known:
            self.data_class()
            return
        old, name = str(self.pick(known)), self.new("o")
        made = self.scope.instances[old]
        if any("namedtuple" in line and f'"{made.name}"' in line for line in self.lines):
            self.line(f"{name} = {old}._replace(x={self.expression(MATRIX, 1)})")
        elif any(f"class {made.name}:" in line for line in self.lines):
            self.line(f"{name} = dataclasses.replace({old}, x={self.expression(MATRIX, 1)})")
        else:
            self.assign()
            return
        self._keep(made, name)

    def _keep(self, made: Class, name: str) -> None:
        """Note a class and an instance of it."""
        if made not in self.scope.classes:
            self.scope.classes.append(made)
        self.scope.instances[name] = made
        for attribute, kind in made.attributes.items():
            self.bind(f"{name}.{attribute}", kind)
        self.scope.frozen |= {f"{name}.{attribute}" for attribute in made.properties}
