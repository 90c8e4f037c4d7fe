"""JDP409."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.jaxmodel.callbacks import runs_on_device
from placement_lint.prefilter.conditions import AllOf, Uses
from placement_lint.rules.base import Rule
from placement_lint.semantic.elsewhere import effects_of, method_effects
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.semantic.functions import calls_inside
from placement_lint.syntax.calls import Arguments, integer_value, string_value
from placement_lint.syntax.definitions import function_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import FunctionEffects
    from placement_lint.syntax.definitions import Function

_TORCH = "torch.utils.data.DataLoader"
_GRAIN = frozenset({"grain.DataLoader", "grain.python.DataLoader"})
_DATASET_METHODS = ("__getitem__", "__getitems__", "__iter__")
_CONVERTING = frozenset({"jax.numpy.array", "jax.numpy.asarray"})
_OPERATION_METHODS = ("map", "random_map", "flat_map", "filter", "map_with_index")


class JaxInDataWorker(Rule):
    """A JAX computation in the worker processes of a data loader.

    ## What it does
    Finds the first JAX computation in code that a `torch.utils.data.DataLoader` with workers, or a
    `grain` loader, runs in its workers: the `collate_fn`, the `worker_init_fn`, the methods of the
    dataset (`__getitem__`, `__iter__`), the operations. These are functions and classes of the same
    file or of another file of the run, and what they call in their own file. `jnp.array` and
    `jnp.asarray` count as computations.

    ## Why is this bad?
    Each worker is a separate process. A forked worker inherits the locks of JAX's threads but not
    the threads, so it hangs, always or sometimes, at its first computation. A spawned worker
    initialises JAX again and takes the accelerator, or three quarters of its memory, from the
    training process.

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

    Then put each batch on the accelerator in the training process.

    ## Fix safety
    No fix: only the author knows whether NumPy has the function, with the same result.

    ## What it does not flag
    Loaders without workers. Types (`jnp.float32`) and other names that compute nothing. Workers
    that do not use the accelerator, because the file sets `JAX_PLATFORMS` to `cpu` and the loader
    spawns its workers. Unknown datasets and functions.

    ## Verified by
    The proof runs JAX, lets a loader fork two workers, and waits for a batch. With the computation
    in the collate function there is no batch after twelve seconds. With NumPy there is one at once.
    If PyTorch is not installed, a loader of a few lines stands in for it, which also forks.

    A conversion is enough: in a forked child, `jnp.array` of a NumPy array hung with JAX 0.7.2,
    0.10.2 and 0.12.0.1, and `jnp.asarray` with the last two.

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
    needs = AllOf(b"DataLoader", Uses(_TORCH, *_GRAIN))

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
        confidence = Confidence.LIKELY if count is None else Confidence.DEFINITE
        for given, effects in _run_elsewhere(node, name, ctx):
            computed = (c for c in effects.calls if _computes(c.name))
            origin = next(map(effects.origin, computed), None)
            if origin is not None:
                ctx.report(
                    given,
                    f"{origin} runs in the worker processes of this data loader: forked workers "
                    "hang; spawned workers each initialise the accelerator",
                    confidence=confidence,
                )
                return
        for function in _run_by_workers(node, name, ctx):
            for call in calls_inside(function, ctx):
                called = ctx.called(call)
                if called is not None and _computes(called):
                    ctx.report(
                        call,
                        f"{called} runs in the worker processes of a data loader: forked workers "
                        "hang; spawned workers each initialise the accelerator",
                        confidence=confidence,
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


def _computes(name: str) -> bool:
    return runs_on_device(name) or name in _CONVERTING


def _given(
    node: cst.Call, name: str, ctx: Context
) -> tuple[list[cst.BaseExpression], list[tuple[cst.BaseExpression, tuple[str, ...]]]]:
    """Return the functions that a loader's workers call, and the objects, with their methods."""
    arguments = Arguments(node)
    functions: list[cst.BaseExpression | None] = []
    objects: list[tuple[cst.BaseExpression | None, tuple[str, ...]]] = []
    if name == _TORCH:
        functions = [arguments.get(6, "collate_fn"), arguments.get(10, "worker_init_fn")]
        objects.append((arguments.get(0, "dataset"), _DATASET_METHODS))
    else:
        objects.append((arguments.get(None, "data_source"), _DATASET_METHODS))
        listed = arguments.get(None, "operations")
        listed = None if listed is None else followed(listed, ctx)
        if isinstance(listed, cst.List | cst.Tuple):
            objects += [(element.value, _OPERATION_METHODS) for element in listed.elements]
    return (
        [each for each in functions if each is not None],
        [(each, methods) for each, methods in objects if each is not None],
    )


def _run_by_workers(node: cst.Call, name: str, ctx: Context) -> Iterator[Function]:
    """Yield the functions of this file that a loader's workers surely call."""
    functions, objects = _given(node, name, ctx)
    for each in functions:
        function = function_of(each, ctx.names)
        # A decorated function may be anything.
        if function is not None and not getattr(function, "decorators", ()):
            yield function
    for made, methods in objects:
        yield from _methods(made, methods, ctx)


def _run_elsewhere(
    node: cst.Call, name: str, ctx: Context
) -> Iterator[tuple[cst.BaseExpression, FunctionEffects]]:
    """Yield what a loader is given of other files, and what its workers run of it."""
    functions, objects = _given(node, name, ctx)
    for each in functions:
        effects = effects_of(each, ctx)
        if effects is not None:
            yield each, effects
    for made, methods in objects:
        for method in methods:
            effects = method_effects(made, method, ctx)
            if effects is not None:
                yield made, effects


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
