"""Models of PyTorch: tensors that surely are in the memory of the host."""

from __future__ import annotations

import libcst as cst

from placement_lint.placement.domain.contents import iterated_of
from placement_lint.placement.domain.values import (
    HOST,
    PLAIN,
    TENSOR,
    UNKNOWN,
    AnyTree,
    Host,
    Mapping,
    Plain,
    Sequence,
    Value,
    value,
)
from placement_lint.placement.overlays.registry import LibraryCall, models
from placement_lint.syntax.calls import string_value
from placement_lint.syntax.dotted import dotted

_CREATORS = (
    "arange", "as_tensor", "empty", "eye", "from_numpy", "full", "linspace", "ones", "rand",
    "randint", "randn", "randperm", "tensor", "zeros",
)  # fmt: skip
_COMBINING = (
    "cat", "concat", "concatenate", "empty_like", "flatten", "full_like", "hstack", "ones_like",
    "permute", "rand_like", "randn_like", "reshape", "squeeze", "stack", "transpose", "unsqueeze",
    "vstack", "zeros_like",
)  # fmt: skip


def is_on_cpu(node: cst.BaseExpression | None, call: LibraryCall) -> bool:
    """Return whether an expression names the host for PyTorch: `"cpu"`, `torch.device("cpu")`."""
    if isinstance(node, cst.Call) and len(node.args) == 1:
        if call.on.names.qualified(node.func) != "torch.device":
            return False
        node = node.args[0].value
    return string_value(node) == "cpu"


def _says_host(call: LibraryCall, parameter: str, position: int | None = None) -> bool | None:
    """Return whether an argument names the host; None where it is not passed."""
    given = call.arguments.get(position, parameter)
    if call.arguments.is_open:
        return False
    return None if given is None else is_on_cpu(given, call)


@models(*(f"torch.{name}" for name in _CREATORS))
def tensor(call: LibraryCall) -> Value:
    """`torch.randn(3)`: on the host, where nobody says otherwise.

    `torch.as_tensor(t)` and `torch.tensor(t)` stay with a tensor that may be anywhere.
    """
    given = call.values()
    if _says_host(call, "device") is False:
        return UNKNOWN
    is_new = call.name not in {"torch.as_tensor", "torch.tensor"} or all(
        isinstance(atom, Host | Plain | Sequence) for held in given[:1] for atom in held
    )
    return TENSOR if is_new else UNKNOWN


@models(*(f"torch.{name}" for name in _COMBINING))
def combined(call: LibraryCall) -> Value:
    """`torch.stack(tensors)`, `torch.zeros_like(t)`: where the first argument is."""
    given = call.values()
    if not given or _says_host(call, "device") is False:
        return UNKNOWN
    is_list = any(isinstance(atom, Sequence) for atom in given[0])
    parts = iterated_of(given[0]) if is_list else given[0]
    is_of_host = parts and all(isinstance(atom, Host) and atom.is_tensor for atom in parts)
    return TENSOR if is_of_host else UNKNOWN


@models("torch.load")
def loaded(call: LibraryCall) -> Value:
    """`torch.load(path, map_location="cpu")`: a tree of tensors on the host.

    Without `map_location` they are where they were when they were saved.
    """
    for held in call.values():
        call.escapes(held)
    return value(AnyTree(TENSOR)) if _says_host(call, "map_location", 1) else UNKNOWN


@models("safetensors.torch.load", "safetensors.torch.load_file")
def loaded_file(call: LibraryCall) -> Value:
    """`safetensors.torch.load_file(path)`: tensors by name, on the host where none is named."""
    call.values()
    if call.name.endswith("load_file") and _says_host(call, "device", 1) is False:
        return UNKNOWN
    return value(Mapping((), TENSOR))


def tensor_method(node: cst.Call, name: str) -> Value:
    """Call a method of a tensor of PyTorch that is on the host."""
    if name in {"numpy", "to_numpy"}:
        return HOST
    if name in {"item", "tolist", "size", "dim", "numel", "element_size", "nelement"}:
        return PLAIN
    if name in {"cuda", "xpu", "mps"}:
        return UNKNOWN
    if name in {"to", "new_tensor", "type"} and not all(_keeps_device(a.value) for a in node.args):
        return UNKNOWN
    return TENSOR


def _keeps_device(given: cst.BaseExpression) -> bool:
    """Return whether an argument of `tensor.to(…)` names the host, or a type: `torch.float32`."""
    return string_value(given) == "cpu" or (dotted(given) or "").startswith("torch.")
