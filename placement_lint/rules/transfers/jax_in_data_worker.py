"""JDP409."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.callbacks import runs_on_device
from placement_lint.prefilter.conditions import AllOf, Jax, Uses
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.queries import followed
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.functions import calls_inside
from placement_lint.syntax.calls import Arguments, integer_value, string_value
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_TORCH = "torch.utils.data.DataLoader"
_GRAIN = frozenset({"grain.DataLoader", "grain.python.DataLoader"})
_DATASET_METHODS = ("__getitem__", "__getitems__", "__iter__")
_CONVERTING = frozenset({"jax.numpy.array", "jax.numpy.asarray"})
_OPERATION_METHODS = ("map", "random_map", "flat_map", "filter", "map_with_index")


class JaxInDataWorker(Rule):
    """A JAX computation that the worker processes of a data loader run.

    ## What it does
    Finds the first JAX computation in what a `torch.utils.data.DataLoader` with workers, or a
    `grain` one, runs in them: the `collate_fn`, the `worker_init_fn`, the methods of the dataset
    (`__getitem__`, `__iter__`), the operations. Functions and classes of the same file, and what
    these call in it. `jnp.array` and `jnp.asarray` count as well.

    ## Why is this bad?
    Each worker is a process of its own. One that was forked has the locks of JAX's threads and not
    the threads, and hangs at its first computation, or does so now and then; one that was
    spawned starts JAX again, and takes the accelerator, or three quarters of its memory, from the
    program that trains.

    ## Example
    ```python
    import jax.numpy as jnp
    from torch.utils.data import DataLoader

    def collate(batch):
        return jnp.stack(batch)

    def batches(dataset):
        return DataLoader(dataset, batch_size=32, num_workers=4, collate_fn=collate)
    ```

    ## Use instead
    ```python
    import numpy as np
    from torch.utils.data import DataLoader

    def collate(batch):
        return np.stack(batch)

    def batches(dataset):
        return DataLoader(dataset, batch_size=32, num_workers=4, collate_fn=collate)
    ```

    Then put each batch on the accelerator in the process that trains.

    ## Fix safety
    No fix: whether NumPy has the function, and computes the same, is for the author to say.

    ## What it does not flag
    Loaders without workers. Types (`jnp.float32`) and other names that compute nothing. Workers
    that are kept off the accelerator: where the file sets `JAX_PLATFORMS` to `cpu` and the loader
    spawns its workers. Datasets and functions that come from other files, or are not known.

    ## Verified by
    The proof runs JAX, lets a loader fork two workers, and waits for a batch: with the computation
    in the collating function there is none after twelve seconds; with NumPy there it comes at once.
    Where PyTorch is not installed, a loader of a few lines stands in for its own, which forks too.

    A conversion is enough: in a forked child `jnp.array` of a NumPy array stood still with JAX
    0.7.2, 0.10.2 and 0.12.0.1, `jnp.asarray` with the last two.

    ## References
    - jax-ml/jax#18852: a forked process of a program that runs JAX may deadlock
    - jax-ml/jax#9190: "multiprocessing is not supported"
    - google/grain#820: each worker takes memory of the accelerator
    """

    code, name = "JDP409", "jax-in-data-worker"
    advice = (
        "Give NumPy arrays from the workers, and put the batches on the device in the main process"
    )
    severity = Severity.WARNING
    needs = AllOf(Jax(), b"DataLoader", Uses(_TORCH, *_GRAIN))

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name = ctx.called(node)
        if name == _TORCH:
            workers = Arguments(node).get(5, "num_workers")
        elif name in _GRAIN:
            workers = Arguments(node).get(None, "worker_count")
        else:
            return
        count = _count(workers, ctx)
        if count == 0 or failure_is_expected(node, ctx):
            return
        if _spawns(node) and ctx.module.fact(_is_kept_off):
            return
        for function in _run_by_workers(node, name, ctx):
            for call in calls_inside(function, ctx):
                called = ctx.called(call)
                if called is not None and (runs_on_device(called) or called in _CONVERTING):
                    ctx.report(
                        call,
                        f"{called} runs in the worker processes of a data loader: forked workers "
                        "hang; spawned workers each initialise the accelerator",
                        confidence=Confidence.LIKELY if count is None else Confidence.DEFINITE,
                        related=((node, ctx.module.path, "the loader that starts the workers"),),
                    )
                    return


def _count(workers: cst.BaseExpression | None, ctx: Context) -> int | None:
    """Return how many workers there are; None for some number that is not written out."""
    if workers is None:
        return 0
    return integer_value(followed(workers, ctx))


def _spawns(node: cst.Call) -> bool:
    context = Arguments(node).get(None, "multiprocessing_context")
    return string_value(context) in {"spawn", "forkserver"}


def _is_kept_off(facts: ModuleFacts) -> bool:
    """Whether the file mentions the platform: then the workers may be told to use the CPU."""
    return any(
        string_value(node) in {"JAX_PLATFORMS", "jax_platforms", "JAX_PLATFORM_NAME"}
        for node in facts.tree.every(cst.SimpleString)
    )


def _run_by_workers(node: cst.Call, name: str, ctx: Context) -> Iterator[Function]:
    """Yield the functions of this file that a loader's workers surely call."""
    arguments = Arguments(node)
    if name == _TORCH:
        given = [arguments.get(6, "collate_fn"), arguments.get(10, "worker_init_fn")]
        dataset = arguments.get(0, "dataset")
        operations: list[cst.BaseExpression] = []
    else:
        given = []
        dataset = arguments.get(None, "data_source")
        listed = arguments.get(None, "operations")
        listed = None if listed is None else followed(listed, ctx)
        operations = (
            [element.value for element in listed.elements]
            if isinstance(listed, cst.List | cst.Tuple)
            else []
        )
    for each in given:
        function = function_of(each, ctx.names)
        # A decorated function may be anything.
        if function is not None and not getattr(function, "decorators", ()):
            yield function
    if dataset is not None:
        yield from _methods(dataset, _DATASET_METHODS, ctx)
    for operation in operations:
        yield from _methods(operation, _OPERATION_METHODS, ctx)


def _methods(
    node: cst.BaseExpression, names: tuple[str, ...], ctx: Context
) -> Iterator[cst.FunctionDef]:
    """Yield the methods of these names that an object has from the class that makes it here."""
    maker = followed(node, ctx)
    if not isinstance(maker, cst.Call) or not isinstance(maker.func, cst.Name):
        return
    bindings = ctx.names.bindings(maker.func)
    made = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(made, cst.ClassDef):
        return
    for statement in made.body.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value in names:
            yield statement
