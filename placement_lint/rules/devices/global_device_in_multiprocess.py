"""JDP304."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.platforms import PLACED_BY
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Uses, passed
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.processes import INITIALIZE, depends_on_process, has_one_device
from placement_lint.semantic.elsewhere import effects_of
from placement_lint.semantic.enclosing import is_caught
from placement_lint.semantic.followed import followed
from placement_lint.semantic.named_places import (
    is_place_of_objects,
    puts_on_argument,
    puts_on_parameter,
)
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value
from placement_lint.syntax.definitions import (
    function_of,
    own_method,
    returns_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.names import Binding

# Calls of which an argument has the devices that arrays are spread over.
_LISTS = {
    "jax.make_mesh": (None, "devices"),
    "jax.pmap": (None, "devices"),
    "jax.sharding.Mesh": (0, "devices"),
}
# What gives the devices that it is given, in another form.
_CONVERTING = {
    "builtins.list": 0,
    "builtins.tuple": 0,
    "jax.experimental.mesh_utils.create_device_mesh": 1,
    "numpy.array": 0,
    "numpy.asarray": 0,
}
_PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
_MAX_HOPS = 6
_MAX_SEEN = 32
_FAILURES = frozenset({
    "builtins.BaseException", "builtins.Exception", "builtins.RuntimeError",
    "jax.errors.JaxRuntimeError",
})  # fmt: skip


class GlobalDeviceInMultiprocess(Rule):
    """`jax.devices()[0]` used to place arrays in a program of several processes.

    ## What it does
    In a program that calls `jax.distributed.initialize`, finds `jax.devices()[i]` and
    `jax.devices("cpu")[i]` as the target of `jax.device_put`, `jax.default_device`,
    `jax.config.update("jax_default_device", …)`, `x.to_device`, `SingleDeviceSharding` or a
    `device=`, or passed to a function or a method that puts arrays on its argument; also where a
    function or a property returns it, or an attribute holds it, and where another file puts arrays
    on what this one binds to a name or returns. It also finds such a device as the only one of a
    mesh, as in `Mesh(jax.devices()[:1], …)`, or of `jax.pmap`, and `.memory_stats()` of it or of
    each of `jax.devices()`.

    ## Why is this bad?
    `jax.devices()` and `jax.devices("cpu")` list the devices of *all* processes, those of process 0
    first. In every other process, the first device belongs to process 0. Putting an array there
    raises an error up to JAX 0.6.2. From 0.7.2 on it succeeds, and returns an array that its own
    process cannot read. `memory_stats()` of another process's device raises RuntimeError.

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
    Safe: in a program with one process, `jax.local_devices()` is the same list.

    ## What it does not flag
    Programs that never call `jax.distributed.initialize`. An index that is not a number, such as
    `jax.devices()[jax.process_index()]`, but for one that counts the devices of the process. Code
    under a condition on the process, the number of processes or a single device, or where all
    devices are those of this process (`jax.device_count() == jax.local_device_count()`). Devices
    that are listed for a mesh of several devices, or only inspected. `memory_stats()` in a `try`
    that catches the exception.

    ## Verified by
    The proof runs two processes. In the second one the array is on a device of the first, and not
    addressable. After the fix it is on its own device.

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
        AnyOf(
            b"device_put",
            b"default_device",
            b"to_device",
            b"SingleDeviceSharding",
            b"Mesh",
            b"memory_stats",
            b"devices()[",
            passed(b"device"),
            passed(b"devices"),
        ),
        Uses("jax.devices"),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        is_reading = isinstance(node.func, cst.Attribute) and node.func.attr.value == "memory_stats"
        listing = _read(node, ctx) if is_reading else _used_as_place(node, ctx)
        if listing is None and not is_reading:
            listing = _put_by_callee(node, ctx)
        if listing is None or (is_reading and is_caught(node, ctx, _FAILURES)):
            return
        self._report(listing, node, ctx, is_reading=is_reading)

    def visit_Subscript(self, node: cst.Subscript, ctx: Context) -> None:
        listing, path = _indexed(node, ctx), ctx.module.path
        name = None if listing is None else _name_for_others(node, ctx)
        if (
            name is not None
            and listing is not None
            and ctx.program_calls(INITIALIZE)
            and (_is_place_here(name, ctx) or ctx.module.run.is_place_elsewhere(path, name))
        ):
            self._report(listing, node, ctx)

    def _report(
        self, listing: cst.Call, at: cst.CSTNode, ctx: Context, *, is_reading: bool = False
    ) -> None:
        reported = ctx.module.fact(_reported)
        if (
            id(listing) in reported
            or any(
                depends_on_process(each, ctx) or has_one_device(each, ctx) for each in (at, listing)
            )
            or not ctx.program_calls(INITIALIZE)
        ):
            return
        reported.add(id(listing))
        ctx.report(
            listing,
            "memory_stats() of another process's device raises RuntimeError: use jax.local_devices"
            if is_reading
            else "jax.devices() starts with the devices of process 0, whose arrays others cannot "
            "read: use jax.local_devices() for a device of this process",
            confidence=Confidence.LIKELY,
            fix=_plan(listing, ctx),
        )


def _reported(_facts: ModuleFacts) -> set[int]:
    """Make the store of one file: what was reported already."""
    return set()


def _used_as_place(node: cst.Call, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` of which one device is where a call puts arrays."""
    name = ctx.called(node) or ""
    arguments = Arguments(node)
    shift = 0
    if name == "functools.partial" and arguments.positional:
        name, shift = ctx.name(arguments.positional[0]) or "", 1
    if name in _LISTS:
        position, keyword = _LISTS[name]
        return _only_one(arguments.get(position, keyword), ctx)
    place: cst.BaseExpression | None = None
    if name in PLACED_BY:
        position, keyword = PLACED_BY[name]
        place = arguments.get(None if position is None else position + shift, keyword)
    elif name == "jax.config.update":
        if string_value(arguments.get(0, "name")) == "jax_default_device":
            place = arguments.get(1, "val")
    elif name.startswith("jax.numpy."):
        place = arguments.get(None, "device")
    elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "to_device":
        place = arguments.get(0, "device") if ctx.flow.is_array(node.func.value) else None
    return None if place is None else _indexed(place, ctx)


def _put_by_callee(node: cst.Call, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` of which one device is given to a function that puts arrays
    on what it is given: one of this file, or of another one.
    """
    for position, argument in enumerate(node.args):
        keyword = None if argument.keyword is None else argument.keyword.value
        if argument.star or not _is_device_like(argument.value, keyword):
            continue
        listing = _indexed(argument.value, ctx)
        if listing is not None and _callee_puts(node, position, keyword, ctx):
            return listing
    return None


def _is_device_like(node: cst.BaseExpression, keyword: str | None) -> bool:
    """Return whether an argument may be a device, by what it looks like: few are looked at more."""
    name = node.value if isinstance(node, cst.Name) else ""
    return isinstance(node, cst.Subscript) or "dev" in name or "dev" in (keyword or "")


def _callee_puts(call: cst.Call, position: int, keyword: str | None, ctx: Context) -> bool:
    is_put = puts_on_argument(call, position, keyword, ctx.module)
    if is_put is not None:
        return is_put
    effects = effects_of(call.func, ctx)
    if effects is not None:
        return any(each.name in PLACED_BY for each in effects.calls)
    return ctx.program_calls(INITIALIZE) and _method_puts(call, position, keyword, ctx)


def _method_puts(call: cst.Call, position: int, keyword: str | None, ctx: Context) -> bool:
    """Return whether the method of an object puts arrays on what it is given, whatever the object
    comes by: `self.placer.put(x, device)`.
    """
    # A commit hook waits for the import of each module.
    from placement_lint.rules.transfers.program_callees import program_callees

    callees = program_callees(call, ctx)
    return bool(callees) and all(
        puts_on_parameter(each.function, position, keyword, each.there.module) for each in callees
    )


def _indexed(place: cst.BaseExpression, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` where a place is a numbered device of its list.

    Or one of several, of which one is.
    """
    return _first_indexed(place, ctx, set())


def _first_indexed(
    place: cst.BaseExpression, ctx: Context, seen: set[cst.CSTNode]
) -> cst.Call | None:
    found = (_indexed_by(each, ctx, seen) for each in _alternatives(place, ctx))
    return next(filter(None, found), None)


def _alternatives(place: cst.BaseExpression, ctx: Context) -> Iterator[cst.BaseExpression]:
    """Yield what a place may be: by a condition, or by several assignments of a name."""
    # This loads LibCST, which a run that parses nothing does without.
    from placement_lint.syntax.names import BindingKind

    every = ctx.names.bindings(place) if isinstance(place, cst.Name) else ()
    # `device = None` where listing the devices fails is no other device.
    bindings = [each for each in every if each.kind is not BindingKind.ABSENT]
    assigned = [each.value for each in bindings if each.kind is BindingKind.ASSIGNMENT]
    is_known = len(every) > 1 and 0 < len(bindings) == len(assigned) <= _MAX_HOPS
    found = assigned if is_known else [place]
    if len(assigned) == 1 and len(bindings) == 2 and _is_rebound(place, bindings, ctx):
        found = assigned
    for each in found:
        made = None if each is None else followed(each, ctx)
        if isinstance(made, cst.IfExp):
            yield from (made.body, made.orelse)
        elif made is not None:
            yield made


def _is_rebound(use: cst.BaseExpression, bindings: Sequence[Binding], ctx: Context) -> bool:
    """Return whether a parameter is always assigned again before it is used.

    `device = jax.devices(device)[0]`, as a statement of the function's own.
    """
    if not any(isinstance(each.node, cst.Param) for each in bindings):
        return False
    assigned = next((each.node for each in bindings if isinstance(each.node, cst.Assign)), None)
    line = None if assigned is None else ctx.parent(assigned)
    block = None if line is None else ctx.parent(line)
    return (
        assigned is not None
        and block is not None
        and isinstance(ctx.parent(block), cst.FunctionDef)
        and ctx.tree.index(assigned) < ctx.tree.index(use)
        and not ctx.tree.is_inside(use, assigned)
    )


def _indexed_by(place: cst.BaseExpression, ctx: Context, seen: set[cst.CSTNode]) -> cst.Call | None:
    """Return it where a place is one thing, however many functions and objects it comes through."""
    place = followed(place, ctx)
    if place in seen or len(seen) > _MAX_SEEN:
        return None
    seen.add(place)
    held = _held(place, ctx)
    if held is not None:
        return _first_indexed(held, ctx, seen)
    part = _single_index(place)
    if not isinstance(place, cst.Subscript) or not isinstance(part, cst.Index):
        return None
    is_of_first = integer_value(part.value) is not None or _counts_own_devices(part.value, ctx)
    return _listing(place.value, ctx) if is_of_first else None


def _counts_own_devices(index: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an index counts the devices of this process, which in a list of all are those
    of the first one: `for i in range(jax.local_device_count())`.
    """
    only = ctx.names.sole_binding(index)
    loop = None if only is None else only.node
    if not isinstance(loop, cst.For | cst.CompFor) or not isinstance(loop.target, cst.Name):
        return False
    if not isinstance(loop.iter, cst.Call) or not ctx.is_call(loop.iter, "builtins.range"):
        return False
    bounds = Arguments(loop.iter).positional
    number = bounds[0] if len(bounds) == 1 else None
    if isinstance(number, cst.Call) and ctx.is_call(number, "builtins.len") and number.args:
        return ctx.is_call(number.args[0].value, "jax.local_devices")
    return ctx.is_call(number, "jax.local_device_count")


def _held(place: cst.BaseExpression, ctx: Context) -> cst.BaseExpression | None:
    """Return what an attribute of an object is, or what a function of this file returns."""
    if isinstance(place, cst.Call):
        function = function_of(place.func, ctx.names)
        is_plain = isinstance(function, cst.FunctionDef) and not function.decorators
        return _returned(function, ctx) if is_plain else None
    if not isinstance(place, cst.Attribute):
        return None
    held = own_attribute(place, ctx)
    if held is not None:
        return held
    method = own_method(place, ctx.names)
    wrappers = [ctx.name(each.decorator) for each in method.decorators] if method else []
    return _returned(method, ctx) if len(wrappers) == 1 and wrappers[0] in _PROPERTIES else None


def _returned(function: Function | None, ctx: Context) -> cst.BaseExpression | None:
    """Return the only value that a function returns, or returns unless it returns None."""
    if not isinstance(function, cst.FunctionDef):
        return None
    values = [each.value for each in returns_of(function, ctx.names)]
    some = [each for each in values if each is not None and not is_none(each)]
    return some[0] if len(some) == 1 else None


def _name_for_others(device: cst.Subscript, ctx: Context) -> str | None:
    """Return the name by which others may get a device: of a variable, or a function.

    Of an attribute of objects, or a method or property of them, with the name of their class.
    """
    function = ctx.function(device)
    if isinstance(function, cst.FunctionDef):
        returned = _returned(function, ctx)
        is_this = returned is not None and device in _alternatives(returned, ctx)
        scope = ctx.names.scope(function)
        if isinstance(scope.node, cst.ClassDef):
            if not is_this:
                return _of_class(scope.node, _own_target(device, ctx), ctx)
            wrappers = {ctx.name(each.decorator) for each in function.decorators}
            is_plain = wrappers <= _PROPERTIES
            return _of_class(scope.node, function.name.value, ctx) if is_plain else None
        if ctx.function(function) is not None or function.decorators:
            return None
        return function.name.value if is_this else None
    if isinstance(function, cst.Lambda):
        return _default_of_field(function, ctx) if function.body is device else None
    parent = ctx.parent(device)
    if isinstance(parent, cst.Assign):
        target = parent.targets[0].target
        name = target.value if isinstance(target, cst.Name) else None
        scope = ctx.names.scope(parent)
        return _of_class(scope.node, name, ctx) if isinstance(scope.node, cst.ClassDef) else name
    return None


def _is_place_here(name: str, ctx: Context) -> bool:
    """Return whether this file puts arrays on what its objects hold."""
    cls, _, attribute = name.rpartition(".")
    return bool(cls) and is_place_of_objects(ctx.module, cls, ctx.module.path, attribute)


def _own_target(device: cst.Subscript, ctx: Context) -> str | None:
    """Return the attribute of the object whose method it is that a device is assigned to."""
    parent = ctx.parent(device)
    target = parent.targets[0].target if isinstance(parent, cst.Assign) else None
    if not isinstance(target, cst.Attribute) or own_attribute(target, ctx) is not device:
        return None
    return target.attr.value


def _default_of_field(function: cst.Lambda, ctx: Context) -> str | None:
    """Return the field of a class that `field(default_factory=lambda: …)` makes."""
    argument = ctx.parent(function)
    call = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
    field = None if call is None else ctx.parent(call)
    cls = None if field is None else ctx.names.scope(field).node
    if not isinstance(field, cst.AnnAssign) or not isinstance(field.target, cst.Name):
        return None
    return _of_class(cls, field.target.value, ctx) if isinstance(cls, cst.ClassDef) else None


def _of_class(cls: cst.ClassDef, name: str | None, ctx: Context) -> str | None:
    is_top = ctx.names.scope(cls) is ctx.names.module_scope
    return None if name is None or not is_top else f"{cls.name.value}.{name}"


def _only_one(devices: cst.BaseExpression | None, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` of whose list an expression is one device, in a list."""
    for _ in range(_MAX_HOPS):
        if devices is None:
            break
        devices = followed(devices, ctx)
        if isinstance(devices, cst.List | cst.Tuple) and len(devices.elements) == 1:
            element = devices.elements[0]
            if not isinstance(element, cst.Element):
                break
            devices = element.value
        elif isinstance(devices, cst.Call):
            devices = _converted(devices, ctx)
        else:
            part = _single_index(devices)
            if isinstance(part, cst.Slice) and isinstance(devices, cst.Subscript):
                return _listing(devices.value, ctx) if _takes_one(part) else None
            return _indexed(devices, ctx)
    return None


def _converted(call: cst.Call, ctx: Context) -> cst.BaseExpression | None:
    """Return what a call gives in another form, as `np.array(x)` or `x.reshape(1, 1)`."""
    position = _CONVERTING.get(ctx.called(call) or "")
    if position is not None:
        keywords = ("devices",) if position else ("object", "a")
        return Arguments(call).get(position, *keywords)
    method = call.func
    if isinstance(method, cst.Attribute) and method.attr.value in {"flatten", "ravel", "reshape"}:
        return method.value
    return None


def _listing(node: cst.BaseExpression, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` that an expression is, or is an array of."""
    made: cst.BaseExpression | None = followed(node, ctx)
    if isinstance(made, cst.Call) and not ctx.is_call(made, "jax.devices"):
        made = _converted(made, ctx)
        made = None if made is None else followed(made, ctx)
    return made if isinstance(made, cst.Call) and ctx.is_call(made, "jax.devices") else None


def _single_index(node: cst.BaseExpression) -> cst.BaseSlice | None:
    is_single = isinstance(node, cst.Subscript) and len(node.slice) == 1
    return node.slice[0].slice if is_single and isinstance(node, cst.Subscript) else None


def _takes_one(part: cst.Slice) -> bool:
    """Return whether a slice surely has one item: `[:1]`, `[2:3]`, `[-1:]`."""
    if part.step is not None:
        return False
    lower = 0 if part.lower is None else integer_value(part.lower)
    if part.upper is None:
        return lower == -1
    upper = integer_value(part.upper)
    return lower is not None and upper == lower + 1 and upper != 0


def _read(node: cst.Call, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` where `memory_stats` is called on a device of its list.

    On one that is numbered, or on each in turn.
    """
    method = node.func
    if not isinstance(method, cst.Attribute):
        return None
    found = _indexed(method.value, ctx)
    if found is not None or not isinstance(method.value, cst.Name):
        return found
    device = method.value
    loop = next(
        (
            each.node
            for each in ctx.names.bindings(device)
            if isinstance(each.node, cst.For | cst.CompFor)
            and ctx.tree.is_inside(node, _of_loop(each.node, ctx))
        ),
        None,
    )
    if loop is None or _is_bound_again(device, loop, ctx):
        return None
    if isinstance(loop, cst.CompFor) and loop.ifs:
        return None
    return _iterated(loop, device, ctx)


def _of_loop(loop: cst.For | cst.CompFor, ctx: Context) -> cst.CSTNode:
    """Return all that a loop runs: for a `for` of a comprehension, the comprehension."""
    around = ctx.parent(loop) if isinstance(loop, cst.CompFor) else loop
    return loop if around is None else around


def _is_bound_again(device: cst.Name, loop: cst.For | cst.CompFor, ctx: Context) -> bool:
    around = _of_loop(loop, ctx)
    return any(
        each.node is not loop and ctx.tree.is_inside(each.node, around)
        for each in ctx.names.bindings(device)
    )


def _iterated(loop: cst.For | cst.CompFor, device: cst.Name, ctx: Context) -> cst.Call | None:
    """Return the call of `jax.devices` of whose list a loop binds each device to a name."""
    source = followed(loop.iter, ctx)
    target: cst.BaseExpression = loop.target
    if isinstance(source, cst.Call) and ctx.called(source) == "builtins.enumerate":
        if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
            return None
        target = target.elements[1].value
        counted = Arguments(source).get(0, "iterable")
        if counted is None:
            return None
        source = counted
    is_device = isinstance(target, cst.Name) and target.value == device.value
    return _listing(source, ctx) if is_device else None


def _plan(listing: cst.Call, ctx: Context) -> FixPlan | None:
    spelled = ctx.reach("jax.local_devices", listing)
    if isinstance(ctx.parent(listing), cst.Assign | cst.AnnAssign | cst.NamedExpr):
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
