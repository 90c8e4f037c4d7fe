"""JDP304."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.processes import INITIALIZE, depends_on_process
from placement_lint.rules.devices.queries import followed
from placement_lint.rules.needs import AllOf, AnyOf, Jax, Uses, passed
from placement_lint.syntax.calls import Arguments, integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_TARGETS = {"jax.device_put": (1, "device"), "jax.default_device": (0, "new_val")}


class GlobalDeviceInMultiprocess(Rule):
    """`jax.devices()[0]` as a place for arrays, in a program of several processes.

    ## What it does
    Finds `jax.devices()[i]` and `jax.devices("cpu")[i]` as the target of `jax.device_put`,
    `jax.default_device`, `jax.config.update("jax_default_device", …)`, `x.to_device` or a
    `device=`, in a program that calls `jax.distributed.initialize`.

    ## Why is this bad?
    `jax.devices()` lists the devices of *all* processes, those of process 0 first, and
    `jax.devices("cpu")` does so too. In every other process the first one is somebody else's. Up to
    JAX 0.6.2 putting an array there is an error; from 0.7.2 on it succeeds, and gives an array that
    its own process cannot read.

    ## Example
    ```python
    import jax
    import numpy as np

    jax.distributed.initialize()
    x = jax.device_put(np.ones(3), jax.devices("cpu")[0])
    ```

    ## Use instead
    ```python
    import jax
    import numpy as np

    jax.distributed.initialize()
    x = jax.device_put(np.ones(3), jax.local_devices(backend="cpu")[0])
    ```

    ## Fix safety
    Safe: in a process of its own `jax.local_devices()` is the same list.

    ## What it does not flag
    Programs that never call `jax.distributed.initialize`. An index that is no number, such as
    `jax.devices()[jax.process_index()]`. Code under a question for the process or for how many
    there are. Devices that are listed for a mesh, or looked at.

    ## Verified by
    The proof runs two processes: in the second one the array is on a device of the first, and not
    addressable. After the fix it is on its own.

    ## References
    - [JAX's changelog, jaxlib 0.4.21](https://docs.jax.dev/en/latest/changelog.html):
      `jax.devices()` lists the CPU devices of other processes as well
    - huggingface/transformers#27593 and huggingface/diffusers#5864: the same replacement
    """

    code, name = "JDP304", "global-device-in-multiprocess"
    advice = "Use the devices of this process, `jax.local_devices()`"
    severity, fix = Severity.ERROR, Applicability.SAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(b"device_put", b"default_device", b"to_device", passed(b"device")),
        Uses("jax.devices"),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Look at what is given as a place."""
        for place in _places(node, ctx):
            listing = _indexed(place, ctx)
            if (
                listing is None
                or depends_on_process(node, ctx)
                or depends_on_process(listing, ctx)
                or not ctx.program_calls(INITIALIZE)
            ):
                continue
            ctx.report(
                listing,
                "in every process but the first this is another process's device: "
                "use jax.local_devices",
                confidence=Confidence.LIKELY,
                fix=_plan(listing, ctx),
            )


def _places(node: cst.Call, ctx: Context) -> list[cst.BaseExpression]:
    """Give the arguments of a call that say where arrays go."""
    name = ctx.called(node) or ""
    arguments = Arguments(node)
    place: cst.BaseExpression | None = None
    if name in _TARGETS:
        place = arguments.get(*_TARGETS[name])
    elif name == "jax.config.update":
        if string_value(arguments.get(0, "name")) == "jax_default_device":
            place = arguments.get(1, "val")
    elif name.startswith("jax.numpy."):
        place = arguments.get(None, "device")
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "to_device":
        place = arguments.get(0, "device") if ctx.flow.is_array(node.func.value) else None
    return [] if place is None else [place]


def _indexed(place: cst.BaseExpression, ctx: Context) -> cst.Call | None:
    """Give the call of `jax.devices` where a place is a numbered device of its list."""
    place = followed(place, ctx)
    if not isinstance(place, cst.Subscript) or len(place.slice) != 1:
        return None
    part = place.slice[0].slice
    if not isinstance(part, cst.Index) or integer_value(part.value) is None:
        return None
    listing = followed(place.value, ctx)
    return (
        listing if isinstance(listing, cst.Call) and ctx.is_call(listing, "jax.devices") else None
    )


def _plan(listing: cst.Call, ctx: Context) -> FixPlan | None:
    spelled = ctx.reach("jax.local_devices", listing)
    if not isinstance(ctx.parent(listing), cst.Subscript):
        # The list has a name, and may be used for something else.
        return None
    if spelled is None or len(listing.args) > 1 or Arguments(listing).is_open:
        return None

    def build(editor: Editor) -> list[Edit]:
        start, end = editor.spans.outer(listing.func)
        edits = [editor.replace_offsets(start, end, str(spelled))]
        if listing.args and listing.args[0].keyword is None:
            # The first parameter of the other one is the process.
            at, _ = editor.spans.outer(listing.args[0].value)
            edits.append(editor.insert(at, "backend="))
        return edits

    what = "Take a device of this process"
    return FixPlan(Applicability.SAFE, what, build, imports=spelled.imports)
