"""Random programs with meshes: those of `programs`, of which many arrays are on several devices.

Everything that a program of one device does is done here too, with shardings in the place of most
devices: containers, functions, classes and modules are the same.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, ClassVar

from tests.differential.expressions import (
    DICT,
    LEAVES,
    MATRICES,
    MATRIX,
    PRODUCTIONS,
    SCALAR,
    SLOTS,
    VECTOR,
    Signature,
)
from tests.differential.programs import write_program
from tests.differential.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MESH, SPLITS_ROWS, SPLITS_BOTH = "mesh", "sharding", "layout"
"""A mesh; a sharding for arrays of any dimension but none; one for matrices."""

_AXES = '("data", "model")'
_MESHES = (
    f"Mesh(np.array(jax.devices()).reshape(4, 2), {_AXES})",
    f"Mesh(np.asarray(jax.devices()).reshape((2, 4)), {_AXES})",
    f"jax.make_mesh((4, 2), {_AXES}, axis_types=(AxisType.Auto,) * 2)",
    f"jax.make_mesh((2, 4), {_AXES}, axis_types=(AxisType.Auto, AxisType.Auto))",
    f"jax.sharding.Mesh(np.array(jax.devices()).reshape(4, -1), axis_names={_AXES})",
    f"Mesh(mesh_utils.create_device_mesh((4, 2), devices=jax.devices()), {_AXES})",
)
_OTHER_DEVICES = (
    f"Mesh(np.array(jax.devices()[:4]).reshape(2, 2), {_AXES})",
    f"Mesh(np.array(jax.devices()[::-1]).reshape(4, 2), {_AXES})",
)
_OF_ROWS = ("P()", 'P("data")', 'P("model")', "P(None)", 'P(("data",))')
_OF_BOTH = (
    'P("data")', 'P("data", None)', 'P(None, "model")', 'P("data", "model")', "P()",
    'P("model", "data")', "P(None, None)",
)  # fmt: skip


def _shardings(specs: tuple[str, ...]) -> tuple[str, ...]:
    return (
        f"NamedSharding($mesh, <<{'|'.join(specs)}>>)",
        f"NamedSharding(spec=<<{'|'.join(specs)}>>, mesh=$mesh)",
    )


class Meshed(Trees):
    """Writes one module; knows meshes."""

    prefixes = (MESH, "sh", "lay", "place", "stepped", "Plan")
    makers: ClassVar = {
        **LEAVES,
        MATRIX: (
            *LEAVES[MATRIX],
            "jnp.zeros((4, 4), device=$lay)",
            "jax.device_put(np.ones((4, 4), np.float32), $lay)",
            "jax.device_put(jnp.ones((4, 4)), $lay)",
            "jax.make_array_from_callback((4, 4), $lay, lambda i: np.ones((4, 4), np.float32)[i])",
        ),
        MESH: _MESHES,
        SPLITS_ROWS: _shardings(_OF_ROWS),
        SPLITS_BOTH: _shardings(_OF_BOTH),
    }
    productions: ClassVar = {
        **PRODUCTIONS,
        MATRIX: (
            *PRODUCTIONS[MATRIX],
            *["jax.device_put(<<$m|$m|$n>>, $lay)"] * 4,
            *["jax.lax.with_sharding_constraint($m, $lay)"] * 2,
            "jnp.<<asarray|array>>($n, device=$lay)",
            "jnp.<<zeros|ones|empty>>((4, 4), device=$lay)",
            "jnp.arange(16.0, device=$sh).reshape(4, 4)",
            "jax.jit(lambda q: q * 2, out_shardings=$lay)(<<$m|$n>>)",
            "jax.jit(lambda: jnp.ones((4, 4)), out_shardings=$lay)()",
            "jax.jit(lambda q, w: q @ w, in_shardings=($lay, $lay))($n, $n)",
            "jax.jit(lambda q: jax.lax.with_sharding_constraint(q + 1, $lay))(<<$m|$n>>)",
            "jax.jit(lambda q: jax.device_put(q, $lay) * 2)(<<$m|$n>>)",
            "jax.jit(lambda q: jnp.<<zeros|ones>>((4, 4), device=$lay) + q)($m)",
            "jax.jit(jnp.<<zeros_like|ones_like>>)($m)",
            "jax.jit(lambda q: jnp.zeros(q.shape))($m)",
            "jnp.full_like($m, 3.0)",
            "jax.grad(lambda q: (q * q).sum())($m)",
            "jax.grad(lambda q: q.sum())($m)",
            "jax.jit(jax.grad(lambda q: q.sum()))($m)",
            "jax.lax.map(lambda q: q * 2, $m)",
            "jax.lax.scan(lambda c, q: (c, q + c), $s, $m)[1]",
            "$m.reshape(2, 8).reshape(4, 4)",
            "jnp.<<sort|flip|cumsum>>($m, axis=0)",
            "$m[None][0]",
            "jnp.array($m)",
            "jax.lax.fori_loop(0, 2, lambda i, q: q + 1, $m)",
            "jax.random.permutation(jax.random.key(0), $m)",
        ),
        VECTOR: (
            *PRODUCTIONS[VECTOR],
            "jax.device_put(<<$v|$v|np.ones(4, np.float32)>>, $sh)",
            "jax.lax.with_sharding_constraint($v, $sh)",
            "jax.jit(lambda q, w: q @ w, out_shardings=$sh)($m, $v)",
            "$m.sum(1)",
            "jnp.zeros_like($v)",
            "$m.ravel()[:4]",
        ),
        DICT: (
            *PRODUCTIONS[DICT],
            'jax.device_put($d, {"a": $lay, "b": $lay})',
            "jax.device_put($d, $lay)",
            'jax.tree.map(jax.device_put, $d, {"a": $lay, "b": $lay})',
            "jax.tree.map(lambda q: jax.lax.with_sharding_constraint(q, $lay), $d)",
            "jax.jit(lambda q: jax.tree.map(jnp.zeros_like, q))($d)",
            "jax.jit(lambda q: jax.tree.map(lambda w: w + 1, q), out_shardings=$lay)($d)",
        ),
        MATRICES: (*PRODUCTIONS[MATRICES], "jax.device_put($ms, $lay)"),
        SCALAR: (*PRODUCTIONS[SCALAR], "jax.device_put($s, NamedSharding($mesh, P()))"),
        SPLITS_ROWS: (*_shardings(_OF_ROWS), "$v.sharding"),
        SPLITS_BOTH: (*_shardings(_OF_BOTH), "$m.sharding", "$sh"),
        MESH: _MESHES,
    }  # fmt: skip
    slots: ClassVar = {**SLOTS, "mesh": MESH, "sh": SPLITS_ROWS, "lay": SPLITS_BOTH}

    def prologue(self) -> None:
        """Write the imports, and the meshes and shardings that most of the module uses."""
        self.line("from jax.experimental import mesh_utils")
        self.line("from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P")
        if not self.names(MESH) or self.chance(20):
            self._named(MESH, self.pick(_MESHES))
        if self.chance(6):
            self._named(MESH, self.pick(_OTHER_DEVICES))
        for kind in (SPLITS_ROWS, SPLITS_BOTH):
            for _ in range(self.number(1, 2)):
                self._named(kind, self.fill(self.pick(self.makers[kind]), 0))
        self.budget += 6

    def _named(self, kind: str, text: str) -> None:
        name = self.new({SPLITS_ROWS: "sh", SPLITS_BOTH: "lay"}.get(kind, kind))
        self.line(f"{name} = {text}")
        self.bind(name, kind)

    def target_of_put(self) -> str:
        """Name what an array may be put on: mostly a sharding."""
        return self.device() if self.chance(4) else self.expression(SPLITS_ROWS, 0)

    def expression(self, kind: str, depth: int = 2) -> str:
        """Write an expression of a kind; of a mesh nearly always a name."""
        known = self.names(kind)
        if kind == MESH and known and self.chance(97):
            return self.choose(known)
        return super().expression(kind, depth)

    def leaves(self, kind: str) -> Sequence[str]:
        """Give one text of a kind; what makes an array on a mesh names a sharding."""
        return [self.fill(self.choose(super().leaves(kind)), 0)]

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = [*super().forms(), *[self.put] * 4, self.sharding]
        if self.level >= 2:
            found += [self.mesh_block]
        if self.level >= 3 and self.in_function is None and self.indent == 0:
            found += [self.placing_function, self.sharded_step, self.sharded_step]
        if self.level >= 4 and self.in_function is None and self.indent == 0:
            found += [self.plan]
        return found

    def put(self) -> None:
        """Write a statement that puts an array on a mesh."""
        kind = str(self.pick([MATRIX, MATRIX, VECTOR]))
        held = self.expression(kind, 1)
        name = self.target(kind)
        self.line(f"{name} = jax.device_put({held}, {self.fill(self._slot(kind), 0)})")
        self.bind(name, kind)

    @staticmethod
    def _slot(kind: str) -> str:
        return "$lay" if kind == MATRIX else "$sh"

    def sharding(self) -> None:
        """Bind a sharding to a name."""
        kind = str(self.pick([SPLITS_ROWS, SPLITS_BOTH]))
        self._named(kind, self.expression(kind, 1))

    def mesh_block(self) -> None:
        """Write a block in which a mesh is in force."""
        if self.indent > 3:
            return self.assign()
        # Not `jax.set_mesh`, under which the analysis does not know where creators make arrays.
        return self.with_body(f"with {self.expression(MESH, 0)}:")

    def placing_function(self) -> None:
        """Write a helper that puts what it is given on a mesh, or gives a sharding."""
        name = self.new("place")
        form = self.number(0, 2)
        if form == 0:
            self.line(f"def {name}(x, where={self.expression(SPLITS_BOTH, 0)}):")
            self.line("    return jax.device_put(x, where)")
            self.scope.functions.append(
                Signature(name, (MATRIX, SPLITS_BOTH), MATRIX, ("x", "where"), 1)
            )
        elif form == 1:
            self.line(f"def {name}(x):")
            self.line(f"    return jax.tree.map(lambda q: jax.device_put(q, {self._lay()}), x)")
            self.scope.functions.append(Signature(name, (DICT,), DICT, ("x",)))
        else:
            self.line(f"def {name}(spec=P('data')):")
            self.line(f"    return NamedSharding({self.expression(MESH, 0)}, spec)")
            self.scope.functions.append(Signature(name, (), SPLITS_BOTH))

    def _lay(self) -> str:
        return self.expression(SPLITS_BOTH, 0)

    def sharded_step(self) -> None:
        """Write a jitted function with shardings, or with a sharding in its body."""
        name = self.new("stepped")
        body = self.choose(["x + y", "x @ y", "x * 2 + y", "x - 0.1 * y.sum(0)"])
        form = self.number(0, 4)
        if form == 0:
            self.line(f"@functools.partial(jax.jit, out_shardings={self._lay()})")
            self.line(f"def {name}(x, y):")
            self.line(f"    return {body}")
        elif form == 1:
            self.line(f"{name} = jax.jit(lambda x, y: {body}, out_shardings={self._lay()})")
        elif form == 2:
            self.line("@jax.jit")
            self.line(f"def {name}(x, y):")
            self.line(f"    x = jax.lax.with_sharding_constraint(x, {self._lay()})")
            self.line(f"    return {body}")
        elif form == 3:
            self.line("@jax.jit")
            self.line(f"def {name}(x, y):")
            self.line(f"    y = jax.device_put(y, {self._lay()})")
            self.line(f"    return {body}")
        else:
            where = self._lay()
            self.line(f"{name} = jax.jit(lambda x, y: {body}, in_shardings=(None, {where}))")
        self.scope.functions.append(Signature(name, (MATRIX, MATRIX), MATRIX))

    def plan(self) -> None:
        """Write a class that keeps a mesh and its shardings."""
        name, kept = self.new("Plan"), self.new("o")
        self.line("@dataclasses.dataclass(frozen=True)")
        self.line(f"class {name}:")
        self.line("    mesh: Mesh")
        self.line("    spec: P = P('data', None)")
        self.line("    def where(self):")
        self.line("        return NamedSharding(self.mesh, self.spec)")
        self.line("    def put(self, x):")
        self.line("        return jax.device_put(x, self.where())")
        self.line(f"{kept} = {name}({self.expression(MESH, 0)})")
        self.scope.functions.append(Signature(f"{kept}.put", (MATRIX,), MATRIX, ("x",)))
        self.scope.functions.append(Signature(f"{kept}.where", (), SPLITS_BOTH))


def random_program(seed: int, level: int) -> dict[str, str]:
    """Give the program of a level with a number: always the same one."""
    chosen = random.Random(f"meshes/{level}/{seed}")  # noqa: S311
    return write_program(chosen.randint, level, Meshed)
