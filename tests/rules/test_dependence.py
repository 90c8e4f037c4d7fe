"""On which parts of its parameters the result of a function depends."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.facts.module import Module
from placement_lint.rules.commitment.dependence import needed_parts
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = """
import functools
import jax
import jax.numpy as jnp
import optax

def loss_of(params, batch):
    return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)

@jax.checkpoint
def layer(x, *, w):
    return jnp.tanh(x @ w)

def twice(f):
    return lambda x: f(f(x))

def again(x):
    return again(x)
"""


def parts(text: str) -> set[str]:
    tree = Tree(cst.parse_module(f"{HEAD}\n{text}"))
    last = next(each for each in tree.every(cst.FunctionDef) if each.name.value == "f")
    found = needed_parts(last, Module("main", tree, Names(tree), accelerator=True), None)
    return {".".join([part.parameter, *map(str, part.path)]) for part in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(p, q): return p + q", {"p", "q"}),
        ("def f(p, q): return p + q.shape[0]", {"p"}),
        ("def f(p, q): return p['a'][0] * p.b", {"p.a.0", "p.b"}),
        ("def f(p, q): return p[q]", {"p", "q"}),
        ("def f(p, q): return {'a': p, 'b': [q.T]}", {"p", "q"}),
        ("def f(p, q): return p if q is None else p * q", {"p"}),
        ("def f(p, q):\n  if q.ndim:\n    return p\n  return p + q", {"p"}),
        ("def f(p, q):\n  if p.ndim:\n    q = q * p\n  else:\n    q = -q\n  return q", {"q"}),
        ("def f(p, q):\n  if p.ndim:\n    raise ValueError\n  return q", {"q"}),
        ("def f(p, q):\n  for k in p:\n    q = q + p[k]\n  return q", {"p", "p.*", "q"}),
        ("def f(p, q):\n  for a in p:\n    q = q @ a['w']\n  return q", {"p.*.w", "q"}),
        ("def f(p, q):\n  for a, b in zip(p, q):\n    a = a * b\n  return a", {"p.*", "q.*"}),
        ("def f(p, q):\n  for i, a in enumerate(p):\n    q = q * a\n  return q", {"p.*", "q"}),
        ("def f(p, q):\n  for a in reversed(p['x']):\n    q = q * a\n  return q", {"p.x.*", "q"}),
        ("def f(p, q):\n  for a in p[:-1]:\n    q = q * a\n  return q", {"q"}),
        ("def f(p, q):\n  a, b = p, q\n  for _ in range(9):\n    a, b = b, p\n  return a", set()),
        ("def f(p, q):\n  while p.ndim:\n    p = p[0]\n  return p", set()),
        ("def f(p, q):\n  p += q\n  return p", {"p", "q"}),
        ("def f(p, q):\n  (a, b), *rest = p, q\n  return a", set()),
        ("def f(p, q):\n  (a, b), c = p, q\n  return b + c", {"p.1", "q"}),
        ("def f(p, q):\n  with scope():\n    r = jnp.dot(p, q)\n  return r", {"p", "q"}),
        ("def f(p, q): return loss_of(p, q)", {"p.w", "q.x", "q.y"}),
        ("def f(p, q): return loss_of(batch=q, params=p)", {"p.w", "q.x", "q.y"}),
        ("def f(p, q): return jax.value_and_grad(loss_of)(p, q)[0]", {"p.w", "q.x", "q.y"}),
        ("def f(p, q): return jax.value_and_grad(loss_of)(p, q)[1]", {"p.w", "q.x", "q.y"}),
        ("def f(p, q): return jax.grad(loss_of)(p, q)", {"p.w", "q.x", "q.y"}),
        ("def f(p, q): return jax.grad(lambda r: (r - q).sum())(p)", set()),
        ("def f(p, q): return jax.grad(lambda r: (r * q).sum())(p)", {"q"}),
        ("def f(p, q): return jax.grad(lambda r: jnp.exp(r + q).sum())(p)", {"p", "q"}),
        ("def f(p, q): return jax.grad(lambda r: jnp.argmax(r * q))(p)", set()),
        ("def f(p, q): return jax.grad(lambda r: (r['a'] * q).sum() + q)(p)", {"q"}),
        ("def f(p, q): return jax.grad(lambda r: (r['a'][q] ** 2).sum())(p)", {"p.a", "q"}),
        ("def f(p, q): return jax.grad(lambda a, b: a * b, argnums=1)(p, q)", set()),
        ("def f(p, q): return jax.grad(lambda r: (r * q, r), has_aux=True)(p)", {"p", "q"}),
        ("def f(p, q): return jax.grad(lambda r: (r * q, q), has_aux=True)(p)[1]", {"q"}),
        ("def f(p, q): return jax.grad(lambda r: q * jax.lax.stop_gradient(r))(p)", set()),
        ("def f(p, q): return jax.grad(lambda r: jax.grad(lambda s: s * s * q)(r))(p)", set()),
        ("def f(p, q):\n  @jax.grad\n  def g(r): return r * q\n  return g(p)", {"q"}),
        ("def f(p, q):\n  u, s = tx.update(q, s0, p)\n  return optax.apply_updates(p, u)",
         {"p", "q"}),
        ("def f(p, q): return p.apply_gradients(grads=q)", {"p", "q"}),
        ("def f(p, q): return layer(p, w=q)", {"p", "q"}),
        ("def f(p, q):\n  def g(x): return x * q\n  return g(p)", {"p", "q"}),
        ("def f(p, q): return jax.vmap(lambda x: x * q)(p)", {"p", "q"}),
        ("def f(p, q): return jax.tree.map(lambda a, b: a - b, p, q)", {"p", "q"}),
        ("def f(p, q): return jax.tree.map(lambda a, b: a, p, q)", {"p"}),
        ("def f(p, q): return optax.apply_updates(p, q)", {"p", "q"}),
        ("def f(p, q): return p.at[0].set(1)", {"p"}),
        ("def f(p, q): return model.apply({'params': p}, q)", {"p", "q"}),
        ("def f(p, q): return jnp.zeros_like(p)", set()),
        ("def f(p, q): return unknown(p) + q", {"q"}),
        ("def f(p, q): return twice(p)(q)", set()),
        ("def f(p, q): return again(p)", set()),
        ("def f(*p, **q): return p[0] + q['a']", set()),
        ("def f(p, q): return " + "-" * 500 + "p", set()),
    ],
)  # fmt: skip
def test_needed_parts(text: str, expected: set[str]) -> None:
    assert parts(text) == expected
