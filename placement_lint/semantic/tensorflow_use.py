"""Whether a file has TensorFlow compute something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.enclosing import is_caught
from placement_lint.syntax.import_statements import MISSING_MODULE, imported_names

if TYPE_CHECKING:
    from placement_lint.semantic.model import ModuleFacts

_TENSORFLOW = ("tensorflow", "tensorflow_datasets")
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
    "tensorflow_datasets.data_source",
)  # fmt: skip
"""What reads and writes files, checkpoints and messages, or only describes: no operation runs.

`tfds.data_source` reads files by itself.
"""


def tensorflow_imports(facts: ModuleFacts) -> list[cst.Import | cst.ImportFrom]:
    """Return the statements that import TensorFlow whenever the file is executed."""
    # A rule imports this module, and the view imports LibCST.
    from placement_lint.semantic.file_view import FileView

    view = FileView(facts)
    return [
        statement
        for statement in facts.tree.every(cst.Import, cst.ImportFrom)
        if view.function(statement) is None
        and not view.is_type_checking_only(statement)
        and not is_caught(statement, view, MISSING_MODULE)
        and any(name.split(".")[0] in _TENSORFLOW for name in imported_names(statement))
    ]


def tensorflow_computes(facts: ModuleFacts) -> bool:
    """Return whether TensorFlow is used for more than files, flags, messages and summaries."""
    for node in facts.tree.every(cst.Call):
        name = facts.names.qualified(node.func)
        if name is None:
            continue
        for prefix in _COMPAT:
            if name.startswith(prefix):
                name = f"tensorflow.{name.removeprefix(prefix)}"
        is_theirs = name.startswith(("tensorflow.", "tensorflow_datasets."))
        # The messages of protocol buffers are data: no operation runs.
        if is_theirs and not name.startswith(_HARMLESS) and "_pb2." not in name:
            return True
    return False
