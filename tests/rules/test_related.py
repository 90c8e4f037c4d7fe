"""The other places that a finding names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from placement_lint.config.load import SettingsLoader
from placement_lint.files.source import Source
from placement_lint.lint.check_file import lint_source
from placement_lint.lint.file_results import FileOptions
from placement_lint.lint.linter import Linter
from placement_lint.rules.registry import rule_by_code

if TYPE_CHECKING:
    from pathlib import Path

SUSPENDED = """\
import contextlib
import jax

def rows(path):
    with open(path) as file, jax.default_device(jax.devices("cpu")[0]):
        for row in file:
            yield row

host = jax.default_device(jax.devices("cpu")[0])

async def wait(task):
    with host:
        return await task

def stacked():
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.default_device(jax.devices("cpu")[0]))
        yield 1
"""
MESHES = """\
import jax
from jax.interpreters import pxla

mesh = jax.make_mesh((8,), ("data",))
with mesh:
    print(pxla.thread_resources)
with open("log"), mesh:
    print(pxla.thread_resources.env)
with jax.make_mesh((8,), ("data",)):
    pass
"""
STARTED = """\
import jax

from . import options

def table():
    return jax.numpy.ones(options.SIZE)

KEY = jax.random.key(0)
TABLE = table()
"""
SHARDINGS = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
rows = NamedSharding(mesh, P("data"))
whole = NamedSharding(mesh, P())

@jax.jit
def put(x):
    return jax.device_put(x, rows) * 2

batch = jax.device_put(np.ones((8, 4)), rows)
state = jax.jit(jnp.zeros_like)(batch)
jax.device_put(np.ones((6, 4)), rows)
for row in batch:
    print(row)
single = jax.device_put(np.ones((8, 4)), jax.devices()[0])
batch + single
jax.jit(lambda x: x, in_shardings=whole)(batch)
"""
SPECS = """\
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
twice = P("data", "data")
rows = P("data")
NamedSharding(mesh, twice)
NamedSharding(rows, mesh)
jax.device_put(jnp.ones((8, 4)), rows)

@jax.jit
def step(x):
    jax.lax.with_sharding_constraint(x, NamedSharding(mesh, rows))
    return x * 2
"""
CHOSEN = """\
import sys
import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
columns = P(None, "model")
rows = P("model")
wide = P("data") if sys.argv[1:] else rows

@jax.jit
def step(x):
    jax.lax.with_sharding_constraint(x, NamedSharding(mesh, columns if sys.argv[2:] else wide))
    return x * 2
"""
MESH, ROWS, ALL = (6, 8), (7, 28), (8, 29)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("JDP103", SUSPENDED, [(7, [(5, 30)]), (13, [(12, 10)]), (18, [(17, 29)])]),
        ("JDP503", STARTED, [(8, [(9, 9)])]),
        ("JDP602", MESHES, [(5, [(7, 19), (9, 6)]), (6, [(8, 11)])]),
        ("JDP702", SPECS, [(8, [(6, 9)])]),
        ("JDP704", SPECS, [(9, [(7, 8), (5, 8)])]),
        ("JDP711", SPECS, [(10, [(7, 8)])]),
        ("JDP716", SPECS, [(14, [(5, 8), (7, 8)])]),
        ("JDP716", CHOSEN, [(12, [(5, 8), (6, 11), (7, 8), (8, 8)])]),
        ("JDP703", SHARDINGS, [(16, [MESH, ROWS])]),
        ("JDP705", SHARDINGS, [(12, [MESH, ROWS])]),
        ("JDP706", SHARDINGS, [(15, [MESH, ROWS])]),
        ("JDP709", SHARDINGS, [(20, [MESH, ROWS])]),
        ("JDP710", SHARDINGS, [(21, [MESH, ROWS, ALL])]),
        ("JDP714", SHARDINGS, [(17, [MESH, ROWS])]),
    ],
)
def test_where_related_places_are(
    code: str, text: str, expected: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    findings = lint_source(Source("s.py", text), FileOptions((rule_by_code(code),))).findings
    assert [
        (each.span.line, [(other.span.line, other.span.column) for other in each.related])
        for each in findings
        if each.code == code
    ] == expected


COMMON = """\
import jax

def scaled(x):
    return jax.device_put(x, jax.devices()[0]) * 2
"""
NAMESAKE = """\
import jax
from common import scaled

def inputs(rng, batch):
    return jax.random.normal(rng, batch.shape) + scaled(batch)

def run(rng, batch):
    return inputs(rng, batch)

def main(batch):
    return jax.jit(run)(jax.random.key(0), batch)
"""
CALLED = """\
import functools
import jax
import jax.numpy as jnp
from common import scaled
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def inputs(rng, mesh):
    latents = scaled(jax.random.normal(rng, (64, 64)))
    return jax.device_put(latents, NamedSharding(mesh, P("data")))

def run(state, rng, mesh):
    return inputs(rng, mesh) + state

def main():
    mesh = Mesh(jax.devices(), ("data",))
    step = jax.jit(functools.partial(run, rng=jax.random.key(0), mesh=mesh))
    print(step(jnp.zeros((64, 64))))

if __name__ == "__main__":
    main()
"""
BOTH = """\
import another
import sampler

def main(batch):
    another.main(batch)
    sampler.main()
"""


def test_a_function_of_the_same_name_in_another_file_is_no_caller(tmp_path: Path) -> None:
    files = {"common": COMMON, "another": NAMESAKE, "sampler": CALLED, "both": BOTH}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    run = Linter(SettingsLoader().for_file).check([str(tmp_path / f"{name}.py") for name in files])
    (finding,) = (each for each in run.findings if each.code == "JDP705")
    called = finding.related[0]
    assert (called.message, called.span.line) == ("called here, in compiled code", 12)


def test_many_places_are_not_all_named() -> None:
    text = 'import jax\nm = jax.make_mesh((8,), ("d",))\n' + "with m:\n    f()\n" * 245
    options = FileOptions((rule_by_code("JDP602"),))
    (finding,) = lint_source(Source("s.py", text), options).findings
    assert finding.message.endswith(" (244 more in this file)")
    assert len(finding.related) == 10
