"""JDP411."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Severity
from placement_lint.jaxmodel.libraries.safetensors import JAX_FRAMEWORKS, OPENERS
from placement_lint.placement.domain import values
from placement_lint.placement.domain.devices import is_host
from placement_lint.prefilter.conditions import AllOf, AnyOf, passed
from placement_lint.rules.base import Rule
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.transfers.tensor_files import reads_of
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context

_READING_BACKENDS = frozenset({"mmap", "pread"})
_FORMATTING = frozenset({"set_format", "with_format"})
_PLATFORMS = frozenset({"cpu", "cuda", "gpu", "rocm", "tpu"})


class DefaultDeviceArgumentIgnored(Rule):
    """A `device=` or `backend=` argument of a loader that does not choose where the arrays go.

    ## What it does
    Finds `safe_open(path, framework="flax", device="cpu")` of safetensors if no default device was
    chosen, and `safetensors.flax.load_file` with a `backend=` that names a device, or with a
    `device=`. Finds `dataset.with_format("jax", device=…)` and `set_format` of Hugging Face
    datasets with the text of a device of the host, the name of a platform, or a device itself.

    ## Why is this bad?
    For JAX, safetensors ignores the `device` argument of `safe_open`: every tensor is made on JAX's
    default device, the accelerator, even if the line says CPU. The `backend` of `load_file` (from
    safetensors 0.8) selects how the *file* is read, `mmap` or `pread`, and the name of a device is
    an error; there is no `device` argument. So these lines put the data on another device than they
    say, or raise.

    Hugging Face datasets look the device up by its text among `jax.devices()`, which does not list
    the host beside an accelerator, and no platform by its name: the arrays are made on the first
    accelerator, with a warning. A device that is not a text raises ValueError. `jax.default_device`
    has no effect on them either (measured with datasets 5.2.0).

    ## Example
    ```python
    import jax
    from safetensors import safe_open

    with safe_open("train.safetensors", framework="flax", device="cpu") as f:
        rows = f.get_tensor("rows")
    ```

    ## Use instead
    ```python
    import jax
    from safetensors import safe_open

    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu), safe_open("train.safetensors", framework="flax") as f:
        rows = jax.device_put(f.get_tensor("rows"), cpu)
    ```

    ## Fix safety
    Display-only: this page shows a fix, but the finding has none. Only the author knows whether the
    arrays should be committed to the host, kept as NumPy arrays (`framework="np"`) or left on the
    accelerator.

    ## What it does not flag
    `safe_open` for other frameworks, which use the argument. A file whose tensors are read under
    `jax.default_device` or a `jax_default_device` setting, which decides where they are. An
    argument that is not a literal.

    ## Verified by
    The proof opens a file for JAX with `device="cpu"` and finds the tensor on the accelerator,
    uncommitted. Read as above, it is on the host, committed. Measured on safetensors 0.4.5, 0.5.3,
    0.6.2, 0.7.0 and 0.8.0.

    ## References
    - safetensors#399: a request for a device argument of the loader for Flax
    - [safetensors for Flax](https://huggingface.co/docs/safetensors/api/flax)
    """

    code, name = "JDP411", "default-device-argument-ignored"
    advice = "Load under `with jax.default_device(device):`, and commit what was loaded"
    severity, fix = Severity.WARNING, Applicability.DISPLAY
    follows_callers = True
    needs = AnyOf(
        AllOf(b"safe_open", AnyOf(b"flax", b"jax")),
        AllOf(b"safetensors", b"flax", b"load", AnyOf(b"backend", b"device")),
        AllOf(AnyOf(*map(str.encode, sorted(_FORMATTING))), b"jax", passed(b"device")),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        if ctx.is_call(node, *OPENERS):
            _check_safe_open(node, ctx)
        elif ctx.is_call(node, "safetensors.flax.load_file", "safetensors.flax.load"):
            _check_load_file(node, ctx)
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _FORMATTING:
            _check_format(node, node.func.attr.value, ctx)


def _check_format(node: cst.Call, name: str, ctx: Context) -> None:
    """`dataset.with_format("jax", device=…)` of Hugging Face."""
    arguments = Arguments(node)
    device = arguments.get(None, "device")
    if device is None or string_value(arguments.get(0, "type")) != "jax":
        return
    if failure_is_expected(node, ctx):
        return
    if _is_device(device, ctx):
        ctx.report(
            _argument(node, device),
            f"{name} takes the text of a device: a device raises ValueError; use `str(device)`",
            severity=Severity.ERROR,
        )
        return
    if is_pinned_to_cpu(ctx.module) or not _is_of_no_accelerator(device, ctx):
        return
    ctx.report(
        _argument(node, device),
        f"{name} looks the device up among jax.devices(), and finds none of this text where there "
        "is an accelerator: the arrays are made on the first one",
    )


def _is_device(node: cst.BaseExpression, ctx: Context) -> bool:
    held = ctx.flow.value(node)
    return bool(held) and all(isinstance(atom, values.TheDevice) for atom in held)


def _is_of_no_accelerator(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a text is that of a device of the host, or the name of a platform."""
    text = string_value(followed(node, ctx))
    if text is not None:
        return text in _PLATFORMS or text.startswith("cpu:")
    made = followed(node, ctx)
    if not isinstance(made, cst.Call) or ctx.called(made) != "builtins.str" or not made.args:
        return False
    held = ctx.flow.value(made.args[0].value)
    return bool(held) and all(
        isinstance(atom, values.TheDevice) and is_host(atom.device) for atom in held
    )


def _check_safe_open(node: cst.Call, ctx: Context) -> None:
    arguments = Arguments(node)
    framework = string_value(arguments.get(1, "framework"))
    device = arguments.get(2, "device")
    if framework not in JAX_FRAMEWORKS or string_value(device) != "cpu" or device is None:
        return
    if not ctx.flow.runs_on_system_default(node):
        return
    reads = list(reads_of(node, ctx))
    if reads and not all(there.flow.runs_on_system_default(read) for read, there in reads):
        return
    ctx.report(
        _argument(node, device),
        "safe_open ignores `device` for JAX: the tensors are made on the default device",
    )


def _check_load_file(node: cst.Call, ctx: Context) -> None:
    arguments = Arguments(node)
    backend, device = arguments.get(None, "backend"), arguments.get(None, "device")
    text = string_value(backend)
    if backend is not None and text is not None and text not in _READING_BACKENDS:
        ctx.report(
            _argument(node, backend),
            f'load_file\'s `backend` is how the file is read ("mmap" or "pread"), not a device: '
            f'"{text}" raises SafetensorError (TypeError before safetensors 0.8)',
            severity=Severity.ERROR,
        )
    if device is not None:
        ctx.report(
            _argument(node, device),
            "load_file for JAX has no `device`: TypeError; choose the place by "
            "jax.default_device and jax.device_put",
            severity=Severity.ERROR,
        )


def _argument(call: cst.Call, value: cst.BaseExpression) -> cst.CSTNode:
    return next(argument for argument in call.args if argument.value is value)
