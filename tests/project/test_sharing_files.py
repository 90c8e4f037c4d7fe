"""Which files are interpreted together since they share a mesh, or what puts arrays."""

import ast
from pathlib import Path

import pytest

from placement_lint.files.store import FileStore
from placement_lint.project import sharing_files
from placement_lint.project.sharing_files import shared_names, sharing

PUTTING = """\
import jax

def shard(x, sharding):
    return jax.device_put(x, sharding)

def shard_all(tree, sharding):
    return jax.tree.map(lambda x: shard(x, sharding), tree)
"""
MESHES = """\
import jax

def make(devices):
    return jax.sharding.Mesh(devices, ("data", "model"))

def configured(devices, config):
    return jax.sharding.Mesh(devices, config.axes)

def named(devices, *, axes):
    return jax.sharding.Mesh(devices, axis_names=tuple(axes))

def named_below(devices, axes):
    return named(devices, axes=axes)

AXES = ["data"]
AXES += ["model"]

def of_the_file(devices):
    return jax.sharding.Mesh(devices, AXES)

def by_default(devices, axes=("data", "model")):
    return jax.sharding.Mesh(devices, axes)

line = jax.make_mesh((8,), ("data",))
"""
COMPILING = "import jax\nfrom {file} import {name}\nstep = jax.jit(lambda x: {name}(x, s))\n"
CALLING = "from {file} import {name}\nbatch = {name}(batch, s)\n"
SPLITTING = "from {file} import {name}\ns = NamedSharding({name}, P({axis}))\n"


def shared(folder: Path, imports: list[tuple[str, str, str]], **texts: str) -> list[str]:
    paths = {}
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        paths[name] = str(path)
    store = FileStore()
    defined = {
        path: shared_names(path, texts[name].encode(), store) for name, path in paths.items()
    }
    named = [(paths[one], paths[other], name) for one, other, name in imports]
    found = sharing(defined, named, store)
    return sorted(Path(path).stem for path in found)


@pytest.mark.parametrize("name", ["shard", "shard_all"])
def test_what_compiled_code_of_another_file_puts(tmp_path: Path, name: str) -> None:
    user = COMPILING.format(file="helper", name=name)
    assert shared(tmp_path, [("user", "helper", name)], helper=PUTTING, user=user) == [
        "helper", "user",
    ]  # fmt: skip


def test_others_who_call_it_belong_to_them(tmp_path: Path) -> None:
    user = COMPILING.format(file="helper", name="shard")
    data = CALLING.format(file="helper", name="shard")
    imports = [("user", "helper", "shard"), ("data", "helper", "shard")]
    assert shared(tmp_path, imports, helper=PUTTING, user=user, data=data) == [
        "data", "helper", "user",
    ]  # fmt: skip


def test_what_nobody_compiles_is_not_shared(tmp_path: Path) -> None:
    data = CALLING.format(file="helper", name="shard")
    assert shared(tmp_path, [("data", "helper", "shard")], helper=PUTTING, data=data) == []


def test_a_test_does_not_count(tmp_path: Path) -> None:
    user = COMPILING.format(file="helper", name="shard")
    imports = [("test_user", "helper", "shard")]
    assert shared(tmp_path, imports, helper=PUTTING, test_user=user) == []


@pytest.mark.parametrize(
    ("name", "axis", "found"),
    [
        ("make", '"data"', ["meshes", "user"]),
        ("line", '"data"', ["meshes", "user"]),
        ("line", "axis", []),
        ("configured", '"data"', []),
        ("of_the_file", '"data"', ["meshes", "user"]),
        ("by_default", '"data"', ["meshes", "user"]),
        ("named", '"data"', []),
    ],
)
def test_a_mesh_and_a_spec_of_another_file(
    tmp_path: Path, name: str, axis: str, found: list[str]
) -> None:
    user = SPLITTING.format(file="meshes", name=name, axis=axis)
    assert shared(tmp_path, [("user", "meshes", name)], meshes=MESHES, user=user) == found


@pytest.mark.parametrize(
    ("called", "found"),
    [
        ('named(d, axes=("data", "model"))', True),
        ("named_below(d, AXES)", True),
        ("named_below(d, config.axes)", False),
        ("configured(d, Config('data'))", False),
        ("named(d, axes=config.get('axes'))", False),
        ("other(d, 'data')", False),
    ],
)
def test_axes_that_another_file_passes(tmp_path: Path, called: str, *, found: bool) -> None:
    user = f"import meshes\nAXES = ('data',)\ns = NamedSharding(meshes.{called}, P('data'))\n"
    files = ["meshes", "user"] if found else []
    assert shared(tmp_path, [("user", "meshes", "")], meshes=MESHES, user=user) == files


def test_files_that_do_not_parse_share_nothing(tmp_path: Path) -> None:
    user = COMPILING.format(file="helper", name="shard")
    broken = f"{PUTTING}\ndef (:\n"
    assert shared(tmp_path, [("user", "helper", "shard")], helper=broken, user=user) == []
    assert shared(tmp_path, [("user", "helper", "shard")], helper=PUTTING, user=broken) == []


def test_the_functions_around_each_node_are_found_in_one_walk() -> None:
    """What is in each function, and in which ones something is done, is what `ast.walk` says."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    checked = 0
    for path in sorted(Path(sharing_files.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = sharing_files._Nodes(tree)
        assert [*map(type, nodes.nodes)] == [
            type(node) for node in ast.walk(tree) if not isinstance(node, ast.expr_context)
        ]
        found = {node.name: node for node in ast.walk(tree) if isinstance(node, functions)}
        assert {name: nodes.nodes[place] for name, place in nodes.functions.items()} == found
        for name, place in nodes.functions.items():
            assert nodes.names[place] == {*sharing_files._names(found[name])}
            checked += 1
        yielding = nodes.doing(lambda node: isinstance(node, ast.Yield))
        assert {nodes.nodes[place] for place in yielding} == {
            node
            for node in ast.walk(tree)
            if isinstance(node, functions)
            and any(isinstance(each, ast.Yield) for each in ast.walk(node))
        }
    assert checked > 200
