"""On which parts of its parameters the result of a traced function surely depends.

JAX leaves out of a compiled program the arguments of which it needs nothing. What a function does
is read from its text: on each way through it, and not where that is not understood.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.rules.commitment.combining import COMBINING, COMBINING_TREES
from placement_lint.rules.commitment.putting import TREE_MAPS
from placement_lint.syntax.calls import Arguments, integer_value, string_value, updated_array
from placement_lint.syntax.definitions import applied, keeps_fields, named_function
from placement_lint.syntax.dotted import whole_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.definitions import Function

    Finder: TypeAlias = Callable[[Module, str], tuple[Module, str] | None]

Key: TypeAlias = "str | int"
EACH = "*"
"""In a path: an item of a list, whichever it is."""

_MAX_DEPTH = 100
"""Expressions inside of one another, those of the functions that are called included."""
_MAX_CALLS = 8
"""Functions that call one another."""
_MAX_STEPS = 20_000
"""Expressions that are read for one function."""
_MAX_ROUNDS = 4
"""Of a loop, until nothing changes."""
_SAME = frozenset({"jax.checkpoint", "jax.jit", "jax.remat", "jax.vmap"})
_GRADIENTS = frozenset({"equinox.filter_grad", "jax.grad"})
_WITH_VALUE = frozenset({"equinox.filter_value_and_grad", "jax.value_and_grad"})
_APPLYING = frozenset({"apply", "apply_fn"})
"""Methods of models: what they give depends on the parameters and on the data."""
_BY = "\0"
"""What the names begin with that stand for what is differentiated by."""
_LINEAR = frozenset({
    "cumsum", "expand_dims", "mean", "ravel", "reshape", "squeeze", "sum", "swapaxes", "transpose",
})  # fmt: skip
_CURVED = frozenset({
    "celu", "cos", "elu", "exp", "gelu", "hard_tanh", "leaky_relu", "log", "log1p", "log_sigmoid",
    "log_softmax", "logsumexp", "relu", "relu6", "selu", "sigmoid", "silu", "sin", "softmax",
    "softplus", "sqrt", "square", "swish", "tanh", "var",
})  # fmt: skip
"""Functions of which the derivative depends on the argument too."""
_REPLACING = frozenset({"_replace", "replace"})
_PAIRING = frozenset({"builtins.enumerate", "builtins.reversed", "builtins.zip"})
_SUMS = frozenset({"add", "concatenate", "stack", "subtract"})
_PRODUCTS = frozenset({
    "dot", "divide", "einsum", "inner", "matmul", "multiply", "outer", "tensordot", "true_divide",
    "vdot",
})  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A parameter, or something in it: of a tree, at least one leaf of that."""

    parameter: str
    path: tuple[Key, ...] = ()


Bend: TypeAlias = "tuple[str, Part]"
"""What is differentiated by, and a part on which the derivative depends."""


@dataclass(frozen=True)
class Data:
    """What is computed of parts."""

    parts: frozenset[Part] = frozenset()
    smooth: frozenset[str] = frozenset()
    """By what of all that is differentiated by its derivative surely is not zero."""
    bends: frozenset[Bend] = frozenset()


@dataclass(frozen=True)
class Items:
    """A tuple or a list."""

    items: tuple[Known, ...]


@dataclass(frozen=True)
class Called:
    """A function, and how it was transformed."""

    function: Function
    module: Module = field(compare=False)
    env: Env | None = field(compare=False)
    """What the names around it are, where it is defined inside of the one that is read."""
    derivative: Derivative | None = None


@dataclass(frozen=True)
class Derivative:
    """What a function gives by its first argument."""

    with_value: bool
    has_aux: bool


Known: TypeAlias = "Part | Data | Items | Called"
Env: TypeAlias = "dict[str, Known]"

_NOTHING = Data()


class NotUnderstoodError(Exception):
    """A function does what this does not follow."""


def needed_parts(function: Function, module: Module, found: Finder | None) -> frozenset[Part]:
    """Return the parts of its parameters on whose data the result of a function depends.

    `found` returns the module of the program that defines a function, by its qualified name in a
    module, and its name there.
    """
    env: Env = {name: Part(name) for name in _names(function)}
    try:
        return _data(_Reader(module, found).run(function, env))
    except NotUnderstoodError:
        return frozenset()


def computed_together(
    function: Function, module: Module, found: Finder | None
) -> list[frozenset[Part]]:
    """Return the parts of its parameters that a function computes each of its results of.

    Without those that it hands back: see `needed_parts`.
    """
    env: Env = {name: Part(name) for name in _names(function)}
    together: list[frozenset[Part]] = []
    try:
        pending: list[Known | None] = [_Reader(module, found).run(function, env)]
    except NotUnderstoodError:
        return together
    while pending:
        known = pending.pop()
        if isinstance(known, Data):
            together.append(known.parts)
        elif isinstance(known, Items):
            pending += known.items
    return together


def _names(function: Function) -> list[str]:
    parameters = function.params
    every = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
    return [parameter.name.value for parameter in every]


def _data(known: Known | None) -> frozenset[Part]:
    if isinstance(known, Part):
        return frozenset({known})
    if isinstance(known, Data):
        return known.parts
    if isinstance(known, Items):
        return frozenset().union(*map(_data, known.items))
    return frozenset()


def _all_of(known: Known | None) -> Data:
    """Return all that is known of what a thing is computed of."""
    if isinstance(known, Part):
        by = known.parameter
        return Data(frozenset({known}), frozenset({by} if by.startswith(_BY) else ()))
    if isinstance(known, Data):
        return known
    return _sum(known.items) if isinstance(known, Items) else _NOTHING


def _sum(operands: Iterable[Known]) -> Data:
    """Return what is computed of operands so that each counts as it is."""
    every = list(map(_all_of, operands))
    return Data(
        frozenset().union(*(each.parts for each in every)),
        frozenset().union(*(each.smooth for each in every)),
        frozenset().union(*(each.bends for each in every)),
    )


def _product(operands: Sequence[Known]) -> Data:
    """Return what is computed of operands so that each counts as the others are."""
    every = list(map(_all_of, operands))
    bends = (
        (by, part)
        for one in every
        for by in one.smooth
        for other in every
        if other is not one
        for part in other.parts
    )
    total = _sum(every)
    return replace(total, bends=total.bends | frozenset(bends))


def _curved(operands: Sequence[Known]) -> Data:
    """Return what is computed of operands so that its derivative depends on all of them."""
    total = _sum(operands)
    bends = frozenset((by, part) for by in total.smooth for part in total.parts)
    return replace(total, bends=total.bends | bends)


def _rough(operands: Iterable[Known]) -> Data:
    """Return what is computed of operands in a way that is not known: its derivative may be 0."""
    return Data(_sum(operands).parts)


def _put_back(known: Known, by: str, given: Known) -> Known:
    """Return what a function gives, with what it was given for what is differentiated by."""
    if isinstance(known, Items):
        return Items(tuple(_put_back(item, by, given) for item in known.items))
    if isinstance(known, Part):
        if known.parameter != by:
            return known
        for key in known.path:
            given = _item(given, key)
        return given
    if isinstance(known, Called):
        return known

    def real(part: Part) -> frozenset[Part]:
        return _data(_put_back(part, by, given))

    return Data(
        frozenset().union(*map(real, known.parts)),
        known.smooth - {by} | (_all_of(given).smooth if by in known.smooth else frozenset()),
        frozenset((d, part) for d, bent in known.bends if d != by for part in real(bent)),
    )


def _derived(loss: Known, by: str, given: Known) -> Data:
    """Return on what the derivative of a loss depends."""
    bent = (_put_back(part, by, given) for d, part in _all_of(loss).bends if d == by)
    return _rough(bent)


def _either(one: Known, other: Known) -> Known:
    """Return what something is that is the one or the other."""
    if one == other:
        return one
    if isinstance(one, Items) and isinstance(other, Items) and len(one.items) == len(other.items):
        return Items(tuple(map(_either, one.items, other.items)))
    this, that = _all_of(one), _all_of(other)
    return Data(this.parts & that.parts, this.smooth & that.smooth, this.bends & that.bends)


def _joined(envs: Sequence[Env]) -> Env:
    first, *rest = envs
    joined = dict(first)
    for env in rest:
        joined = {name: _either(known, env[name]) for name, known in joined.items() if name in env}
    return joined


class _Reader:
    """Reads a function of one module, and those that it calls, of any module."""

    def __init__(self, module: Module, found: Finder | None) -> None:
        self.module = module
        self.names = module.names
        self._found = found
        self._calls = 0
        self._depth = 0
        self._steps = 0

    def run(self, function: Function, env: Env) -> Known:
        """Return what a function gives for what its names are."""
        if isinstance(function, cst.Lambda):
            return self._value(function.body, env)
        returned: list[Known] = []
        if self._block(function.body.body, env, returned) is not None:
            returned.append(_NOTHING)
        result = returned[0] if returned else _NOTHING
        for other in returned[1:]:
            result = _either(result, other)
        return result

    # -- statements -------------------------------------------------------------------------------

    def _block(self, body: Iterable[cst.CSTNode], env: Env, returned: list[Known]) -> Env | None:
        """Execute statements; None where no way leads behind them."""
        here: Env | None = env
        for statement in body:
            if here is None:
                return None
            if isinstance(statement, cst.SimpleStatementLine):
                here = self._block(statement.body, here, returned)
            else:
                here = self._statement(statement, here, returned)
        return here

    def _statement(self, statement: cst.CSTNode, env: Env, returned: list[Known]) -> Env | None:
        if isinstance(statement, cst.Return):
            given = statement.value
            returned.append(_NOTHING if given is None else self._value(given, env))
            return None
        if isinstance(statement, cst.Raise):
            return None
        if isinstance(statement, cst.Assign):
            known = self._value(statement.value, env)
            for target in statement.targets:
                self._assign(target.target, known, env)
        elif isinstance(statement, cst.AnnAssign):
            if statement.value is not None:
                self._assign(statement.target, self._value(statement.value, env), env)
        elif isinstance(statement, cst.AugAssign):
            before, added = self._value(statement.target, env), self._value(statement.value, env)
            is_sum = isinstance(statement.operator, cst.AddAssign | cst.SubtractAssign)
            made = _sum([before, added]) if is_sum else _rough([before, added])
            self._assign(statement.target, made, env)
        elif isinstance(statement, cst.FunctionDef):
            env[statement.name.value] = self._defined(statement, env)
        elif isinstance(statement, cst.If):
            return self._branches(statement, env, returned)
        elif isinstance(statement, cst.For):
            return self._loop(statement, env, returned)
        elif isinstance(statement, cst.With):
            return self._block(statement.body.body, env, returned)
        elif not isinstance(statement, cst.Expr | cst.Pass | cst.Assert):
            raise NotUnderstoodError
        return env

    def _branches(self, statement: cst.If, env: Env, returned: list[Known]) -> Env | None:
        self._steps += len(env)
        ends = [self._block(statement.body.body, dict(env), returned)]
        other = statement.orelse
        if isinstance(other, cst.If):
            ends.append(self._branches(other, dict(env), returned))
        else:
            body = () if other is None else other.body.body
            ends.append(self._block(body, dict(env), returned))
        left = [end for end in ends if end is not None]
        return _joined(left) if left else None

    def _loop(self, statement: cst.For, env: Env, returned: list[Known]) -> Env | None:
        if statement.orelse is not None:
            raise NotUnderstoodError
        for _ in range(_MAX_ROUNDS):
            body = dict(env)
            self._steps += len(env)
            item = self._iterated(statement.iter, env)
            self._assign(statement.target, item, body)
            if self._block(statement.body.body, body, returned) is None:
                raise NotUnderstoodError
            after = _joined([env, body])
            if after == env:
                # What JAX refuses for its leaves has some.
                return body if _has_part(item) else env
            env = after
        raise NotUnderstoodError

    def _iterated(self, node: cst.BaseExpression, env: Env) -> Known:
        """Return what an item of an iterable is."""
        name = self.names.qualified(node.func) if isinstance(node, cst.Call) else None
        if isinstance(node, cst.Call) and name in _PAIRING:
            given = [self._iterated(each, env) for each in Arguments(node).positional]
            if name == "builtins.reversed" and len(given) == 1:
                return given[0]
            return Items((_NOTHING, *given) if name == "builtins.enumerate" else tuple(given))
        known = self._value(node, env)
        # Of an item of anything else as much is known as of all of it.
        return _item(known, EACH) if isinstance(known, Part) else _all_of(known)

    def _assign(self, target: cst.BaseExpression, known: Known, env: Env) -> None:
        if isinstance(target, cst.Name):
            env[target.value] = known
        elif isinstance(target, cst.Tuple | cst.List):
            starred = any(isinstance(each, cst.StarredElement) for each in target.elements)
            for position, element in enumerate(target.elements):
                part = _NOTHING if starred else _item(known, position)
                self._assign(element.value, part, env)
        else:
            name = whole_of(target)
            if isinstance(name, cst.Name):
                env.pop(name.value, None)

    # -- expressions ------------------------------------------------------------------------------

    def _value(self, node: cst.BaseExpression, env: Env) -> Known:
        self._steps += 1
        if self._depth == _MAX_DEPTH or self._steps > _MAX_STEPS:
            raise NotUnderstoodError
        self._depth += 1
        known = self._read(node, env)
        self._depth -= 1
        return known

    def _read(self, node: cst.BaseExpression, env: Env) -> Known:
        if isinstance(node, cst.Name):
            return env.get(node.value) or self._outside(node)
        if isinstance(node, cst.Lambda):
            return Called(node, self.module, env)
        if isinstance(node, cst.Tuple | cst.List):
            return Items(tuple(self._value(element.value, env) for element in node.elements))
        if isinstance(node, cst.Call):
            return self._call(node, env)
        if isinstance(node, cst.IfExp):
            return _either(self._value(node.body, env), self._value(node.orelse, env))
        if isinstance(node, cst.Attribute):
            return self._attribute(node, env)
        if isinstance(node, cst.Subscript):
            return self._subscript(node, env)
        operands = self._values(_operands(node), env)
        if not isinstance(node, cst.BinaryOperation):
            return (
                _sum(operands)
                if isinstance(node, cst.Dict | cst.UnaryOperation)
                else (_rough(operands))
            )
        if isinstance(node.operator, cst.Add | cst.Subtract):
            return _sum(operands)
        if isinstance(node.operator, cst.Multiply | cst.MatrixMultiply | cst.Divide):
            return _product(operands)
        is_curved = isinstance(node.operator, cst.Power) and integer_value(node.right) not in {0, 1}
        return _curved(operands) if is_curved else _rough(operands)

    def _values(self, nodes: Iterable[cst.BaseExpression], env: Env) -> list[Known]:
        return [self._value(node, env) for node in nodes]

    def _outside(self, node: cst.Name | cst.Attribute) -> Known:
        """Return what a name stands for that the function does not bind: a function, if any."""
        function = named_function(node, self.names)
        if function is not None:
            return self._defined(function, None)
        module, bound = self._bound_elsewhere(node) or (self.module, None)
        if not isinstance(bound, cst.FunctionDef):
            return _NOTHING
        with self._inside(module):
            return self._defined(bound, None)

    def _bound_elsewhere(self, node: cst.BaseExpression) -> tuple[Module, cst.CSTNode] | None:
        """Return what a name of another module is bound to there, once, and that module."""
        name = self.names.qualified(node)
        located = None if name is None or self._found is None else self._found(self.module, name)
        if located is None:
            return None
        module, bound = located
        only = module.names.module_scope.sole_binding(bound)
        return None if only is None else (module, only.node)

    @contextlib.contextmanager
    def _inside(self, module: Module) -> Iterator[None]:
        """Read what another module defines."""
        before = self.module
        self.module, self.names = module, module.names
        try:
            yield
        finally:
            self.module, self.names = before, before.names

    def _defined(self, function: Function, env: Env | None) -> Known:
        """Return what the name of a function is, under decorators that are understood."""
        called = Called(function, self.module, env)
        if isinstance(function, cst.Lambda):
            return called
        for decorator in reversed(function.decorators):
            made = applied(decorator.decorator, self.names)[0]
            name = None if made is None else self.names.qualified(made)
            if name in _GRADIENTS | _WITH_VALUE and isinstance(decorator.decorator, cst.Call):
                # What else it is given is not read here.
                return _NOTHING
            transformed = _transformed(called, name, has_aux=False)
            if transformed is None:
                return _NOTHING
            called = transformed
        return called

    def _attribute(self, node: cst.Attribute, env: Env) -> Known:
        if self.names.qualified(node) is not None:
            return self._outside(node)
        held = self._value(node.value, env)
        name = node.attr.value
        if name in transfer.COMPUTING_ATTRIBUTES or name == "at":
            return _all_of(held)
        if isinstance(held, Part) and name not in transfer.METADATA_ATTRIBUTES:
            return Part(held.parameter, (*held.path, name))
        return _NOTHING

    def _subscript(self, node: cst.Subscript, env: Env) -> Known:
        held = self._value(node.value, env)
        indices = [element.slice for element in node.slice]
        only = indices[0].value if isinstance(indices[0], cst.Index) else None
        key = None if len(indices) != 1 or only is None else integer_value(only)
        named = string_value(only) if key is None and len(indices) == 1 else key
        if named is not None:
            return _item(held, named)
        given = [each.value for each in indices if isinstance(each, cst.Index)]
        return _product([held, _rough(self._values(given, env))])

    def _call(self, node: cst.Call, env: Env) -> Known:
        arguments = Arguments(node)
        name = self.names.qualified(node.func)
        if arguments.is_open:
            return _NOTHING
        if name in TREE_MAPS:
            return self._mapped(arguments, env)
        if name in _SAME | _GRADIENTS | _WITH_VALUE:
            return self._transformed(name, arguments, env)
        last = (name or "").rpartition(".")[2]
        if name in COMBINING or name in COMBINING_TREES:
            return _way_of(last)(self._values(arguments.positional, env))
        row = self.names.row(node.func)
        if row is not None:
            is_loss = name is not None and name.startswith("optax.")
            given = arguments.positional if is_loss else arguments.positional[:1]
            operands = self._values(given if row.effect is Effect.COMPUTE else (), env)
            return _curved(operands) if is_loss else _way_of(last)(operands)
        fields = self._fields_given(node, name)
        if fields:
            return _sum(self._values(fields, env))
        called: Known | None = None
        if isinstance(node.func, cst.Name | cst.Call):
            called = self._value(node.func, env)
        elif isinstance(node.func, cst.Attribute) and name is not None:
            called = self._outside(node.func)
        if isinstance(called, Called):
            return self._function(called, arguments, env)
        if not isinstance(node.func, cst.Attribute):
            return _NOTHING
        method = node.func.attr.value
        if method in transfer.COMPUTING_METHODS or updated_array(node.func) is not None:
            way = _rough if updated_array(node.func) is not None else _way_of(method)
            return way(self._values([node.func.value], env))
        if method in _APPLYING and len(arguments.positional) > 1:
            return _curved(self._values(arguments.positional[:2], env))
        if method == "update" and len(arguments.positional) > 1:
            # Of an optimizer: the gradients, and its state, if that has moments.
            updates = _rough(self._values(arguments.positional[:2], env))
            return Items((updates, updates))
        grads = arguments.get(None, "grads")
        if method == "apply_gradients" and grads is not None:
            return _rough(self._values([node.func.value, grads], env))
        return _NOTHING

    def _fields_given(self, node: cst.Call, name: str | None) -> list[cst.BaseExpression]:
        """Return the fields that a call gives to a record: to a new one, or to one like another."""
        arguments = Arguments(node)
        is_like = name == "dataclasses.replace" or (
            isinstance(node.func, cst.Attribute)
            and node.func.attr.value in _REPLACING
            and not arguments.positional
        )
        if is_like:
            # What it keeps of the other it hands on, and computes nothing with.
            return [*arguments.keywords.values()]
        return [*arguments.values] if name == "builtins.dict" or self._is_record(node.func) else []

    def _is_record(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression names a class whose objects are made of their fields."""
        cls = self.names.sole_definition(node)
        if not isinstance(cls, cst.ClassDef):
            _, cls = self._bound_elsewhere(node) or (self.module, None)
        return isinstance(cls, cst.ClassDef) and keeps_fields(cls)

    def _transformed(self, name: str | None, arguments: Arguments, env: Env) -> Known:
        given = arguments.get(0, "fun", "f")
        held = _NOTHING if given is None else self._value(given, env)
        more = arguments.keywords.keys() - {"fun", "f", "has_aux"} | set(arguments.positional[1:])
        aux = arguments.get(None, "has_aux")
        is_known = aux is None or (isinstance(aux, cst.Name) and aux.value in {"True", "False"})
        if not isinstance(held, Called) or (name not in _SAME and (more or not is_known)):
            return _NOTHING
        has_aux = isinstance(aux, cst.Name) and aux.value == "True"
        return _transformed(held, name, has_aux=has_aux) or _NOTHING

    def _mapped(self, arguments: Arguments, env: Env) -> Known:
        if len(arguments.positional) < 2 or arguments.keywords:
            return _NOTHING
        function, *trees = arguments.positional
        held = self._value(function, env)
        if not isinstance(held, Called):
            return _NOTHING
        leaves = [_all_of(self._value(tree, env)) for tree in trees]
        return _all_of(self._run(held, leaves, {}))

    def _function(self, called: Called, arguments: Arguments, env: Env) -> Known:
        given = [self._value(argument, env) for argument in arguments.positional]
        named = {name: self._value(held, env) for name, held in arguments.keywords.items()}
        kind = called.derivative
        if kind is None:
            return self._run(called, given, named)
        if not given:
            return _NOTHING
        by = f"{_BY}{self._calls}"
        made = self._run(called, [Part(by), *given[1:]], named)
        loss = _item(made, 0) if kind.has_aux else made
        grads = _derived(loss, by, given[0])
        result = _put_back(made, by, given[0])
        if kind.with_value:
            return Items((result, grads))
        return Items((grads, _item(result, 1))) if kind.has_aux else grads

    def _run(self, called: Called, given: Sequence[Known], named: dict[str, Known]) -> Known:
        function = called.function
        parameters = [*function.params.posonly_params, *function.params.params]
        env = dict(called.env or {})
        env.update(dict.fromkeys(_names(function), _NOTHING))
        env.update(
            (parameter.name.value, known)
            for parameter, known in zip(parameters, given, strict=False)
        )
        env.update(named)
        self._steps += len(env)
        if self._calls == _MAX_CALLS:
            raise NotUnderstoodError
        self._calls += 1
        with self._inside(called.module):
            known = self.run(function, env)
        self._calls -= 1
        return known


def _transformed(called: Called, name: str | None, *, has_aux: bool) -> Called | None:
    """Return what a transformation makes of a function; None where that is not understood."""
    if name in _SAME:
        return called
    if name not in _GRADIENTS | _WITH_VALUE or called.derivative is not None:
        return None
    return replace(called, derivative=Derivative(name in _WITH_VALUE, has_aux))


def _way_of(name: str) -> Callable[[Sequence[Known]], Data]:
    """Return how a function computes, by the last part of its name."""
    if name in _PRODUCTS:
        return _product
    if name in _CURVED:
        return _curved
    return _sum if name in _LINEAR | _SUMS else _rough


def _item(known: Known, key: Key) -> Known:
    if isinstance(known, Part):
        return Part(known.parameter, (*known.path, key))
    if isinstance(known, Items):
        is_known = isinstance(key, int) and -len(known.items) <= key < len(known.items)
        return known.items[int(key)] if is_known else _NOTHING
    return known if isinstance(known, Data) and not isinstance(key, str) else _NOTHING


def _has_part(known: Known) -> bool:
    if isinstance(known, Items):
        return any(map(_has_part, known.items))
    return isinstance(known, Part)


def _operands(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands of an expression of whose data its value surely depends."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.Comparison):
        compared = [(each.operator, each.comparator) for each in node.comparisons]
        if any(isinstance(o, cst.Is | cst.IsNot | cst.In | cst.NotIn) for o, _ in compared):
            return []
        return [node.left, *(comparator for _, comparator in compared)]
    if isinstance(node, cst.Dict):
        return [element.value for element in node.elements]
    return []
