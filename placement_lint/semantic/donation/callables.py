"""What can be called, as far as it says which of its arguments are donated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import libcst as cst

from placement_lint.jaxmodel.donation import EVERY, FILTERING, WRITING_BACK
from placement_lint.semantic.program_queries import DonationKind
from placement_lint.syntax.calls import Arguments, elements_or_self, literal_value
from placement_lint.syntax.definitions import class_of_method, function_of, returns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from placement_lint.semantic.donation.parts import BufferPart
    from placement_lint.semantic.program_queries import DonationElsewhere
    from placement_lint.syntax.definitions import Function
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

Chosen: TypeAlias = "frozenset[int | str]"
"""Positions and names of arguments."""

_MAX_STEPS = 8
_DONATING_KEYWORDS = ("donate_argnums", "donate_argnames")
_STATIC_KEYWORDS = ("static_argnums", "static_argnames")


@dataclass(frozen=True)
class Jit:
    """How something is compiled, as far as it says what is donated."""

    by: str
    """The qualified name of what compiles it."""
    positions: frozenset[int] = frozenset()
    keywords: frozenset[str] = frozenset()
    first: int | None = None
    """From which argument on all are donated."""
    static: frozenset[int | str] = frozenset()
    is_certain: bool = True
    """False: a condition decides whether anything is donated."""
    keeps_unused: bool = False
    """It takes the arguments that it does not use as well: `keep_unused=True`."""

    @property
    def donates(self) -> bool:
        return bool(self.positions or self.keywords) or self.first is not None

    @property
    def writes_back(self) -> bool:
        """Whether objects that are donated come back with new arrays."""
        return self.by in WRITING_BACK


@dataclass(frozen=True)
class Defined:
    """A function of the file, perhaps with an object that it is a method of."""

    node: Function
    owner: BufferPart | None = None
    closure: tuple[tuple[str, frozenset[Callee]], ...] = ()
    """What can be called by names of the function around it, which has ended."""
    given: int = 0
    """How many arguments `functools.partial` has given it."""


@dataclass(frozen=True)
class OfClass:
    """A class of the file."""

    node: cst.ClassDef


@dataclass(frozen=True)
class OfClassElsewhere:
    """A class of another file."""

    name: str
    """Its qualified name here."""


@dataclass(frozen=True)
class Wrapper:
    """A function of another file that donates what it is given, or returns what donates."""

    what: DonationElsewhere
    is_bound: bool = False
    """It is a method, and the object is known."""


@dataclass(frozen=True)
class Maker:
    """What compiles the function that it is given: `partial(jax.jit, donate_argnums=0)`."""

    jit: Jit


@dataclass(frozen=True)
class Donor:
    """A compiled function."""

    jit: Jit
    inner: Defined | None = None
    """What is compiled, where it is a function of the file."""
    receiver: BufferPart | None = None
    """The object that it is a method of, which is its first argument."""
    given: int = 0
    """How many arguments `functools.partial` has given it."""
    elsewhere: DonationElsewhere | None = None
    """What is known of it, where another file has it."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that the compiled function has, those that go by position."""
        if self.elsewhere is not None:
            return self.elsewhere.parameters
        if self.inner is None:
            return ()
        names = parameters_of(self.inner.node)
        return names[self.inner.given + (self.inner.owner is not None) :]

    @property
    def shift(self) -> int:
        """How many arguments come before those that a call writes."""
        return self.given + (self.receiver is not None)

    def is_among(self, chosen: frozenset[int | str], argument: int | str) -> bool:
        """Return whether an argument of a call is one of those at positions or under names."""
        names = self.parameters
        if isinstance(argument, str):
            position = names.index(argument) if argument in names else None
        else:
            position = argument + self.shift
            argument = names[position] if position < len(names) else ""
        if position is not None and names and position - len(names) in chosen:
            return True
        return argument in chosen or position in chosen

    def donates(self, argument: int | str) -> bool:
        """Return whether an argument of a call is donated."""
        if self.jit.first is not None:
            position = argument + self.shift if isinstance(argument, int) else None
            return position is None or position >= self.jit.first
        return self.is_among(self.jit.positions | self.jit.keywords, argument)

    def is_static(self, argument: int | str) -> bool:
        return self.is_among(self.jit.static, argument)

    def parameter(self, argument: int | str) -> str | None:
        """Return the name of the parameter that an argument of a call is for."""
        if isinstance(argument, str):
            return argument
        position = argument + self.shift
        return self.parameters[position] if position < len(self.parameters) else None


Callee: TypeAlias = "Defined | Donor | Maker | OfClass | OfClassElsewhere | Wrapper"
OfElsewhere: TypeAlias = "Donor | OfClassElsewhere | Wrapper"


def of_elsewhere(name: str, what: DonationElsewhere) -> OfElsewhere:
    """Return what a name stands for that another file has."""
    if what.kind is DonationKind.CLASS:
        return OfClassElsewhere(name)
    if what.kind is DonationKind.FUNCTION:
        return Wrapper(what)
    positions, keywords = frozenset(what.positions), frozenset(what.keywords)
    static = frozenset(what.static)
    jit = Jit(what.by, positions, keywords, what.first, static, what.is_certain)
    return Donor(jit, elsewhere=what)


def assigned_to_attributes(cls: cst.ClassDef, tree: Tree) -> dict[str, list[cst.BaseExpression]]:
    """Return what a class assigns to attributes, by their names, of whatever objects."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for assign in tree.every(cst.Assign, cst.AnnAssign, below=cls):
        targets = (
            [each.target for each in assign.targets]
            if isinstance(assign, cst.Assign)
            else [assign.target]
        )
        for target in targets:
            if isinstance(target, cst.Attribute) and assign.value is not None:
                found.setdefault(target.attr.value, []).append(assign.value)
    return found


def as_called(
    callee: Wrapper, given: Iterable[tuple[int | str | None, cst.BaseExpression]]
) -> DonationElsewhere | None:
    """Return what a function of another file does for these arguments; None: it is not known.

    What it does for the flag that decides is known where the call says it, or leaves it out.
    """
    what, passed = callee.what, {_named(at, callee.what): node for at, node in given}
    if what.is_method is not callee.is_bound:
        return None
    decided: set[str] = set()
    for name, flag, is_default, then in callee.what.by_flags:
        node = passed.get(name)
        is_so = isinstance(node, cst.Name) and node.value == flag
        if is_so or (is_default and name not in passed and None not in passed):
            what, decided = then, {name}
            break
        if isinstance(node, cst.Name) and node.value in {"True", "False"}:
            # It does the same as without the flag, whose default this is.
            decided.add(name)
    others = passed.keys() - decided
    if any(each in what.assumed if each is not None else bool(what.assumed) for each in others):
        return None
    return what if what.positions or what.keywords or what.returned else None


def _named(at: int | str | None, what: DonationElsewhere) -> str | None:
    """Return the parameter that an argument is for; None where that is not known."""
    if isinstance(at, int):
        return what.parameters[at] if at < len(what.parameters) else f"[{at}]"
    return at


def bound(thing: OfElsewhere) -> OfElsewhere:
    """Return what a method of another file is by its object."""
    if isinstance(thing, Wrapper):
        return replace(thing, is_bound=True)
    if isinstance(thing, Donor) and thing.elsewhere is not None and thing.elsewhere.is_method:
        return replace(thing, given=1)
    return thing


def parameters_of(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters that may be passed by position, in order."""
    params = function.params
    return tuple(each.name.value for each in (*params.posonly_params, *params.params))


class Passing(Protocol):
    """What the code has got that runs now."""

    def passed(self, name: cst.Name) -> cst.BaseExpression | None:
        """Return what a parameter is given, where that is written out."""

    def spread(self, call: cst.Call) -> Mapping[str, Chosen | cst.BaseExpression] | None:
        """Return what `**options` passes on to a call; None where that is not known."""

    def chosen(self, node: cst.BaseExpression) -> Chosen | None:
        """Return the numbers and texts that an expression is by the interpreter."""

    def decides_more(self, choice: cst.IfExp) -> bool:
        """Return whether the condition of a choice decides other things, too."""


class _Called:
    """What the code of a function has got which only returns something, by one call of it."""

    def __init__(self, outer: Passing, call: cst.Call, function: Function, names: Names) -> None:
        """Take what the code of the call has got."""
        self._outer, self._names, self._function = outer, names, function
        arguments = Arguments(call)
        given = zip(parameters_of(function), arguments.positional, strict=False)
        self._given = {**dict(given), **arguments.keywords}

    def passed(self, name: cst.Name) -> cst.BaseExpression | None:
        bound = self._names.sole_definition(name)
        if not isinstance(bound, cst.Param) or not self._names.tree.is_inside(
            bound, self._function
        ):
            return self._outer.passed(name)
        given = self._given.get(name.value)
        further = self._outer.passed(given) if isinstance(given, cst.Name) else None
        return given if further is None else further

    def spread(self, call: cst.Call) -> Mapping[str, Chosen | cst.BaseExpression] | None:
        return self._outer.spread(call)

    def chosen(self, node: cst.BaseExpression) -> Chosen | None:
        return self._outer.chosen(node)

    def decides_more(self, choice: cst.IfExp) -> bool:
        return self._outer.decides_more(choice)


def jit_of(by: str, calls: Iterable[cst.Call], names: Names, passing: Passing) -> Jit | None:
    """Return how `jax.jit`, called with these arguments, compiles; None: it is not known what it
    donates.
    """
    donated: set[int | str] = set()
    static: set[int | str] = set()
    first: int | None = None
    is_certain = True
    keeps_unused = False
    for call in calls:
        arguments = Arguments(call)
        keeps_unused |= arguments.get(None, "keep_unused") is not None
        spread = passing.spread(call)
        if spread is None:
            return None
        if by in FILTERING:
            word = spread.get("donate") or arguments.get(None, "donate")
            text = None if word is None else _donation_word(word, names, passing)
            if word is not None and text is None:
                return None
            first = first if text is None else EVERY.get(text)
            continue
        for keyword in _DONATING_KEYWORDS:
            given = spread.get(keyword, arguments.get(None, keyword))
            found = ((), True) if given is None else _literals(given, names, passing)
            if found is None:
                return None
            donated |= {*found[0]}
            is_certain &= found[1]
        for keyword in _STATIC_KEYWORDS:
            given = spread.get(keyword, arguments.get(None, keyword))
            known = None if given is None else _literals(given, names, passing)
            static |= set() if known is None else {*known[0]}
    return Jit(
        by,
        frozenset(each for each in donated if isinstance(each, int)),
        frozenset(each for each in donated if isinstance(each, str)),
        first,
        frozenset(static),
        is_certain,
        keeps_unused,
    )


def _donation_word(word: Chosen | cst.BaseExpression, names: Names, passing: Passing) -> str | None:
    """Return what `donate=` of a filtered transformation says; None: that is not known."""
    meant = _literals(word, names, passing)
    text = None if meant is None else next(iter(meant[0]), None)
    return str(text) if text in {*EVERY, "none"} else None


def _is_chosen_by_callers(test: cst.BaseExpression, names: Names) -> bool:
    """Return whether a condition depends on a parameter."""
    return any(
        isinstance(binding.node, cst.Param)
        for name in (test, *names.tree.every(cst.Name, below=test))
        if isinstance(name, cst.Name) and names.tree.contains(name)
        for binding in names.bindings(name)
    )


def _literals(
    given: Chosen | cst.BaseExpression, names: Names, passing: Passing
) -> tuple[Chosen, bool] | None:
    """Return the numbers and strings that are meant, and whether no condition chooses."""
    if not isinstance(given, cst.BaseExpression):
        return given, True
    found = _written(given, names, passing)
    if found is None and names.tree.contains(given):
        chosen = passing.chosen(given)
        return None if chosen is None else (chosen, True)
    return found


def _only_returned(function: Function, names: Names) -> cst.BaseExpression | None:
    """Return what a function gives that has one `return`, and no object of which it is a method."""
    if isinstance(function, cst.Lambda):
        return function.body
    ways = returns_of(function, names)
    is_plain = not function.decorators and function.asynchronous is None
    if len(ways) != 1 or not is_plain or class_of_method(function, names) is not None:
        return None
    return ways[0].value


def _written(
    node: cst.BaseExpression, names: Names, passing: Passing
) -> tuple[Chosen, bool] | None:
    """Return the numbers and strings that are written out, and whether no condition chooses."""
    is_sure = True
    for _ in range(_MAX_STEPS):
        if isinstance(node, cst.IfExp):
            test, holding = node.test, "True"
            if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
                test, holding = test.expression, "False"
            flag = passing.passed(test) if isinstance(test, cst.Name) else None
            if isinstance(flag, cst.Name) and flag.value in {"True", "False"}:
                node = node.body if flag.value == holding else node.orelse
                continue
            if _is_chosen_by_callers(node.test, names) or passing.decides_more(node):
                # By what some give, nothing is donated, and they may read it.
                return None
            # One of the two donates nothing, as a rule.
            first = _written(node.body, names, passing)
            second = _written(node.orelse, names, passing)
            if first is None or second is None:
                return None
            return first[0] | second[0], is_sure and first == second
        if isinstance(node, cst.Call):
            function = function_of(node.func, names)
            returned = None if function is None else _only_returned(function, names)
            if function is None or returned is None or Arguments(node).is_open:
                break
            passing = _Called(passing, node, function, names)
            node = returned
            continue
        if not isinstance(node, cst.Name) or not names.tree.contains(node):
            break
        bound = names.sole_value(node) or passing.passed(node)
        if bound is None:
            return None
        node = bound
    found: set[int | str] = set()
    for each in elements_or_self(node):
        held = literal_value(each)
        if held is None:
            return None
        found.add(held)
    return frozenset(found), is_sure
