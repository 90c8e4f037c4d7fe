"""JDP109."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.config_options import CONFIG_OPTIONS, CONFIG_PROPERTIES
from placement_lint.prefilter.conditions import GAP, AllOf, AnyOf, Identifier, Jax, Pattern, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.config_state.assignments import bound_targets
from placement_lint.rules.config_state.taking_effect import may_raise
from placement_lint.semantic.enclosing import failure_is_expected, is_caught
from placement_lint.syntax.calls import Arguments, string_value

if TYPE_CHECKING:
    from placement_lint.rules.context import Context
    from placement_lint.syntax.edits import Editor

_CONFIG = "jax.config"
_CAUGHT = frozenset({"builtins.AttributeError", "builtins.Exception", "builtins.BaseException"})
_SETTERS = frozenset({"builtins.setattr", "builtins.delattr"})
_PREFIX = "jax_"
# The options, without their prefix or with any.
_NAMES = "|".join(
    [
        r"jax_\w+",
        *sorted(name.removeprefix(_PREFIX) for name in CONFIG_OPTIONS | CONFIG_PROPERTIES),
    ]
).encode()


class ConfigAttributeAssignment(Rule):
    """An assignment to an attribute of `jax.config`.

    ## What it does
    Finds `jax.config.jax_platform_name = "cpu"`, and every other assignment to an option of
    `jax.config` as an attribute: also augmented, in a tuple, by `setattr` or by `del`; and without
    the prefix `jax_` (`jax.config.enable_x64 = True`).

    ## Why is this bad?
    Options are set by `jax.config.update`. An assignment either raises AttributeError, or creates
    an attribute that JAX never reads. The latter happens with `jax_platform_name`,
    `jax_xla_backend`, `jax_cuda_visible_devices` and every name that is not an option. Reading the
    attribute returns the new value, while JAX still uses the old one.

    ## Example
    ```python
    import jax

    jax.config.jax_platform_name = "cpu"
    jax.config.enable_x64 = True
    ```

    ## Use instead
    ```python
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    ```

    ## Fix safety
    Safe: an assignment to one option becomes `jax.config.update` with the same value. Unsafe if
    other findings come up, now that the option is set, or if JAX may raise then. No fix for
    augmented, multiple or unpacked targets, for `del`, or for names that are not options of JAX.

    ## What it does not flag
    Attributes of other objects called `config`; names that are not options and do not look like
    one; a replacement for a method of `jax.config` in a test; `monkeypatch.setattr`. An assignment
    that is expected to fail, or whose exception is caught.

    ## Verified by
    The proof assigns to `jax.config.jax_default_device` and gets the AttributeError. After the fix
    the next array is on the host. A test assigns to every option of the installed JAX.

    ## References
    - [Configuration options](https://docs.jax.dev/en/latest/config_options.html) of JAX:
      `jax.config.update`
    - Measured on JAX 0.4.30 and 0.12.0.1; the options were read from six versions
    """

    code, name = "JDP109", "config-attribute-assignment"
    advice = "Set the option with `jax.config.update(name, value)`"
    severity, fix = Severity.ERROR, Applicability.SAFE
    fix_takes_effect = True
    follows_arrays = False
    needs = AllOf(
        Jax(),
        b"config",
        AnyOf(
            AllOf(
                Pattern(rb"\." + GAP + rb"(?:" + _NAMES + rb")\b(?!\s*[(.])"),
                Uses("jax.config.*"),
                # Bound alone or beside others, by `with … as`, by `for`, or deleted.
                AnyOf(
                    Pattern(
                        rb"\." + GAP + rb"(?:" + _NAMES + rb")\b[\s\\)\]]*"
                        rb"(?:[-+*/|&^%@<>]{0,3}=(?!=)|,|in\b"
                        rb"|:[^\n=\\\[({]*(?:[=\\\[({]|(?P<otherwise>\n|\Z)))"
                    ),
                    Identifier(b"del"),
                    AllOf(
                        b"with",
                        Pattern(
                            rb"\bas\b(?:[ \t]*\n"
                            rb"|[^\n.\\(\[,]*(?:[.\\(\[,]|(?P<otherwise>\n|\Z)))",
                            word=b"as",
                        ),
                    ),
                ),
            ),
            AllOf(
                AnyOf(b"setattr", b"delattr"),
                Pattern(rb"[\"'](?:" + _NAMES + rb")[\"']"),
                Uses("jax.config"),
            ),
        ),
    )

    def _check_targets(self, node: cst.CSTNode, ctx: Context) -> None:
        for target in bound_targets(node):
            name = _assigned_option(target, ctx)
            if name is None or failure_is_expected(node, ctx) or is_caught(node, ctx, _CAUGHT):
                continue
            ctx.report(target, _message(name), fix=_plan(node, target, name, ctx))

    visit_Assign = visit_AnnAssign = visit_AugAssign = _check_targets
    visit_Del = visit_For = visit_WithItem = _check_targets

    def visit_Call(self, node: cst.Call, ctx: Context) -> None:
        """Check `setattr(jax.config, "…", value)`."""
        if isinstance(node.func, cst.Name) and ctx.name(node.func) in _SETTERS:
            self._check_targets(node, ctx)


def _assigned_option(target: cst.CSTNode, ctx: Context) -> str | None:
    """Return the option that a target names, with or without its prefix."""
    if isinstance(target, cst.Attribute):
        owner: cst.BaseExpression | None = target.value
        name: str | None = target.attr.value
    elif isinstance(target, cst.Call):
        arguments = Arguments(target)
        given = arguments.get(1)
        owner = arguments.get(0)
        name = string_value(given) if isinstance(given, cst.SimpleString) else None
    else:
        return None
    if owner is None or name is None or ctx.name(owner) != _CONFIG:
        return None
    known = name in CONFIG_OPTIONS or name in CONFIG_PROPERTIES or _PREFIX + name in CONFIG_OPTIONS
    return name if known or name.startswith(_PREFIX) else None


def _message(name: str) -> str:
    if name in CONFIG_PROPERTIES:
        return f"assigning to jax.config.{name} raises AttributeError"
    return f"assigning to jax.config.{name} makes an attribute that nothing reads: nothing is set"


def _plan(node: cst.CSTNode, target: cst.CSTNode, name: str, ctx: Context) -> FixPlan | None:
    option = name if name in CONFIG_OPTIONS else _PREFIX + name
    spelled = ctx.reach("jax.config.update", at=target)
    if option not in CONFIG_OPTIONS or spelled is None:
        return None
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        value = node.value
        ctx.module.add_punctuation()
        if isinstance(value, cst.Tuple) and not value.lpar:
            return None

        def assign(editor: Editor) -> list[Edit] | None:
            start, _ = editor.spans.outer(target)
            value_start, value_end = editor.spans.outer(value)
            if editor.has_comment((start, value_start)):
                return None
            return [
                editor.replace_offsets(
                    start, value_start, f"{spelled}({editor.string(option, target)}, "
                ),
                editor.insert(value_end, ")"),
            ]

        is_bare = isinstance(value, cst.Yield) and not value.lpar
        if is_bare:
            return None
        return FixPlan(
            _level(name, option, value), "Set the option", assign, imports=spelled.imports
        )
    if (
        isinstance(node, cst.Call)
        and ctx.called(node) == "builtins.setattr"
        and len(node.args) == 3
    ):
        given = node.args[2].value

        def call(editor: Editor) -> list[Edit] | None:
            start, end = editor.spans.inner(node)
            if editor.has_comment((start, end)):
                return None
            given_start, given_end = editor.spans.outer(given)
            text = editor.source.text[given_start:given_end]
            new = f"{spelled}({editor.string(option, node)}, {text})"
            return [editor.replace(node, new)]

        return FixPlan(_level(name, option, given), "Set the option", call, imports=spelled.imports)
    return None


def _level(name: str, option: str, value: cst.BaseExpression) -> Applicability:
    """Return how safe it is to set an option: what raises as it is gets no worse."""
    is_worse = name not in CONFIG_PROPERTIES and may_raise(option, value)
    return Applicability.UNSAFE if is_worse else Applicability.SAFE
