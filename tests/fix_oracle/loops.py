"""Random training loops: a dataset on the host, a step on the accelerator, evaluation, printing.

What real programs do with a dataset, in the ways that they write it: where it is made, what holds
it, how batches are taken from it and where they are put, where the parameters are, what the step
is, and what becomes of the dataset besides. All of it runs, on small arrays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.differential.expressions import Choose

_IMPORTS = """\
import contextlib
import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from safetensors.flax import load_file
import inputs
"""

_DEVICES = ('jax.devices("cpu")[0]', 'jax.local_devices(backend="cpu")[0]')

_FEATURES = (
    "jnp.ones((8, 4))",
    "jnp.asarray(np.arange(32, dtype=np.float32).reshape(8, 4))",
    "jnp.array([[1.0, 2.0, 3.0, 4.0]] * 8)",
    "jax.random.normal(jax.random.key(0), (8, 4))",
    "jnp.full((8, 4), 0.5)",
    "jnp.ones((8, 4), jnp.bfloat16)",
    "jnp.arange(32).reshape(8, 4)",
    'jnp.concatenate([load_file("tokens.safetensors")["tokens"]] * 2)',
    'jnp.tile(jnp.load("tokens.npy"), (2, 1))',
    "jnp.linspace(0.0, 1.0, 32).reshape(8, 4)",
)
_LABELS = (
    "jnp.ones((8, 2))",
    "jnp.zeros((8, 2))",
    "jnp.asarray(np.ones((8, 2), np.float32))",
    "jnp.full((8, 2), 1.0)",
    "jnp.ones((8, 2), jnp.bfloat16)",
)
_STEPS = range(3)


@dataclass(frozen=True)
class _Data:
    """How the program reaches its dataset."""

    x: str
    y: str
    whole: str | None = None
    """What holds both, as a tree, if something does."""
    rows: str | None = None
    """An object that gives rows, by index and by iteration."""


class Loops:
    """Writes one program."""

    def __init__(self, choose: Choose) -> None:
        """Write as `choose(low, high)` chooses."""
        self._choose = choose
        self.modules: dict[str, list[str]] = {"main": []}
        self.module = "main"
        self.indent = 0
        self.mesh = False
        self.steps: Sequence[int] = _STEPS

    # -- writing ----------------------------------------------------------------------------------

    def pick(self, options: Sequence[str]) -> str:
        """Choose one."""
        return options[self._choose(0, len(options) - 1)]

    def do(self, *ways: Callable[[], None]) -> None:
        """Write it in one of several ways."""
        ways[self._choose(0, len(ways) - 1)]()

    def chance(self, percent: int) -> bool:
        """Tell whether something happens."""
        return self._choose(0, 99) < percent

    def line(self, *texts: str) -> None:
        """Write lines."""
        for text in texts:
            for part in text.split("\n"):
                self.modules[self.module].append("    " * self.indent + part if part else "")

    def host(self) -> str:
        """Give the host, by name or written out."""
        return self.pick(["cpu", "cpu", *_DEVICES])

    # -- the dataset ------------------------------------------------------------------------------

    def header(self) -> None:
        """Write what every module begins with."""
        self.line(_IMPORTS.rstrip("\n"), "", f"cpu = {self.pick(_DEVICES)}")

    def on_host(self, write: Callable[[], None]) -> None:
        """Write statements that run with the host as the default device."""
        form = self._choose(0, 6)
        if form <= 3:
            device = '"cpu"' if form == 3 else self.host()
            self.line(f"with jax.default_device({device}):")
            self.indented(write)
        elif form == 4:
            self.line(f'jax.config.update("jax_default_device", {self.host()})')
            write()
            self.line('jax.config.update("jax_default_device", None)')
        elif form == 5:
            self.line("with contextlib.ExitStack() as stack:")
            self.line(f"    stack.enter_context(jax.default_device({self.host()}))")
            self.indented(write)
        else:
            self.line(f"with jax.default_device({self.host()}), contextlib.nullcontext():")
            self.indented(write)

    def indented(self, write: Callable[[], None]) -> None:
        """Write one level further in."""
        self.indent += 1
        write()
        self.indent -= 1

    def arrays(self, x: str, y: str) -> None:
        """Write what makes the two arrays."""
        features = self.pick(_FEATURES)
        self.line(f"{x} = {features}")
        if self.chance(25):
            after = ["{} / 2", "({} - {}.mean(0))", "{}.reshape(8, 4)", "{}.astype(jnp.float32)"]
            self.line(f"{x} = {self.pick(after).replace('{}', x)}")
        self.line(f"{y} = {self.pick(_LABELS)}")

    def dataset(self) -> _Data:
        """Write where the dataset is made, in this module or another."""
        elsewhere = self.chance(35)
        if elsewhere:
            name = self.pick(["data", "data", "pkg.data"])
            self.modules[name] = []
            if name == "pkg.data":
                self.modules["pkg"] = []
            self.module = name
            self.header()
        made = [
            self._globals, self._globals, self._helper, self._decorated, self._called_under,
            self._dictionary, self._named_tuple, self._dataclass, self._object, self._property,
        ][self._choose(0, 9)]()  # fmt: skip
        if not elsewhere:
            return made
        name, self.module = self.module, "main"
        self.header()
        return self._imported(name, made)

    def _imported(self, name: str, made: _Data) -> _Data:
        """Import what another module has, by name or through the module."""
        texts = [each for each in (made.x, made.y, made.whole, made.rows) if each is not None]
        roots = sorted({text.partition(".")[0].partition("[")[0] for text in texts})
        if self.chance(60):
            self.line(f"from {name} import {', '.join(roots)}")
            return made
        self.line(f"import {name} as source" if "." in name else f"import {name}")
        prefix = "source" if "." in name else name

        def reached(text: str | None) -> str | None:
            return None if text is None else f"{prefix}.{text}"

        return _Data(
            f"{prefix}.{made.x}", f"{prefix}.{made.y}", *map(reached, (made.whole, made.rows))
        )

    def _globals(self) -> _Data:
        self.on_host(lambda: self.arrays("xs", "ys"))
        return _Data("xs", "ys")

    def _helper(self) -> _Data:
        self.line("def load():")

        def body() -> None:
            self.on_host(lambda: self.arrays("a", "b"))
            self.line("return a, b")

        self.indented(body)
        self.line("xs, ys = load()")
        return _Data("xs", "ys")

    def _decorated(self) -> _Data:
        self.line(f"@jax.default_device({self.host()})", "def load(size):")

        def body() -> None:
            self.arrays("a", "b")
            self.line("return a[:size], b[:size]" if self.chance(50) else "return a, b")

        self.indented(body)
        self.line("xs, ys = load(8)")
        return _Data("xs", "ys")

    def _called_under(self) -> _Data:
        self.line("def load(dtype=jnp.float32):")
        self.line(f"    return {self.pick(_FEATURES)}, jnp.ones((8, 2), dtype)")
        self.line(f"with jax.default_device({self.host()}):", "    xs, ys = load()")
        return _Data("xs", "ys")

    def _dictionary(self) -> _Data:
        def made() -> None:
            if self.chance(50):
                self.line(f'data = {{"x": {self.pick(_FEATURES)}, "y": {self.pick(_LABELS)}}}')
            else:
                self.arrays("a", "b")
                self.line("data = dict(x=a, y=b)")

        self.on_host(made)
        return _Data('data["x"]', 'data["y"]', "data")

    def _named_tuple(self) -> _Data:
        self.line("class Batch(NamedTuple):", "    x: jax.Array", "    y: jax.Array")
        features, labels = self.pick(_FEATURES), self.pick(_LABELS)
        self.on_host(lambda: self.line(f"data = Batch({features}, {labels})"))
        return _Data("data.x", "data.y", "data")

    def _dataclass(self) -> _Data:
        self.line("@dataclasses.dataclass", "class Batch:", "    x: jax.Array", "    y: jax.Array")
        features, labels = self.pick(_FEATURES), self.pick(_LABELS)
        self.on_host(lambda: self.line(f"data = Batch(x={features}, y={labels})"))
        return _Data("data.x", "data.y")

    def _object(self) -> _Data:
        self.line("class Dataset:", "    def __init__(self):")
        self.indent += 2
        self.on_host(lambda: self.arrays("self.x", "self.y"))
        self.indent -= 1
        self.line("def __len__(self):", "    return len(self.x)")
        self.line("def __getitem__(self, i):", "    return self.x[i], self.y[i]")
        if self.chance(50):
            self.line("def __iter__(self):", "    return zip(self.x, self.y)")
        else:
            self.line("def __iter__(self):", "    for i in range(len(self)):")
            self.line("        yield self[i]")
        self.indent -= 1
        self.line("data = Dataset()")
        return _Data("data.x", "data.y", rows="data")

    def _property(self) -> _Data:
        self.line("class Dataset:")
        self.indent += 1
        for name, options in (("x", _FEATURES), ("y", _LABELS)):
            self.line("@functools.cached_property", f"def {name}(self):")
            self.line(f"    with jax.default_device({self.host()}):")
            self.line(f"        return {self.pick(options)}")
        self.indent -= 1
        self.line("data = Dataset()")
        return _Data("data.x", "data.y")

    # -- parameters and the step ------------------------------------------------------------------

    def parameters(self) -> str:
        """Write the parameters; give how the step takes them apart: `{w}` and `{b}`."""
        form = self.pick(["dict", "dict", "tuple", "named", "array", "array", "array"])
        weights = self.pick(["jnp.zeros((4, 2))", "jnp.full((4, 2), 0.1)", "jnp.ones((4, 2))"])
        if form == "dict":
            self.line(f'params = {{"w": {weights}, "b": jnp.zeros(2)}}')
        elif form == "array":
            self.line(f"params = {weights}")
        elif form == "tuple":
            self.line(f"params = ({weights}, jnp.zeros(2))")
        else:
            self.line("class Params(NamedTuple):", "    w: jax.Array", "    b: jax.Array")
            self.line(f"params = Params({weights}, jnp.zeros(2))")
        placed = self._choose(0, 9)
        if placed == 9:
            self.line(f"params = jax.device_put(params, jax.devices()[{self._choose(0, 3)}])")
        elif placed >= 7:
            self.mesh = True
            self.line('mesh = Mesh(np.array(jax.devices()), ("data",))')
            self.line("params = jax.device_put(params, NamedSharding(mesh, P()))")
        return form

    def functions(self, form: str) -> bool:
        """Write the model, the loss and the step; tell whether the step gives the loss too."""
        w, b = {
            "dict": ('params["w"]', 'params["b"]'), "tuple": ("params[0]", "params[1]"),
            "named": ("params.w", "params.b"), "array": ("params", "1.0"),
        }[form]  # fmt: skip
        self.line("def predict(params, x):", f"    return x @ {w} + {b}")
        self.line("def loss_of(params, x, y):")
        self.line("    return jnp.mean((predict(params, x) - y) ** 2)")
        gives_loss = self.chance(50)
        decorators = ["@jax.jit", "@jax.jit", "@functools.partial(jax.jit, donate_argnums=0)", ""]
        decorator = self.pick(decorators)
        if decorator:
            self.line(decorator)
        self.line("def step(params, x, y):")
        if form == "array" and self.chance(70):
            self.line("    error = predict(params, x) - y")
            self.line("    new, loss = params - 0.1 * error.mean(), (error ** 2).mean()")
        else:
            self.line("    loss, grads = jax.value_and_grad(loss_of)(params, x, y)")
            self.line(
                "    new = jax.tree.map(lambda p, g: p - (0.1 * g).astype(p.dtype), params, grads)"
            )
        self.line(f"    return {'new, loss' if gives_loss else 'new'}")
        if self.chance(20):
            self.line("evaluate = jax.jit(loss_of)")
        else:
            self.line("evaluate = loss_of")
        self.line("def head(x):", "    return x[0]", "fast_head = jax.jit(head)")
        return gives_loss

    # -- the loop ---------------------------------------------------------------------------------

    def batch(self, x: str, y: str) -> tuple[str, str]:
        """Write what is done to a batch before the step; give what the step takes."""
        form = self._choose(0, 11)
        if form <= 4:
            return x, y
        if self.mesh and form <= 7:
            self.line(f"bx = jax.device_put({x}, NamedSharding(mesh, P()))")
            self.line(f"by = jax.device_put({y}, NamedSharding(mesh, P()))")
            return "bx", "by"
        if self.mesh:
            return x, y
        forms = {
            5: "jax.device_put({}, jax.devices()[0])", 6: "jnp.asarray({})", 7: "np.asarray({})",
            8: "({} * 2)", 9: "{}.astype(jnp.float32)", 10: "jax.device_put({})",
            11: "jnp.array({})",
        }  # fmt: skip
        if form in {5, 10} and any("jax.devices()[" in line for line in self.modules["main"]):
            # Two accelerators must not be mixed.
            return x, y
        self.line(f"bx = {forms[form].format(x)}")
        self.line(f"by = {forms[form].format(y)}" if self.chance(60) else f"by = {y}")
        return "bx", "by"

    def train(self, x: str, y: str, *, gives_loss: bool) -> None:
        """Write one step."""
        bx, by = self.batch(x, y)
        if gives_loss:
            self.line(f"params, loss = step(params, {bx}, {by})")
            if self.chance(50):
                self.line("losses.append(loss)")
            else:
                self.line("print(float(loss))")
        else:
            self.line(f"params = step(params, {bx}, {by})")
        if self.chance(15):
            self.line(f"print({x}.shape, {self.pick(['len(losses)', f'np.asarray({y}).sum()'])})")

    def loop(self, data: _Data, *, gives_loss: bool) -> None:
        """Write the loop over the dataset, in one of many ways."""
        x, y = data.x, data.y
        ways: list[Callable[[], None]] = []

        def over(head: str, bx: str, by: str) -> Callable[[], None]:
            def write() -> None:
                self.line(head)
                self.indented(lambda: self.train(bx, by, gives_loss=gives_loss))

            return write

        size = self.pick(["2", "4"])
        ways += [
            over("for i in range(3):", f"{x}[i]", f"{y}[i]"),
            over("for i in range(3):", f"{x}[i]", f"{y}[i]"),
            over(f"for i in range(0, 8, {size}):", f"{x}[i:i + {size}]", f"{y}[i:i + {size}]"),
            over(f"for i in range(0, 8, {size}):", f"{x}[i:i + {size}]", f"{y}[i:i + {size}]"),
            over(f"for row, label in zip({x}, {y}):", "row", "label"),
            over(f"for i, row in enumerate({x}):", "row", f"{y}[i]"),
            over(f"for i, (row, label) in enumerate(zip({x}, {y})):", "row", "label"),
            over("for i in np.random.permutation(8)[:3]:", f"{x}[i]", f"{y}[int(i)]"),
            over(f"for row in {x}[:3]:", "row", f"{y}[0]"),
            over("for i in range(3):", f"{x}.take(i, axis=0)", f"jnp.take({y}, i, axis=0)"),
            over("for i in range(3):", f"jax.lax.dynamic_slice_in_dim({x}, i, 2)", f"{y}[i:i + 2]"),
            over("for i in range(3):", f"{x}[np.array([i, i + 1])]", f"{y}[[i, i + 1], :]"),
        ]
        if data.whole is not None:
            ways += [self._mapped(data.whole, gives_loss=gives_loss)] * 3
        if data.rows is not None:
            ways += [
                over(f"for row, label in {data.rows}:", "row", "label"),
                over(
                    f"for i in range(len({data.rows})):", *[f"{data.rows}[i][{n}]" for n in (0, 1)]
                ),
            ] * 3

        def unpacked() -> None:
            self.line("for i in range(3):", f"    bx, by = {x}[i], {y}[i]")
            self.indented(lambda: self.train("bx", "by", gives_loss=gives_loss))

        def generator() -> None:
            self.line("def batches(size):", "    for i in range(0, 8, size):")
            self.line(f"        yield {x}[i:i + size], {y}[i:i + size]")
            over("for row, label in batches(4):", "row", "label")()

        def collected() -> None:
            self.line(f"rows = [{x}[i:i + 2] for i in range(0, 8, 2)]")
            over("for i, row in enumerate(rows):", "row", f"{y}[2 * i:2 * i + 2]")()

        def by_next() -> None:
            self.line(f"it = iter({x})", f"label = {y}[0]")
            over("for i in range(3):", "next(it)", "label")()

        def while_() -> None:
            self.line("i = 0", "while i < 3:")
            self.indented(lambda: self.train(f"{x}[i]", f"{y}[i]", gives_loss=gives_loss))
            self.line("    i += 1")

        def permuted() -> None:
            self.line("order = jax.random.permutation(jax.random.key(1), 8)")
            over("for i in range(3):", f"{x}[order[i]]", f"{y}[order[i]]")()

        def prepared() -> None:
            self.line("def get(i):", f"    bx = {x}[i]", f"    return bx, {y}[i]")
            over("for row, label in map(get, range(3)):", "row", "label")()

        def scanned() -> None:
            self.line("def body(params, batch):")
            self.line("    out = step(params, *batch)")
            self.line(f"    return {'out' if gives_loss else 'out, 0.0'}")
            self.line(f"params, _ = jax.lax.scan(body, params, ({x}, {y}))")

        ways += [unpacked, unpacked, generator, generator, collected, by_next, while_, permuted,
                 prepared, scanned]  # fmt: skip
        self.do(*ways)

    def _mapped(self, whole: str, *, gives_loss: bool) -> Callable[[], None]:
        def write() -> None:
            index = self.pick(["a[i]", "a[i:i + 2]"])
            self.line("for i in range(3):")
            self.line(f"    batch = jax.tree.map(lambda a: {index}, {whole})")
            parts = self.pick(["item", "values"])
            if whole == "data" and not any("class Batch" in line for line in self._all_lines()):
                by = ('batch["x"]', 'batch["y"]')
            elif any("class Batch" in line for line in self._all_lines()):
                by = ("batch.x", "batch.y") if parts == "item" else ("batch[0]", "batch[1]")
            else:
                by = ('batch["x"]', 'batch["y"]')
            self.indented(lambda: self.train(*by, gives_loss=gives_loss))

        return write

    def _all_lines(self) -> list[str]:
        return [line for lines in self.modules.values() for line in lines]

    # -- what else is done with the dataset -------------------------------------------------------

    def aside(self, data: _Data) -> None:
        """Write another use of the dataset, or of the parameters."""
        x, y = data.x, data.y
        self.line(self.pick([
            f"print({x}[0])",
            f"print(float({x}[0, 0]), {y}.shape)",
            f"print(np.asarray({x}[1]).tolist())",
            f"print(np.asarray({x}).mean())",
            f"print({x}.mean())",
            f"print(float({x}[0].sum()))",
            f"first = {x}[0]",
            f"print(evaluate(params, {x}[0], {y}[0]))",
            f"print(float(evaluate(params, {x}[:2], {y}[:2])))",
            f"score = evaluate(params, {x}[:2], {y}[:2])",
            f"outputs = [predict(params, row) for row in {x}]",
            f"print(head({x}), fast_head({x}))",
            f"print([int(row.sum()) for row in {x}])",
            f"with jax.default_device(cpu):\n    print({x}[0].sum(), {y}[0])",
            f"print(f'{{{x}[0, 1]:.3f}} of {{len({x})}}')",
            f"np.testing.assert_allclose(np.asarray({y}[0]), np.asarray({y}[0]))",
            f"held = {{'x': {x}[:2], 'y': {y}[:2]}}",
            f"small = {x}[:2] + 1",
            f"if inputs.flag():\n    print({x}[-1])",
            f"assert {x}[0].shape == (4,)",
            f"normalised = ({x} - {x}.mean(0)) / 2",
            f"a, *rest = {x}",
            f"stacked = jnp.stack([{x}[0], {x}[1]])",
            f"best = max(float(row.max()) for row in {x})",
        ]))  # fmt: skip

    # -- the program ------------------------------------------------------------------------------

    def write(self) -> dict[str, str]:
        """Write it all; give its modules."""
        self.header()
        first = len(self.modules["main"])
        data = self.dataset()
        if len(self.modules) > 1:
            # The header was written again, before the import.
            del self.modules["main"][:first]
        gives_loss = self.functions(self.parameters())
        self.line("losses = []")
        form = self._choose(0, 3)
        if form == 0:
            self._in_function(data, gives_loss=gives_loss)
        elif form == 1:
            self._in_trainer(data, gives_loss=gives_loss)
        else:
            self._body(data, gives_loss=gives_loss)
        self.line("total = sum(float(loss) for loss in losses)", "print(total)")
        return {name: "\n".join(lines) + "\n" for name, lines in self.modules.items()}

    def _body(self, data: _Data, *, gives_loss: bool) -> None:
        if self.chance(20):
            self.aside(data)
        if self.chance(15):
            self.line("for epoch in range(2):")
            self.indented(lambda: self.loop(data, gives_loss=gives_loss))
        else:
            self.loop(data, gives_loss=gives_loss)
        for _ in range(self._choose(0, 2)):
            self.aside(data)

    def _in_function(self, data: _Data, *, gives_loss: bool) -> None:
        self.line("def main(params):")

        def body() -> None:
            self._body(data, gives_loss=gives_loss)
            self.line("return params")

        self.indented(body)
        self.line('if __name__ == "__main__":', "    result = main(params)")

    def _in_trainer(self, data: _Data, *, gives_loss: bool) -> None:
        self.line("class Trainer:", "    def __init__(self, params):")
        self.line("        self.params = params", "    def fit(self):")
        self.line("        params = self.params")
        self.indent += 2
        self._body(data, gives_loss=gives_loss)
        self.line("self.params = params", "return self")
        self.indent -= 2
        self.line("trainer = Trainer(params).fit()")


def random_loop(number: int) -> dict[str, str]:
    """Give the program with a number: always the same one."""
    return Loops(random.Random(f"loops/{number}").randint).write()  # noqa: S311
