"""What makes a program other than its text, and what sets a mesh."""

from __future__ import annotations

import libcst as cst
import pytest

from placement_lint.placement.facts.tampering import sets_mesh, tampers
from placement_lint.syntax.names import Names
from placement_lint.syntax.tree import Tree

HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom unittest import mock\n"
TAMPERING = [
    "exec('x = 1')",
    "globals()['x'] = 1",
    "jax.device_put = f",
    "jnp.zeros: object = f",
    "np.ones += f",
    "x = jax.jit = f",
    "setattr(jax, 'device_put', f)",
    "setattr(jnp, name, f)",
    "monkeypatch.setattr('jax.device_put', f)",
    "monkeypatch.setattr(jax, 'jit', f)",
    "monkeypatch.setattr(target=jax, name='jit', value=f)",
    "mock.patch('jax.device_put')",
    "mock.patch.object(jax, 'device_put')",
    "mock.patch.object(jnp, attribute='zeros')",
    "mock.patch('numpy.ones')",
    "mock.patch('safetensors.flax.load_file')",
]
HONEST = [
    "x = 1",
    "locals()['x'] = 1",
    "eval('x')",
    "jax.config.jax_enable_x64 = True",
    "jax.config.update('jax_platforms', 'cpu')",
    "setattr(jax.config, 'jax_enable_x64', True)",
    "setattr(x, 'device_put', f)",
    "setattr('x', 'jax', f)",
    "monkeypatch.setattr('os.environ', {})",
    "mock.patch('app.train')",
    "mock.patch.object(app, 'jax')",
    "mock.patch()",
    "x.jax = f",
    "jax_device_put = f",
    "device_put['x'] = f",
    "getattr(jax, 'device_put')",
    "jax.device_put(x)",
    "patched('jax.device_put')",
]


def parsed(text: str) -> tuple[Tree, Names]:
    tree = Tree(cst.parse_module(f"{HEAD}{text}\n"))
    return tree, Names(tree)


@pytest.mark.parametrize("text", TAMPERING)
def test_names_may_mean_something_else(text: str) -> None:
    assert tampers(*parsed(text))


@pytest.mark.parametrize("text", HONEST)
def test_names_mean_what_they_say(text: str) -> None:
    assert not tampers(*parsed(text))


@pytest.mark.parametrize("name", ["set_mesh", "sharding.set_mesh", "sharding.use_mesh"])
def test_a_mesh_is_set(name: str) -> None:
    assert sets_mesh(*parsed(f"with jax.{name}(mesh):\n    pass"))


def test_a_mesh_is_only_made() -> None:
    assert not sets_mesh(*parsed("mesh = jax.sharding.Mesh(devices, 'x')\nset_mesh(mesh)"))
