"""JDP101."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Edit, Severity
from placement_lint.jaxmodel.config_states import (
    CONFIG_CONTEXT_WORDS,
    CONFIG_CONTEXTS,
    ContextKind,
)
from placement_lint.prefilter.conditions import AllOf, AnyOf, Jax, Pattern, Uses
from placement_lint.rules.base import FixPlan, Rule
from placement_lint.rules.config_state.assignments import (
    Assignment,
    AssignmentRole,
    ContextAssignments,
    bound_targets,
    imported_contexts,
)
from placement_lint.rules.config_state.blocks import call_edits, with_block
from placement_lint.rules.config_state.taking_effect import (
    is_traced,
    level_of_option,
    may_raise,
)
from placement_lint.syntax.spelling import needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.edits import Editor
    from placement_lint.syntax.spelling import Needed, Spelling


class ConfigStateAssignment(Rule):
    """An assignment to `jax.default_device`, or to another configuration context of JAX.

    ## What it does
    Finds every statement that binds one of JAX's configuration contexts to something else:
    `jax.default_device = device`, also in a tuple, in a `for`, in `with … as`, by an augmented
    assignment, by `setattr` or by `del`; and a second binding, in the same scope, of a name that
    `from jax import default_device` imports. The contexts are `default_device`,
    `default_matmul_precision`, `disable_jit`, `debug_nans`, `enable_x64`, `transfer_guard` and some
    thirty more. An assignment and its reset (`= None`, or the value saved before) are one finding.

    ## Why is this bad?
    `jax.default_device` is not a setting: calling it returns a context manager. Assigning to it
    does not change where arrays are made, so data that was meant for the host fills the
    accelerator. The assignment also replaces the object for the whole process: every later `with
    jax.default_device(…)`, in your code or in a library, raises `TypeError: 'Device' object is not
    callable`.

    ## Example
    ```python
    import jax
    import jax.numpy as jnp

    jax.default_device = jax.devices("cpu")[0]
    table = jnp.zeros((1000, 1000))
    jax.default_device = None
    ```

    ## Use instead
    ```python
    import jax
    import jax.numpy as jnp

    with jax.default_device(jax.devices("cpu")[0]):
        table = jnp.zeros((1000, 1000))
    ```

    For the whole process: `jax.config.update("jax_default_device", jax.devices("cpu")[0])`.

    ## Fix safety
    Safe: if the reset follows in the same block, or is the last statement of the `finally` of a
    `try`, the two become a `with` block around the statements in between. Any other assignment
    becomes `jax.config.update` with the same value, and so do its resets. In a function, a variable
    that only saves the old value for the reset is removed too.

    Unsafe if other findings come up, now that the context is in effect: an array that is made on
    the host and computed with elsewhere (JDP202), a function that is only defined in the block
    (JDP106). Unsafe if JAX may raise then, as under a transfer guard, and for `jax.config.update`
    in a generator or a coroutine, during which other code runs.

    No fix for unpacking, `setattr`, `del` and loop targets, for a reset without an assignment, if
    code reads the assigned value as a variable, or if `jax.config` cannot be imported next to the
    file's other imports of JAX. No `jax.config.update` in a function that JAX traces.

    ## What it does not flag
    Replacements in tests: a mock, a function, a class or a lambda assigned in place of the context,
    `monkeypatch.setattr` and `mock.patch`. Fallbacks for a JAX without the context, under `hasattr`
    or in `except AttributeError`. Attributes of an object that is not certainly JAX.

    ## Verified by
    The proof assigns the CPU to `jax.default_device`, makes an array, and finds it on the
    accelerator; then it enters `jax.default_device` and gets the TypeError. After the fix the array
    is on the CPU, and the context works.

    ## References
    - [jax.default_device](https://docs.jax.dev/en/latest/_autosummary/jax.default_device.html),
      whose page reads `jax.default_device = <…State object>`
    - [jax-ml/jax#13684](https://github.com/jax-ml/jax/issues/13684): both right ways, asked for in
      the documentation
    - bb515/diffusionjax, `run_lib.py`: the assignment, with the type checker's warning silenced
    """

    code, name = "JDP101", "config-state-assignment"
    advice = (
        "Enter it as a context manager, `with jax.default_device(device):`, or set it with "
        "`jax.config.update`"
    )
    severity, fix = Severity.ERROR, Applicability.SAFE
    fix_takes_effect = True
    follows_arrays = False
    needs = AllOf(
        Jax(),
        AnyOf(Uses(*CONFIG_CONTEXTS), b"setattr", b"delattr"),
        Pattern(rb"\b(?:" + b"|".join(CONFIG_CONTEXT_WORDS) + rb")\b(?!\s*[(.])"),
    )

    def _check_targets(self, node: cst.CSTNode, ctx: Context) -> None:
        for target in bound_targets(node):
            if isinstance(target, cst.Attribute | cst.Call):
                if not _may_name_context(target):
                    continue
            elif not isinstance(target, cst.Name) or not _is_imported_context(target, ctx):
                continue
            assignments = ctx.module.fact(ContextAssignments)
            assignment = assignments.at(target)
            if assignment is not None and assignments.is_reported(assignment):
                ctx.report(target, _message(assignment, node), fix=_plan(assignment, ctx))

    visit_Assign = visit_AnnAssign = visit_AugAssign = visit_NamedExpr = _check_targets
    visit_Del = visit_For = visit_CompFor = visit_WithItem = visit_Call = _check_targets


_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in CONFIG_CONTEXTS)


def _may_name_context(target: cst.Attribute | cst.Call) -> bool:
    if isinstance(target, cst.Attribute):
        return target.attr.value in _LAST_NAMES
    return isinstance(target.func, cst.Name) and target.func.value in {"setattr", "delattr"}


def _is_imported_context(target: cst.Name, ctx: Context) -> bool:
    return target.value in ctx.module.fact(imported_contexts)


def _message(assignment: Assignment, node: cst.CSTNode) -> str:
    name = assignment.context.name
    if isinstance(assignment.target, cst.Name):
        return (
            f"{assignment.target.value} is {name}, a context manager: binding the name to "
            "something else sets nothing"
        )
    if isinstance(node, cst.Del) or (isinstance(node, cst.Call) and len(node.args) == 2):
        return f"deleting {name} resets nothing, and every later `with {name}(…)` fails"
    return f"assigning to {name} sets nothing, and every later `with {name}(…)` fails"


# -- the fix ----------------------------------------------------------------------------------


def _plan(assignment: Assignment, ctx: Context) -> FixPlan | None:
    value = assignment.value
    if assignment.role is not AssignmentRole.SET or assignment.statement is None or value is None:
        return None
    ctx.module.add_punctuation()
    if isinstance(value, cst.Tuple) and not value.lpar:
        return None
    if isinstance(value, cst.Call) and ctx.name(value.func) in CONFIG_CONTEXTS:
        return None
    if ctx.module.fact(ContextAssignments).is_read(assignment.context):
        return None
    reset = assignment.reset
    if reset is None:
        return _update_plan(assignment.together, ctx)
    return _block_plan(assignment, reset, ctx)


def _block_plan(assignment: Assignment, reset: Assignment, ctx: Context) -> FixPlan | None:
    """Open the context around the statements in between; resets elsewhere become updates."""
    updates = _updates(assignment.together, ctx) or _Updates((), ())

    def build(editor: Editor) -> Sequence[Edit] | None:
        block = with_block(assignment, reset, editor)
        return None if block is None else [*block, *updates.edits(editor)]

    raises = may_raise(assignment.context.option, assignment.value)
    return FixPlan(
        Applicability.UNSAFE if raises else Applicability.SAFE,
        f"Wrap the statements in between in `with {assignment.context.name}(…)`",
        build,
        imports=updates.imports,
        otherwise=_update_plan([assignment, reset, *assignment.together], ctx),
    )


def _update_plan(changed: Sequence[Assignment], ctx: Context) -> FixPlan | None:
    updates = _updates(changed, ctx)
    if updates is None or not changed:
        return None
    levels = {
        level_of_option(each.context.option, each.value, each.target, ctx)
        for each in changed
        if each.role is AssignmentRole.SET
    }
    return FixPlan(
        Applicability.UNSAFE if Applicability.UNSAFE in levels else Applicability.SAFE,
        f"Set the option {changed[0].context.option} instead",
        updates.edits,
        imports=updates.imports,
    )


@dataclass(frozen=True)
class _Updates:
    """Assignments that become calls of `jax.config.update`."""

    calls: tuple[tuple[cst.Assign, str, Spelling], ...]
    """Each with the option, and how the function is written there."""
    reads: tuple[tuple[cst.CSTNode, str], ...]
    """What must be read otherwise, to be given back."""

    @property
    def imports(self) -> tuple[Needed, ...]:
        return needed([spelling for _, _, spelling in self.calls])

    def edits(self, editor: Editor) -> list[Edit]:
        edits: list[Edit] = []
        for statement, option, spelling in self.calls:
            before = f"{spelling}({editor.string(option, statement)}, "
            edits += call_edits(statement, before, ")", editor)
        return [*edits, *(editor.replace(node, text) for node, text in self.reads)]


def _updates(changed: Sequence[Assignment], ctx: Context) -> _Updates | None:
    """Return the calls that some assignments become; None where one of them cannot."""
    reads = _saved_values([each for each in changed if each.role is AssignmentRole.RESTORE], ctx)
    calls: list[tuple[cst.Assign, str, Spelling]] = []
    for each in changed:
        spelling = ctx.reach("jax.config.update", each.target)
        in_block = ctx.inside_with(each.target, each.context.name)
        if each.statement is None or spelling is None or in_block or not _can_be_update(each, ctx):
            return None
        if is_traced(each.target, ctx):
            return None
        calls.append((each.statement, each.context.option, spelling))
    return None if reads is None else _Updates(tuple(calls), tuple(reads))


def _can_be_update(assignment: Assignment, ctx: Context) -> bool:
    context = assignment.context
    if assignment.role is AssignmentRole.RESET and not context.takes_none:
        return False
    if context.kind is ContextKind.PRESET and context.default != "True":
        return False
    target = assignment.target
    return not isinstance(target, cst.Name) or not _is_read_as_variable(target, ctx)


def _is_read_as_variable(target: cst.Name, ctx: Context) -> bool:
    """Return whether a name is used for anything but calling it: the new value is needed then."""
    known = ctx.module.fact(_read_variables)
    key = (id(ctx.names.owner(target.value, ctx.names.scope(target))), target.value)
    if key not in known:
        known[key] = any(
            not isinstance(parent := ctx.parent(node), cst.AssignTarget)
            and not (isinstance(parent, cst.Call) and parent.func is node)
            for node in _same_name(target, ctx)
        )
    return known[key]


def _read_variables(_facts: ModuleFacts) -> dict[tuple[int, str], bool]:
    """Make the store of one file."""
    return {}


def _same_name(name: cst.Name, ctx: Context) -> Sequence[cst.Name]:
    return ctx.names.uses(name.value, ctx.names.scope(name))


def _saved_values(
    restores: Sequence[Assignment], ctx: Context
) -> list[tuple[cst.CSTNode, str]] | None:
    """Return what `old = jax.default_device` must read instead for each restore to be an update.

    None where a name that holds such a value is used for anything else.
    """
    given_back = {id(each.value) for each in restores}
    seen: set[tuple[int, str]] = set()
    reads: list[tuple[cst.CSTNode, str]] = []
    for restore in restores:
        name = restore.value
        if not isinstance(name, cst.Name):
            return None
        key = (id(ctx.names.owner(name.value, ctx.names.scope(name))), name.value)
        if key in seen:
            continue
        seen.add(key)
        for binding in ctx.names.bindings(name):
            spelled = None
            if isinstance(binding.node, cst.Assign):
                # Not by a name for the option: that one holds what it was some time before.
                spelled = ctx.spell("jax.config", binding.node)
            if spelled is None or binding.value is None:
                return None
            reads.append((binding.value, f"{spelled}.{restore.context.option}"))
        for node in _same_name(name, ctx):
            is_target = isinstance(ctx.parent(node), cst.AssignTarget)
            if id(node) not in given_back and not is_target:
                return None
    return reads
