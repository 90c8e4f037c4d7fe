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
    "tensorflow.get_logger", "tensorflow.gfile.", "tensorflow.io.FixedLen",
    "tensorflow.io.RaggedFeature", "tensorflow.io.SparseFeature", "tensorflow.io.TFRecord",
    "tensorflow.io.VarLenFeature", "tensorflow.io.gfile.", "tensorflow.io.tf_record_iterator",
    "tensorflow.is_tensor", "tensorflow.logging.", "tensorflow.make_ndarray",
    "tensorflow.make_tensor_proto",
    "tensorflow.nest.", "tensorflow.summary.", "tensorflow.train.BytesList",
    "tensorflow.train.Example", "tensorflow.train.Feature", "tensorflow.train.FloatList",
    "tensorflow.train.Int64List", "tensorflow.train.SequenceExample",
    "tensorflow.train.latest_checkpoint", "tensorflow.train.list_variables",
    "tensorflow.train.load_checkpoint", "tensorflow.train.load_variable",
    "tensorflow_datasets.data_source",
)  # fmt: skip
"""What reads and writes files, checkpoints and messages, or only describes: no operation runs.

`tfds.data_source` reads files by itself. Of `tf.io` the rest are operations, as `tf.io.read_file`,
`tf.io.serialize_tensor` and `tf.io.parse_single_example`: the first starts the devices.
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


def tensorflow_computes(facts: ModuleFacts, member: str = "") -> bool:
    """Return whether TensorFlow is used for more than files, flags, messages and summaries.

    With the name of a function or a class of the file: by it, by what it uses of the file, and by
    what is executed when the file is imported.
    """
    computing = [each for each in facts.tree.every(cst.Call) if _computes(each, facts)]
    defined, assigned = facts.fact(_definitions), facts.fact(_assigned)
    if member not in defined or not computing:
        return bool(computing)
    used: set[cst.CSTNode] = set()
    following = [defined[member]]
    while following:
        node = following.pop()
        if node not in used:
            used.add(node)
            names = (each.value for each in facts.tree.every(cst.Name, below=node))
            following += [
                made for name in names if (made := defined.get(name) or assigned.get(name))
            ]
    outer = {*defined.values()} - used
    return any(outer.isdisjoint(facts.tree.ancestors(each)) for each in computing)


def _definitions(facts: ModuleFacts) -> dict[str, cst.CSTNode]:
    """Return the functions and classes that a file defines at its top level, and nothing replaces.

    A class with its decorators and bases is as good as its body: any name in it counts as used.
    """
    bound = facts.names.scope(facts.tree.module).bindings
    return {
        name: bindings[0].node
        for name, bindings in bound.items()
        if len(bindings) == 1 and isinstance(bindings[0].node, cst.FunctionDef | cst.ClassDef)
    }


def _assigned(facts: ModuleFacts) -> dict[str, cst.CSTNode]:
    """Return what a file assigns to a name at its top level, once: `frames = Frames()`."""
    bound = facts.names.scope(facts.tree.module).bindings
    return {
        name: bindings[0].value
        for name, bindings in bound.items()
        if len(bindings) == 1 and bindings[0].value is not None
    }


def _computes(node: cst.Call, facts: ModuleFacts) -> bool:
    name = facts.names.qualified(node.func)
    if name is None:
        return False
    for prefix in _COMPAT:
        if name.startswith(prefix):
            name = f"tensorflow.{name.removeprefix(prefix)}"
    is_theirs = name.startswith(("tensorflow.", "tensorflow_datasets."))
    if not is_theirs or name.startswith(_HARMLESS):
        return False
    if name.startswith("tensorflow.io.") and _is_nested(node, facts):
        # It is handed to `tf.data`, or to a loader, if data is read at all.
        return False
    # The messages of protocol buffers are data: no operation runs.
    return "_pb2." not in name


def _is_nested(node: cst.CSTNode, facts: ModuleFacts) -> bool:
    """Return whether code is in a lambda, or in a function that another function defines."""
    functions = [
        each
        for each in facts.tree.ancestors(node)
        if isinstance(each, cst.FunctionDef | cst.Lambda)
    ]
    return len(functions) > 1 or isinstance(functions[0] if functions else None, cst.Lambda)
