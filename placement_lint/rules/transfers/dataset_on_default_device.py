"""JDP401."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.transfer import NUMPY_LOADERS, Effect
from placement_lint.placement.domain import contents, program_values, values
from placement_lint.placement.domain.consequences import Destination
from placement_lint.placement.domain.devices import Device
from placement_lint.prefilter.conditions import AllOf, AnyOf, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.rules.commitment.writing import effects, imports_of, put_back, written
from placement_lint.rules.transfers.dataset_evidence import (
    argument_words,
    gives_one_of_many,
    is_asked_by_name,
    is_dataset,
    is_yielded_in_loop,
    source_words,
)
from placement_lint.rules.transfers.putting_later import is_put_later
from placement_lint.semantic.enclosing import is_in_test
from placement_lint.syntax.calls import Arguments, text_at_end
from placement_lint.syntax.definitions import parameter_named
from placement_lint.syntax.dotted import said
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from placement_lint.rules.base import LaterPlan
    from placement_lint.rules.commitment.writing import Around
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor

_LOADERS = {"safetensors.flax.load_file": "filename", "safetensors.flax.load": "data"}
_MAX_HOPS = 8
_READING = NUMPY_LOADERS | {"h5py.File"}
"""What gives NumPy arrays of files."""
_READING_WORDS = frozenset(name.rpartition(".")[2] for name in _READING)
_CREATORS = frozenset({"jax.numpy.array", "jax.numpy.asarray"})
_JOINING = frozenset(f"jax.numpy.{name}" for name in ("concatenate", "hstack", "stack", "vstack"))
_OF_ARCHIVES = frozenset({"files", "items", "keys", "values"})
_EACH = frozenset({*TREE_MAPS, "builtins.map"})
"""What calls a creator for each array."""
_PLACING = (
    "jax.device_put",
    "jax.device_get",
    "jax.make_array_from_process_local_data",
    "jax.make_array_from_callback",
    "jax.eval_shape",
)


class DatasetOnDefaultDevice(Rule):
    """A dataset that is loaded onto the accelerator, the default device of its loader.

    ## What it does
    Finds `safetensors.flax.load_file` and `load`, `jnp.load` of a `.npy` file, and `jnp.array` or
    `jnp.asarray` of a whole NumPy or HDF5 file, or for each of several, and `jnp.concatenate` of
    such files, if no default device was chosen and there is evidence that a dataset is loaded: a
    word (`train`, `dataset`, `tokens`, `images` …) in the path, the folder of which all files are
    loaded (`[jnp.load(p) for p in (root / "train").glob("*.npy")]`), the key, the variable's name,
    the function's or the class's name, or an index in a loop; for what an object keeps, in a method
    that gives one item after the other (`__getitem__`, `__iter__`, a generator). All of a file that
    `np.memmap` maps, or of which `np.fromfile(path).reshape(-1, 6)` reads as many rows as it has,
    needs no such word, nor does an array of which a loop takes slices from one end to the other,
    `for i in range(0, len(x), 32): step(x[i : i + 32])`, perhaps in a function that is given it.

    ## Why is this bad?
    These loaders put every array on the default device: the whole dataset is in the accelerator's
    memory before the first step. With a token file of 19 GiB, a program ran out of memory on a card
    of 24 GiB. A smaller dataset takes memory that larger batches could use for as long as the
    program runs, although the accelerator needs only one batch at a time.

    ## Example
    ```python
    import jax
    from safetensors.flax import load_file

    tokens = load_file("train.safetensors")["tokens"]
    for i in range(1000):
        batch = tokens[i]
    ```

    ## Use instead
    ```python
    import jax
    from safetensors.flax import load_file

    with jax.default_device(jax.devices("cpu")[0]):
        tokens = jax.device_put(load_file("train.safetensors")["tokens"], jax.devices("cpu")[0])
    for i in range(1000):
        batch = jax.device_put(jax.device_get(tokens[i]))
    ```

    Each batch is put on the accelerator, where the parameters are; a batch of the committed dataset
    would otherwise make every step run on the host. Or load NumPy arrays, which stay on the host:
    `safetensors.numpy.load_file`, `np.load`, and `jax.device_put(tokens[i])`.

    ## Fix safety
    Unsafe: computations with the whole array then run on the host. Each part that is taken from it
    is put on the accelerator, so that computations with parts stay there. No fix if arrays on the
    accelerator would be copied to the host, or if JAX would raise.

    ## What it does not flag
    Model weights, recognised by a word such as `params`, `weights`, `model` or `checkpoint` in the
    same places, or by their use (`model.apply(loaded, …)`). Files without evidence of their
    contents. Arrays that are only given to compiled functions, which take no items of them:
    training with all of a dataset at each step. Loads under any `jax.default_device`, loads that
    are put on a device at once, and loads inside a jitted function. `.npz` files, which `jnp.load`
    returns as NumPy arrays, also by their use (`jnp.load(path)["images"]`); slices of a
    file, but for a share of it (`data[: int(0.9 * len(data))]`); tests; files that ship with the
    code (a path made from `__file__`). If the dataset is meant for the accelerator and fits, load
    it under `with jax.default_device(jax.devices()[0])`, or add `# noqa: JDP401`.

    ## Verified by
    The proof writes a token file, loads it, and finds the array on the accelerator. Loaded as in
    the fix, the array and its items are on the host, committed.

    ## References
    - safetensors#399: a request for a device argument of the loader for Flax
    - vllm-project/tpu-inference: "the tensor will be loaded on TPU:0 by default", and the memory
      runs out
    """

    code, name = "JDP401", "dataset-on-default-device"
    advice = (
        'Load it under `with jax.default_device(jax.devices("cpu")[0]):` and commit it there, '
        "or load it with NumPy; then put each batch on the accelerator"
    )
    severity, fix = Severity.WARNING, Applicability.UNSAFE
    follows_callers = True
    # What a creator is given may have been read in another file of a program: each file of one is
    # checked by all rules.
    needs = AnyOf(
        Uses(*_LOADERS, "jax.numpy.load"),
        AllOf(Uses(*_CREATORS, *_JOINING), Uses(*_READING)),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name = ctx.name(node.func)
        converted = None
        if name in _EACH or name in _JOINING:
            name, converted = _conversion(name, node, ctx)
        if (name in _CREATORS or converted is not None) and not (
            ctx.module.has_siblings or ctx.module.fact(_reads)
        ):
            # What is NumPy here, and read of a file, is what this file reads.
            return
        source = (
            _source_words(name, node, ctx)
            if converted is None
            else _words_of_files(converted, node, ctx)
        )
        if source is None or not ctx.flow.runs_on_system_default(node):
            return
        if _is_placed_at_once(node, ctx) or not is_dataset(node, source, ctx):
            return
        if is_put_later(node, ctx) or is_in_test(node, ctx) or _is_packaged(node, ctx):
            return
        if is_yielded_in_loop(node, ctx):
            return
        loader = "jax.numpy." + (name or "").rpartition(".")[2]
        loader = loader if name and name.startswith("jax.") else (name or "")
        ctx.report(
            node,
            f"{loader} puts the whole dataset on the default device, the accelerator",
            confidence=Confidence.LIKELY,
            fix=None if ctx.is_call(node, "builtins.map") else _on_host(node, ctx),
        )


def _reads(facts: ModuleFacts) -> bool:
    """Return whether a file names something that gives NumPy arrays of files."""
    names = facts.names
    bound = (each for scope in names.scopes() for each in scope.bindings.values())
    if any(binding.target in _READING for bindings in bound for binding in bindings):
        # It may have another name here.
        return True
    return any(
        said(node) in _READING_WORDS and names.qualified(node) in _READING
        for node in facts.tree.every(cst.Attribute, cst.Name)
    )


def _source_words(name: str | None, node: cst.Call, ctx: Context) -> set[str] | None:
    """Return the words of what a call loads; None where it loads no file of arrays."""
    arguments = Arguments(node)
    if name in _LOADERS:
        source = arguments.get(0, _LOADERS[name])
        return source_words(source, node, ctx) if source is not None else set()
    row = ctx.names.row(node.func)
    if row in ctx.module.models and row.effect is Effect.LOAD:
        source = arguments.positional[0] if arguments.positional else None
        return source_words(source, node, ctx) if source is not None else set()
    if name == "jax.numpy.load":
        source = arguments.get(0, "file")
        if source is None or _is_archive(node, source, ctx):
            return None
        return source_words(source, node, ctx)
    if name in _CREATORS:
        source = arguments.get(0, "object", "a")
        if source is None or arguments.get(None, "device") is not None:
            return None
        if contents.is_file(ctx.flow.value(source)):
            return source_words(source, node, ctx)
    return None


def _is_archive(load: cst.Call, path: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether `jnp.load` reads an `.npz` file: by its path, the default of a parameter
    included, or by its use, as in `jnp.load(path)["images"]`.
    """
    parameter = parameter_named(path, ctx.names)
    written_out = path if parameter is None or parameter.default is None else parameter.default
    if text_at_end(written_out).endswith(".npz"):
        return True
    uses: list[cst.CSTNode] = [load]
    statement = ctx.parent(load)
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        if isinstance(target, cst.Name) and ctx.names.sole_value(target) is load:
            uses += ctx.names.uses(target.value, ctx.names.scope(target))
    return any(_asks_by_name(use, ctx) for use in uses)


def _asks_by_name(use: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an expression is asked for something by a name, as only an archive is."""
    around = ctx.parent(use)
    if isinstance(around, cst.Attribute) and around.value is use:
        return around.attr.value in _OF_ARCHIVES
    return is_asked_by_name(use, ctx)


def _conversion(
    name: str, node: cst.Call, ctx: Context
) -> tuple[str, cst.BaseExpression] | tuple[None, None]:
    """Return what converts or joins several arrays, and these arrays, of a call that does so.

    `jax.tree.map(jnp.asarray, arrays)`, `map(jnp.asarray, arrays)` and `jnp.concatenate(arrays)`.
    """
    given = Arguments(node)
    if given.is_open or not given.positional:
        return None, None
    if name in _JOINING:
        return name, given.positional[0]
    function = ctx.names.qualified(given.positional[0])
    if function in _CREATORS and len(given.positional) == len(node.args) == 2:
        return function, given.positional[1]
    return None, None


def _words_of_files(arrays: cst.BaseExpression, node: cst.Call, ctx: Context) -> set[str] | None:
    """Return the words of what several arrays are loaded from; None where one is of no file.

    What is joined in each iteration, or for each item that an object gives, are batches.
    """
    leaves = [*contents.leaves_of(ctx.flow.tree_of(arrays))]
    if not leaves or not all(map(contents.is_file, leaves)) or gives_one_of_many(node, ctx):
        return None
    return argument_words(arrays, ctx)


def _is_packaged(node: cst.Call, ctx: Context) -> bool:
    """Return whether a path leads to a file that ships with the code: those are small."""
    pending: list[cst.CSTNode] = list(node.args)
    hops = 0
    while pending and hops < _MAX_HOPS:
        part = pending.pop()
        for name in (part, *ctx.tree.descendants(part)):
            if (ctx.name(name) or "").startswith(("importlib.resources", "pkgutil")):
                return True
            if not isinstance(name, cst.Name):
                continue
            if name.value == "__file__":
                return True
            value = ctx.names.sole_value(name)
            if value is not None:
                pending.append(value)
                hops += 1
    return False


def _is_placed_at_once(node: cst.Call, ctx: Context) -> bool:
    """Return whether the loaded value is at once given to something that says where it goes."""
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.BaseSmallStatement | cst.BaseSuite):
            return False
        called = ctx.called(ancestor)
        if called in _PLACING or (called or "").startswith("numpy."):
            return True
    return False


def _meets_arrays(load: cst.Call, whole: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether other arrays are named in an expression, which may be anywhere."""
    around = set(ctx.ancestors(load))
    inside = {load, *ctx.tree.descendants(load)}
    return any(
        isinstance(part, cst.Name | cst.Attribute | cst.Call)
        and part not in around
        and part not in inside
        and any(True for _ in contents.arrays(ctx.flow.value(part)))
        for part in ctx.tree.descendants(whole)
    )


def _gives_arrays(node: cst.Call, whole: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether no call around gives what nobody knows here: an object cannot be put."""
    for around in ctx.tree.ancestors(node):
        known = not isinstance(around, cst.Call) or not any(
            isinstance(atom, values.Anything | program_values.External)
            for atom in ctx.flow.value(around)
        )
        if not known or around is whole:
            return known
    return True


def _on_host(node: cst.Call, ctx: Context) -> LaterPlan | None:
    """Load it under the host as default device, and commit it there."""
    statement = ctx.statement(node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    line = ctx.parent(statement)
    if (
        not isinstance(statement.targets[0].target, cst.Name)
        or not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) != 1
        or not isinstance(statement.value, cst.Call | cst.Subscript)
        or _meets_arrays(node, statement.value, ctx)
        or not _gives_arrays(node, statement.value, ctx)
    ):
        return None
    names = [
        ctx.reach(name, at=node) for name in ("jax.default_device", "jax.device_put", "jax.devices")
    ]
    if None in names:
        return None
    default_device, device_put, devices = names
    host = Destination(Device("cpu", 0))
    committed = ctx.flow.committed_by(statement.value, host, moves=True)

    def plan() -> FixPlan | None:
        commitment = committed()
        returned = None if commitment is None else put_back(commitment, ctx)
        if commitment is None or returned is None:
            return None
        what = "Load it on the host and commit it there, to compute there with all of it"
        return FixPlan(
            Applicability.UNSAFE,
            what + effects(commitment),
            partial(build, returned),
            imports=(*needed(names), *imports_of(returned)),
        )

    def build(returned: list[Around], editor: Editor) -> list[Edit] | None:
        around = written(returned, editor)
        if around is None:
            return None
        named = f"{devices}({editor.string('cpu', node)})[0]"
        start, end = editor.spans.inner(statement)
        first, last = editor.source.position(start)[0], editor.source.position(end)[0]
        indent = editor.indentation(first)
        step = ctx.tree.module.default_indent
        newline = editor.source.newline
        head = f"with {default_device}({named}):{newline}{indent}{step}"
        wrapped = editor.wrap(statement.value, f"{device_put}(", f", {named})")
        return [
            editor.insert(start, head),
            *wrapped,
            *editor.indent_lines(first + 1, last, step),
            *around,
        ]

    return plan
