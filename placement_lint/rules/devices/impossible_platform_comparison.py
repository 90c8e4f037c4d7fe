"""JDP303."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.platforms import PLATFORMS, meant_platform
from placement_lint.prefilter.array_names import MAKES_ARRAYS
from placement_lint.prefilter.conditions import (
    AllOf,
    AnyOf,
    Jax,
    Pattern,
    ReadOfValue,
    Uses,
)
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.devices.queries import is_set_otherwise, names_device, texts_seen
from placement_lint.rules.meshes.shardings import is_unknown_alone, may_know_devices
from placement_lint.semantic.enclosing import is_asserted_to_fail
from placement_lint.semantic.followed import followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import is_none, string_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_BACKENDS = frozenset({
    "jax.extend.backend.get_backend", "jax.lib.xla_bridge.get_backend",
})  # fmt: skip
_LISTS = frozenset({"jax.devices", "jax.local_devices"})
_DEFAULT_BACKEND = "jax.default_backend"
_GIVING_PLATFORMS = frozenset({"default_backend", "platform"})
_KEEPING_DEVICES = frozenset({
    "builtins.iter", "builtins.list", "builtins.sorted", "builtins.tuple",
})  # fmt: skip
_SHARDING = b"SingleDeviceSharding"
_TEXTS = frozenset({"builtins.repr", "builtins.str"})
# A device is written `CudaDevice(id=0)` or `cuda:0`, and a list of CPUs `[CpuDevice(id=0)]`.
_NEVER_WRITTEN = frozenset({"gpu"})
_NEVER_LISTED = frozenset({"cpu", "gpu"})
_NAMES = rb"[\"'](?i:cpu|cuda|gpu|hip|nvidia|rocm|tpu)(?::\d+)?[\"']"
_NEVER_GIVEN = _NAMES.replace(b"(?i:", rb"(?!(?:cpu|gpu|tpu)[\"'])(?i:", 1)
_SPELLED_NAMES = frozenset({
    spelled
    for name in ("cpu", "cuda", "gpu", "hip", "nvidia", "rocm", "tpu")
    for spelled in (name, name.upper(), name.capitalize())
})  # fmt: skip
_NUMBERED = re.compile(r".*:\d+")
_DEVICES = AnyOf(Uses(*_LISTS, "jax.Device"), AllOf(ReadOfValue("device"), MAKES_ARRAYS))


def _compared_with(names: bytes) -> Pattern:
    """Make the pattern of a comparison with one of these, or with a collection of them."""
    return Pattern(
        # Beside an empty text, `'' "cuda"`, it is the same one.
        rb"(?:==|!=|\bin\b|\bcase\b)[\s\\(\[{]*(?:''|\"\")?[\s\\]{0,8}[rRuU]?[\"']{0,2}"
        + names
        + rb"|"
        + names
        + rb"[\"']{0,2}[\s\\]{0,8}(?:''|\"\")?[\s\\)\]}]*(?:==|!=|\bin\b|\bnot\b)"
    )


class ImpossiblePlatformComparison(Rule):
    """A comparison with a platform name that JAX never returns.

    ## What it does
    Finds comparisons whose result is always the same, or is so on a GPU: of `jax.default_backend()`
    or `device.platform` with `"cuda"`, `"rocm"`, `"GPU"` or `"gpu:0"`, also among others where the
    GPU is left out (`in ("cuda", "tpu")`), as a part of it (`"cuda" in device.platform`), and with
    `.lower()`; of a device itself with a string (`jax.devices()[0] == "cpu"`, `x.device == "cpu"`,
    `"gpu" in jax.devices()`); and of the text of devices (`"gpu" in str(jax.devices())`). Also as a
    `case` of a `match`, and `platform.startswith("cuda")`.

    ## Why is this bad?
    On a machine with a GPU of any vendor, both `jax.default_backend()` and `device.platform` are
    `"gpu"`. The text of a GPU device is `CudaDevice(id=0)`. A device is never equal to a string. So
    `==` is always False and `!=` is always True: the program silently takes the path for machines
    without an accelerator, or skips its tests.

    ## Example
    ```python
    import jax

    precision = "bfloat16" if jax.default_backend() == "cuda" else "float32"
    ```

    ## Use instead
    ```python
    import jax

    precision = "bfloat16" if jax.default_backend() == "gpu" else "float32"
    ```

    ## Fix safety
    Safe: the name is replaced by the one that JAX returns, and a device that is compared with a
    string is replaced by its platform. Unsafe for `"rocm"`, since `"gpu"` is also true for CUDA;
    for names with a number; and for a search in the text of devices, which becomes a comparison of
    `jax.default_backend()`. No fix in a `match`, or for a device
    that may be None.

    ## What it does not flag
    Names of plug-ins (`"METAL"`, `"neuron"`). A name next to the one that is meant: `in
    ("gpu", "cuda")`, `== "gpu" or … == "cuda"`, `!= "gpu" and … != "cuda"`, `case "gpu" | "cuda":`.
    `jax.devices("cuda")` and `JAX_PLATFORMS=cuda`, which are correct. `.platform` of an object that
    is not certainly a JAX device.

    ## Verified by
    The proof compares the accelerator's platform with `"cuda"` and takes the path for machines
    without an accelerator. After the fix it takes the other path. On virtual devices the name of
    the accelerator's platform is emulated. That JAX uses this name for CUDA and ROCm is stated in
    jaxlib's source.

    ## References
    - [jaxlib/py_client.h](https://github.com/jax-ml/jax/blob/main/jaxlib/py_client.h),
      `platform_name`: the raw names "cuda" and "rocm" become "gpu"
    - [jax-ml/jax#25315](https://github.com/jax-ml/jax/issues/25315): `jax.default_backend()` is
      `gpu` on CUDA
    - JAX's changelog: a device is written `CudaDevice(id=0)` since 0.4.31
    """

    code, name = "JDP303", "impossible-platform-comparison"
    advice = 'Compare with a name that JAX gives: "cpu", "gpu" or "tpu"'
    severity, fix = Severity.WARNING, Applicability.SAFE
    follows_callers = True
    needs = AllOf(
        Jax(),
        Pattern(_NAMES),
        AnyOf(
            # The name of a platform, with one that none has: that is found faster by itself.
            AllOf(
                Pattern(_NEVER_GIVEN),
                AnyOf(
                    _compared_with(_NEVER_GIVEN),
                    Pattern(rb"\bcase\b", word=b"case"),
                    b"startswith",
                    # Anywhere in a collection.
                    Pattern(rb"\bin\b[\s\\(]*[(\[{]", word=b"in"),
                    # Or with a name that is bound to it.
                    Pattern(rb"[A-Za-z_]\w{0,40}[ \t]{0,8}=[ \t(\[{]{0,8}" + _NEVER_GIVEN),
                ),
            ),
            # A device, or the text of one, with any.
            AllOf(_DEVICES, _compared_with(_NAMES)),
        ),
    )

    def visit_Comparison(self, node: cst.Comparison, ctx: Context) -> None:
        if len(node.comparisons) != 1 or is_asserted_to_fail(node, ctx):
            return
        target = node.comparisons[0]
        operator, left, right = target.operator, node.left, target.comparator
        always = isinstance(operator, cst.NotEqual | cst.NotIn)
        if isinstance(operator, cst.Equal | cst.NotEqual):
            for subject, literal in ((left, right), (right, left)):
                if _text(literal, ctx) is not None:
                    _check_equality(node, subject, literal, ctx, always=always)
                    return
            for subject, named in ((left, right), (right, left)):
                if _may_name_platform(named, subject, ctx) and _text_seen(named, ctx) is not None:
                    _check_equality(node, subject, named, ctx, always=always)
                    return
        elif isinstance(operator, cst.In | cst.NotIn):
            if isinstance(right, cst.Tuple | cst.List | cst.Set):
                _check_collection(node, left, right, ctx, always=always)
            elif isinstance(made := followed(right, ctx), cst.BaseSimpleComp):
                _check_parts(node, left, made, ctx, always=always)
            elif _text(left, ctx) is not None:
                _check_membership(node, left, right, ctx, always=always)

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `device.platform.startswith("cuda")`."""
        method = node.func
        if not isinstance(method, cst.Attribute) or method.attr.value != "startswith":
            return
        if len(node.args) != 1 or node.args[0].star or is_asserted_to_fail(node, ctx):
            return
        literal = node.args[0].value
        text = _text(literal, ctx) or ""
        meant = meant_platform(text)
        if meant and not _is_hedged(node, (meant,), ctx) and _is_platform(method.value, ctx):
            message = f"{_message(text, meant)}, so that {_always(False)}"
            ctx.report(node, message, fix=_rename(literal, text, meant))

    def visit_Match(self, node: cst.Match, ctx: Context) -> None:
        """Check `match jax.default_backend():` with a `case "cuda":` in it."""
        if not _is_platform(node.subject, ctx):
            return
        first: dict[str | None, cst.MatchCase] = {}
        for case in node.cases:
            for each in _alternatives(case.pattern):
                first.setdefault(string_value(each), case)
        for case in node.cases:
            for each in _alternatives(case.pattern):
                text = string_value(each) or ""
                meant = meant_platform(text)
                right = None if meant is None else first.get(meant)
                # What is meant may be the same case, or another one that does the same.
                if meant and not (right is not None and right.body.deep_equals(case.body)):
                    ctx.report(each, _message(text, meant))


def _alternatives(pattern: cst.MatchPattern) -> Iterator[cst.BaseExpression]:
    if isinstance(pattern, cst.MatchValue):
        yield pattern.value
    elif isinstance(pattern, cst.MatchOr):
        for each in pattern.patterns:
            yield from _alternatives(each.pattern)


# -- recognising ------------------------------------------------------------------------------


def _is_platform(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression certainly is the name that JAX gives to a platform.

    It is in lower case already.
    """
    made = followed(node, ctx)
    lowered = _lowered(made)
    if lowered is not None:
        # Once is enough, and a name may be bound to itself in lower case.
        node, made = lowered, followed(lowered, ctx)
    if ctx.called(made) == _DEFAULT_BACKEND:
        return True
    if isinstance(made, cst.Attribute) and made.attr.value == "platform":
        owner = made.value
        if ctx.called(followed(owner, ctx)) in _BACKENDS or _is_device(owner, ctx):
            return True
    return _is_name_of_platform(node, ctx)


def _is_name_of_platform(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is what JAX calls a platform, wherever it comes from."""
    from placement_lint.placement.domain.platform_names import PlatformName
    from placement_lint.placement.domain.values import NONE

    if not ctx.may_say(_GIVING_PLATFORMS) or is_unknown_alone(node, ctx):
        return False
    held = ctx.flow.value(node) - NONE
    is_name = bool(held) and all(isinstance(atom, PlatformName) for atom in held)
    return is_name and not is_set_otherwise(node, ctx)


def _is_device(node: cst.BaseExpression, ctx: Context) -> bool:
    if names_device(node, ctx):
        return True
    if (
        isinstance(node, cst.Attribute)
        and node.attr.value == "device"
        and ctx.flow.is_array(node.value)
    ):
        return True
    if isinstance(node, cst.Name) and _is_taken_from_devices(node, ctx):
        return True
    if _is_of_array(node, ctx):
        return True
    made = followed(node, ctx)
    if isinstance(made, cst.Call) and not _takes_item(made, ctx) and not _gives_device(made, ctx):
        return False
    if not may_know_devices(ctx) or is_unknown_alone(node, ctx):
        return False
    if is_set_otherwise(node, ctx):
        return False
    given = own_attribute(made, ctx) if isinstance(made, cst.Attribute) else None
    return any(ctx.flow.is_device(each) for each in (node, made, given or node))


def _gives_device(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call of the program may give a device, and no sharding of one device, which
    is the same value.
    """
    if ctx.called(call) in ctx.names.table:
        return False
    return not any(facts.says(_SHARDING) for facts in ctx.module.siblings.values())


def _takes_item(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call takes one thing of several: `next(iter(…))`, `x.devices().pop()`."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "pop":
        return True
    return ctx.called(call) == "builtins.next"


def _is_of_array(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a device is taken of those of an array: `next(iter(x.devices()))`."""
    only = ctx.names.sole_definition(node)
    if isinstance(only, cst.Assign) and len(only.targets) == 1:
        target = only.targets[0].target
        if isinstance(target, cst.Tuple | cst.List) and len(target.elements) == 1:
            return _are_of_array(only.value, ctx)
    made = followed(node, ctx)
    if isinstance(made, cst.Subscript):
        made = made.value
    elif not isinstance(made, cst.Call) or not _takes_item(made, ctx):
        return False
    elif isinstance(made.func, cst.Attribute) and made.func.attr.value == "pop":
        made = made.func.value
    elif made.args:
        made = made.args[0].value
    while isinstance(made, cst.Call) and ctx.called(made) in _KEEPING_DEVICES and made.args:
        made = made.args[0].value
    return _are_of_array(made, ctx)


def _are_of_array(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is the set of devices of an array, or of its sharding."""
    made = followed(node, ctx)
    if isinstance(made, cst.Attribute) and made.attr.value == "device_set":
        of = followed(made.value, ctx)
        return (
            isinstance(of, cst.Attribute)
            and of.attr.value == "sharding"
            and ctx.flow.is_array(of.value)
        )
    return (
        isinstance(made, cst.Call)
        and not made.args
        and isinstance(made.func, cst.Attribute)
        and made.func.attr.value == "devices"
        and ctx.flow.is_array(made.func.value)
    )


def _is_taken_from_devices(node: cst.Name, ctx: Context) -> bool:
    """Return whether a name is the target of `for … in jax.devices()`, and of nothing else."""
    bindings = [binding.node for binding in ctx.names.bindings(node)]
    return bool(bindings) and all(
        isinstance(each, cst.For | cst.CompFor)
        and isinstance(each.target, cst.Name)
        and (ctx.called(followed(each.iter, ctx)) in _LISTS or _are_of_array(each.iter, ctx))
        for each in bindings
    )


def _written(node: cst.BaseExpression, ctx: Context) -> tuple[cst.BaseExpression, bool] | None:
    """Return what `str(…)` or `repr(…)` writes, and whether it is put in lower case."""
    node = followed(node, ctx)
    lowered = _lowered(node)
    is_lower, node = lowered is not None, lowered or node
    if isinstance(node, cst.Call) and ctx.called(node) in _TEXTS and len(node.args) == 1:
        return node.args[0].value, is_lower
    return None


def _lowered(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """Return what a call puts in lower case, if it does."""
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return None
    return node.func.value if node.func.attr.value in {"lower", "casefold"} else None


def _text(node: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the text that an expression is: written there, or what a name is bound to once."""
    return string_value(followed(node, ctx) if isinstance(node, cst.Name) else node)


def _may_name_platform(node: cst.BaseExpression, subject: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression that is no text may stand for the name of a platform, where it
    is compared with one, or with a device.
    """
    return (
        isinstance(node, cst.Attribute | cst.Name | cst.Subscript)
        and not isinstance(subject, cst.SimpleString)
        and ctx.may_say(_SPELLED_NAMES)
        and (_is_platform(subject, ctx) or _is_device(subject, ctx))
    )


def _text_seen(node: cst.BaseExpression, ctx: Context) -> str | None:
    """Return the one text that an expression is, written there or wherever it comes from."""
    text = _text(node, ctx)
    seen = texts_seen(node, ctx) if text is None else ()
    return seen[0] if len(seen) == 1 else text


def _is_hedged(
    comparison: cst.BaseExpression, meant: Collection[str], ctx: Context, *, always: bool = False
) -> bool:
    """Return whether another comparison beside this one tries a name that is meant.

    It is an alternative on the other side of an `or`, or of an `and` where this one is always true.
    """
    joined_by = cst.And if always else cst.Or
    here: cst.CSTNode = comparison
    for choice in ctx.ancestors(comparison):
        if not isinstance(choice, cst.BooleanOperation):
            break
        other = choice.left if choice.right is here else choice.right
        here = choice
        if isinstance(choice.operator, joined_by) and any(
            _text(part, ctx) in meant
            for part in ctx.tree.descendants(other)
            if isinstance(part, cst.BaseExpression)
        ):
            return True
    return False


# -- reporting --------------------------------------------------------------------------------


def _message(text: str, meant: str) -> str:
    return f'no platform of JAX is called "{text}": it is "{meant}"'


def _always(value: bool) -> str:
    return f"this is always {value}"


def _report_name(
    node: cst.Comparison,
    literal: cst.BaseExpression,
    text: str,
    meant: str,
    ctx: Context,
    *,
    always: bool,
) -> None:
    """Report a comparison with a name that no platform has, unless another one hedges it."""
    if not _is_hedged(node, (meant,), ctx, always=always):
        message = f"{_message(text, meant)}, so that {_always(always)}"
        ctx.report(node, message, fix=_rename(literal, text, meant))


def _check_equality(
    node: cst.Comparison,
    subject: cst.BaseExpression,
    literal: cst.BaseExpression,
    ctx: Context,
    *,
    always: bool,
) -> None:
    text = _text_seen(literal, ctx) or ""
    meant = meant_platform(text)
    if meant is not None and _is_platform(subject, ctx):
        _report_name(node, literal, text, meant, ctx, always=always)
    elif (meant or text in PLATFORMS) and _is_device(subject, ctx):
        message = f"a device is never equal to a string: {_always(always)}"
        plan = _ask_platform(subject, literal, text, meant) if _is_there(subject, ctx) else None
        ctx.report(node, message, fix=plan)


def _check_collection(
    node: cst.Comparison,
    subject: cst.BaseExpression,
    collection: cst.BaseExpression,
    ctx: Context,
    *,
    always: bool,
) -> None:
    elements = collection.elements if isinstance(collection, cst.Tuple | cst.List | cst.Set) else ()
    parts = [element.value for element in elements]
    texts = [_text(part, ctx) for part in parts]
    named = zip(parts, texts, strict=True)
    never = {part: meant for part, text in named if (meant := meant_platform(text or ""))}
    missing = {part: meant for part, meant in never.items() if meant not in texts}
    is_sure = bool(missing) and None not in texts
    platforms = sorted({*missing.values()})
    if not is_sure or not _is_platform(subject, ctx):
        return
    if _is_hedged(node, platforms, ctx, always=always):
        return
    names = " or ".join(f'"{_text(part, ctx)}"' for part in missing)
    wanted = " or ".join(f'"{each}"' for each in platforms)
    comes = f"so that {_always(always)}" if len(never) == len(parts) else "which is not among these"
    plan = None
    if len(missing) == 1 < len(parts):
        [(part, meant)] = missing.items()
        plan = _rename(part, _text(part, ctx) or "", meant)
    ctx.report(node, f"no platform of JAX is called {names}: it is {wanted}, {comes}", fix=plan)


def _check_parts(
    node: cst.Comparison,
    literal: cst.BaseExpression,
    made: cst.BaseSimpleComp,
    ctx: Context,
    *,
    always: bool,
) -> None:
    """Check `"cuda" in {d.platform for d in jax.devices()}`."""
    text = _text(literal, ctx) or ""
    meant = meant_platform(text)
    if meant is not None and _is_platform(made.elt, ctx):
        _report_name(node, literal, text, meant, ctx, always=always)


def _check_membership(
    node: cst.Comparison,
    literal: cst.BaseExpression,
    subject: cst.BaseExpression,
    ctx: Context,
    *,
    always: bool,
) -> None:
    text = _text(literal, ctx) or ""
    meant, made = meant_platform(text), followed(subject, ctx)
    if ctx.called(made) in _LISTS:
        if text in PLATFORMS or meant is not None:
            message = f"a device is never equal to a string: {_always(always)}"
            ctx.report(node, message, fix=_compare_backend(node, literal, made, ctx, always=always))
        return
    if meant is not None and _is_platform(subject, ctx):
        # Nor is it a part of the name of one: `"cuda" in device.platform`.
        _report_name(node, literal, text, meant, ctx, always=always)
        return
    written = _written(subject, ctx)
    if written is None:
        return
    what, is_lower = written
    is_list = ctx.called(followed(what, ctx)) in _LISTS
    never = _NEVER_LISTED if is_list and not is_lower else _NEVER_WRITTEN
    if text in never and (is_list or _is_device(what, ctx)):
        how = "CpuDevice(id=0)" if text == "cpu" else "CudaDevice(id=0)"
        listed = followed(what, ctx) if is_list else None
        plan = _compare_backend(node, literal, listed, ctx, always=always)
        ctx.report(
            node, f'devices are written {how}, without "{text}": {_always(always)}', fix=plan
        )


# -- the fix ----------------------------------------------------------------------------------


def _level(text: str) -> Applicability:
    is_plain = text.lower() != "rocm" and not _NUMBERED.fullmatch(text)
    return Applicability.SAFE if is_plain else Applicability.UNSAFE


def _rename(literal: cst.BaseExpression, text: str, meant: str) -> FixPlan | None:
    if not isinstance(literal, cst.SimpleString):
        return None
    new = f"{literal.prefix}{literal.quote}{meant}{literal.quote}"
    return FixPlan(
        _level(text),
        "Compare with the name that JAX gives",
        lambda editor: [editor.replace(literal, new)],
    )


def _is_there(subject: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an expression is a device and never None, and may be followed by a dot."""
    before_a_dot = (cst.Attribute, cst.Call, cst.Name, cst.Subscript)
    from placement_lint.placement.domain.values import TheDevice
    from placement_lint.placement.facts.annotations import allows_none

    ctx.module.add_punctuation()
    if not subject.lpar and not isinstance(subject, before_a_dot):
        return False
    if isinstance(subject, cst.Name) and not _is_taken_from_devices(subject, ctx):
        for binding in ctx.names.bindings(subject):
            node = binding.node
            default = node.default if isinstance(node, cst.Param) else binding.value
            if is_none(default) or (
                isinstance(node, cst.Param | cst.AnnAssign)
                and allows_none(node.annotation, ctx.names)
            ):
                return False
    held = ctx.flow.value(subject)
    return (
        (bool(held) and all(isinstance(atom, TheDevice) for atom in held))
        or not isinstance(subject, cst.Attribute)
        or subject.attr.value == "device"
    )


def _ask_platform(
    subject: cst.BaseExpression, literal: cst.BaseExpression, text: str, meant: str | None
) -> FixPlan | None:
    if not isinstance(literal, cst.SimpleString):
        return None
    new = f"{literal.prefix}{literal.quote}{meant or text}{literal.quote}"

    def build(editor: Editor) -> list[Edit]:
        _, end = editor.spans.outer(subject)
        return [editor.insert(end, ".platform"), editor.replace(literal, new)]

    return FixPlan(_level(text), "Ask the device for its platform", build)


def _compare_backend(
    node: cst.Comparison,
    literal: cst.BaseExpression,
    listed: cst.BaseExpression | None,
    ctx: Context,
    *,
    always: bool,
) -> FixPlan | None:
    """`"gpu" in str(jax.devices())` → `jax.default_backend() == "gpu"`."""
    spelled = ctx.reach(_DEFAULT_BACKEND, at=node)
    if not isinstance(listed, cst.Call) or listed.args or spelled is None:
        return None
    ctx.module.add_punctuation()
    if node.lpar:
        return None
    text = _text(literal, ctx) or ""
    platform = meant_platform(text) or text
    operator = "!=" if always else "=="

    def build(editor: Editor) -> list[Edit] | None:
        if editor.has_comment(editor.spans.inner(node)):
            return None
        new = f"{spelled}() {operator} {editor.string(platform, node)}"
        return [editor.replace(node, new)]

    what = "Compare the default backend"
    return FixPlan(Applicability.UNSAFE, what, build, imports=spelled.imports)
