"""JDP208: the fix that is shown, the places that a finding goes back to, and its certainty."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from placement_lint.files.source import Source
from placement_lint.findings import Applicability, Confidence
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.rules.registry import rule_by_code
from placement_lint.syntax.edits import apply_edits

if TYPE_CHECKING:
    from placement_lint.findings import Finding

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(params, x, y=0.0):
    return params - 0.1 * jax.grad(lambda p: jnp.mean((x @ p - y) ** 2))(params)


cpu = jax.devices("cpu")[0]
x = jax.device_put(np.load("x.npy"), cpu)
y = jax.device_put(np.load("y.npy"), cpu)
params = jnp.zeros((256, 256))
"""
LOOP = "for i in range(10):\n    "


def findings(text: str) -> tuple[Finding, ...]:
    return lint_source(Source("example.py", text), FileOptions((rule_by_code("JDP208"),))).findings


def shown(text: str) -> str | None:
    """Return what the fix of the only finding makes of a text; None where none is shown."""
    (finding,) = findings(text)
    if finding.fix is None:
        return None
    assert finding.fix.applicability is Applicability.DISPLAY
    return apply_edits(Source("example.py", text), list(finding.fix.edits))


FIXED = {
    "item": (
        LOOP + "params = step(params, x[i])",
        LOOP + "params = step(params, jax.device_put(x[i], jax.devices()[0]))",
    ),
    "two": (
        LOOP + "params = step(params, x[i], y=y[i])",
        LOOP + "params = step(params, jax.device_put(x[i], jax.devices()[0]), "
        "y=jax.device_put(y[i], jax.devices()[0]))",
    ),
    "name": (
        LOOP + "batch = x[i]\n    params = step(params, batch)",
        LOOP + "batch = x[i]\n    params = step(params, jax.device_put(batch, jax.devices()[0]))",
    ),
    "in-a-tuple": (
        "fit = jax.jit(lambda p, b: p - jax.grad(lambda q: jnp.mean(b[0] @ q - b[1]))(p))\n"
        + LOOP + "params = fit(params, (x[i], y[i]))",
        "fit = jax.jit(lambda p, b: p - jax.grad(lambda q: jnp.mean(b[0] @ q - b[1]))(p))\n"
        + LOOP + "params = fit(params, (jax.device_put(x[i], jax.devices()[0]), "
        "jax.device_put(y[i], jax.devices()[0])))",
    ),
    "operator": (
        "out = jnp.ones((512, 512)) @ x[0]",
        "out = jnp.ones((512, 512)) @ jax.device_put(x[0], jax.devices()[0])",
    ),
    "whole-but-once": (
        "params = step(params, x)",
        "params = step(params, jax.device_put(x, jax.devices()[0]))",
    ),
    "another-accelerator": (
        "with jax.default_device(jax.devices('gpu')[1]):\n    other = jnp.zeros((256, 256))\n"
        + LOOP + "other = step(other, x[i])",
        "with jax.default_device(jax.devices('gpu')[1]):\n    other = jnp.zeros((256, 256))\n"
        + LOOP + 'other = step(other, jax.device_put(x[i], jax.devices("gpu")[1]))',
    ),
    "several-processes": (
        "jax.distributed.initialize()\n" + LOOP + "params = step(params, x[i])",
        "jax.distributed.initialize()\n"
        + LOOP + "params = step(params, jax.device_put(x[i], jax.local_devices()[0]))",
    ),
    "names-of-its-own": (
        "from jax import device_put as put\n" + LOOP + "params = step(params, x[i])",
        "from jax import device_put as put\n"
        + LOOP + "params = step(params, put(x[i], jax.devices()[0]))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXED)
def test_what_is_taken_is_put_on_the_device_of_the_others(name: str) -> None:
    before, after = FIXED[name]
    # Long lines are split.
    made = shown(f"{HEAD}{before}\n")
    assert made is not None
    assert ast.unparse(ast.parse(made)) == ast.unparse(ast.parse(f"{HEAD}{after}\n"))
    assert findings(f"{HEAD}{after}\n") == ()


@pytest.mark.parametrize(
    "text",
    [
        LOOP + "params = step(params, x)",
        LOOP + "grads = jax.grad(lambda p: jnp.mean(x[i] @ p))(params); params = params - grads",
        "big = jnp.ones((512, 512))\nbig += x[0]",
        "params = jax.lax.fori_loop(0, 9, lambda i, p: p - x[i] @ p, params)",
    ],
    ids=["whole-in-a-loop", "closed-over", "augmented", "closed-over-in-a-loop-of-jax"],
)
def test_where_nothing_is_shown(text: str) -> None:
    assert shown(f"{HEAD}{text}\n") is None


def test_where_a_finding_goes_back_to() -> None:
    (finding,) = findings(f"{HEAD}{LOOP}params = step(params, x[i], y[i])\n")
    assert [(r.message, r.span.line, r.span.column) for r in finding.related] == [
        ("committed to the host here", 12, 5),
        ("committed to the host here", 13, 5),
        ("uncommitted: copied to the host", 16, 19),
    ]
    assert (finding.span.line, finding.span.column) == (16, 27)
    assert finding.message == (
        '`x[i]` and `y[i]` are committed to jax.devices("cpu")[0]: `step` runs there each time, '
        "not on the accelerator; `params` (262.1 kB) is copied there, and what replaces it stays "
        "there"
    )


def test_what_an_operation_gave_on_the_host_is_no_place_that_committed_it() -> None:
    text = f"{HEAD}scaled = jnp.ones((1,)) * x\n{LOOP}params = step(params, scaled[i])\n"
    (finding,) = findings(text)
    assert [r.span.line for r in finding.related] == [12, 17]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("", Confidence.DEFINITE),
        ("if input():\n    params = __import__('mine').params\n", Confidence.LIKELY),
        ("step = jax.jit(__import__('mine').step)\n", Confidence.LIKELY),
    ],
    ids=["sure", "perhaps-others", "an-unknown-function"],
)
def test_how_sure_it_is(text: str, confidence: Confidence) -> None:
    (finding,) = findings(f"{HEAD}{text}{LOOP}params = step(params, x[i])\n")
    assert finding.confidence is confidence


@pytest.mark.parametrize(
    ("made", "amount"),
    [
        ("jnp.zeros((256, 256))", " (262.1 kB)"),
        ("jnp.zeros((256, 256), jnp.bfloat16)", " (131.1 kB)"),
        ("jnp.zeros((256, 256), dtype='int8')", " (65.5 kB)"),
        ("jnp.zeros((256, 256), dtype)", ""),
        ("jax.random.normal(key, (256, 256)) * 0.02", " (262.1 kB)"),
        ("0.1 * jnp.ones((256, 256)).astype(jnp.float16)", ""),
        ("jnp.zeros_like(jnp.ones((256, 256)))", " (262.1 kB)"),
        ("jax.random.normal(key, (size, 256))", ""),
        ("{'a': jnp.zeros(256), 'b': jnp.ones((2, 256))}", " (3.1 kB)"),
        ("{'a': jnp.zeros(256), 'b': jnp.ones((size, 256))}", ""),
        ("jnp.asarray(np.load('w.npy'))", ""),
    ],
)
def test_how_much_is_copied_is_said_where_the_source_says_it(made: str, amount: str) -> None:
    start = "def main(key, size, dtype):\n    x = jax.device_put(np.load('x.npy'), cpu)\n"
    loop = f"    params = {made}\n    for i in range(9):\n        params = step(params, x[i])\n"
    (finding,) = findings(f"{HEAD}{start}{loop}")
    assert f"; `params`{amount} is copied there, and" in finding.message


def test_numbers_may_have_64_bits() -> None:
    text = f"{HEAD}{LOOP}params = step(params, x[i])\n"
    for head in ('jax.config.update("jax_enable_x64", True)\n', "jax.enable_x64(True)\n"):
        (finding,) = findings(f"import jax\n{head}{text}")
        assert "; `params` is copied there, and" in finding.message
