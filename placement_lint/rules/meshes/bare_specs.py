"""Specs that no mesh is given with, and the meshes in force that they are for."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_test_file
from placement_lint.jaxmodel.tracing import TraceKind
from placement_lint.placement.domain.mesh_contexts import MeshSource, is_none
from placement_lint.placement.domain.sharding import Mesh, Spec
from placement_lint.rules.commitment.mixtures import calls_by_name
from placement_lint.rules.meshes.constraints import CONSTRAINT, names_set_mesh, sets_for_good
from placement_lint.rules.meshes.shardings import calls_at, may_know_specs
from placement_lint.semantic.enclosing import (
    ancestors_in_function,
    failure_is_expected,
    is_caught,
    is_in_test,
    mentions_word,
    passed_exits,
)
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.import_statements import imported_names
from placement_lint.syntax.pytest_fixtures import is_plain_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.mesh_contexts import Meshes
    from placement_lint.placement.domain.sharded_calls import ShardedCall
    from placement_lint.placement.domain.values import Value
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

PUT = "jax.device_put"
CAUGHT = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.RuntimeError", "builtins.ValueError",
})  # fmt: skip
_SHARDED = frozenset({TraceKind.SHARDED})
_MOST_CALLS = 16
"""Calls of one function; where there are more, one of them is taken to ask for a mesh."""


def calls_with_specs(node: cst.Call, ctx: Context) -> frozenset[ShardedCall]:
    """Return the executions of a call that may be given specs without a mesh.

    What it is given for the placement of arguments and results is in `ShardedCall.given`, of what
    `jax.jit` made in the first two.
    """
    if ctx.is_call(node, CONSTRAINT, PUT):
        # In the body of a shard_map a spec is for axes that are not manual there.
        in_shard_map = ctx.module.fact(TracedFunctions).around(node, _SHARDED) is not None
        return frozenset() if in_shard_map else calls_at(node, ctx)
    return frozenset(ctx.flow.record.sharded_calls.compiled.get(ctx.tree.index(node), ()))


def bare_specs(call: ShardedCall) -> list[Spec]:
    """Return the specs that an execution surely is given without a mesh, one of each place."""
    return [
        min((atom for atom in held if isinstance(atom, Spec)), key=str)
        for given in call.given[:2]
        for held in each_leaf(given)
        if held and all(isinstance(atom, Spec) for atom in held)
    ]


def each_leaf(held: Value, depth: int = 4) -> Iterator[Value]:
    """Yield what each leaf of a tree of specs and shardings may be."""
    from placement_lint.placement.domain.values import Mapping, Sequence, sole

    only = sole(held)
    if isinstance(only, Sequence) and only.items is not None and depth:
        for item in only.items:
            yield from each_leaf(item, depth - 1)
    elif isinstance(only, Mapping) and depth:
        for _, item in only.items:
            yield from each_leaf(item, depth - 1)
    else:
        yield held


def meshes_for(call: ShardedCall, ctx: Context, *, constrains: bool) -> frozenset[Mesh]:
    """Return the meshes of which one surely is in force for specs; none where that is not known.

    `constrains`: it is a constraint, which takes that of `with mesh:` where none is set.
    """
    by_set = call.meshes.by_set
    if constrains and (is_none(by_set) or _is_unset(by_set, ctx)):
        return _meshes(call.meshes.by_with)
    return _meshes(by_set)


def _is_unset(meshes: Meshes, ctx: Context) -> bool:
    """Return whether nothing in the program may have set a mesh."""
    is_outside = meshes <= {MeshSource.OUTSIDE, MeshSource.LEFT, MeshSource.NOWHERE}
    return is_outside and not names_set_mesh(ctx)


def _meshes(meshes: Meshes) -> frozenset[Mesh]:
    known = frozenset(atom for atom in meshes if isinstance(atom, Mesh))
    return known if len(known) == len(meshes) else frozenset()


def without_mesh(node: cst.Call, ctx: Context) -> list[ShardedCall]:
    """Return the executions of a call with a spec that surely have no mesh in force for it.

    None where something may set a mesh that nothing here leads to, or a condition asks for one.
    """
    if not may_know_specs(ctx):
        return []
    constrains = ctx.called(node) == CONSTRAINT
    found = [
        call
        for call in calls_with_specs(node, ctx)
        if is_none(call.meshes.by_set)
        and (not constrains or is_none(call.meshes.by_with))
        and bare_specs(call)
    ]
    if not found or _is_guarded(node, ctx, set()):
        return []
    # Executed alone, a file has read none of those that it imports.
    others = _imports_others if ctx.module.is_executed else _names_others
    every = ctx.module.siblings.values()
    if sets_for_good(ctx) or any(facts.fact(others) for facts in every):
        # What others set, they set for their own thread.
        return [
            call for call in found if MeshSource.THREAD in call.meshes.by_set | call.meshes.by_with
        ]
    return found


def was_left(call: ShardedCall) -> bool:
    """Return whether there was a mesh in force where what runs was made, or started."""
    return MeshSource.LEFT in call.meshes.by_set or MeshSource.LEFT in call.meshes.by_with


def _is_guarded(node: cst.CSTNode, ctx: Context, seen: set[int]) -> bool:
    """Return whether what a call raises may be caught or meant, or a condition asks for a mesh.

    There, or where something calls the function around it.
    """
    if failure_is_expected(node, ctx) or is_caught(node, ctx, CAUGHT) or _asks_for_mesh(node, ctx):
        return True
    function = ctx.function(node)
    if function is None or id(function) in seen:
        return False
    seen.add(id(function))
    if is_in_test(node, ctx):
        # What is called only without a mesh raises in a test that expects nothing of the kind.
        if not (isinstance(function, cst.FunctionDef) and is_test_file(ctx.module.path)):
            return True
        if "test" in function.name.value or ctx.function(function) is not None:
            return not is_plain_test(function, ctx.names)
    for name in _names_of(function, ctx):
        calls = list(itertools.islice(calls_by_name(name, ctx), _MOST_CALLS + 1))
        if len(calls) > _MOST_CALLS:
            return True
        if any(_is_guarded(call, there, seen) for call, there in calls):
            return True
    return False


def _names_of(function: cst.FunctionDef | cst.Lambda, ctx: Context) -> set[str]:
    """Return the names by which a function is called, also after it was compiled."""
    compiled = ctx.module.fact(_compiled_names)
    if isinstance(function, cst.Lambda):
        return compiled.get(id(function), set())
    return {function.name.value, *compiled.get(function.name.value, ())}


def _compiled_names(facts: ModuleFacts) -> dict[int | str, set[str]]:
    """Return the names that are bound to what calls make of functions: by their names, or by id."""
    found: dict[int | str, set[str]] = {}
    for assigned in facts.tree.every(cst.Assign):
        targets = {dotted(each.target).rpartition(".")[2] for each in assigned.targets} - {""}
        for argument in assigned.value.args if isinstance(assigned.value, cst.Call) else ():
            given = argument.value
            key = id(given) if isinstance(given, cst.Lambda) else dotted(given)
            if key:
                found.setdefault(key, set()).update(targets)
    return found


def _asks_for_mesh(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a condition around a call, or above it, may ask for a mesh."""
    around = (
        ancestor.test
        for child, ancestor in ancestors_in_function(node, ctx)
        if isinstance(ancestor, cst.If | cst.IfExp) and child is not ancestor.test
    )
    above = (each.test for each in passed_exits(node, ctx))
    return any(
        mentions_word(test, _ASKING, ctx) and not _only_divides(test) for test in (*around, *above)
    )


def _only_divides(test: cst.BaseExpression) -> bool:
    """Return whether a condition only asks for a remainder: `batch_size % jax.device_count()`."""
    asked = test.left if isinstance(test, cst.Comparison) else test
    return isinstance(asked, cst.BinaryOperation) and isinstance(asked.operator, cst.Modulo)


def _imports_others(facts: ModuleFacts) -> bool:
    """Return whether a file imports what is not read here, and may set a mesh."""
    module, linking = facts.flow.module, facts.flow.program.linking
    return any(linking.found(module, name) is None for name in facts.fact(_names_others))


def _names_others(facts: ModuleFacts) -> list[str]:
    """Return what a file imports that may set a mesh, where nobody knows more of it."""
    return [
        name
        for node in facts.tree.every(cst.Import, cst.ImportFrom)
        for name in imported_names(node)
        if name.partition(".")[0] not in _HARMLESS
    ]


_ASKING = ("axes", "device", "distributed", "empty", "mesh", "shard")
_HARMLESS = frozenset(sys.stdlib_module_names) | {
    "IPython", "PIL", "absl", "accelerate", "aiohttp", "altair", "aqt", "argh", "array_record",
    "attr", "attrs", "beartype", "blackjax", "bokeh", "chex", "click", "cloudpickle", "clu",
    "colorama", "colorlog", "cv2", "dataclasses_json", "datasets", "defopt", "diffrax", "diffusers",
    "dill", "distrax", "dmvr", "docopt", "docutils", "dotenv", "draccus", "einops", "envpool",
    "equinox", "etils", "evaluate", "fastapi", "fastavro", "filelock", "fire", "flask",
    "flatbuffers", "flax", "fsspec", "gcsfs", "gin", "git", "google", "grain", "grpc", "gym",
    "gymnasium", "h5py", "haiku", "hf_transfer", "httpx", "huggingface_hub", "humanfriendly",
    "humanize", "hydra", "hypothesis", "imageio", "immutabledict", "intake", "ipywidgets", "jax",
    "jaxlib", "jaxopt", "jaxtyping", "jinja2", "jmp", "joblib", "jraph", "jsonargparse",
    "jsonlines", "jumanji", "kagglehub", "kubernetes", "librosa", "lightgbm", "lineax", "lmdb",
    "loguru", "lvis", "lz4", "matplotlib", "mediapy", "metrax", "ml_collections", "ml_dtypes",
    "ml_goodput_measurement", "mlflow", "mpi4py", "msgpack", "mujoco", "netCDF4", "networkx",
    "nibabel", "nltk", "numba", "numpy", "numpyro", "nvtx", "omegaconf", "open3d", "openai",
    "openpyxl", "opentelemetry", "opt_einsum", "optax", "optimistix", "orbax", "orjson",
    "packaging", "pandas", "peft", "pettingzoo", "placement_lint", "plotly", "polars", "pooch",
    "portpicker", "psutil", "pyarrow", "pycocoevalcap", "pycocotools", "pydantic", "pydicom",
    "pygments", "pynvml", "pyrallis", "pytest", "rdkit", "regex", "requests", "rich", "rlax",
    "s3fs", "sacred", "safetensors", "scipy", "seaborn", "sentencepiece", "seqio", "setuptools",
    "simple_parsing", "skimage", "sklearn", "soundfile", "sphinx", "sqlalchemy", "starlette",
    "streamlit", "sympy", "tabulate", "tensorboard", "tensorboardX", "tensorflow",
    "tensorflow_addons", "tensorflow_datasets", "tensorflow_hub", "tensorflow_probability",
    "tensorflow_text", "tensorstore", "termcolor", "tiktoken", "timm", "tokenizers", "toml",
    "tomli", "tomlkit", "torch", "torchaudio", "torchvision", "tqdm", "transformers", "tree",
    "treescope", "typeguard", "typer", "typing_extensions", "tyro", "ujson", "uvicorn", "uvloop",
    "wandb", "webdataset", "websockets", "xarray", "yaml", "zarr", "zmq", "zstandard",
}  # fmt: skip
"""Packages that set no mesh for the code that calls them."""
