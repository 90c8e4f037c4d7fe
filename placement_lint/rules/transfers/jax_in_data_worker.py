"""JDP409."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Confidence, Severity
from placement_lint.prefilter.conditions import GIVEN, AllOf, AnyOf, Jax, Uses, Word
from placement_lint.rules.base import Rule
from placement_lint.rules.transfers.given_by_objects import computations_by_objects
from placement_lint.semantic.given_functions import (
    GRAIN,
    PREFETCH,
    PROCESSES,
    TORCH,
    computations_given,
    computations_here,
)
from placement_lint.semantic.program_queries import GivenTo

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_MESSAGE = "forked workers hang; spawned workers each initialise the accelerator"


class JaxInDataWorker(Rule):
    """A JAX computation in the worker processes of a data loader.

    ## What it does
    Finds the first JAX computation in each function that a `torch.utils.data.DataLoader` with
    workers, or a `grain` loader, or `mp_prefetch` of grain, runs in its workers: the `collate_fn`,
    the `worker_init_fn`, the methods of the dataset or source (`__getitem__`, `__iter__`), what it
    is given, or takes from a table, and calls (`transform=`, `transform or DEFAULT`, and each step
    of an object that calls several in order), the operations; and what `map` and `filter` of a
    Hugging Face dataset run in the processes of `num_proc=`. These are functions, objects and
    classes of the same file or of another file of the run, where it is reported, and what they
    call, also where an object of the program holds them, a dict of options (`**options`), or a
    function of the loader's file returns them, alone or with others. How many workers there are may
    be said in another file: `**LOADER`, `**config.options()`. `jnp.array`, `jnp.asarray` and
    `jax.device_put` count as computations, and so do the items of a dataset `with_format("jax")`,
    and operators, indices and methods of an array that the dataset holds (`self.images[index]`) or
    that the file made, where it is certainly one of JAX.

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
    Loaders without workers. Types (`jnp.float32`) and other names that compute nothing, and what
    reads an array into NumPy. Arrays that a dataset holds but its workers do not use. Workers
    that do not use the accelerator, because the file sets `JAX_PLATFORMS` to `cpu` and the loader
    spawns its workers. Unknown datasets and functions.

    ## Verified by
    The proof runs JAX, lets a loader fork two workers, and waits for a batch. With the computation
    in the collate function there is no batch after twelve seconds. With NumPy there is one at once.
    If PyTorch is not installed, a loader of a few lines stands in for it, which also forks.

    A conversion is enough: in a forked child, `jnp.array` of a NumPy array hung with JAX 0.7.2,
    0.10.2 and 0.12.0.1, and `jnp.asarray` with the last two. With 0.10.2, an index into an array
    that was made before the fork hung, and so did `-`, `.sum()` and `.T`; `np.asarray` of it,
    `jax.device_get` and `.shape` did not. `jax.device_put` itself returned, but `np.asarray` of
    what it gave hung.

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
    needs = AnyOf(
        AllOf(b"DataLoader", Uses(TORCH, *GRAIN)),
        AllOf(PREFETCH.encode(), Uses("grain.*")),
        AllOf(Jax(), PROCESSES.encode()),
        AllOf(b"DataLoader", b"with_format", b"jax"),
        AllOf(Jax(), Word(GIVEN.encode())),
    )

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        # Several loaders may be given one function.
        reported: set[int] = set()
        functions: set[int] = set()
        for call in ctx.tree.every(cst.Call):
            for found in computations_given(call, ctx):
                if found.to is not GivenTo.WORKERS or found.node is None:
                    continue
                if id(found.node) in reported:
                    continue
                reported.add(id(found.node))
                functions.add(id(ctx.function(found.node)))
                ctx.report(
                    found.node,
                    f"{found.name} runs in the worker processes of a data loader: {_MESSAGE}",
                    confidence=Confidence.DEFINITE if found.is_certain else Confidence.LIKELY,
                    related=((call, ctx.module.path, "the loader that starts the workers"),),
                )
        for here, given in computations_here(ctx, GivenTo.WORKERS):
            if id(here) in reported:
                continue
            reported.add(id(here))
            functions.add(id(ctx.function(here)))
            ctx.report(
                here,
                f"{given.name} runs in the worker processes of {given.by}: {_MESSAGE}",
                confidence=Confidence.DEFINITE if given.is_certain else Confidence.LIKELY,
            )
        for found, there in computations_by_objects(ctx, GivenTo.WORKERS):
            if found.node is not None and id(ctx.function(found.node)) not in functions:
                ctx.report(
                    found.node,
                    f"{found.name} runs in the worker processes of a data loader: {_MESSAGE}",
                    confidence=Confidence.LIKELY,
                    related=(
                        (found.call, there.module.path, "the loader that starts the workers"),
                    ),
                )
