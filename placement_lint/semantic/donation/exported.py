"""What the names of one file donate, said without its tree: for the files that import it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.semantic.donation.analysis import Donations
from placement_lint.semantic.donation.buffers import Surety
from placement_lint.semantic.donation.callables import (
    Defined,
    Donor,
    OfClass,
    OfClassElsewhere,
    Wrapper,
    parameters_of,
)
from placement_lint.semantic.donation.expressions import OutOfStepsError
from placement_lint.semantic.donation.outputs import DonationOutputs, Takeover
from placement_lint.semantic.donation.parts import BufferPart
from placement_lint.semantic.program_queries import DonationElsewhere, DonationKind
from placement_lint.syntax.definitions import is_generator

if TYPE_CHECKING:
    from placement_lint.semantic.donation.analysis import Aliases
    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.model import ModuleFacts

_MOST_DEPTH = 3
"""Functions that return functions."""
_MOST_FLAGS = 2
"""Parameters of one function that are `True` or `False`, for each of which it is executed again."""


def exported(facts: ModuleFacts, name: str, aliases: Aliases) -> DonationElsewhere | None:
    """Return what a name of the module donates, or an attribute of a class by the name of both.

    `aliases`: what questions before this one have found out of the initializers of the text.
    """
    return _Exports(facts, aliases).of(name)


class _Exports:
    """What one file offers to others."""

    def __init__(self, facts: ModuleFacts, aliases: Aliases) -> None:
        self._facts = facts
        self._run = Donations(facts, is_executed=False, aliases=aliases)

    def of(self, name: str) -> DonationElsewhere | None:
        top, _, attribute = name.partition(".")
        scope = self._facts.names.module_scope
        try:
            things = self._run.outside(top, scope)
            if not attribute:
                return self._said(things, 0)
            only = next(iter(things)) if len(things) == 1 else None
            if not isinstance(only, OfClass) or "." in attribute:
                return None
            return self._said(self._run.of_class(only.node, attribute), 0)
        except OutOfStepsError:
            return None

    def _said(self, things: Things, depth: int) -> DonationElsewhere | None:
        only = next(iter(things)) if len(things) == 1 else None
        if isinstance(only, Donor):
            return self._compiled(only)
        if isinstance(only, Wrapper):
            return only.what
        if isinstance(only, OfClass | OfClassElsewhere):
            return DonationElsewhere(DonationKind.CLASS)
        if isinstance(only, Defined) and isinstance(only.node, cst.FunctionDef):
            return self._function(only.node, depth)
        return None

    def _compiled(self, donor: Donor) -> DonationElsewhere | None:
        if donor.elsewhere is not None and not donor.given:
            return donor.elsewhere
        if not donor.jit.donates or donor.given or donor.elsewhere is not None:
            return None
        jit, inner = donor.jit, donor.inner
        outputs = self._facts.fact(DonationOutputs)
        parameters = donor.parameters
        donated = [
            name for at, name in enumerate(parameters) if donor.donates(at) or donor.donates(name)
        ]
        takeovers = (
            ()
            if inner is None
            else tuple(
                (each, int(outputs.taking(inner.node, each, donated)))
                for each in donated
                if not jit.keeps_unused or outputs.reads(inner.node, each)
            )
        )
        unused = (
            ()
            if inner is None or jit.keeps_unused
            else tuple(each for each in parameters if not outputs.reads(inner.node, each))
        )
        suite = None if inner is None else self._facts.tree.parent(inner.node)
        owner = None if suite is None else self._facts.tree.parent(suite)
        is_method = isinstance(owner, cst.ClassDef) and _is_decorated(inner)
        return DonationElsewhere(
            DonationKind.COMPILED,
            jit.by,
            tuple(sorted(jit.positions)),
            tuple(sorted(jit.keywords)),
            jit.first,
            tuple(sorted(jit.static, key=str)),
            jit.is_certain,
            parameters,
            unused,
            takeovers,
            is_method,
        )

    def _function(self, function: cst.FunctionDef, depth: int) -> DonationElsewhere | None:
        """Return which parameters a function has donated by its end, and what it returns."""
        if depth == _MOST_DEPTH or is_generator(function, self._facts.names):
            return None
        if self._run.is_traced(function):
            return None
        what = self._called(function, depth, {})
        flags = sorted(self._run.flags & {*_all_parameters(function)})[:_MOST_FLAGS]
        by_flags: list[tuple[str, str, bool, DonationElsewhere]] = []
        for name, flag in itertools.product(flags, ("True", "False")):
            then = self._called(function, depth, {name: cst.Name(flag)})
            if then != what:
                by_flags.append((name, flag, _has_default(function, name, flag), then))
        if not (what.keywords or what.returned or by_flags):
            return None
        return replace(what, by_flags=tuple(by_flags))

    def _called(
        self, function: cst.FunctionDef, depth: int, flags: dict[str, cst.Name]
    ) -> DonationElsewhere:
        """Return what a call does that passes flags, and nothing else that has a default."""
        made = self._run.call(function, by_default=True, flags=flags)
        asked = tuple(sorted(self._run.asked & {*_all_parameters(function)}))
        gone: list[tuple[str, Takeover]] = []
        is_method = made.owner is not None
        parameters = parameters_of(function)[1 if is_method else 0 :]
        for name, thing in made.parameters.items():
            death = self._run.state.death(thing)
            if death is not None and death.surety > Surety.MAYBE:
                sure = death.surety is Surety.DEFINITE
                gone.append((name, Takeover.SURE if sure else Takeover.LIKELY))
        returned = self._returned(made.returned, depth)
        names = [name for name, _ in gone]
        return DonationElsewhere(
            DonationKind.FUNCTION,
            positions=tuple(at for at, name in enumerate(parameters) if name in names),
            keywords=tuple(names),
            parameters=parameters,
            takeovers=tuple((name, int(taking)) for name, taking in gone),
            is_method=is_method,
            returned=returned,
            assumed=asked,
        )

    def _returned(self, things: Things, depth: int) -> tuple[tuple[str, DonationElsewhere], ...]:
        only = next(iter(things)) if len(things) == 1 else None
        if isinstance(only, BufferPart):
            if only.keys or not only.root:
                return ()
            parts = self._run.state.parts.get(only.root, {})
            found = [
                (keys[0], said)
                for keys, held in parts.items()
                if len(keys) == 1 and (said := self._said_returned(held, depth)) is not None
            ]
            return tuple(found)
        said = self._said_returned(things, depth)
        return () if said is None else (("", said),)

    def _said_returned(self, things: Things, depth: int) -> DonationElsewhere | None:
        """Return what something that a function returns donates, if it is certain by itself.

        A function in it reads what the call bound, which is gone when it is executed again.
        """
        only = next(iter(things)) if len(things) == 1 else None
        if not isinstance(only, Donor | Wrapper):
            return None
        return self._said(things, depth + 1)


def _all_parameters(function: cst.FunctionDef) -> list[str]:
    keyword_only = [each.name.value for each in function.params.kwonly_params]
    return [*parameters_of(function), *keyword_only]


def _has_default(function: cst.FunctionDef, name: str, flag: str) -> bool:
    params = function.params
    every = (*params.posonly_params, *params.params, *params.kwonly_params)
    default = next((each.default for each in every if each.name.value == name), None)
    return isinstance(default, cst.Name) and default.value == flag


def _is_decorated(inner: Defined | None) -> bool:
    return (
        inner is not None
        and isinstance(inner.node, cst.FunctionDef)
        and not inner.owner
        and bool(inner.node.decorators)
    )
