"""Evaluation of expressions: what each may be, and what evaluating it copies."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.jaxmodel.known_packages import LIBRARY_PREFIXES
from placement_lint.jaxmodel.libraries.flax import VARIABLE_VALUES
from placement_lint.jaxmodel.tracing import NAMED_SHARDINGS, SHARD_MAPS
from placement_lint.jaxmodel.transfer import Effect
from placement_lint.placement.domain.contents import arrays, awaited, named, without_parts
from placement_lint.placement.domain.devices import is_host
from placement_lint.placement.domain.library_values import AbstractArray, LibraryFunction
from placement_lint.placement.domain.places import MADE_ON_TRACERS, Place, Taking
from placement_lint.placement.domain.program_values import Function, Instance
from placement_lint.placement.domain.record import Record, UseKind
from placement_lint.placement.domain.state import SYSTEM, State, variable
from placement_lint.placement.domain.values import (
    ANYTHING,
    HOST,
    NONE,
    NOTHING,
    PLAIN,
    TENSOR,
    UNKNOWN,
    AnyTree,
    Array,
    Atom,
    Closure,
    ContextFactory,
    Host,
    Plain,
    PlainContext,
    TheDevice,
    Value,
    limited,
    value,
)
from placement_lint.placement.engine.attribute_dicts import DICT, AttributeDicts
from placement_lint.placement.engine.frames import Yielded
from placement_lint.placement.engine.iteration import Iteration
from placement_lint.placement.engine.literals import Literals
from placement_lint.placement.engine.meshes import constant, described_by, shardings_of
from placement_lint.placement.engine.operations import Operations
from placement_lint.placement.engine.operators import Operators
from placement_lint.placement.engine.pytrees import array_of, without_variables
from placement_lint.placement.engine.subscripts import Subscripts
from placement_lint.placement.engine.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import CallsProtocol, Evaluator, Interpreter
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module

_DEFAULT_DEVICE = "jax.config.jax_default_device"
"""What is no constant: a variable that was bound to it holds what it was then."""

_KEPT = frozenset({
    Effect.COMMIT, Effect.COMPUTE, Effect.CONVERT, Effect.CREATE, Effect.HOST, Effect.SAMPLE,
})  # fmt: skip
"""What functions do that programs keep, pass on and bind: types of numbers are none of these."""
_KEPT_BY_NAME = transfer.NUMPY_DISPATCHING | {
    *NAMED_SHARDINGS, *SHARD_MAPS,
    "jax.numpy.array", "numpy.array", "numpy.asarray", "numpy.concatenate", "numpy.stack",
}  # fmt: skip
_NULL_CONTEXT = "contextlib.nullcontext"
_NULL_CONTEXTS = value(ContextFactory(value(PlainContext(NONE))))

_CONSTANTS = {
    "False": value(Plain(truth=False)),
    "None": NONE,
    "True": value(Plain(truth=True)),
}
_NUMBERS = (cst.Integer, cst.Float, cst.Imaginary, cst.Ellipsis)


class Expressions:
    """Evaluates the expressions of one body."""

    def __init__(
        self,
        program: Interpreter,
        module: Module,
        calls: Callable[[Evaluator], CallsProtocol],
        touched: set[Place] | None = None,
    ) -> None:
        """Bind to the program, and to the module that the body is in.

        `calls` makes the evaluator of its calls.
        `touched`: of traced code, which leaves no other record, the tracers that it computes with.
        """
        self.program = program
        self.module = module
        self.tree = module.tree
        self.names = module.names
        self.touched = touched
        self.record = module.record
        if touched is not None:
            own = module.record
            self.record = Record(sharded_calls=own.sharded_calls, given=own.given)
        self.supposed = program.supposed if touched is None else None
        name = module.name if touched is None else f"{MADE_ON_TRACERS}{module.name}"
        self.operations = Operations(
            module, name, self.record, program.reach.moves, touched, self.supposed
        )
        self.operations.asks_meshes = program.reach.asks_meshes
        self.operations.is_to_fail = lambda: program.expects_failure
        if touched is not None:
            self.operations.at_once = lambda: module.record if program.runs_at_once else None
        self.captured: dict[int, Value] = {}
        """What parts of the iterator that is consumed now gave where it was made."""
        self.targets = Targets(self)
        self.attribute_dicts = AttributeDicts(self)
        self.iteration = Iteration(self)
        self.subscripts = Subscripts(self)
        self.operators = Operators(self)
        self.calls = calls(self)
        self._evaluators = self._evaluators_by_type()

    def _evaluators_by_type(self) -> dict[type[cst.CSTNode], Callable[[Any, State], Value]]:
        iteration, operators, literals = self.iteration, self.operators, Literals(self)
        # A method takes nodes of the class that it is registered for, which no type can say.
        return {
            cst.Attribute: self.attribute,
            cst.Await: self.await_,
            cst.BinaryOperation: operators.binary,
            cst.BooleanOperation: operators.boolean,
            cst.Call: self.calls.call,
            cst.Comparison: operators.comparison,
            cst.ConcatenatedString: literals.string,
            cst.Dict: literals.dict_,
            cst.DictComp: iteration.dict_comprehension,
            cst.FormattedString: literals.formatted,
            cst.GeneratorExp: iteration.generator,
            cst.IfExp: operators.conditional,
            cst.Lambda: self.lambda_,
            cst.List: literals.sequence,
            cst.ListComp: iteration.comprehension,
            cst.Name: self.name,
            cst.NamedExpr: self.walrus,
            cst.Set: literals.sequence,
            cst.SetComp: iteration.comprehension,
            cst.SimpleString: literals.string,
            cst.Subscript: self.subscripts.subscript,
            cst.TemplatedString: literals.formatted,
            cst.Tuple: literals.sequence,
            cst.UnaryOperation: operators.unary,
            cst.Yield: self.yield_,
            **dict.fromkeys(_NUMBERS, literals.number),
        }

    # -- entry ------------------------------------------------------------------------------

    @property
    def in_loop(self) -> bool:
        """Whether what is evaluated now is evaluated again and again."""
        return self.program.loop_depth > 0

    @property
    def repeats(self) -> bool:
        """Whether what is evaluated now stands for any number of rounds of a loop."""
        return self.program.repeats > 0

    @contextlib.contextmanager
    def loop(self, *, repeats: bool = True) -> Iterator[None]:
        """Evaluate what is inside as the body of a loop; `repeats` False: as one round of it."""
        self.program.loop_depth += 1
        self.program.repeats += repeats
        try:
            yield
        finally:
            self.program.loop_depth -= 1
            self.program.repeats -= repeats

    def index(self, node: cst.CSTNode) -> int:
        return self.tree.index(node)

    def evaluate(self, node: cst.CSTNode, state: State) -> Value:
        """Return what an expression may be, recording what evaluating it copies."""
        if self.captured and (held := self.captured.get(self.index(node))) is not None:
            return held
        evaluator = self._evaluators.get(type(node))
        if evaluator is None:
            return UNKNOWN
        result = evaluator(node, state)
        if self.supposed is not None:
            result = self._supposed_of(node, result, self.supposed, state)
        self.record.saw_value(self.index(node), result)
        return result

    def _supposed_of(
        self, node: cst.CSTNode, held: Value, supposed: Supposition, state: State
    ) -> Value:
        """Return what an expression gives once what is supposed is written around it."""
        place = self.module.place(node)
        taking = Taking(place)
        if taking in supposed.put_back:
            made = self.operations.created(place.node, state)
            held = supposed.returned(taking, held, made)
        is_committed = place in supposed.committed and not supposed.rebinds
        return supposed.commit(place, held) if is_committed else held

    def operand(self, node: cst.CSTNode, state: State) -> Operand:
        """Return an expression's place and value, as an operand of an operation."""
        return self.index(node), self.evaluate(node, state)

    def operands(self, node: cst.CSTNode, state: State) -> list[Operand]:
        """Return the operands in an argument: the elements of a literal list, tuple or dict."""
        if isinstance(node, cst.List | cst.Tuple):
            found: list[Operand] = []
            for element in node.elements:
                found += self.operands(element.value, state)
            self.record.saw_value(self.index(node), UNKNOWN)
            return found
        if isinstance(node, cst.Dict):
            found = []
            for item in node.elements:
                if isinstance(item, cst.DictElement):
                    self.evaluate(item.key, state)
                found += self.operands(item.value, state)
            return found
        return [self.operand(node, state)]

    def arguments(self, node: cst.Call, state: State) -> list[Operand]:
        """Evaluate every argument of a call, literal containers element by element."""
        found: list[Operand] = []
        for argument in node.args:
            if isinstance(argument.value, cst.GeneratorExp):
                held = self.iteration.consumed_generator(argument.value, state)
                found.append((self.index(argument.value), held))
            else:
                found += self.operands(argument.value, state)
        return found

    def spread(self, operands: list[Operand], state: State) -> list[Operand]:
        """Return operands with dicts of their leaves in the place of objects."""
        found: list[Operand] = []
        for place, held in operands:
            parts = self.program.trees.spread(held, state)
            if parts is not held:
                self.record.saw_tree(place, parts)
            found.append((place, parts))
        return found

    def argument(self, node: cst.BaseExpression | None, state: State) -> Value:
        """Evaluate one argument; a generator expression is consumed by the call."""
        if node is None:
            return UNKNOWN
        if isinstance(node, cst.GeneratorExp):
            return self.iteration.consumed_generator(node, state)
        return self.evaluate(node, state)

    def read(self, node: cst.Call, operands: list[Operand]) -> Value:
        """Return what a call gives that reads its first argument into NumPy."""
        if not operands:
            return HOST
        place, held = operands[0]
        is_whole = place == self.index(node.args[0].value)
        if not is_whole or not any(True for _ in arrays(held)):
            return HOST
        return value(Host(read=Place(self.module.name, place)))

    def escapes(self, held: Value, state: State) -> None:
        """Note that arrays, also those in objects, are given to something that nobody follows."""
        given = [self.program.functions.consumed(held, state)]
        for atom in held:
            if isinstance(atom, Instance):
                names = self.program.objects.attribute_names(atom)
                given += [state.variables.get((atom, name)) or NOTHING for name in names]
        for each in given:
            if self.supposed is not None:
                self.supposed.escaped(each)
            for array in arrays(each):
                if self.touched is None and array.committed and is_host(array.device):
                    self.record.pulls.meets_unknown = True
                if array.origin is not None and self.touched is not None:
                    self.touched.add(array.origin.created)

    def closed_over(self, held: Value, state: State) -> Value:
        """Return the committed arrays that functions close over."""
        return frozenset(
            atom for atom in self.closure(held, state) if isinstance(atom, Array) and atom.committed
        )

    def closure(self, held: Value, state: State) -> Value:
        """Return the arrays that functions close over, noting that they meet their arguments."""
        found: set[Atom] = set()
        for atom in held:
            place = atom.function if isinstance(atom, Closure) else None
            place = atom.place if isinstance(atom, Function) else place
            if place is None or place.module != self.module.name:
                continue
            function = self.program.node(place)
            own = self.program.functions.scopes_of(place)
            for node in self.tree.every(cst.Name, below=function):
                owner = self.names.owner(node.value, self.names.scope(node))
                if owner is None or id(owner) in own:
                    continue
                outer = self.program.held(variable(owner, node.value), state)
                if outer is not None:
                    self.escapes(outer, state)
                    found.update(arrays(outer))
        return limited(frozenset(found))

    def computed(
        self,
        node: cst.CSTNode,
        operands: list[Operand],
        state: State,
        *,
        certain: bool = True,
        is_call: bool = False,
    ) -> Value:
        """Apply an operation to operands: what a call of it gives, and what it copies."""
        return self.operations.computed(
            self.index(node),
            operands,
            state,
            UseKind.COMPUTED,
            in_loop=self.in_loop,
            certain=certain,
            is_call=is_call,
        )

    # -- names ------------------------------------------------------------------------------

    def name(self, node: cst.Name, state: State) -> Value:
        qualified = self.names.qualified(node) or ""
        if qualified == _NULL_CONTEXT:
            return _NULL_CONTEXTS
        if qualified.startswith(LIBRARY_PREFIXES) and qualified != _DEFAULT_DEVICE:
            # Of what a name was bound to once, only None says where something is.
            if qualified == "builtins.None":
                return NONE
            return _CONSTANTS.get(node.value) or self._of_library(qualified, constant(qualified))
        owner = self.names.owner(node.value, self.names.scope(node))
        if owner is None:
            held = _CONSTANTS.get(node.value)
            return (
                self.program.linking.star_imported(self.module, node.value, state)
                if held is None
                else held
            )
        return self.program.linking.variable_of(self.module, owner, node.value, state)

    def _of_library(self, qualified: str, other: Value) -> Value:
        """Return a function of a library that is no operand of a call, or what else a name is."""
        row = self.names.table.get(qualified)
        is_kept = qualified in _KEPT_BY_NAME or (row is not None and row.effect in _KEPT)
        return value(LibraryFunction(qualified)) if is_kept else other

    # -- simple expressions -------------------------------------------------------------------

    def lambda_(self, node: cst.Lambda, state: State) -> Value:
        """Evaluate a lambda, whose body runs another time."""
        for param in (*node.params.params, *node.params.kwonly_params, *node.params.posonly_params):
            if param.default is not None:
                self.evaluate(param.default, state)
        return value(Function(self.module.place(node)))

    def await_(self, node: cst.Await, state: State) -> Value:
        held = self.evaluate(node.expression, state)
        return awaited(held)

    def yield_(self, node: cst.Yield, state: State) -> Value:
        """Evaluate a yield, which gives what the consumer sends."""
        if isinstance(node.value, cst.From):
            held = self.iteration.iterated(
                node.value.item, self.evaluate(node.value.item, state), state
            )
        else:
            held = PLAIN if node.value is None else self.evaluate(node.value, state)
        frame = self.program.functions.frame
        if frame is not None:
            defaults = tuple(state.alternatives(frame.around))
            frame.yields.append(Yielded(defaults, state.meshes, held))
            if frame.suspends:
                frame.suspended.append(state.copy())
                state.suspended = True
            elif frame.resumption is not None:
                state.resume(frame.resumption)
            else:
                frame.paused[self.index(node)] = state.copy()
        return UNKNOWN

    def walrus(self, node: cst.NamedExpr, state: State) -> Value:
        held = self.targets.bound(node.value, self.evaluate(node.value, state), state)
        self.targets.assign(node.target, held, state)
        return held

    # -- operators ----------------------------------------------------------------------------

    # -- containers -----------------------------------------------------------------------------

    # -- attributes and subscripts --------------------------------------------------------------

    def attribute(self, node: cst.Attribute, state: State) -> Value:
        """Read an attribute: of an array, metadata moves nothing and `.T` computes."""
        qualified = self.names.qualified(node)
        if qualified is not None:
            if qualified == _DEFAULT_DEVICE:
                return _default_in_force(state)
            if qualified == _NULL_CONTEXT:
                return _NULL_CONTEXTS
            if qualified.startswith(LIBRARY_PREFIXES):
                return self._of_library(qualified, constant(qualified))
            owner = self.names.qualified(node.value)
            linking = self.program.linking
            if (
                owner is None
                or linking.attribute_of_module(self.module, owner) is None
                or linking.reexports_module(self.module, owner)
            ):
                return linking.imported(self.module, qualified, state)
        name = node.attr.value
        if isinstance(node.value, cst.Call) and (
            self.names.qualified(node.value.func) == "builtins.super"
        ):
            return self.calls.objects.super_attribute(node.value, name, state)
        held = self.evaluate(node.value, state)
        found: set[Atom] = set()
        if any(isinstance(atom, Array) for atom in held):
            if name in transfer.COMPUTING_ATTRIBUTES:
                operand = (self.index(node.value), without_parts(held))
                found |= self.operators.compute(node, [operand], state)
            elif name in transfer.METADATA_ATTRIBUTES:
                if self.supposed is not None:
                    self.supposed.asked(name, held)
                found |= shardings_of(held) if name == "sharding" else PLAIN
            else:
                found.add(ANYTHING)
        if any(isinstance(atom, Host) for atom in held):
            other = TENSOR if any(atom in TENSOR for atom in held) else HOST
            found |= PLAIN if name in transfer.METADATA_ATTRIBUTES else other
        if name == DICT and any(isinstance(atom, Instance) for atom in held):
            return self.attribute_dicts.read(node, held, state)
        if name in VARIABLE_VALUES and (read := without_variables(held)) != held:
            return read
        for atom in held:
            if isinstance(atom, AnyTree) and name in transfer.METADATA_ATTRIBUTES:
                found |= PLAIN
            elif isinstance(atom, AnyTree) and (array := array_of(atom, name)):
                found |= array
            elif isinstance(atom, AnyTree):
                computes = name in transfer.COMPUTING_ATTRIBUTES
                part = self.iteration.part(node, atom, state) if computes else value(atom)
                found |= named(part, name)
        described = frozenset(atom for atom in held if isinstance(atom, AbstractArray))
        for atom in described:
            found |= described_by(atom, name)
        others = frozenset(atom for atom in held if not isinstance(atom, Array | Host | AnyTree))
        others -= described
        if others:
            found |= self.program.classes.attribute(others, name, state)
        return frozenset(found)


def _default_in_force(state: State) -> Value:
    """Return what `jax.config.jax_default_device` is: also what a block around sets (measured)."""
    default = state.default
    if default.expression is None and default.devices == SYSTEM:
        return NONE
    return value(*[TheDevice(device) for device in default.devices])
