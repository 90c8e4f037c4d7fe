"""JDP507."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_no_test_path
from placement_lint.findings import Applicability, Confidence, Severity
from placement_lint.prefilter.conditions import (
    AllOf,
    AnyOf,
    Jax,
    Pattern,
    Placed,
    Uses,
    Without,
)
from placement_lint.rules.base import Rule
from placement_lint.semantic.tensorflow_use import tensorflow_computes, tensorflow_imports
from placement_lint.syntax.guards import is_main_guard
from placement_lint.syntax.import_statements import modules_named, source_module

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_TAMED = (
    b"set_visible_devices", b"set_memory_growth", b"TF_FORCE_GPU_ALLOW_GROWTH",
    b"set_logical_device_configuration", b"CUDA_VISIBLE_DEVICES", b"tensorflow-cpu",
)  # fmt: skip
_MEANT = (b"jax2tf", b"orbax.export", b"list_logical_devices", b"tf.distribute")
"""Said where TensorFlow is to compute on the accelerator too."""
_RUNNERS = frozenset({"absl.app.run", "tensorflow.compat.v1.app.run"})


class TensorflowTakesAccelerator(Rule):
    """A program that uses TensorFlow beside JAX, and lets TensorFlow take the GPU.

    ## What it does
    In a script that is run (with `if __name__ == "__main__":` or `absl.app.run`) and that uses JAX,
    finds the first import of TensorFlow or TensorFlow Datasets, or of another file of the run that
    imports them in turn, if neither the script nor any other module of the program hides the GPU
    from TensorFlow or enables memory growth.

    ## Why is this bad?
    TensorFlow takes all of the GPU's memory at its first operation, even if it only reads data. JAX
    takes three quarters of it. The second of the two runs out of memory, or the program starts and
    fails at the first large batch.

    ## Example
    ```python
    import jax
    import tensorflow as tf


    def main():
        for batch in tf.data.Dataset.range(8).batch(2):
            jax.device_put(batch.numpy()).block_until_ready()


    if __name__ == "__main__":
        main()
    ```

    ## Use instead
    ```python
    import jax
    import tensorflow as tf


    def main():
        tf.config.set_visible_devices([], "GPU")
        for batch in tf.data.Dataset.range(8).batch(2):
            jax.device_put(batch.numpy()).block_until_ready()


    if __name__ == "__main__":
        main()
    ```

    ## Fix safety
    Display-only: this page shows a fix, but the finding has none. The line must come before
    TensorFlow's first operation, wherever that is, and TensorFlow may be meant to use the GPU.

    ## What it does not flag
    Modules and tests. A script that does not use JAX. A program that configures TensorFlow's
    devices in any way: `set_visible_devices`, `set_memory_growth`, `TF_FORCE_GPU_ALLOW_GROWTH`,
    `CUDA_VISIBLE_DEVICES`. A program in which TensorFlow is meant to use the GPU: `jax2tf`,
    `orbax.export`, `tf.distribute`, `list_logical_devices`. An import in a function, for a type
    checker, or that may fail. A program that uses only TensorFlow's summaries, files, checkpoints
    and messages: `tf.io.gfile`, `tf.io.TFRecordWriter`, `tf.summary`, `tf.train.load_checkpoint`,
    `tf.train.Example`, `tf.make_ndarray`. Functions of another file that use TensorFlow, if only
    other names of that file are imported; what an imported file imports in turn from another
    directory: it may be for something else.

    ## Verified by
    Virtual devices have no GPU memory that TensorFlow could take, so the proof uses a stand-in for
    TensorFlow, which at its first operation takes every GPU that is visible to it, as TensorFlow's
    guide documents. The proof observes what is left. JAX's own behaviour is in jaxlib's source:
    memory is preallocated unless `XLA_PYTHON_CLIENT_PREALLOCATE` disables it
    (`generate_pjrt_gpu_plugin_options`, jaxlib/xla_client.py:191 of 0.12.0.1).

    ## References
    - [JAX: GPU memory allocation](https://docs.jax.dev/en/latest/gpu_memory_allocation.html): hide
      the GPU from TensorFlow by `tf.config.set_visible_devices([], "GPU")`
    - google/flax#445: the line was added to all examples
    - [TensorFlow: limiting GPU memory growth](https://www.tensorflow.org/guide/gpu)
    """

    code, name = "JDP507", "tensorflow-takes-accelerator"
    advice = 'Hide the accelerators from TensorFlow: `tf.config.set_visible_devices([], "GPU")`'
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_arrays = False
    follows_callers = True
    needs = AllOf(
        Jax(),
        Placed(is_no_test_path),
        AnyOf(
            Pattern(rb"__name__[\s\\)]*(?:[=!<>]=|in\b|is\b|not\b)", word=b"__name__"),
            Uses(*_RUNNERS),
        ),
        Without(*_TAMED),
        Uses("jax.*", "flax.*", "optax.*", "haiku.*", "equinox.*"),
    )

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if ctx.module.is_test or not ctx.module.fact(_is_script):
            return
        if not ctx.module.fact(_uses_jax):
            return
        found = _imported(ctx)
        if found is None:
            return
        words = (*_TAMED, *_MEANT)
        if ctx.module.says(*words) or ctx.module.run.mentions(ctx.module.path, *words):
            return
        statement, where = found
        ctx.report(
            statement,
            f"TensorFlow{where} takes the GPU's memory from JAX: nothing in the program says "
            'tf.config.set_visible_devices([], "GPU")',
            confidence=Confidence.LIKELY,
        )


def _imported(ctx: Context) -> tuple[cst.CSTNode, str] | None:
    """Return the first statement that imports a TensorFlow that computes, and from where."""
    own = tensorflow_imports(ctx.module)
    if own and tensorflow_computes(ctx.module):
        return own[0], ""
    run = ctx.module.run
    for statement in ctx.tree.every(cst.Import, cst.ImportFrom):
        if ctx.function(statement) is not None or ctx.is_type_checking_only(statement):
            continue
        # What `from module import name` does not ask for may use TensorFlow for something else.
        whole = source_module(statement) if isinstance(statement, cst.ImportFrom) else ""
        is_star = isinstance(statement.names, cst.ImportStar)
        for name in modules_named(statement):
            if name == whole and not is_star:
                continue
            origin = run.tensorflow_by(ctx.module.path, name)
            if origin is not None:
                return statement, f" in {origin.path}:{origin.line}"
    return None


def _is_script(facts: ModuleFacts) -> bool:
    is_asked = any(map(is_main_guard, facts.tree.every(cst.Comparison)))
    return is_asked or any(
        facts.names.qualified(node.func) in _RUNNERS for node in facts.tree.every(cst.Call)
    )


def _uses_jax(facts: ModuleFacts) -> bool:
    return any(
        name.startswith(("jax.", "flax.", "optax.", "haiku.", "equinox."))
        for node in facts.tree.every(cst.Call)
        if (name := facts.names.qualified(node.func)) is not None
    )
