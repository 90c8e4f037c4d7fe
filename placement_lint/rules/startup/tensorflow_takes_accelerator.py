"""JDP507."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.files.test_paths import is_no_test_path
from placement_lint.findings import Applicability, Confidence, Severity
from placement_lint.prefilter.conditions import (
    AllOf,
    AnyOf,
    InImport,
    Jax,
    Pattern,
    Placed,
    Uses,
    Without,
)
from placement_lint.rules.base import Rule
from placement_lint.semantic.enclosing import is_caught
from placement_lint.syntax.guards import is_main_guard
from placement_lint.syntax.import_statements import MISSING_MODULE, imported_names

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts

_TENSORFLOW = ("tensorflow", "tensorflow_datasets")
_TAMED = (
    b"set_visible_devices", b"set_memory_growth", b"TF_FORCE_GPU_ALLOW_GROWTH",
    b"set_logical_device_configuration", b"CUDA_VISIBLE_DEVICES", b"tensorflow-cpu",
)  # fmt: skip
_MEANT = (b"jax2tf", b"list_logical_devices", b"tf.distribute")
"""Said where TensorFlow is to compute on the accelerator too."""
_COMPAT = ("tensorflow.compat.v1.", "tensorflow.compat.v2.")
_HARMLESS = (
    "tensorflow.TensorShape", "tensorflow.TensorSpec", "tensorflow.app.", "tensorflow.as_dtype",
    "tensorflow.config.list_physical_devices", "tensorflow.dtypes.as_dtype", "tensorflow.errors.",
    "tensorflow.get_logger", "tensorflow.gfile.", "tensorflow.io.", "tensorflow.is_tensor",
    "tensorflow.logging.", "tensorflow.make_ndarray", "tensorflow.make_tensor_proto",
    "tensorflow.nest.", "tensorflow.summary.", "tensorflow.train.BytesList",
    "tensorflow.train.Example", "tensorflow.train.Feature", "tensorflow.train.FloatList",
    "tensorflow.train.Int64List", "tensorflow.train.SequenceExample",
    "tensorflow.train.latest_checkpoint", "tensorflow.train.list_variables",
    "tensorflow.train.load_checkpoint", "tensorflow.train.load_variable",
)  # fmt: skip
"""What reads and writes files, checkpoints and messages, or only describes: no operation runs."""
_RUNNERS = frozenset({"absl.app.run", "tensorflow.compat.v1.app.run"})


class TensorflowTakesAccelerator(Rule):
    """A program that uses TensorFlow beside JAX, and lets TensorFlow take the GPU.

    ## What it does
    In a script that is run (with `if __name__ == "__main__":` or `absl.app.run`) and that uses JAX,
    finds the first import of TensorFlow or TensorFlow Datasets, if neither the script nor any other
    module of the program hides the GPU from TensorFlow or enables memory growth.

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
    `tf.distribute`, `list_logical_devices`. An import in a function, for a type checker, or that
    may fail. A program that uses only TensorFlow's summaries, files, checkpoints and messages:
    `tf.io`, `tf.summary`, `tf.train.load_checkpoint`, `tf.train.Example`, `tf.make_ndarray`.

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
    follows_callers = True
    needs = AllOf(
        Jax(),
        Placed(is_no_test_path),
        InImport(rb"tensorflow", word=b"tensorflow"),
        AnyOf(
            Pattern(rb"__name__[\s\\)]*(?:[=!<>]=|in\b|is\b|not\b)", word=b"__name__"),
            Uses(*_RUNNERS),
        ),
        Without(*_TAMED),
        Uses("tensorflow.*", "tensorflow_datasets.*"),
        Uses("jax.*", "flax.*", "optax.*", "haiku.*", "equinox.*"),
    )

    def visit_Module(self, node: cst.Module, ctx: Context) -> None:
        if ctx.module.is_test or not ctx.module.fact(_is_script):
            return
        imports = [
            statement
            for statement in ctx.tree.every(cst.Import, cst.ImportFrom)
            if ctx.function(statement) is None
            and not ctx.is_type_checking_only(statement)
            and not is_caught(statement, ctx, MISSING_MODULE)
            and any(name.split(".")[0] in _TENSORFLOW for name in imported_names(statement))
        ]
        if not imports or not ctx.module.fact(_computes) or not ctx.module.fact(_uses_jax):
            return
        text = ctx.module.text.encode("utf-8", "replace")
        words = (*_TAMED, *_MEANT)
        if any(word in text for word in words) or ctx.module.run.mentions(ctx.module.path, *words):
            return
        ctx.report(
            imports[0],
            "TensorFlow takes the GPU's memory from JAX: nothing in the program says "
            'tf.config.set_visible_devices([], "GPU")',
            confidence=Confidence.LIKELY,
        )


def _is_script(facts: ModuleFacts) -> bool:
    is_asked = any(map(is_main_guard, facts.tree.every(cst.Comparison)))
    return is_asked or any(
        facts.names.qualified(node.func) in _RUNNERS for node in facts.tree.every(cst.Call)
    )


def _computes(facts: ModuleFacts) -> bool:
    """Return whether TensorFlow is used for more than files, flags, messages and summaries."""
    for node in facts.tree.every(cst.Call):
        name = facts.names.qualified(node.func)
        if name is None:
            continue
        for prefix in _COMPAT:
            if name.startswith(prefix):
                name = f"tensorflow.{name.removeprefix(prefix)}"
        is_theirs = name.startswith(("tensorflow.", "tensorflow_datasets."))
        if is_theirs and not name.startswith(_HARMLESS):
            return True
    return False


def _uses_jax(facts: ModuleFacts) -> bool:
    return any(
        name.startswith(("jax.", "flax.", "optax.", "haiku.", "equinox."))
        for node in facts.tree.every(cst.Call)
        if (name := facts.names.qualified(node.func)) is not None
    )
