"""Where an uncommitted array was made, and the fix that commits it there.

The fix keeps every computation where it was: see `placement.counterfactual.commitments`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.findings import Applicability, Confidence
from placement_lint.jaxmodel.tracing import COMPILING
from placement_lint.placement.domain.record import UseKind
from placement_lint.placement.domain.values import AnyTree
from placement_lint.rules.base import FixPlan
from placement_lint.rules.commitment.writing import (
    Around,
    device_at,
    effects,
    imports_of,
    is_repeatable,
    put_back,
    written,
)
from placement_lint.rules.devices.queries import is_pinned_to_cpu
from placement_lint.rules.journey import MADE_HERE, journey
from placement_lint.rules.transfers.array_sizes import SMALL, element_count, size_text
from placement_lint.semantic.enclosing import conditions_say, is_asserted_to_fail, is_in_test
from placement_lint.semantic.tracing import TracedFunctions
from placement_lint.syntax.calls import is_none
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placement_lint.placement.domain.places import (
        ArrayOrigin,
        Place,
    )
    from placement_lint.placement.domain.record import Use
    from placement_lint.placement.domain.values import (
        Array,
    )
    from placement_lint.rules.context import Context

_LONGEST_CONDITION = 40
_INITIALISING = frozenset({"init", "init_with_output", "lazy_init"})
"""Methods that make the parameters of a model."""


def report_use(use: Use, ctx: Context, action: str) -> None:
    """Report an array that is copied whole because nothing commits it where it is.

    `action` says what is done to it here, as a noun: "indexing it".
    """
    node = ctx.tree.nodes[use.node]
    devices = sorted({str(array.device) for array in use.moved})
    name = dotted(node)
    what = f"`{name}`" if name else "this array"
    around = ctx.parent(node)
    if isinstance(around, cst.Call) and around.func is node:
        what = _what_is_bound(node, name, ctx)
        name = ""
    often = " each time" if use.in_loop else ""
    arrays = sorted(use.moved, key=lambda array: array.order)
    if is_asserted_to_fail(node, ctx) or (
        is_in_test(node, ctx) and (is_pinned_to_cpu(ctx.module) or _are_small(arrays, ctx))
    ):
        return
    origins = _origins(use)
    if all(each.created.module == ctx.flow.module.name for each in origins) and _are_compiled(
        [node, *(ctx.tree.nodes[each.created.node] for each in origins)], ctx
    ):
        # It is made and used in one program, where no block has an effect.
        return
    # Only what has something to report needs it.
    from placement_lint.rules.devices.backend_guards import cpu_is_default

    if _is_in_the_other_case(node, origins, ctx) or cpu_is_default(node, ctx):
        return
    ctx.report(
        node,
        f"{what} is uncommitted on {' or '.join(devices)}{_condition(origins, ctx)}: "
        f"{action} copies all of it to the default device{often}{size_of(arrays, ctx)}",
        confidence=Confidence.DEFINITE if use.always else Confidence.LIKELY,
        journey=journey([origin.created for origin in origins], node, ctx, MADE_HERE),
        # What it does to traced code that the array is committed, no execution shows.
        fix=None if use.is_from_outside else lambda: _commit(arrays, ctx),
        advice=_advice(name or "x", devices[0], indexed=use.kind is UseKind.INDEXED),
    )


def _what_is_bound(called: cst.CSTNode, name: str, ctx: Context) -> str:
    """Return what the arrays are called that belong to what is called."""
    if any(isinstance(atom, AnyTree) for atom in ctx.flow.value(called)):
        return f"what `{name}` holds" if name else "what this holds"
    return f"what `functools.partial` bound for `{name}`" if name else "an argument bound here"


def _are_compiled(nodes: Iterable[cst.CSTNode], ctx: Context) -> bool:
    traced = ctx.module.fact(TracedFunctions)
    return all(traced.around(each, COMPILING) is not None for each in nodes)


def size_of(arrays: Iterable[Array], ctx: Context) -> str:
    """Return how large an array is, where that is the same for all that it may be."""
    texts = {
        "" if made is None else size_text(made.tree.nodes[place.node], made)
        for place, made in _makers(arrays, ctx)
    }
    return texts.pop() if len(texts) == 1 else ""


def _are_small(arrays: Iterable[Array], ctx: Context) -> bool:
    """Return whether all that an array may be is known to be small, where it is made.

    Models that tests initialise are taken to be.
    """
    makers = [
        (made, None if made is None else made.tree.nodes[place.node])
        for place, made in _makers(arrays, ctx)
    ]
    return bool(makers) and all(
        made is not None and (_initialises(node) or _is_small(node, made)) for made, node in makers
    )


def _is_small(node: cst.CSTNode | None, ctx: Context) -> bool:
    count = element_count(node, ctx) if isinstance(node, cst.BaseExpression) else None
    return count is not None and count < SMALL


def _initialises(node: cst.CSTNode | None) -> bool:
    """Return whether an expression is `model.init(key, x)`."""
    called = node.func if isinstance(node, cst.Call) else None
    return isinstance(called, cst.Attribute) and called.attr.value in _INITIALISING


def _makers(arrays: Iterable[Array], ctx: Context) -> list[tuple[Place, Context | None]]:
    """Return the places where arrays are made, each with the view of its file, if it is known."""
    found = list(arrays)
    places = {place for array in found for place in array.via}
    places |= {array.origin.created for array in found if array.origin and not array.via}
    return [(place, ctx.beside(place.module)) for place in sorted(places)]


def report_possible_uses(kind: UseKind, ctx: Context, action: str) -> None:
    """Report the uses of a kind that copy an array if a choice of the program comes out one way."""
    for use in ctx.flow.possible_uses():
        if use.kind is not kind:
            continue
        node = ctx.tree.nodes[use.node]
        devices = sorted({str(array.device) for array in use.possible if array.device})
        name = dotted(node)
        what = f"`{name}`" if name else "this"
        where = f" on {' or '.join(devices)}" if devices else ""
        often = " each time" if use.in_loop else ""
        ctx.report(
            node,
            f"{what} may be an uncommitted array{where}: {action} then copies all of it to the "
            f"default device{often}",
            confidence=Confidence.POSSIBLE,
            advice=_advice(name or "x", "device", indexed=kind is UseKind.INDEXED),
        )


def _condition(origins: list[ArrayOrigin], ctx: Context) -> str:
    """Return under which condition arrays were made there, where all are made by choices."""
    if not all(origin.is_chosen for origin in origins):
        return ""
    choice = _sole_choice(origins, ctx)
    if choice is None:
        return " on one way" if len({origin.device for origin in origins}) > 1 else ""
    chosen, is_default, there = choice
    there.module.add_punctuation()
    test = " ".join(there.tree.module.code_for_node(chosen.test).split())
    if len(test) > _LONGEST_CONDITION:
        return " on one way"
    return f" {'unless' if is_default else 'if'} `{test}`"


def _sole_choice(
    origins: list[ArrayOrigin], ctx: Context
) -> tuple[cst.If | cst.IfExp, bool, Context] | None:
    """Return the only choice by which arrays were made there, whether its first case is the
    default device, and the file that it is in.
    """
    choices = {origin.device for origin in origins if origin.is_chosen}
    if len(choices) != 1:
        return None
    (place,) = choices
    choice, there = ctx.node_at(place) or (None, ctx)
    if not isinstance(choice, cst.If | cst.IfExp):
        return None
    if isinstance(choice, cst.IfExp):
        is_default = is_none(choice.body) or (
            isinstance(choice.body, cst.Call)
            and there.called(choice.body) == "contextlib.nullcontext"
        )
    else:
        within = there.tree.every(cst.Call, cst.Return, below=choice.body)
        # What only enters something, in a stack of contexts, goes on with it.
        is_default = any(isinstance(each, cst.Return) for each in within) and all(
            not isinstance(each, cst.Call) or there.called(each) != "jax.default_device"
            for each in within
        )
    return choice, is_default, there


def _is_in_the_other_case(node: cst.CSTNode, origins: list[ArrayOrigin], ctx: Context) -> bool:
    """Return whether an array is used only where the choice by which it was made is the default
    device: behind the same condition, or behind a second one that puts something else there.
    """
    # Only what has something to report needs it.
    from placement_lint.rules.commitment.same_conditions import case_of, cases_around, is_excluded

    choice = _sole_choice(origins, ctx)
    if choice is None:
        made = [ctx.node_at(origin.created) for origin in origins]
        return bool(made) and all(
            each is not None
            and each[1].module is ctx.module
            and is_excluded(node, each[0], cases_around(each[0], ctx), ctx)
            for each in made
        )
    chosen, is_default, there = choice
    test = dotted(chosen.test)
    is_known = there.module is ctx.module
    if is_known and is_excluded(node, chosen, [case_of(chosen.test, is_true=not is_default)], ctx):
        return True
    return bool(test) and conditions_say(
        node, ctx, lambda asked, wanted: wanted is is_default and dotted(asked) == test
    )


def _advice(name: str, device: str, *, indexed: bool) -> str:
    once = f"`{name} = jax.device_put({name}, jax.local_devices()[0])`"
    commit = f"commit it where it is made, with `jax.device_put(…, {device})`"
    if indexed:
        part = (
            "put each part of it on the accelerator: `jax.device_put(part, jax.local_devices()[0])`"
        )
        return f"{commit[0].upper()}{commit[1:]}, and {part}; or put all of it there once, {once}"
    return f"Put it on the accelerator once, {once}; or {commit}, if the host is to compute"


def _origins(use: Use) -> list[ArrayOrigin]:
    found = {array.origin for array in use.moved if array.origin is not None}
    return sorted(found, key=lambda origin: origin.created)


# -- the fix ----------------------------------------------------------------------------------


def _commit(arrays: list[Array], ctx: Context) -> FixPlan | None:
    """Put `jax.device_put(…, d)` around the expressions that made arrays."""
    commitment = ctx.flow.commitment(arrays)
    returned = None if commitment is None else put_back(commitment, ctx)
    if returned is None:
        # There may be no way to write in a file what puts something back.
        commitment, returned = ctx.flow.commitment(arrays, alone=True), []
    if commitment is None:
        return None
    named = ctx.flow.program.provenance.device_expressions
    calls: list[Around] = []
    level = Applicability.UNSAFE if commitment.consequences else Applicability.SAFE
    for place in sorted(commitment.committed):
        there, expression = ctx.beside(place.module), named.get(place)
        if there is None or expression is None or expression.module != place.module:
            return None
        made, device = there.tree.nodes[place.node], there.tree.nodes[expression.node]
        put = there.reach("jax.device_put", at=made)
        target = device_at(device, made, there)
        if put is None or target is None or not _is_expression(made):
            return None
        if not is_repeatable(device, there):
            level = Applicability.UNSAFE
        calls.append(Around(place.module, made, (put,), last=target))
    calls += returned
    what = f"Commit the array where it is made{effects(commitment)}"
    return FixPlan(level, what, lambda editor: written(calls, editor), imports=imports_of(calls))


def _is_expression(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseExpression) and not isinstance(
        node, cst.GeneratorExp | cst.Yield | cst.StarredElement
    )
