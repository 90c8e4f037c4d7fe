"""What the parts of the interpreter need of one another, so that none of them imports the whole.

An abstract interpreter is mutually recursive: statements evaluate expressions, these call
functions, whose bodies are statements again. Each part is written against these protocols;
`placement/interpreter.py` puts the parts together. What a method does is said where it is
implemented: `Interpreter` by `interpreter.Program`, `Evaluator` by `expressions.Expressions`,
`Calls` by `overlays.dispatch.Calls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    import libcst as cst

    from placement_lint.placement.domain.containers import Change, Containers
    from placement_lint.placement.domain.keys import Key
    from placement_lint.placement.domain.library_values import Dispatched
    from placement_lint.placement.domain.mesh_contexts import MeshesInForce
    from placement_lint.placement.domain.places import Place, Site
    from placement_lint.placement.domain.program_values import External, Instance
    from placement_lint.placement.domain.record import Record
    from placement_lint.placement.domain.sharded_calls import Running
    from placement_lint.placement.domain.state import Layer, State, Variable, Variables
    from placement_lint.placement.domain.values import (
        AnyTree,
        Atom,
        Closure,
        Computation,
        Lazy,
        LibraryMethod,
        Value,
    )
    from placement_lint.placement.engine.arguments import CallArguments, Fields, Operand
    from placement_lint.placement.engine.class_protocols import ClassesProtocol
    from placement_lint.placement.engine.executions import Execution, ExecutionLedger, Reads
    from placement_lint.placement.engine.frames import Frame
    from placement_lint.placement.engine.operations import Operations
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Names, Scope
    from placement_lint.syntax.tree import Tree


class PytreeClassesProtocol(Protocol):
    """Which classes are trees to JAX."""

    def has_replace(self, cls: Place) -> bool: ...


class TreesProtocol(Protocol):
    """Takes trees of arrays apart, and makes others of the same structure."""

    @property
    def classes(self) -> PytreeClassesProtocol: ...

    def rebuilt(
        self,
        held: Value,
        change: Callable[[Value], Value],
        at: Place,
        state: State,
        *,
        is_given: bool = ...,
        is_put: bool = ...,
        into: State | None = ...,
    ) -> Value: ...

    def leaves(self, held: Value, state: State, depth: int = ...) -> Iterator[Value]: ...

    def spread(self, held: Value, state: State, depth: int = ...) -> Value: ...

    def is_tree(self, instance: Instance) -> bool | None: ...

    def fields(self, instance: Instance, state: State) -> dict[str, Value]: ...

    def make(self, made: Instance, fields: dict[str, Value], state: State) -> None: ...


class SuspensionsProtocol(Protocol):
    """The context managers of functions that wait at their `yield`."""

    def stack(self, stack: Place, held: Value) -> None: ...

    def may_hide(self, call: Place) -> bool: ...

    def left_by(self, stack: Place, state: State) -> None: ...

    def resume(self, call: Place, state: State) -> None: ...

    def splits(self, module: Module, node: cst.CSTNode) -> bool: ...

    def suspend(
        self,
        call: Place,
        function: Place,
        bindings: dict[str, Value],
        entered: State,
        own: dict[Variable, Value],
        made: Value,
    ) -> Value: ...


class LinkingProtocol(Protocol):
    """What names stand for that are bound in other modules and bodies."""

    is_wanted: bool

    def attribute_of_module(self, module: Module, qualified: str) -> Variable | None: ...

    def find(self, importer: str, qualified: str) -> tuple[str, str] | None: ...

    def chosen(self, dispatched: Dispatched, first: Value) -> dict[Place, Value] | None: ...

    def below_decorators(
        self, module: Module, node: cst.FunctionDef
    ) -> tuple[Value, Sequence[cst.Decorator]]: ...

    def defined(self, module: Module, node: cst.FunctionDef) -> Value: ...

    def imported(self, module: Module, qualified: str, state: State) -> Value: ...

    def is_in_module(self, module: Module, qualified: str) -> bool: ...

    def is_rebound(self, key: Variable) -> bool: ...

    def loaded(self, external: External, state: State, steps: int = ...) -> Value: ...

    def may_follow(self, external: External) -> bool: ...

    def rebind(self, key: Variable, held: Value, state: State) -> None: ...

    def star_imported(self, module: Module, name: str, state: State) -> Value: ...

    def reexports_module(self, module: Module, qualified: str) -> bool: ...

    def variable_of(self, module: Module, owner: Scope, name: str, state: State) -> Value: ...

    @property
    def rebound(self) -> set[Variable]: ...


class ClosuresProtocol(Protocol):
    """Functions that calls give, which close over what their call was given."""

    def given(self, maker: Place, bindings: dict[str, Value], made: Value) -> Value: ...

    def decorated(self, made: Atom, given: Value, by: Value, apart: bool) -> Atom: ...

    def inherited(self, made: Value, closure: Closure) -> Value: ...


class ContextDecoratorsProtocol(Protocol):
    """The functions that contexts decorate."""

    def note(self, function: Place, decorator: cst.Decorator, held: Value) -> bool: ...

    def call(
        self,
        module: Module,
        node: cst.FunctionDef,
        held: Value,
        passed: CallArguments,
        state: State,
    ) -> Value: ...


class ObjectsProtocol(Protocol):
    """The objects that the program makes."""

    @property
    def superseded(self) -> AbstractSet[Instance]: ...

    def attribute_names(self, instance: Instance) -> list[str]: ...

    def made(self, instance: Instance) -> None: ...

    def named_attribute(self, instance: Instance, name: str) -> None: ...

    def supersede(self, held: Value, by: Value, state: State) -> None: ...

    def take_apart(self, held: Value, state: State) -> None: ...

    def own(self, frame: Frame, writes: dict[Variable, Value], result: Value) -> set[Instance]: ...

    def handed_out(
        self, result: Value, made: AbstractSet[Instance], call: Place, state: State
    ) -> Value: ...


class ReachProtocol(Protocol):
    """Where placements get to from a module or a function."""

    @property
    def mentions_meshes(self) -> bool: ...

    @property
    def keeps_positions(self) -> bool: ...

    def carries_placement(self, held: Value, state: State) -> bool: ...

    def enter(self, frame: Frame, arguments: abc.Mapping[str, Value], state: State) -> None: ...

    def left(
        self,
        frame: Frame,
        result: Value,
        writes: abc.Mapping[Variable, Value],
        state: State,
        *,
        sets_default: bool,
    ) -> None: ...

    def hands_out(self) -> None: ...

    def touches(self) -> None: ...

    def asks_meshes(self) -> None: ...

    def moves(self) -> None: ...


class MemoProtocol(Protocol):
    """What the executions of functions did, to be used again."""

    def run(
        self, place: Place, bindings: dict[str, Value], state: State, call: Place | None = ...
    ) -> Value: ...

    def reuse(self, execution: Execution, state: State) -> Value: ...


class FunctionsProtocol(Protocol):
    """Executes the functions of the program."""

    @property
    def closures(self) -> ClosuresProtocol: ...

    @property
    def context_decorators(self) -> ContextDecoratorsProtocol: ...

    def call(
        self,
        place: Place,
        arguments: dict[int | str, Value],
        state: State,
        *,
        bound: bool = ...,
        rest: Value | None = ...,
        more: Value | None = ...,
        call: Place | None = ...,
    ) -> Value: ...

    def consumed(self, held: Value, state: State) -> Value: ...

    @property
    def frames(self) -> abc.Sequence[Frame]: ...

    @property
    def frame(self) -> Frame | None: ...

    def note_read(self, key: Variable, held: Value | None) -> None: ...

    def note_reads(self, reads: Reads, state: State) -> None: ...

    def resume(
        self,
        place: Place,
        bindings: dict[str, Value],
        entered: State,
        at: State,
        since: Layer,
        state: State,
    ) -> None: ...

    def scopes_of(self, function: Place) -> set[int]: ...

    def stored_parameters(self, function: Place) -> frozenset[int | str]: ...

    def execute(
        self,
        place: Place,
        bindings: dict[str, Value],
        state: State,
        resumption: tuple[State, Layer] | None = ...,
    ) -> Execution: ...

    def seen(self, key: Variable, variables: Variables) -> Value | None: ...


class FixturesProtocol(Protocol):
    """What pytest gives to tests."""

    def requested(self, module: Module, call: cst.Call, state: State) -> Value: ...


class Interpreter(Protocol):
    """The program: its modules, functions, classes and objects."""

    loop_depth: int
    repeats: int
    expects_failure: bool
    nth: int

    @property
    def modules(self) -> dict[str, Module]: ...

    @property
    def supposed(self) -> Supposition | None: ...

    @property
    def now(self) -> ExecutionLedger: ...

    @property
    def linking(self) -> LinkingProtocol: ...

    @property
    def objects(self) -> ObjectsProtocol: ...

    @property
    def classes(self) -> ClassesProtocol: ...

    @property
    def reach(self) -> ReachProtocol: ...

    @property
    def memo(self) -> MemoProtocol: ...

    @property
    def functions(self) -> FunctionsProtocol: ...

    @property
    def containers(self) -> Containers: ...

    @property
    def suspensions(self) -> SuspensionsProtocol: ...

    @property
    def trees(self) -> TreesProtocol: ...

    @property
    def fixtures(self) -> FixturesProtocol: ...

    def assume_traced(self, held: Value, *, is_compiled: bool = ...) -> None: ...

    def bind(self, key: Variable, held: Value, state: State) -> None: ...

    def changes_default(self, module: Module) -> bool: ...

    def expressions(self, module: Module) -> Evaluator: ...

    @property
    def module_scopes(self) -> set[object]: ...

    def finish(self, changes: dict[Variable, Value]) -> None: ...

    def held(self, key: Variable, state: State) -> Value | None: ...

    def is_touched(self, tracer: Place) -> bool: ...

    def import_module(self, name: str, importing: State | None = ...) -> None: ...

    @property
    def is_tracing(self) -> bool: ...

    @property
    def running(self) -> Running: ...

    def meshes_in(self, state: State) -> MeshesInForce: ...

    @property
    def follows_compiled_calls(self) -> bool: ...
    @property
    def follows_compiled(self) -> bool: ...

    def compiling(self, is_compiling: bool = ...) -> AbstractContextManager[None]: ...

    runs_at_once: bool

    def at_once(self, is_at_once: bool) -> AbstractContextManager[None]: ...

    def module_of(self, place: Place) -> Module: ...

    def node(self, place: Place) -> cst.CSTNode: ...

    def on_tracers(self) -> AbstractContextManager[None]: ...

    def run_import(self, importer: Module, qualified: str, state: State) -> None: ...


class ProgramCallsProtocol(Protocol):
    """Calls of what the program defines."""

    def called(self, node: cst.Call, held: Value, state: State) -> Value: ...

    def called_with(
        self, node: cst.CSTNode, held: Value, passed: CallArguments, state: State
    ) -> Value: ...

    def computed_with(
        self, node: cst.CSTNode, atom: Computation, operands: list[Operand], state: State
    ) -> Value: ...

    def contexts(self, held: Value) -> Value: ...

    def decorated(self, node: cst.FunctionDef, state: State) -> Value: ...

    def decorated_class(self, node: cst.ClassDef, state: State) -> Value: ...

    def entered_value(self, held: Value, state: State) -> Value: ...

    def iterated_instance(self, node: cst.CSTNode, instance: Instance, state: State) -> Value: ...

    def left(self, held: Value, state: State) -> bool: ...

    def like(self, node: cst.Call, held: Value, passed: CallArguments, state: State) -> Value: ...

    def named_tuple(
        self, cls: Place | None, fields: Fields, passed: CallArguments, state: State
    ) -> Value: ...

    def new_objects(self, node: cst.CSTNode, classes: Value, state: State) -> Value: ...

    def instances(
        self, node: cst.CSTNode, classes: Value, passed: CallArguments, state: State
    ) -> Value | None: ...

    def passed(self, node: cst.Call, state: State) -> CallArguments: ...

    def read(self, node: cst.BaseExpression | None, held: Value, state: State) -> Value: ...

    def special(
        self, instance: Instance, name: str, positional: list[Value], state: State
    ) -> Value: ...

    def super_attribute(self, node: cst.Call, name: str, state: State) -> Value: ...

    def super_method(self, node: cst.Call, name: str, state: State) -> Value: ...

    def collections_of_super(
        self, node: cst.Call, name: str, state: State
    ) -> frozenset[Instance]: ...


class CallsProtocol(Protocol):
    """Evaluates the calls of one body."""

    @property
    def objects(self) -> ProgramCallsProtocol: ...

    def gives_iterator(self, name: str) -> bool: ...

    def is_at_once(self, node: cst.Call) -> bool: ...

    def at_once(self, node: cst.Call, state: State) -> Value: ...

    def call(self, node: cst.Call, state: State) -> Value: ...

    def of_library(
        self, node: cst.BaseExpression, given: CallArguments, state: State
    ) -> Value | None: ...

    def kept_function(self, node: cst.Call, atom: Atom, state: State) -> Value | None: ...

    def with_given(
        self, node: cst.CSTNode, name: str, given: CallArguments, state: State
    ) -> Value: ...

    def library_method(
        self,
        node: cst.CSTNode,
        method: LibraryMethod,
        given: CallArguments | None,
        state: State,
    ) -> Value: ...


class TargetsProtocol(Protocol):
    """Binds the targets of one body."""

    def assign(self, target: cst.CSTNode, held: Value, state: State) -> None: ...

    def augmented(self, node: cst.AugAssign, state: State) -> None: ...

    def bound(self, node: cst.BaseExpression, held: Value, state: State) -> Value: ...

    def change(
        self,
        node: cst.BaseExpression,
        held: Value,
        change: Change,
        state: State,
        *,
        surely: bool = ...,
    ) -> None: ...

    def change_items(
        self, instances: frozenset[Instance], change: Change, state: State
    ) -> None: ...

    def delete_item(self, target: cst.Subscript, state: State) -> None: ...

    def loosen(self, node: cst.BaseExpression, state: State) -> None: ...

    def made(self, node: cst.CSTNode) -> Site: ...

    def may_change(self, held: Value, state: State) -> None: ...

    def owner_of(self, node: cst.Name) -> Scope: ...

    def replace_items(self, node: cst.For, held: Value, state: State) -> None: ...

    def set_attribute(
        self,
        instance: Instance,
        name: str,
        held: Value,
        state: State,
        *,
        surely: bool,
        is_plain: bool = ...,
    ) -> None: ...

    def spoil(self, held: Value, state: State, other: Value = ...) -> None: ...


class IterationProtocol(Protocol):
    """Evaluates what iterates in one body."""

    def consume(self, lazy: Lazy, state: State) -> Value: ...

    def is_kept(self, node: cst.CSTNode) -> bool: ...

    def consumed_generator(self, node: cst.GeneratorExp, state: State) -> Value: ...

    def grown(self, held: Value, now: State, since: State | None = ...) -> Value: ...

    def of_view(self, held: Value, state: State) -> Value: ...

    def each(
        self, node: cst.BaseExpression, held: Value, state: State, *, axes: bool = ...
    ) -> tuple[Value, ...] | None: ...

    def meshes_of(
        self,
        target: cst.BaseExpression,
        iterable: cst.BaseExpression,
        bodies: Iterable[cst.CSTNode],
        state: State,
    ) -> tuple[Value, ...] | None: ...

    def rounds(self, items: tuple[Value, ...]) -> Iterator[Value]: ...

    def has_items(self, node: cst.BaseExpression, held: Value) -> bool: ...

    def iterated(self, node: cst.CSTNode, held: Value, state: State) -> Value: ...

    def listed(self, held: Value, state: State) -> Value: ...

    def later(
        self, node: cst.BaseExpression, parts: list[cst.BaseExpression], state: State
    ) -> Value: ...

    def part(self, node: cst.CSTNode, tree: AnyTree, state: State) -> Value: ...

    def taken_apart(self, node: cst.CSTNode, held: Value, state: State) -> Value: ...


class SubscriptsProtocol(Protocol):
    """Evaluates the subscripts of one body."""

    def key(self, node: cst.BaseExpression, held: Value) -> Key | None: ...

    def key_of(self, node: cst.Subscript, state: State) -> Key | None: ...

    def is_filled_here(self, node: cst.BaseExpression) -> bool: ...

    def surely_raises(self, node: cst.CSTNode | None) -> bool: ...


class OperatorsProtocol(Protocol):
    """Evaluates the operators of one body."""

    def narrow(self, test: cst.BaseExpression, state: State, *, holds: bool) -> bool: ...

    def compute(self, node: cst.CSTNode, operands: list[Operand], state: State) -> Value: ...


class AttributeDictsProtocol(Protocol):
    """The dicts of objects' attributes."""

    def owner(self, node: cst.CSTNode) -> cst.BaseExpression | None: ...

    def read(self, node: cst.CSTNode, held: Value, state: State) -> Value: ...

    def set(self, held: Value, name: str | None, new: Value, state: State) -> None: ...

    def update(self, held: Value, given: Value, state: State) -> None: ...

    def updated(self, held: Value, passed: CallArguments, state: State) -> None: ...


class Evaluator(Protocol):
    """Evaluates the expressions of one body."""

    @property
    def program(self) -> Interpreter: ...

    @property
    def module(self) -> Module: ...

    @property
    def tree(self) -> Tree: ...

    @property
    def names(self) -> Names: ...

    @property
    def touched(self) -> set[Place] | None: ...

    @property
    def record(self) -> Record: ...

    @property
    def supposed(self) -> Supposition | None: ...

    @property
    def operations(self) -> Operations: ...

    @property
    def calls(self) -> CallsProtocol: ...

    @property
    def targets(self) -> TargetsProtocol: ...

    @property
    def attribute_dicts(self) -> AttributeDictsProtocol: ...

    @property
    def iteration(self) -> IterationProtocol: ...

    @property
    def subscripts(self) -> SubscriptsProtocol: ...

    @property
    def operators(self) -> OperatorsProtocol: ...

    captured: dict[int, Value]

    def argument(self, node: cst.BaseExpression | None, state: State) -> Value: ...

    def arguments(self, node: cst.Call, state: State) -> list[Operand]: ...

    def closed_over(self, held: Value, state: State) -> Value: ...

    def computed(
        self,
        node: cst.CSTNode,
        operands: list[Operand],
        state: State,
        *,
        certain: bool = ...,
        is_call: bool = ...,
    ) -> Value: ...

    def escapes(self, held: Value, state: State) -> None: ...

    def evaluate(self, node: cst.CSTNode, state: State) -> Value: ...

    @property
    def in_loop(self) -> bool: ...

    @property
    def repeats(self) -> bool: ...

    def index(self, node: cst.CSTNode) -> int: ...

    def loop(self, *, repeats: bool = ...) -> AbstractContextManager[None]: ...

    def operand(self, node: cst.CSTNode, state: State) -> Operand: ...

    def operands(self, node: cst.CSTNode, state: State) -> list[Operand]: ...

    def read(self, node: cst.Call, operands: list[Operand]) -> Value: ...

    def spread(self, operands: list[Operand], state: State) -> list[Operand]: ...
