"""What operations do with an array on a mesh: on which devices, and split how, their result is.

Measured with Auto axes, on eight virtual devices, on JAX 0.4.30, 0.4.35, 0.5.3, 0.6.2, 0.7.2,
0.8.1, 0.9.0.1, 0.10.2 and 0.12.0.1: `tests/jaxmodel/test_sharded.py` executes each row. `S` is an
array of 8 x 4 that is split by its first dimension, `R` one that every device has whole, `u` one on
the default device, uncommitted, `n` a NumPy array, `c` one that is committed to a single device.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT = "the default device"
"""On it alone, uncommitted: the mesh is lost."""
REFUSED = "ValueError"
HOST = "NumPy"
SAME = (("x",),)
"""Split by its first dimension, as the operand is."""
WHOLE: tuple[tuple[str, ...], ...] = ()
"""Every device has all of it."""

Outcome = tuple[tuple[str, ...], ...] | str
"""The axes of each dimension, without those at the end that are not split; or one of the above."""


@dataclass(frozen=True)
class OperationRow:
    """What one expression gives, in the versions of JAX from `since` to before `until`."""

    call: str
    outcome: Outcome
    since: tuple[int, ...] = (0, 4, 30)
    until: tuple[int, ...] | None = None


def _rows(calls: str, outcome: Outcome) -> list[OperationRow]:
    return [OperationRow(call.strip(), outcome) for call in calls.strip().split("\n")]


OPERATIONS = (
    *_rows(
        """
        S + 1
        -S
        S > 3
        S + n
        n + S
        S + u
        u + S
        S + R
        jnp.where(S > 0, S, u)
        S.astype(jnp.int32)
        S.copy()
        jnp.array(S)
        copy.deepcopy(S)
        S[:]
        jnp.asarray(S)
        jax.vmap(lambda r: r * 2)(S)
        jax.checkpoint(jnp.sin)(S)
        S.at[0].set(1.0)
        S.at[0].set(n[0])
        S.at[np.array([0, 1])].add(n[:2])
        S.at[:, 0].multiply(2.0)
        jnp.sort(S, axis=0)
        jnp.pad(S, ((0, 0), (1, 1)))
        jnp.zeros_like(S)
        jnp.full_like(S, 2.0)
        S[:, 0]
        S.sum(1)
        S @ S.T
        jnp.concatenate([S, S])
        jnp.concatenate([S, u])
        S.reshape(4, 8)
        S.ravel()
        jax.jit(lambda a: a + 1)(S)
        jax.jit(lambda a: a)(S)
        jax.lax.fori_loop(0, 2, lambda i, a: a + 1, S)
        jax.grad(lambda a: (a * a).sum())(S)
        """,
        SAME,
    ),
    *_rows(
        """
        S[0]
        S[0:4]
        S[::2]
        S[-1]
        S[np.array([0, 1])]
        S[jnp.array([0, 1])]
        jnp.take(S, 0, axis=0)
        S.sum()
        S.mean()
        S.sum(0)
        jax.lax.map(lambda r: r * 2, S)
        jax.random.permutation(jax.random.key(0), S)
        next(iter(R))
        """,
        WHOLE,
    ),
    *_rows(
        """
        next(iter(S))
        list(S)[1]
        sum(S)
        jnp.stack([row for row in S])
        jax.jit(jnp.zeros_like)(S)
        jax.jit(lambda a: jnp.ones(a.shape))(S)
        jax.jit(jax.grad(lambda a: a.sum()))(S)
        pickle.loads(pickle.dumps(S))
        """,
        DEFAULT,
    ),
    *_rows(
        """
        S + c
        jax.jit(lambda a, b: a + b)(S, c)
        S + reversed_order
        S + half
        jax.lax.with_sharding_constraint(c, split)
        jax.jit(lambda a: a, in_shardings=split)(R)
        jax.jit(lambda a: a, in_shardings=split)(c)
        jax.jit(lambda a: a, out_shardings=split)(c)
        """,
        REFUSED,
    ),
    *_rows("np.asarray(S)\njax.device_get(S)", HOST),
    *_rows("S.T\nS[None]\njnp.stack([S, S])", ((), ("x",))),
    *_rows(
        """
        jax.device_put(u, split)
        jax.device_put(c, split)
        jax.device_put(R, split)
        jax.lax.with_sharding_constraint(u, split)
        jax.lax.with_sharding_constraint(R, split)
        jax.jit(lambda a: a * 2, out_shardings=split)(u)
        jax.jit(lambda a: a * 2, in_shardings=split)(n)
        jax.jit(lambda: jnp.ones((8, 4)), out_shardings=split)()
        jax.make_array_from_callback((8, 4), split, lambda i: n[i])
        """,
        SAME,
    ),
    *_rows("jax.device_put(S, whole)\njax.device_put(n, whole)", WHOLE),
    OperationRow("jax.grad(lambda a: a.sum())(S)", DEFAULT, since=(0, 5, 3)),
    OperationRow("jnp.split(S, 2)[0]", SAME, since=(0, 5, 3)),
    OperationRow("S + by_other_axis", SAME, until=(0, 7, 1)),
    OperationRow("S + by_other_axis", WHOLE, since=(0, 7, 1)),
    OperationRow("S.reshape(2, 4, 4)", WHOLE, since=(0, 10, 2)),
    OperationRow("jax.jit(lambda a: a, in_shardings=whole)(c)", WHOLE, since=(0, 4, 34)),
)

SPLIT_ALIKE = frozenset(
    {
        *(
            f"jax.numpy.{name}"
            for name in """
        abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil clip conj conjugate cos
        cosh deg2rad degrees exp exp2 expm1 floor isfinite isinf isnan log log10 log1p log2
        logical_not nan_to_num negative positive rad2deg radians real reciprocal rint round sign
        sin sinc sinh sqrt square tan tanh trunc
        """.split()
        ),
        *(
            f"jax.nn.{name}"
            for name in """
        celu elu gelu hard_sigmoid hard_swish hard_tanh leaky_relu log_sigmoid relu relu6 selu
        sigmoid silu soft_sign softplus swish tanh
        """.split()
        ),
        *(
            f"jax.lax.{name}"
            for name in """
        abs ceil cos exp expm1 floor is_finite log log1p logistic neg rsqrt sign sin sqrt square
        tan tanh
        """.split()
        ),
    }
)
"""Functions that compute element by element: of `S` alone their result is split as `S` is, in each
version."""
SPLIT_ALIKE_METHODS = frozenset({"astype", "clip", "conj", "conjugate", "copy", "round"})
