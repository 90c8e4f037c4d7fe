"""Which functions of a module JAX traces: their bodies run on tracers, which live nowhere."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.structures import STRUCTURES, Structure
from placement_lint.jaxmodel.tracing import COMPILING, OVER_WHOLE_ARRAYS, TRACINGS
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.transformations import Step, Usage
from placement_lint.placement.domain.values import Computation
from placement_lint.placement.facts.traced_results import gives_array
from placement_lint.syntax.calls import Arguments, elements_or_self, integer_value
from placement_lint.syntax.definitions import applied, named_function, transforming
from placement_lint.syntax.dotted import said
from placement_lint.syntax.lifted_classes import lifted_methods, method_of
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from placement_lint.syntax.names import Names
    from placement_lint.syntax.tree import Tree

_CALLED_IN_TRACED = ("optax.",)
"""Libraries of which the functions call, in traced code, those that they are given."""
_DIFFERENTIATING = frozenset({
    Structure.DERIVATIVE, Structure.GRADIENT, Structure.VALUE_AND_GRADIENT,
})  # fmt: skip
_PLACING = frozenset({"out_shardings", "in_shardings", "device", "backend"})
_MOST_HELPERS = 3
"""Functions that call one another."""
KEEPING_ARGUMENTS = frozenset({
    "jax.checkpoint", "jax.grad", "jax.jit", "jax.remat", "jax.value_and_grad", "jax.vmap",
})  # fmt: skip
"""Transformations after which a function has the arguments that it had."""
MAPPING = frozenset({"jax.jit", "jax.vmap"})
"""Those after which it also gives what it gave, or a stack of it."""


class InnerDecorators(NamedTuple):
    """The decorators of JAX of a function that others decorate further."""

    computation: Computation
    keeps_arguments: bool
    """What they make takes the arguments of the function's definition."""
    others: list[cst.Decorator]
    """Those above them."""


class Traced:
    """The functions of one module that are traced, by a decorator or by being passed on."""

    def __init__(self, tree: Tree, names: Names) -> None:
        """Look through the module once."""
        self.tree = tree
        self.names = names
        self._nodes: set[int] = set()
        self._decorated: set[int] = set()
        self._handed: set[int] = set()
        self._computations: dict[int, Computation | None] = {}
        self._traced: dict[int, bool] = {}
        """Of the functions that were asked for, whether they are traced."""
        functions: dict[str, list[cst.FunctionDef]] = {}
        for node in tree.every(cst.FunctionDef):
            functions.setdefault(node.name.value, []).append(node)
            if any(self._tracing(d.decorator) is not None for d in node.decorators):
                self._nodes.add(id(node))
                self._decorated.add(id(node))
        self._nodes.update(id(each.method) for each in lifted_methods(tree, names))
        for call in tree.every(cst.Call):
            if self._traces_arguments(call):
                for argument in call.args:
                    self._mark(argument.value, functions, self._nodes)
            elif (names.qualified(call.func) or "").startswith(_CALLED_IN_TRACED):
                for argument in call.args:
                    self._mark(argument.value, functions, self._handed)
            elif isinstance(call.func, cst.Name) and self._is_jitted(call.func, functions):
                # A function is no array: it is static, and called while the other is traced.
                for argument in call.args:
                    if isinstance(argument.value, cst.Name):
                        self._mark(argument.value, functions, self._nodes)

    def _is_jitted(self, name: cst.Name, functions: dict[str, list[cst.FunctionDef]]) -> bool:
        """Return whether a name is that of a function which `jax.jit` decorates."""
        if name.value not in functions:
            return False
        if not any(id(each) in self._decorated for each in functions[name.value]):
            return False
        made = named_function(name, self.names)
        return isinstance(made, cst.FunctionDef) and self.is_only_jitted(made)

    def __contains__(self, function: cst.CSTNode) -> bool:
        """Return whether a function, or one around it, is traced."""
        key = id(function)
        if key not in self._traced:
            self._traced[key] = key in self._nodes or any(
                id(ancestor) in self._nodes for ancestor in self.tree.ancestors(function)
            )
        return self._traced[key]

    def lift(self, cls: cst.ClassDef) -> None:
        """Note that another module has a class traced by `nn.remat` and its like."""
        method = method_of(cls)
        if method is not None:
            self._nodes.add(id(method))
            self._traced.clear()

    def is_decorated(self, function: cst.CSTNode) -> bool:
        """Return whether a decorator traces a function, or one around it: calls never run it.

        Others may be called as they are besides, as a loss is that is also given to `jax.grad`.
        """
        every = (function, *self.tree.ancestors(function))
        return any(id(each) in self._decorated for each in every)

    def is_handed_over(self, function: cst.CSTNode) -> bool:
        """Return whether a function is given to a library which calls it in traced code."""
        return id(function) in self._handed

    def computation(self, function: cst.FunctionDef) -> Computation | None:
        """Return what the name of a decorated function is: a computation, or None."""
        # The statement that defines it may be executed again and again.
        key = id(function)
        if key not in self._computations:
            self._computations[key] = self._computation(function, self._transforming(function))
        return self._computations[key]

    def below_others(self, function: cst.FunctionDef) -> InnerDecorators | None:
        """Return what JAX's decorators make of a function below others.

        `@registered @jax.jit def f(x): …`. None where no decorator of JAX is below others.
        """
        decorators = self._transforming(function)
        inner = [*itertools.takewhile(self._traces, reversed(decorators))][::-1]
        if not inner or len(inner) == len(decorators):
            return None
        made = self._computation(function, inner)
        if made is None:
            return None
        return InnerDecorators(made, self._keep_arguments(inner), decorators[: -len(inner)])

    def _traces(self, decorator: cst.Decorator) -> bool:
        return self._tracing(decorator.decorator) is not None

    def _computation(
        self, function: cst.FunctionDef, decorators: list[cst.Decorator]
    ) -> Computation | None:
        """Return what decorators make of a function that are all of JAX."""
        found = [self._tracing(decorator.decorator) for decorator in decorators]
        known = [computation for computation in found if computation is not None]
        if not known or len(known) != len(found):
            return None
        steps = tuple(step for computation in reversed(known) for step in computation.steps)
        keeps_arguments = self._keep_arguments(decorators)
        usage = usage_of(function, self.names, keeps_arguments=keeps_arguments)
        keeps_unused = any(_keeps_unused(each.decorator) for each in decorators)
        return Computation(
            any(computation.places_arguments for computation in known),
            donates=any(computation.donates for computation in known),
            changes_objects=any(computation.changes_objects for computation in known),
            usage=None if keeps_unused else usage,
            keeps_unused=keeps_unused,
            steps=steps,
            gives_array=len(known) == 1
            and all(computation.gives_array for computation in known)
            and gives_array(function, self.names, "jax.jit"),
            fills=len(known) == 1
            and self.names.qualified(decorators[0].decorator) in MAPPING
            and fills_shapes(function, self.names),
        )

    def is_only_jitted(self, function: cst.FunctionDef) -> bool:
        """Return whether a decorated function is traced by `jax.jit` and by nothing else."""
        found = [self._tracing(decorator.decorator) for decorator in function.decorators]
        return bool(found) and all(each is not None and each.gives_array for each in found)

    def keeps_arguments(self, function: cst.FunctionDef) -> bool:
        """Return whether a decorated function takes the arguments of its definition."""
        return self._keep_arguments(self._transforming(function))

    def _keep_arguments(self, decorators: list[cst.Decorator]) -> bool:
        return len(decorators) == 1 and self._keeps(decorators[0].decorator)

    def _transforming(self, function: cst.FunctionDef) -> list[cst.Decorator]:
        """Return the decorators of a function but `@staticmethod`, which changes no call of it."""
        return [
            each
            for each in function.decorators
            if self.names.qualified(each.decorator) != "builtins.staticmethod"
        ]

    def _keeps(self, transform: cst.BaseExpression) -> bool:
        if isinstance(transform, cst.Call):
            arguments = Arguments(transform)
            name = self.names.qualified(transform.func)
            if name == "functools.partial" and arguments.positional:
                return self._keeps(arguments.positional[0])
            return not arguments.positional and self._keeps(transform.func)
        return self.names.qualified(transform) in KEEPING_ARGUMENTS

    def _tracing(self, decorator: cst.BaseExpression) -> Computation | None:
        """Return the computation that a decorator makes: `@jax.jit`, `@partial(jax.jit, …)`."""
        transform, calls = applied(decorator, self.names)
        name = None if transform is None else self.names.qualified(transform)
        row = transfer.TABLE.get(name or "")
        if row is None or row.effect not in {Effect.TRANSFORM, Effect.DISTRIBUTE}:
            return None
        places = any(call.has_double_star or _PLACING & call.keywords.keys() for call in calls)
        is_jit = row.name == "jax.jit"
        return Computation(
            places or row.effect is Effect.DISTRIBUTE,
            donates=any(key.startswith("donate") for call in calls for key in call.keywords),
            changes_objects=row.name.startswith("flax.nnx."),
            gives_array=is_jit,
            steps=(step_of(row.name, calls),),
        )

    def _traces_arguments(self, call: cst.Call) -> bool:
        return transforming(call, self.names) in TRACINGS

    @functools.cached_property
    def _made_by_optax(self) -> set[str]:
        """The names of variables and attributes that hold what optax makes and nothing else: the
        `init` of these is no method of the module.
        """
        made: set[str] = set()
        others: set[str] = set()
        for parameter in self.tree.every(cst.Param):
            said_so = parameter.annotation is not None and parameter.annotation.annotation
            is_made = self._is_of_optax(parameter.default) or self._is_of_optax(said_so or None)
            (made if is_made else others).add(parameter.name.value)
        for assignment in self.tree.every(cst.Assign):
            is_made = self._is_of_optax(assignment.value)
            names = {said(each.target) for each in assignment.targets}
            if names != {said(assignment.value)}:
                # `self.tx = tx` says nothing.
                (made if is_made else others).update(names)
        return made - others - {""}

    def _is_of_optax(self, node: cst.CSTNode | None) -> bool:
        """Return whether an expression calls something of optax, or an annotation is of it."""
        name = node.func if isinstance(node, cst.Call) else node
        if not isinstance(name, cst.Attribute | cst.Name):
            return False
        is_type = name is node
        called = self.names.qualified(name) or ""
        return called.startswith("optax.Gradient" if is_type else "optax.")

    def _mark(
        self, node: cst.CSTNode, functions: dict[str, list[cst.FunctionDef]], found: set[int]
    ) -> None:
        if isinstance(node, cst.Lambda):
            found.add(id(node))
        elif isinstance(node, cst.Name):
            bound = {id(binding.node) for binding in self.names.bindings(node)}
            found |= bound & {id(each) for each in functions.get(node.value, ())}
        elif isinstance(node, cst.Attribute):
            if said(node.value) in self._made_by_optax:
                return
            # A method passed on: whatever the object, a method of this name may be it.
            found |= {id(each) for each in functions.get(node.attr.value, ())}
        elif isinstance(node, cst.Call):
            for argument in node.args:
                self._mark(argument.value, functions, found)


def step_of(name: str, calls: list[Arguments]) -> Step:
    """Return what a transformation does to what a function gives, by the arguments that it has.

    `calls`: its own, and those of the `functools.partial` around it.
    """
    tracing = TRACINGS.get(name)
    structure = STRUCTURES.get(name)
    is_staged = tracing is not None and tracing.kind in COMPILING
    keywords = {keyword: node for call in calls for keyword, node in call.keywords.items()}
    is_plain = not any(keyword.endswith("_axes") for keyword in keywords)
    if structure is Structure.MAPPED:
        is_plain &= all(len(call.positional) < 2 for call in calls)
    if any(call.is_open for call in calls):
        return Step(None, is_staged, is_whole=name in OVER_WHOLE_ARRAYS)
    numbers: tuple[int, ...] | None = (0,)
    is_single = True
    given = keywords.get("argnums") or next((c.get(1) for c in calls if c.get(1)), None)
    if structure in _DIFFERENTIATING and given is not None:
        is_single = not isinstance(given, cst.Tuple | cst.List)
        parts = elements_or_self(given)
        known = [number for part in parts if (number := integer_value(part)) is not None]
        numbers = tuple(known) if len(known) == len(parts) and min(known, default=0) >= 0 else None
    aux = keywords.get("has_aux") or next((c.get(2) for c in calls if c.get(2)), None)
    has_aux: bool | None = False
    if aux is not None:
        text = aux.value if isinstance(aux, cst.Name) else ""
        has_aux = {"True": True, "False": False}.get(text)
    is_whole = name in OVER_WHOLE_ARRAYS
    return Step(structure, is_staged, numbers, is_single, has_aux, is_plain, is_whole)


def _keeps_unused(decorator: cst.BaseExpression) -> bool:
    return isinstance(decorator, cst.Call) and "keep_unused" in Arguments(decorator).keywords


# To ask each node whether it is one of these takes most of the time: LibCST's types are abstract.
_LOOKED_AT = frozenset(
    {cst.AssignTarget, cst.Attribute, cst.Call, cst.Name, cst.Return, cst.Subscript}
)


def usage_of(
    function: cst.FunctionDef | cst.Lambda,
    names: Names,
    *,
    ignores_returned: bool = False,
    keeps_arguments: bool = True,
) -> Usage | None:
    """Return of which of its arguments a function touches the data; None: of all of them.

    It does not name the others, or takes only their metadata, or makes others like them: JAX then
    leaves such arguments where they are (measured on all versions; what `*` and `**` collect, too).
    `ignores_returned`: nor does it touch what it only returns. `keeps_arguments` False: the
    keywords are not those of its parameters.
    """
    params = function.params
    touched, partly = _touched(function, names, ignores_returned=ignores_returned)

    def used(param: cst.Param) -> bool:
        return param.name.value in touched

    rest: bool | None = True
    more: bool | None = True
    if isinstance(params.star_arg, cst.Param):
        name = params.star_arg.name.value
        rest = name in touched or (None if name in partly else False)
    if params.star_kwarg is not None:
        # Most hand them on, to what takes some of them.
        name = params.star_kwarg.name.value
        more = None if name in touched | partly else False
    by_position = [*params.posonly_params, *params.params]
    by_keyword = [*params.params, *params.kwonly_params]
    found = Usage(
        tuple(map(used, by_position)),
        rest,
        tuple((each.name.value, used(each)) for each in by_keyword) if keeps_arguments else None,
        more,
    )
    every = {*found.positions, rest, more, *map(used, by_keyword)}
    return None if every == {True} else found


def _touched(
    function: cst.FunctionDef | cst.Lambda, names: Names, *, ignores_returned: bool
) -> tuple[set[str], set[str]]:
    """Return the names of which a function touches the data, and those of which it takes parts."""
    touched: set[str] = set()
    partly: set[str] = set()
    pending: list[cst.CSTNode] = [function.body]
    star = function.params.star_arg
    collecting = star.name.value if isinstance(star, cst.Param) else None
    if ignores_returned and isinstance(function, cst.Lambda):
        pending = _computed(function.body)
    while pending:
        node = pending.pop()
        if type(node) not in _LOOKED_AT:
            pending += children(node)
        elif ignores_returned and isinstance(node, cst.Return):
            pending += _computed(node.value)
        elif isinstance(node, cst.Name):
            touched.add(node.value)
        elif isinstance(node, cst.Subscript):
            if isinstance(node.value, cst.Name) and node.value.value == collecting:
                partly.add(collecting)
                pending += node.slice
            else:
                pending += children(node)
        elif (isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name)) or (
            isinstance(node, cst.Attribute)
            and isinstance(node.value, cst.Name)
            and node.attr.value in transfer.METADATA_ATTRIBUTES
        ):
            continue
        elif isinstance(node, cst.Call) and (like := _alike(node, names)) is not None:
            pending += [argument for argument in node.args if argument.value is not like]
        else:
            pending += children(node)
    return touched, partly


def _computed(node: cst.CSTNode | None) -> list[cst.CSTNode]:
    """Return the parts of what is returned that are more than names in containers."""
    if isinstance(node, cst.Tuple | cst.List):
        return [part for element in node.elements for part in _computed(element.value)]
    if isinstance(node, cst.Dict):
        return [part for item in node.elements for part in _computed(item.value)]
    return [] if node is None or isinstance(node, cst.Name) else [node]


def fills_shapes(
    function: cst.FunctionDef | cst.Lambda, names: Names, steps: int = _MOST_HELPERS
) -> bool:
    """Return whether a function makes an array of a shape that it takes from a parameter.

    Or a function of the same file that it calls with it, which may do so too, and so on.
    """
    params = function.params
    parameters = {param.name.value for param in (*params.posonly_params, *params.params)}
    pending: list[cst.CSTNode] = [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Call):
            row = names.row(node.func)
            makes = row is not None and row.effect in {Effect.CREATE, Effect.TREE_MAP}
            if not makes and steps and (helper := named_function(node.func, names)) is not None:
                makes = fills_shapes(helper, names, steps - 1)
            if makes and _mentions(node, parameters):
                return True
        pending += children(node)
    return False


def _mentions(node: cst.CSTNode, names: set[str]) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Name) and part.value in names:
            return True
        pending += children(part)
    return False


def _alike(call: cst.Call, names: Names) -> cst.Name | None:
    """Return the name of which a call takes the shapes only: `zeros_like(x)`, mapped or not."""
    name = names.qualified(call.func)
    given = [argument.value for argument in call.args]
    row = transfer.TABLE.get(name or "")
    if name in transfer.LIKE_CREATORS and given:
        like = given[0]
    elif row is not None and row.effect is Effect.TREE_MAP and len(given) == 2:
        mapped, like = given
        if isinstance(mapped, cst.Lambda):
            usage = usage_of(mapped, names)
            if usage is None or usage.of(0) is not False:
                return None
        elif names.qualified(mapped) not in transfer.LIKE_CREATORS:
            return None
    else:
        return None
    return like if isinstance(like, cst.Name) else None
