"""How each row of the transfer table is called, as data.

How to read an expression is said in `placement_lint/verify/transfers/calls.py`.
"""

from __future__ import annotations

from placement_lint.jaxmodel.transfer import Effect, Row
from placement_lint.verify.transfers.calls import AWAY, COMMITTED, HOME, NUMPY, OUTSIDE, Recipe
from tests.jaxmodel.transfer_expressions import BY_MODULE

_ARRAYS = (AWAY, HOME, COMMITTED)
_UNCOMMITTED = (AWAY, HOME, NUMPY)
_MESH = "jax.sharding.Mesh(np.array([d1, d2]), ('a',))"
_SPREAD = f"jax.sharding.NamedSharding({_MESH}, jax.sharding.PartitionSpec('a'))"
_ONE = "jax.sharding.SingleDeviceSharding(d3)"
_SHARD_MAP = (
    f"f(lambda a: a * 2, mesh={_MESH}, in_specs=jax.sharding.PartitionSpec('a'), "
    "out_specs=jax.sharding.PartitionSpec('a'))(v)"
)

SEVERAL: dict[str, tuple[Recipe, ...]] = {
    "jax.numpy.array": (
        Recipe("f(v)"),
        Recipe("f(v, copy=False)", Effect.CONVERT),
        Recipe("f([1.0, 2.0])", Effect.CREATE),
        Recipe("f([v[0], v[1]])"),
    ),
    "jax.numpy.asarray": (
        Recipe("f(v)"),
        Recipe("f(v, 'float32')"),
        Recipe("f(v, 'int32')", Effect.COMPUTE),
        Recipe("f([1.0, 2.0])", Effect.CREATE),
    ),
    "jax.device_put": (
        Recipe("f(v, d3)"),
        Recipe("f(v, device=d3)"),
        Recipe(f"f(v, {_ONE})"),
        Recipe("f(v)", Effect.CONVERT),
        Recipe("f(v, None)", Effect.CONVERT),
    ),
    "jax.pmap": (Recipe("f(lambda a: a * 2, devices=[d1, d2])(v[:2])", None, (AWAY,)),),
    "jax.shard_map": (Recipe(_SHARD_MAP, None, (AWAY,)),),
    "jax.experimental.shard_map.shard_map": (Recipe(_SHARD_MAP, None, (AWAY,)),),
    "jax.experimental.pjit.pjit": (
        Recipe(f"f(lambda a: a * 2, in_shardings={_SPREAD})(v)", None, (AWAY,)),
        Recipe("f(lambda a: a * 2)(v)", Effect.COMPUTE),
    ),
    "jax.jit": (
        Recipe("f(lambda a: a * 2)(v)"),
        Recipe("f(lambda a: a)(v)"),
        Recipe("f(lambda a: jnp.zeros(a.shape))(v)", Effect.CREATE),
        Recipe("f(lambda a: a.shape[0])(v)", Effect.CREATE),
        Recipe("f(lambda a, b: b * 2)(v, np.ones(3))", Effect.CREATE),
    ),
    "jax.lax.with_sharding_constraint": (
        Recipe("f(x, jax.sharding.SingleDeviceSharding(d1))", device=1),
    ),
    "jax.lax.with_sharding_constraint<=0.6.2": (
        Recipe(
            "f(x, jax.sharding.SingleDeviceSharding(d1))", None, (AWAY, COMMITTED, NUMPY), device=1
        ),
        Recipe("f(x, jax.sharding.SingleDeviceSharding(d1))", Effect.IDENTITY, (HOME, OUTSIDE)),
    ),
    "jax.numpy.asarray.on_its_device": (
        Recipe("jnp.asarray(v, device=d1)", None, (HOME, OUTSIDE, COMMITTED)),
    ),
    "jax.numpy.from_dlpack": (Recipe("f(np.arange(4.0))", None, (OUTSIDE, HOME), 0),),
    "jax.dlpack.from_dlpack": (Recipe("f(np.arange(4.0))", None, (OUTSIDE, HOME), 0),),
    "jax.jit.backend": (Recipe("jax.jit(lambda a: a * 2, backend='cpu')(v)", device=0),),
    "jax.jit.in_shardings": (
        # Moving a committed argument is an error before 0.4.34.
        Recipe(f"jax.jit(lambda a: a * 2, in_shardings={_ONE})(v)", None, _UNCOMMITTED),
    ),
    "jax.jit.out_shardings": (
        Recipe(f"jax.jit(lambda a: a * 2, out_shardings={_ONE})(v)", None, _UNCOMMITTED),
    ),
    "jax.grad.of_linear": (Recipe("jax.grad(lambda a: a.sum())(v)"),),
    "jax.hessian.of_quadratic": (Recipe("jax.hessian(lambda a: (a**2).sum())(v)"),),
    "jax.jit.of_grad_of_linear": (Recipe("jax.jit(jax.grad(lambda a: a.sum()))(v)"),),
    "jax.random.split": (Recipe("f(k)"), Recipe("f(raw)")),
    "jax.random.normal": (Recipe("f(k)"), Recipe("f(raw)")),
    "safetensors.flax.load_file": (
        Recipe(
            "load('safetensors.numpy').save_file({'a': np.ones(4)}, "
            "folder / 'one.safetensors') or f(folder / 'one.safetensors')"
        ),
    ),
    "safetensors.flax.load": (Recipe("f(load('safetensors.numpy').save({'a': np.ones(4)}))"),),
}
for _name in ("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"):
    SEVERAL[_name] = (
        Recipe("f(lambda a: a, t)", Effect.IDENTITY),
        Recipe("f(lambda a: a[0], t)", Effect.COMPUTE, _ARRAYS),
        Recipe("f(lambda a: a.shape[0], t)", Effect.PLAIN),
    )
for _name in (
    "jax.tree.reduce", "jax.tree.reduce_associative", "jax.tree_util.tree_reduce",
    "jax.tree_util.tree_reduce_associative",
):  # fmt: skip
    SEVERAL[_name] = (
        Recipe("f(jnp.add, [v, v])", Effect.COMPUTE),
        Recipe("f(lambda a, b: b, [v, v])", Effect.IDENTITY),
    )
for _name in ("jax.tree.map_with_path", "jax.tree_util.tree_map_with_path"):
    SEVERAL[_name] = (
        Recipe("f(lambda path, a: a, t)", Effect.IDENTITY),
        Recipe("f(lambda path, a: a[0], t)", Effect.COMPUTE, _ARRAYS),
    )

NOTHING_TO_DO = {
    "jax.numpy.astype": "f(x, x.dtype)",
    "jax.numpy.broadcast_to": "f(x, x.shape)",
    "jax.numpy.concat": "f([x])",
    "jax.numpy.concatenate": "f([x])",
    "jax.numpy.permute_dims": "f(x, (0, 1))",
    "jax.numpy.reshape": "f(x, x.shape)",
    "jax.numpy.transpose": "f(x, (0, 1))",
    "jax.lax.broadcast": "f(x, ())",
    "jax.lax.broadcast_to_rank": "f(x, 2)",
    "jax.lax.collapse": "f(x, 0, 1)",
    "jax.lax.concatenate": "f([x], 0)",
    "jax.lax.convert_element_type": "f(x, x.dtype)",
    "jax.lax.reshape": "f(x, x.shape)",
    "jax.lax.squeeze": "f(x, ())",
    "jax.lax.transpose": "f(x, (0, 1))",
    "jax.Array.astype": "x.astype(x.dtype)",
    "jax.Array.reshape": "x.reshape(x.shape)",
    "numpy.reshape": "f(x, x.shape)",
    "numpy.transpose": "f(v)",
    "numpy.permute_dims": "f(v)",
}
"""Calls of a row that is not certain, in which there is nothing to do."""

VALUE_UNUSED = {
    "jax.numpy.imag": "f(x)",
    "jax.numpy.iscomplex": "f(x)",
    "jax.numpy.isreal": "f(x)",
    "numpy.imag": "f(x)",
    "numpy.isreal": "f(x)",
}
"""Calls of a row that is not certain, which need the shape only."""

WITH_DEVICE = {
    "jax.numpy.zeros": "f(4, device=d3)",
    "jax.numpy.ones": "f(4, device=d3)",
    "jax.numpy.empty": "f(4, device=d3)",
    "jax.numpy.full": "f(4, 1.0, device=d3)",
    "jax.numpy.arange": "f(4, device=d3)",
    "jax.numpy.eye": "f(4, device=d3)",
    "jax.numpy.linspace": "f(0.0, 1.0, 4, device=d3)",
    "jax.numpy.zeros_like": "f(v, device=d3)",
    "jax.numpy.ones_like": "f(v, device=d3)",
    "jax.numpy.empty_like": "f(v, device=d3)",
    "jax.numpy.full_like": "f(v, 1.0, device=d3)",
    "jax.numpy.array": "f([1.0, 2.0], device=d3)",
    "jax.numpy.asarray": "f([1.0, 2.0], device=d3)",
    "jax.lax.full_like": f"f(v, 1.0, sharding={_ONE})",
}
"""Calls of a creator with its `device=`."""

_JIT_ARGUMENTS = {
    "device": "jax.jit(lambda a: a * 2, device=d3)(v)",
    "donate_argnums": "jax.jit(lambda a: a * 2, donate_argnums=0)(v + 1)",
    "static_argnums": "jax.jit(lambda a, n: a * n, static_argnums=1)(v, 2)",
    "keep_unused": "jax.jit(lambda a: jnp.zeros(3), keep_unused=True)(v)",
    "inline": "jax.jit(lambda a: a * 2, inline=True)(v)",
}

_METHODS = {
    "__array__": "np.asarray(x)",
    "addressable_data": "x.addressable_data(0)",
    "astype": "x.astype('int32')",
    "argpartition": "x.argpartition(1)",
    "choose": "(n % 2).choose([v, v])",
    "clip": "x.clip(0, 1)",
    "compress": "v.compress(m)",
    "delete": "own('float32').delete()",
    "dot": "x.dot(v)",
    "item": "x.item(0)",
    "repeat": "x.repeat(2)",
    "reshape": "x.reshape(8, 2)",
    "searchsorted": "v.searchsorted(s)",
    "swapaxes": "x.swapaxes(0, 1)",
    "take": "v.take(n)",
    "to_device": "x.to_device(d3)",
    "view": "x.view('int32')",
    "imag": "z.imag",
    "__contains__": "1.0 in v",
    "__deepcopy__": "x.__deepcopy__({})",
    "__reversed__": "list(reversed(v))",
    "__format__": "f'{s:.2f}'",
    "__getitem__": "x[0]",
    "__index__": "[1, 2, 3][i]",
    "__iter__": "list(v)",
    "__round__": "round(v)",
    "__matmul__": "x @ x",
    "__rmatmul__": "x.__rmatmul__(x)",
}
_ON_INTEGERS = frozenset(
    "__and__ __or__ __xor__ __rand__ __ror__ __rxor__ __lshift__ __rshift__ __rlshift__ "
    "__rrshift__".split()
)
_ON_SCALARS = frozenset("__bool__ __complex__ __float__ __int__ __len__".split())
_UNARY_OPERATORS = frozenset(
    "__abs__ __array_namespace__ __copy__ __dlpack_device__ __neg__ __pos__ __invert__ __reduce__ "
    "__repr__ __str__ __round__".split()
)

_LOADERS = {
    "fromfile": "f(folder / 'raw.bin')",
    "genfromtxt": "f(folder / 'text.txt')",
    "lib.format.open_memmap": "f(folder / 'array.npy')",
    "load": "f(folder / 'array.npy')",
    "loadtxt": "f(folder / 'text.txt')",
    "memmap": "f(folder / 'raw.bin')",
}
_NUMPY_METHODS = {
    "astype": "np.ones((4, 4)).astype('int32')",
    "reshape": "np.ones((4, 4)).reshape(8, 2)",
    "swapaxes": "np.ones((4, 4)).swapaxes(0, 1)",
    "view": "np.ones((4, 4)).view('int64')",
}

_DISTRIBUTIONS = {
    "bernoulli": "n, 0.5",
    "beta": "v, 2.0, 2.0",
    "betabinom": "n, 4, 2.0, 2.0",
    "binom": "n, 4, 0.5",
    "chi2": "v, 2.0",
    "dirichlet": "p, np.ones(4, np.float32)",
    "gamma": "v, 2.0",
    "gennorm": "v, 2.0",
    "geom": "n, 0.5",
    "multinomial": "n, 6, p",
    "multivariate_normal": "v, p, x",
    "nbinom": "n, 4, 0.5",
    "pareto": "v, 2.0",
    "poisson": "n, 2.0",
    "t": "v, 2.0",
    "truncnorm": "v, 0.0, 1.0",
    "vonmises": "v, 2.0",
    "wrapcauchy": "v, 0.5",
}
_FIRST_ARGUMENT_IS_PROBABILITY = {"bernoulli.ppf": "v, 0.5", "poisson.entropy": "v"}

_NAMED = {
    f"{module}.{name}": expression
    for module, recipes in BY_MODULE.items()
    for expression, names in recipes.items()
    for name in names.split()
}


def recipes_of(row: Row) -> list[Recipe]:
    """Give the calls that show what a row says; several generic ones are tried in their order."""
    several = SEVERAL.get(f"{row.name}<={row.until}") or SEVERAL.get(row.name)
    if several is not None:
        found = list(several)
    else:
        expression = _NAMED.get(row.name) or _of_family(row.name)
        found = [Recipe(expression)] if expression else []
        if row.effect is Effect.COPY:
            other = "int8" if row.name.endswith("float16") else "float16"
            found = [Recipe(f"f(own('{other}'))"), Recipe("f(own(f.dtype))", Effect.IDENTITY)]
    if row.name in NOTHING_TO_DO and not row.certain:
        found.append(Recipe(NOTHING_TO_DO[row.name], Effect.IDENTITY))
    if row.name in VALUE_UNUSED:
        found.append(Recipe(VALUE_UNUSED[row.name], Effect.CREATE))
    return found


def situations_of(row: Row, recipe: Recipe) -> tuple[str, ...]:
    """Give the situations in which a call of a recipe says something."""
    effect = recipe.effect or row.effect
    if recipe.situations is not None:
        return recipe.situations
    if not recipe.takes_arrays:
        return (OUTSIDE, HOME)
    found: tuple[str, ...] = (AWAY, HOME, COMMITTED)
    if effect in _CHEAP or row.name in SEVERAL or row.name.startswith("jax.Array."):
        found += (OUTSIDE,)
    is_jax = row.name.startswith("jax.") and not row.name.startswith("jax.Array.")
    if is_jax and not recipe.takes_keys and effect not in _NOT_OF_NUMPY:
        found += (NUMPY,)
    return found


_NOT_OF_NUMPY = {Effect.IDENTITY, Effect.REGROUP, Effect.HOST, Effect.PLAIN}
_CHEAP = {*_NOT_OF_NUMPY, Effect.CONVERT, Effect.CREATE, Effect.KEY, Effect.COMMIT}


def with_device(row: Row) -> Recipe | None:
    """Give the call of a creator with its `device=`."""
    if row.device is None:
        return None
    return Recipe(WITH_DEVICE[row.name], Effect.COMMIT, (OUTSIDE,))


def _of_family(name: str) -> str | None:
    last = name.rpartition(".")[2]
    if name.startswith("jax.jit."):
        return _JIT_ARGUMENTS[last]
    if name.startswith("jax.Array.at."):
        return {"get": "x.at[0].get()", "apply": "x.at[0].apply(jnp.sin)"}.get(
            last, f"x.at[0].{last}(2.0)"
        )
    if name.startswith("jax.Array."):
        return _of_array(last)
    if name.startswith("jax.scipy.stats."):
        distribution = name.removeprefix("jax.scipy.stats.")
        arguments = _FIRST_ARGUMENT_IS_PROBABILITY.get(distribution)
        return f"f({arguments or _DISTRIBUTIONS.get(distribution.partition('.')[0], 'v')})"
    if name.startswith("numpy.ndarray."):
        return _NUMPY_METHODS.get(last, f"np.ones((4, 4)).{last}()")
    if name.startswith("numpy."):
        return _LOADERS.get(name.removeprefix("numpy."))
    return None


def _of_array(name: str) -> str:
    if name in _METHODS:
        return _METHODS[name]
    if name in _ON_SCALARS:
        return f"{'v' if name == '__len__' else 'i'}.{name}()"
    if name in _UNARY_OPERATORS:
        return f"{'n' if name == '__invert__' else 'v'}.{name}()"
    if name in _ON_INTEGERS:
        return f"n.{name}(n)"
    if name.startswith("__"):
        return f"v.{name}(v)"
    return f"x.{name}" if name in _ATTRIBUTES else f"x.{name}()"


_ATTRIBUTES = frozenset(
    "addressable_shards aval committed device dtype format global_shards is_fully_addressable "
    "is_fully_replicated itemsize layout nbytes ndim shape sharding size traceback weak_type "
    "_committed T mT imag real".split()
)
