"""How texts may set meshes."""

import pytest

from placement_lint.syntax.set_meshes import MeshSetting, mesh_setting

FOR_A_BLOCK = [
    "with jax.set_mesh(mesh):\n    run()\n",
    "with a, jax.set_mesh(mesh) as m, b:\n    run()\n",
    "async def f():\n    async with use_mesh(mesh):\n        run()\n",
    "with jax.set_mesh(mesh) if mesh is not None else nullcontext():\n    run()\n",
    "with mesh and jax.sharding.use_mesh(mesh) or nullcontext():\n    run()\n",
    "if hasattr(jax, 'set_mesh'):\n    set_mesh = jax.set_mesh\n",
    "set_mesh = jax.set_mesh if new else jax.sharding.use_mesh\n",
    "set_mesh = getattr(jax, 'set_mesh', None) or getattr(jax.sharding, 'use_mesh', None)\n",
    "set_mesh = getattr(jax, 'set_mesh', getattr(jax.sharding, 'use_mesh', None))\n",
    "from jax import set_mesh\nfrom jax.sharding import use_mesh as set_mesh\n",
]
NOWHERE = [
    '"""Like jax.set_mesh(mesh), but better."""\n# jax.set_mesh(mesh)\n',
    "def f():\n    'set_mesh comes later'\n    return 'no use_mesh here'\n",
    "mesh = reset_mesh()\n",
]
FOR_GOOD = [
    "jax.set_mesh(mesh)\n",
    "def f(mesh):\n    return jax.set_mesh(mesh)\n",
    "context = jax.set_mesh(mesh)\nwith context:\n    run()\n",
    "stack.enter_context(jax.set_mesh(mesh))\n",
    "with closing(jax.set_mesh(mesh)):\n    run()\n",
    "with jax.set_mesh(mesh):\n    jax.set_mesh(other)\n",
    "enter = jax.set_mesh\n",
    "enter = getattr(jax, 'set_mesh')\n",
    "getattr(jax, 'set_mesh')(mesh)\n",
    "set_mesh = getattr(jax, 'set_mesh')\nset_mesh(mesh)\n",
    "start(jax.set_mesh, mesh)\n",
    "from jax import set_mesh as enter\n",
    "setters = {'new': jax.set_mesh}\n",
    "with jax.set_mesh(mesh):\n    run(\n",
]


@pytest.mark.parametrize("text", FOR_A_BLOCK)
def test_a_mesh_for_a_block_does_not_stay(text: str) -> None:
    assert mesh_setting(text) is MeshSetting.FOR_BLOCKS


@pytest.mark.parametrize("text", FOR_GOOD)
def test_anything_else_may_stay(text: str) -> None:
    assert mesh_setting(text) is MeshSetting.FOR_GOOD


@pytest.mark.parametrize("text", NOWHERE)
def test_what_is_no_code_sets_none(text: str) -> None:
    assert mesh_setting(text) is MeshSetting.NEVER
