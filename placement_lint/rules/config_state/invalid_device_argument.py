"""JDP108."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence, Edit, Severity
from placement_lint.jaxmodel.versions import written
from placement_lint.placement.domain import values
from placement_lint.placement.domain.library_values import DeviceList
from placement_lint.prefilter.conditions import (
    AllOf,
    AnyOf,
    ArgumentMatches,
    Jax,
    Pattern,
    Says,
    Uses,
    passed,
)
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.commitment.known_devices import is_any_device
from placement_lint.rules.meshes.shardings import is_unknown_alone
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.semantic.followed import followed
from placement_lint.syntax.calls import Arguments, integer_value, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.spelling import Spelling

_CREATORS = """
arange array asarray empty empty_like eye full full_like linspace ones ones_like zeros zeros_like
"""
_READERS = "concatenate fromfile load memmap random.rand random.randn stack"
_DEVICE_KEYWORD = frozenset(f"jax.numpy.{name}" for name in _CREATORS.split())
_ONE_ARRAY = frozenset(f"numpy.{name}" for name in f"{_CREATORS} {_READERS}".split())
# Where a backend is named; the position of that parameter.
_BACKENDS = {
    "jax.devices": 0, "jax.device_count": 0, "jax.local_device_count": 0, "jax.local_devices": 1,
}  # fmt: skip
_SHARDING = "jax.sharding.SingleDeviceSharding"
# `default_device` takes these from then on; every other string is a ValueError.
_DEFAULT_DEVICE_STRINGS = frozenset({"cpu", "gpu", "tpu"})
_STRINGS_SINCE = "0.4.36"
_PLATFORMS = frozenset({"cpu", "cuda", "gpu", "rocm", "tpu"})
_NUMBERED = re.compile(r"(?P<platform>[a-z]+):(?P<index>[0-9]{1,9})")
_CAUGHT = frozenset({
    "builtins.AttributeError", "builtins.BaseException", "builtins.Exception",
    "builtins.RuntimeError", "builtins.TypeError", "builtins.ValueError",
})  # fmt: skip


class InvalidDeviceArgument(Rule):
    """An argument that should be a device, and is a list, a string, a number or a sharding.

    ## What it does
    Where JAX takes one device, finds a list of devices (`jax.default_device(jax.devices("cpu"))`),
    a string (`jax.device_put(x, "cpu")`, `jax.default_device("cuda:0")`), a number, and a
    `SingleDeviceSharding` passed to `jax.default_device`. Where JAX takes the name of a backend,
    finds `jax.local_devices("cpu")`, whose first parameter is a process, and
    `jax.devices("gpu:0")`, which is not the name of a backend.

    ## Why is this bad?
    None of these works. `jax.default_device` and `jax.device_put` raise ValueError
    (`jax.default_device` for every string before JAX 0.4.36). `jax.default_device` accepts a
    `SingleDeviceSharding`, but the first array after it raises AttributeError. `jnp.zeros(…,
    device="cpu")` fails inside JAX with a message that does not name the argument.
    `jax.local_devices("cpu")` raises TypeError.

    ## Example
    ```python
    import jax

    with jax.default_device(jax.devices("cpu")):
        table = load()
    ```

    ## Use instead
    ```python
    import jax

    with jax.default_device(jax.devices("cpu")[0]):
        table = load()
    ```

    ## Fix safety
    Safe: a list of devices is replaced by its first device, a string by the device that it names
    (`"cuda:1"` becomes `jax.devices("cuda")[1]`), and a sharding by its device;
    `jax.local_devices("cpu")` gets the keyword `backend=`. Unsafe for a number, which is read as an
    index into `jax.devices()`, and if other findings come up, now that the call works. No fix for
    `jax.devices("gpu:0")`, for a string that names no backend, or for a string in a variable.

    ## What it does not flag
    `jax.default_device("cpu")`, `"gpu"` and `"tpu"`, which work from JAX 0.4.36 on, unless
    `target-jax` or the project's dependency supports older versions. Shardings, memory kinds,
    `None`, and a list of devices passed to `jax.device_put` together with a list of arrays, or with
    something that may be one: one device for each array. An argument that may be a device; a
    failure that is expected or caught.

    ## Verified by
    The proof gives `jax.default_device` the list of the host's devices and gets the ValueError.
    After the fix the array is made on the host.

    ## References
    - [jax.default_device](https://docs.jax.dev/en/latest/_autosummary/jax.default_device.html)
    - [jax-ml/jax#24751](https://github.com/jax-ml/jax/pull/24751): names of platforms become
      acceptable to `jax.default_device`
    - Each case was measured on JAX 0.4.30, 0.5.3, 0.10.2 and 0.12.0.1, the strings also on 0.6.2
      and 0.7.2: with 0.4.30 `with jax.default_device("cpu")` is a ValueError, and
      `jax.config.update("jax_default_device", "cpu")` an AttributeError at the first array
    """

    code, name = "JDP108", "invalid-device-argument"
    advice = 'Pass one device, such as `jax.devices("cpu")[0]`'
    severity, fix = Severity.ERROR, Applicability.SAFE
    fix_takes_effect = True
    follows_callers = True
    needs = AllOf(
        Jax(),
        AnyOf(
            Uses("jax.default_device", _SHARDING),
            ArgumentMatches(("jax.device_put",), r",|\*|\bdevice\b"),
            ArgumentMatches(_BACKENDS, r":\d"),
            ArgumentMatches(("jax.local_devices",), "[\"']"),
            Says("to_device"),
            AllOf(Uses("jax.config.update"), b"default_device"),
            # The argument of a creator is looked at where it is a literal.
            passed(b"device", rb"[rRuU]?[\"'(\[{\d-]"),
            Pattern(rb"[\"'](?:cpu|cuda|gpu|rocm|tpu):\d", word=b"device"),
        ),
    )

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        name = ctx.called(node)
        if name is None:
            function = node.func
            if isinstance(function, cst.Attribute) and function.attr.value == "to_device":
                given = Arguments(node).get(0, "device")
                if given is not None and ctx.flow.is_array(function.value):
                    _check_argument(node, given, "to_device", ctx)
            return
        if not name.startswith("jax."):
            return
        arguments = Arguments(node)
        argument: cst.BaseExpression | None = None
        if name == "jax.default_device":
            argument = arguments.get(0, "new_val")
        elif name == "jax.config.update":
            if string_value(arguments.get(0, "name")) == "jax_default_device":
                argument, name = arguments.get(1, "val"), "jax.default_device"
        elif name == "jax.device_put":
            argument = arguments.get(1, "device")
        elif name == _SHARDING:
            argument = arguments.get(0, "device")
        elif name in _DEVICE_KEYWORD:
            argument = arguments.get(None, "device")
            if not _is_literal(argument):
                return
        elif name in _BACKENDS:
            _check_backend(node, name, arguments, ctx)
        if argument is not None:
            _check_argument(node, argument, name, ctx)


def _is_literal(argument: cst.BaseExpression | None) -> bool:
    return isinstance(
        argument,
        cst.BaseString | cst.BaseNumber | cst.List | cst.Tuple | cst.Set,
    )


def _check_argument(call: cst.Call, argument: cst.BaseExpression, name: str, ctx: Context) -> None:
    problem = _problem(call, argument, name, ctx)
    confidence = Confidence.DEFINITE
    if problem is None and name == "jax.default_device":
        problem = _too_new(argument, ctx)
        if ctx.target.reaches(_STRINGS_SINCE):
            confidence = Confidence.LIKELY
    if problem is not None and not _is_guarded(call, ctx):
        message = f"{name} takes a device, not {problem}"
        ctx.report(argument, message, fix=_device_plan(argument, ctx), confidence=confidence)


def _is_guarded(call: cst.Call, ctx: Context) -> bool:
    return failure_is_expected(call, ctx) or is_caught(call, ctx, _CAUGHT)


# -- what is no device ------------------------------------------------------------------------


def _problem(call: cst.Call, argument: cst.BaseExpression, name: str, ctx: Context) -> str | None:
    """Return what an argument is that certainly is no device, in words; None where it may
    be one.
    """
    is_default = name == "jax.default_device"
    if not is_default and (text := _default_text(argument, ctx)) is not None:
        return f'the string "{text}"'
    if not is_default and _is_other(argument, ctx):
        return None
    texts = _texts(argument, ctx)
    if texts:
        return _string_problem(texts, is_default=is_default)
    if ctx.is_call(argument, "jax.default_backend"):
        return None if is_default else "the name of a backend"
    if isinstance(argument, cst.Integer | cst.Float) or integer_value(argument) is not None:
        return "a number"
    if isinstance(argument, cst.Name) and argument.value in {"True", "False"}:
        return "a boolean"
    if is_default and _is_sharding(argument, ctx):
        return "a sharding: the first array made under it raises AttributeError"
    if _is_list(argument, ctx) and not (
        name in {"jax.device_put", "to_device"} and _may_be_sequence(call, name, ctx)
    ):
        return "a list of devices"
    return None


def _default_text(argument: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the text that a parameter is by default, if it is used for nothing but a device.

    Nothing where a call that is known passes something else.
    """
    bound = ctx.names.sole_definition(argument)
    default = bound.default if isinstance(bound, cst.Param) else None
    text = None if default is None else string_value(default)
    if text is None or not isinstance(argument, cst.Name):
        return None
    if any(isinstance(atom, values.TheDevice) for atom in ctx.flow.value(argument)):
        return None
    scope = ctx.names.owner(argument.value, ctx.names.scope(argument))
    uses = () if scope is None else ctx.names.uses(argument.value, scope)
    calls = [
        ctx.called(ctx.parent(around)) if isinstance(around := ctx.parent(use), cst.Arg) else None
        for use in uses
    ]
    return text if calls and all(each == "jax.device_put" for each in calls) else None


def _is_other(argument: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression certainly is a sharding or device, or nothing is known of it."""
    if is_unknown_alone(argument, ctx) or is_any_device(argument, ctx.names):
        return True
    name = ctx.called(followed(argument, ctx)) or ""
    return name == "jax.NamedSharding" or name.startswith("jax.sharding.")


def _texts(argument: cst.BaseExpression, ctx: Context) -> list[str]:
    """Return the strings of which an argument certainly is one."""
    text = string_value(argument)
    if text is not None:
        return [text]
    held = ctx.flow.value(argument)
    texts = [atom.text for atom in held if isinstance(atom, values.Plain) and atom.text is not None]
    return texts if len(texts) == len(held) else []


def _too_new(argument: cst.BaseExpression, ctx: Context) -> str | None:
    """Return which name of a platform some of the supported versions do not take, in words."""
    if ctx.target.all_reach(_STRINGS_SINCE):
        return None
    texts = _texts(argument, ctx)
    if ctx.is_call(argument, "jax.default_backend"):
        what = "the name of a backend"
    elif texts and set(texts) <= _DEFAULT_DEVICE_STRINGS:
        what = f'the string "{texts[0]}"' if len(set(texts)) == 1 else "a string"
    else:
        return None
    lowest, highest = written(ctx.target.lowest), written(ctx.target.highest)
    supported = lowest if lowest == highest else f"{lowest} to {highest}"
    return f"{what}: that is possible from JAX {_STRINGS_SINCE} on only (target: {supported})"


def _string_problem(texts: list[str], *, is_default: bool) -> str | None:
    wrong = sorted(set(texts) - _DEFAULT_DEVICE_STRINGS) if is_default else sorted(set(texts))
    if len(wrong) < len(set(texts)):
        return None
    return f'the string "{wrong[0]}"' if len(wrong) == 1 else "a string"


def _is_sharding(argument: cst.BaseExpression, ctx: Context) -> bool:
    return ctx.is_call(followed(argument, ctx), _SHARDING)


def _is_list(argument: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression certainly is a list, a tuple or a set of devices."""
    if isinstance(argument, cst.List | cst.Tuple | cst.Set):
        return bool(argument.elements)
    if ctx.called(followed(argument, ctx)) in _BACKENDS:
        return True
    held = ctx.flow.value(argument)
    return bool(held) and all(
        isinstance(atom, DeviceList)
        or (
            isinstance(atom, values.Sequence)
            and bool(atom.element)
            and all(isinstance(each, values.TheDevice) for each in atom.element)
        )
        for atom in held
    )


def _may_be_sequence(call: cst.Call, name: str, ctx: Context) -> bool:
    """Return whether the operand of a call may be a list or a tuple: then a list suits it."""
    if name == "to_device":
        return False
    operand = Arguments(call).get(0, "x")
    if operand is None:
        return True
    if isinstance(operand, cst.Integer | cst.Float | cst.Dict | cst.DictComp):
        return False
    held = ctx.flow.value(operand)
    if held and all(isinstance(atom, values.Host) for atom in held):
        # What gives NumPy arrays may give a list of them, as `np.split` does.
        return ctx.called(followed(operand, ctx)) not in _ONE_ARRAY
    return not held or not all(isinstance(atom, values.Array | values.Mapping) for atom in held)


def _check_backend(call: cst.Call, name: str, arguments: Arguments, ctx: Context) -> None:
    backend = arguments.get(_BACKENDS[name], "backend")
    text = string_value(backend)
    if text is not None and _NUMBERED.fullmatch(text) and not _is_guarded(call, ctx):
        ctx.report(call, f'"{text}" is the name of no backend: {name} raises RuntimeError')
    process = arguments.get(0, "process_index")
    if name != "jax.local_devices" or string_value(process) is None or _is_guarded(call, ctx):
        return
    if process is not None and arguments.get(None, "process_index") is None:
        message = "the first parameter of jax.local_devices is a process, not a backend"
        plan = None if arguments.may_pass(1, "backend") else _backend_plan(process)
        ctx.report(process, message, fix=plan)


# -- the fix ----------------------------------------------------------------------------------

_IMPERATIVE = "Give it a device"


def _backend_plan(argument: cst.BaseExpression) -> FixPlan:
    def build(editor: Editor) -> list[Edit]:
        start, _ = editor.spans.outer(argument)
        return [editor.insert(start, "backend=")]

    return FixPlan(Applicability.SAFE, "Name the parameter", build)


def _device_plan(argument: cst.BaseExpression, ctx: Context) -> FixPlan | None:
    """Make the device of what stands for it."""
    text, number = string_value(argument), integer_value(argument)
    devices = ctx.reach("jax.devices", at=argument)
    if text is not None:
        wanted = _wanted(text)
        if wanted is None or devices is None:
            return None
        platform, index = wanted
        return FixPlan(
            Applicability.SAFE,
            _IMPERATIVE,
            lambda editor: [
                editor.replace(argument, f"{devices}({editor.string(platform, argument)})[{index}]")
            ],
            imports=devices.imports,
        )
    if number is not None:
        if devices is None:
            return None
        return _replacement(argument, devices, number, Applicability.UNSAFE)
    if ctx.is_call(argument, "jax.default_backend"):
        return None if devices is None else _replacement(argument, devices, 0)
    if isinstance(argument, cst.List | cst.Tuple | cst.Set):
        element = argument.elements[0]
        if len(argument.elements) > 1 or isinstance(element, cst.StarredElement):
            return None
        return _unwrapping(argument, element.value)
    if ctx.is_call(argument, _SHARDING) and isinstance(argument, cst.Call):
        device = Arguments(argument).get(0, "device")
        if len(argument.args) > 1 or device is None:
            return None
        return _unwrapping(argument, device)
    if _is_list(argument, ctx) and isinstance(argument, cst.Call | cst.Name | cst.Attribute):
        return FixPlan(Applicability.SAFE, _IMPERATIVE, lambda editor: _indexed(argument, editor))
    return None


def _wanted(text: str) -> tuple[str, int] | None:
    """Return the arguments of `jax.devices(…)[…]` for the device that a string names."""
    numbered = _NUMBERED.fullmatch(text.lower())
    platform = numbered["platform"] if numbered else text.lower()
    if platform not in _PLATFORMS:
        return None
    return platform, int(numbered["index"]) if numbered else 0


def _indexed(node: cst.BaseExpression, editor: Editor) -> list[Edit]:
    _, end = editor.spans.outer(node)
    return [editor.insert(end, "[0]")]


def _replacement(
    node: cst.BaseExpression,
    devices: Spelling,
    number: int,
    level: Applicability = Applicability.SAFE,
) -> FixPlan:
    return FixPlan(
        level,
        _IMPERATIVE,
        lambda editor: [editor.replace(node, f"{devices}()[{number}]")],
        imports=devices.imports,
    )


def _unwrapping(node: cst.BaseExpression, kept: cst.BaseExpression) -> FixPlan:
    def build(editor: Editor) -> list[Edit] | None:
        if editor.has_comment(editor.spans.outer(node)):
            return None
        start, end = editor.spans.outer(kept)
        return [editor.replace_offsets(*editor.spans.outer(node), editor.source.text[start:end])]

    return FixPlan(Applicability.SAFE, _IMPERATIVE, build)
