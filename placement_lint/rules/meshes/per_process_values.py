"""Which expressions surely have another value in each process, by what they are computed of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import TREE_MAPS as _MAPS
from placement_lint.rules.meshes.compiled_callers import uses_of
from placement_lint.rules.meshes.configured import field_given
from placement_lint.rules.meshes.spanning import is_over_all, target_of
from placement_lint.rules.meshes.stored_parts import stores_before
from placement_lint.semantic.followed import assigned_parts, bound_before, followed
from placement_lint.syntax.calls import Arguments
from placement_lint.syntax.definitions import (
    class_of_method,
    class_of_receiver,
    is_generator,
    parameter_named,
    returns_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from placement_lint.rules.context import Context

_INDEX = frozenset({"jax.host_id", "jax.process_index", "os.getpid"})
SOURCES_OF_MACHINE = frozenset({
    "os.uname", "os.urandom", "platform.node", "secrets.randbits", "secrets.token_bytes",
    "secrets.token_hex", "socket.gethostname", "socket.getfqdn", "time.time", "time.time_ns",
    "uuid.getnode", "uuid.uuid1", "uuid.uuid4",
})  # fmt: skip
"""Names, clocks and chance: what seeds are computed of that should differ from run to run."""
_UNSEEDED = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
"""Generators that begin anywhere unless they are given a seed."""
_GLOBAL = frozenset(
    f"numpy.random.{name}"
    for name in (
        "choice", "exponential", "gamma", "normal", "permutation", "poisson", "rand", "randint",
        "randn", "random", "random_sample", "standard_normal", "uniform",
    )
)  # fmt: skip
"""What draws of the generator that a process has, which begins anywhere unless it is seeded."""
_SEEDS = (
    b".random.seed", b"numpy import random", b"numpy.random import", b"numpy.random as",
    b".random.set_state", b"seed_everything", b"set_seed", b"set_random_seed",
)  # fmt: skip
"""What a file says that may seed NumPy's generator; `random.seed` alone is Python's own."""
_KEEPING = (
    "builtins.abs", "builtins.enumerate", "builtins.float", "builtins.hash", "builtins.int",
    "builtins.iter", "builtins.list", "builtins.map", "builtins.max", "builtins.min",
    "builtins.next", "builtins.open", "builtins.ord", "builtins.range", "builtins.reversed",
    "builtins.round", "builtins.sorted", "builtins.str", "builtins.sum", "builtins.tuple",
    "builtins.zip", "h5py.File", "hashlib.", "jax.numpy.", "jax.random.", "numpy.",
    "os.path.join", "pathlib.Path", "pickle.load", "tensorflow.data.",
    "tensorflow_datasets.as_numpy", "tensorflow_datasets.load", "zlib.crc32",
)  # fmt: skip
"""Functions, or modules of them, whose result is computed of what they are given."""
_ITERATING = frozenset({"builtins.iter", "builtins.next"})
_SAME = frozenset({
    "jax.numpy.empty_like", "jax.numpy.ones_like", "jax.numpy.zeros_like", "numpy.empty_like",
    "numpy.ones_like", "numpy.zeros_like", "jax.numpy.shape", "numpy.shape", "numpy.ndim",
    "numpy.save",
})  # fmt: skip
"""Functions whose result says nothing of the values that they are given."""
_OF_ARGUMENTS = frozenset({"format", "joinpath", "shard", "skip"})
"""Methods whose result is computed of their arguments too, as that of `dataset.shard`."""
_PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
_METADATA = frozenset({"dtype", "ndim", "shape", "size"})
_MOST = 100


def differs_between_processes(node: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether a value surely depends on the index of the process, or on chance."""
    return _Sources().differs(node, ctx, {})


def _may_be_seeded(ctx: Context) -> bool:
    """Return whether the program may seed NumPy's own generator, in any of its files."""
    module = ctx.module
    return module.says(*_SEEDS) or module.run.mentions(module.path, *_SEEDS)


class _Sources:
    """One question, and what was asked on the way to its answer."""

    def __init__(self) -> None:
        self._asked = 0
        self._asking: set[tuple[int, str]] = set()
        """The parameters and attributes that are asked about: one that depends on itself."""

    def differs(self, node: cst.BaseExpression, ctx: Context, given: Mapping[str, bool]) -> bool:
        """`given`: which parameters of the function around the node differ."""
        self._asked += 1
        if self._asked > _MOST:
            return False
        if isinstance(node, cst.Name):
            stored = self._is_stored(node, ctx, given)
            if stored is not None:
                return stored
            value = followed(node, ctx)
            if value is not node:
                return self.differs(value, ctx, given)
            only = ctx.names.sole_definition(node)
            if isinstance(only, cst.WithItem):
                return self.differs(only.item, ctx, given)
            bound = only if isinstance(only, cst.CompFor) else bound_before(node, ctx)
            if isinstance(bound, cst.For | cst.CompFor):
                is_of_object = self._is_iterated(bound.iter, ctx)
                return is_of_object or self.differs(bound.iter, ctx, given)
            if bound is not None:
                return self.differs(bound, ctx, given)
            taken = _taken_apart(only, node.value)
            if taken is not None:
                return self._is_of_several(*taken, ctx, given)
            return self._is_of_parameter(node, ctx, given)
        if isinstance(node, cst.BinaryOperation):
            return self.differs(node.left, ctx, given) or self.differs(node.right, ctx, given)
        if isinstance(node, cst.UnaryOperation):
            return self.differs(node.expression, ctx, given)
        if isinstance(node, cst.Subscript):
            return self.differs(node.value, ctx, given) or self._index(node, ctx, given)
        if isinstance(node, cst.Attribute):
            return node.attr.value not in _METADATA and (
                self.differs(node.value, ctx, given) or self._is_attribute(node, ctx)
            )
        if isinstance(node, cst.List | cst.Tuple | cst.Dict):
            # Of a mapping all has to differ: it may be asked for any of it.
            every = [
                self.differs(each.value, ctx, given)
                for each in node.elements
                if isinstance(each, cst.Element | cst.DictElement)
            ]
            return bool(every) and (all(every) if isinstance(node, cst.Dict) else any(every))
        if isinstance(node, cst.FormattedString):
            return any(
                self.differs(each.expression, ctx, given)
                for each in node.parts
                if isinstance(each, cst.FormattedStringExpression)
            )
        if isinstance(node, cst.IfExp):
            return self.differs(node.body, ctx, given) and self.differs(node.orelse, ctx, given)
        if isinstance(node, cst.ListComp | cst.GeneratorExp):
            return not node.for_in.ifs and self.differs(node.elt, ctx, given)
        return isinstance(node, cst.Call) and self._is_called(node, ctx, given)

    def _is_stored(self, name: cst.Name, ctx: Context, given: Mapping[str, bool]) -> bool | None:
        """Return whether what is stored in an array differs: `rows[:4] = …`; None: what it was
        made of decides.
        """
        found: bool | None = None
        for each in stores_before(name, ctx):
            differs = self.differs(each.value, ctx, given)
            if each.is_whole and (each.is_sure or not differs):
                found = differs
            elif each.is_sure and (differs or self._index(each.target, ctx, given)):
                found = True
        return found

    def _index(self, node: cst.Subscript, ctx: Context, given: Mapping[str, bool]) -> bool:
        """Return whether another part is taken in each process: `rows[process_index::count]`."""
        parts: list[cst.BaseExpression | None] = []
        for each in node.slice:
            if isinstance(each.slice, cst.Index):
                parts.append(each.slice.value)
            elif isinstance(each.slice, cst.Slice):
                parts += [each.slice.lower, each.slice.upper]
        return any(part is not None and self.differs(part, ctx, given) for part in parts)

    def _is_called(self, node: cst.Call, ctx: Context, given: Mapping[str, bool]) -> bool:
        called = ctx.called(node) or ""
        arguments = [each.value for each in node.args]
        if called in _INDEX:
            return not arguments
        if called in SOURCES_OF_MACHINE:
            return True
        if called in _UNSEEDED and not arguments:
            return True
        if called in _GLOBAL and not _may_be_seeded(ctx):
            return True
        if called in _SAME:
            return False
        if called in _ITERATING and any(self._is_iterated(each, ctx) for each in arguments):
            return True
        if called.startswith(_KEEPING):
            return any(self.differs(each, ctx, given) for each in arguments)
        if called in _MAPS:
            return any(self.differs(each, ctx, given) for each in arguments[1:])
        if called == "jax.device_put":
            return self._is_put(node, ctx, given)
        function = _function(node, ctx)
        if function is not None:
            return self._is_returned(*function, node, ctx, given)
        if called or not isinstance(node.func, cst.Attribute):
            return False
        # A method: what it gives is of its object, `rng.normal(size=8)`, if not of an argument.
        of = [node.func.value]
        if node.func.attr.value in _OF_ARGUMENTS:
            of += arguments
        return any(self.differs(each, ctx, given) for each in of)

    def _is_put(self, node: cst.Call, ctx: Context, given: Mapping[str, bool]) -> bool:
        """Return whether a value that differs is put on devices of this process."""
        put, target = Arguments(node).get(0, "x"), Arguments(node).get(1, "device")
        sharding = target_of(target, ctx)
        if put is None or (sharding is not None and is_over_all(sharding)):
            return False
        return self.differs(put, ctx, given)

    def _is_returned(
        self,
        function: cst.FunctionDef,
        there: Context,
        call: cst.Call,
        ctx: Context,
        given: Mapping[str, bool],
        position: int | None = None,
    ) -> bool:
        """Return whether each result of a function differs, for what it is given here.

        `position`: of the tuples that it returns, the item that is asked for.
        """
        arguments = Arguments(call)
        if arguments.is_open:
            return False
        names = _parameters(function, there)
        passed = dict(zip(names, arguments.positional, strict=False)) | arguments.keywords
        differing = {name: self.differs(value, ctx, given) for name, value in passed.items()}
        return self._is_given_back(function, there, differing, position)

    def _is_of_several(
        self, value: cst.BaseExpression, position: int, ctx: Context, given: Mapping[str, bool]
    ) -> bool:
        """Return whether an item of what an assignment takes apart differs."""
        function = _function(value, ctx) if isinstance(value, cst.Call) else None
        if function is None or not isinstance(value, cst.Call):
            return self.differs(value, ctx, given)
        return self._is_returned(*function, value, ctx, given, position)

    def _is_given_back(
        self,
        function: cst.FunctionDef,
        there: Context,
        given: Mapping[str, bool],
        position: int | None = None,
    ) -> bool:
        """Return whether all differs that a function returns, or a generator yields."""
        kinds = (cst.Yield,) if is_generator(function, there.names) else (cst.Return,)
        returned = [
            each.value if position is None else _item(each.value, position)
            for each in there.tree.every(*kinds, below=function)
            if isinstance(each, cst.Yield | cst.Return) and there.function(each) is function
        ]
        return bool(returned) and all(
            isinstance(value, cst.BaseExpression) and self.differs(value, there, given)
            for value in returned
        )

    def _is_attribute(self, node: cst.Attribute, ctx: Context) -> bool:
        """Return whether an attribute of an object differs, which its class assigns once, or which
        is a property, or a field that the object is made with.
        """
        given = field_given(node, ctx)
        if given is not None:
            return self.differs(*given, {})
        own = class_of_receiver(node.value, ctx.names)
        found = _class_of(node.value, ctx) if own is None else (own, ctx)
        if found is None:
            return False
        owner, there = found
        name = node.attr.value
        key = (id(owner), name)
        if key in self._asking:
            return False
        self._asking.add(key)
        made = there.names.scope(owner.body).bindings.get(name, [])
        if len(made) == 1 and isinstance(made[0].node, cst.FunctionDef):
            differs = self._is_property(made[0].node, there)
        else:
            values = [
                value
                for assign in there.tree.every(cst.Assign, cst.AnnAssign, below=owner)
                for target, value in _assigned(assign)
                if isinstance(target, cst.Attribute) and target.attr.value == name
            ]
            differs = len(values) == 1 and self.differs(values[0], there, {})
        self._asking.discard(key)
        return differs

    def _is_iterated(self, node: cst.BaseExpression, ctx: Context) -> bool:
        """Return whether all differs that an object of the program gives where it is iterated."""
        found = _class_of(node, ctx)
        if found is None:
            return False
        owner, there = found
        key = (id(owner), "__iter__")
        made = there.names.scope(owner.body).bindings.get("__iter__", [])
        function = made[0].node if len(made) == 1 else None
        if key in self._asking or not isinstance(function, cst.FunctionDef):
            return False
        self._asking.add(key)
        differs = self._is_given_back(function, there, {})
        self._asking.discard(key)
        return differs

    def _is_property(self, function: cst.FunctionDef, there: Context) -> bool:
        """Return whether all that a property gives differs."""
        decorators = [there.name(each.decorator) for each in function.decorators]
        returned = [each.value for each in returns_of(function, there.names)]
        is_property = len(decorators) == 1 and decorators[0] in _PROPERTIES
        return (
            is_property
            and bool(returned)
            and all(value is not None and self.differs(value, there, {}) for value in returned)
        )

    def _is_of_parameter(self, node: cst.Name, ctx: Context, given: Mapping[str, bool]) -> bool:
        """Return whether a name is a parameter that differs, and is bound nowhere else."""
        if parameter_named(node, ctx.names) is None:
            return False
        if node.value in given:
            return given[node.value]
        function = ctx.function(node)
        if isinstance(function, cst.Lambda):
            tree = _mapped(function, node.value, ctx)
            return tree is not None and self.differs(tree, ctx, given)
        key = (id(function), node.value)
        if given or key in self._asking or not isinstance(function, cst.FunctionDef):
            return False
        self._asking.add(key)
        found = self._is_passed(function, node.value, ctx)
        self._asking.discard(key)
        return found

    def _is_passed(self, function: cst.FunctionDef, name: str, ctx: Context) -> bool:
        """Return whether all calls of a function give a parameter of it what differs."""
        names = _parameters(function, ctx)
        if name not in names:
            return False
        found = False
        for there, use in uses_of(function, ctx):
            call = there.parent(use)
            if not isinstance(call, cst.Call) or call.func is not use:
                if isinstance(call, cst.Attribute | cst.ImportAlias):
                    continue
                return False
            arguments = Arguments(call)
            value = arguments.get(names.index(name), name)
            if arguments.is_open or value is None or not self.differs(value, there, {}):
                return False
            found = True
        return found


def _assigned(
    statement: cst.CSTNode,
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield what a statement assigns to, each with what that is given: `a, b = one, two` too."""
    if isinstance(statement, cst.Assign):
        for target in statement.targets:
            yield from assigned_parts(target.target, statement.value)
    elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value


def _taken_apart(statement: cst.CSTNode | None, name: str) -> tuple[cst.BaseExpression, int] | None:
    """Return what an assignment takes apart, and where in it a name stands: `one, name = value`."""
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, cst.Tuple | cst.List):
        return None
    for position, each in enumerate(target.elements):
        if isinstance(each, cst.StarredElement):
            return None
        if isinstance(each.value, cst.Name) and each.value.value == name:
            return statement.value, position
    return None


def _item(returned: cst.CSTNode | None, position: int) -> cst.BaseExpression | None:
    """Return an item of a tuple that a function returns, if it is written out."""
    if not isinstance(returned, cst.Tuple) or position >= len(returned.elements):
        return None
    stars = any(isinstance(each, cst.StarredElement) for each in returned.elements)
    return None if stars else returned.elements[position].value


def _mapped(function: cst.Lambda, name: str, ctx: Context) -> cst.BaseExpression | None:
    """Return the tree whose leaves a parameter of a function is given: `tree.map(lambda x: …)`."""
    argument = ctx.parent(function)
    call = None if argument is None else ctx.parent(argument)
    names = _names(function)
    if not isinstance(call, cst.Call) or ctx.called(call) not in _MAPS or name not in names:
        return None
    return Arguments(call).get(1 + names.index(name))


def _parameters(function: cst.FunctionDef, ctx: Context) -> list[str]:
    """Return the names of the parameters that a call of a function gives."""
    names = _names(function)
    return names if class_of_method(function, ctx.names) is None else names[1:]


def _names(function: cst.FunctionDef | cst.Lambda) -> list[str]:
    return [each.name.value for each in function.params.params]


def _class_of(node: cst.BaseExpression, ctx: Context) -> tuple[cst.ClassDef, Context] | None:
    """Return the class of the program of which an expression surely is an object, with its file."""
    from placement_lint.placement.domain.program_values import Instance

    classes = {atom.cls if isinstance(atom, Instance) else None for atom in ctx.flow.value(node)}
    place = classes.pop() if len(classes) == 1 else None
    made, there = ctx.node_at(place) or (None, ctx)
    return (made, there) if isinstance(made, cst.ClassDef) else None


def _function(call: cst.Call, ctx: Context) -> tuple[cst.FunctionDef, Context] | None:
    """Return the function of the program that a call is of, with its file."""
    from placement_lint.placement.domain.contents import function_place

    # The method of several objects is one function.
    places = {function_place(atom) for atom in ctx.flow.value(call.func)}
    found = ctx.function_at(places.pop()) if len(places) == 1 else None
    if found is not None:
        return found
    bound = ctx.names.sole_definition(call.func)
    return (bound, ctx) if isinstance(bound, cst.FunctionDef) else None
