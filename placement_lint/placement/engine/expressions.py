"""Evaluation of expressions: what each may be, and what evaluating it copies."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from placement_lint.jaxmodel import transfer
from placement_lint.placement.domain.containers import (
    anonymous_outside,
    changed_holders,
    forget,
    has_item,
    is_container,
    loosened,
    merged,
    of_items,
    of_site,
    once,
    sited,
    unsure,
    view_of,
    with_item,
    with_more,
    without_item,
)
from placement_lint.placement.domain.record import Record, UseKind
from placement_lint.placement.domain.state import State, Variable, meet, variable
from placement_lint.placement.domain.values import (
    ANYTHING,
    DOUBTFUL,
    HOST,
    MADE_ON_TRACERS,
    NONE,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Anything,
    AnyTree,
    Array,
    Atom,
    Class,
    DeviceList,
    External,
    Function,
    Host,
    Instance,
    Lazy,
    Mapping,
    Place,
    Plain,
    Sequence,
    Site,
    Taking,
    Value,
    arrays,
    element_of,
    is_host,
    is_placed,
    iterated_of,
    join,
    limited,
    map_arrays,
    value,
    without_parts,
)
from placement_lint.placement.engine.narrowing import Names as TestedNames
from placement_lint.placement.engine.narrowing import compared, narrowed, truth
from placement_lint.placement.engine.operations import Operations
from placement_lint.placement.engine.program_calls import awaited
from placement_lint.syntax.calls import integer_value, string_value
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.domain.containers import Change
    from placement_lint.placement.engine.arguments import Operand
    from placement_lint.placement.engine.protocols import Calls, Evaluator, Interpreter
    from placement_lint.placement.engine.supposition import Supposition
    from placement_lint.placement.facts.module import Module
    from placement_lint.syntax.names import Scope

_LIBRARIES = ("builtins.", "jax.", "numpy.")
"""What a name of these stands for, when it is not called, is a function, a type or a constant."""

_DEFAULT_DEVICE = "jax.config.jax_default_device"
"""What is no constant: a variable that was bound to it holds what it was then."""

_CONSTANTS = {
    "False": value(Plain(truth=False)),
    "None": value(Plain(truth=False)),
    "True": value(Plain(truth=True)),
}
_PLAIN_NODES = (
    cst.Integer,
    cst.Float,
    cst.Imaginary,
    cst.Ellipsis,
)


class Expressions:
    """Evaluates the expressions of one body."""

    def __init__(
        self,
        program: Interpreter,
        module: Module,
        calls: Callable[[Evaluator], Calls],
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
        self.record = module.record if touched is None else Record()
        self.supposed = program.supposed if touched is None else None
        name = module.name if touched is None else f"{MADE_ON_TRACERS}{module.name}"
        self.operations = Operations(
            module, name, self.record, program.reach.moves, touched, self.supposed
        )
        self.calls = calls(self)
        self.captured: dict[int, Value] = {}
        """What parts of the iterator that is consumed now gave where it was made."""
        self._evaluators: dict[type[cst.CSTNode], Callable[[Any, State], Value]] = {
            cst.Attribute: self.attribute,
            cst.Await: self.await_,
            cst.BinaryOperation: self.binary,
            cst.BooleanOperation: self.boolean,
            cst.Call: self.calls.call,
            cst.Comparison: self.comparison,
            cst.ConcatenatedString: self.string,
            cst.Dict: self.dict_,
            cst.DictComp: self.dict_comprehension,
            cst.FormattedString: self.formatted,
            cst.GeneratorExp: self.generator,
            cst.IfExp: self.conditional,
            cst.Lambda: self.lambda_,
            cst.List: self.sequence,
            cst.ListComp: self.comprehension,
            cst.Name: self.name,
            cst.NamedExpr: self.walrus,
            cst.Set: self.sequence,
            cst.SetComp: self.comprehension,
            cst.SimpleString: self.string,
            cst.Subscript: self.subscript,
            cst.TemplatedString: self.formatted,
            cst.Tuple: self.sequence,
            cst.UnaryOperation: self.unary,
            cst.Yield: self.yield_,
            **dict.fromkeys(_PLAIN_NODES, self.plain),
        }

    # -- entry ------------------------------------------------------------------------------

    @property
    def in_loop(self) -> bool:
        """Whether what is evaluated now is evaluated again and again."""
        return self.program.loop_depth > 0

    @contextlib.contextmanager
    def loop(self) -> Iterator[None]:
        """Evaluate what is inside as the body of a loop."""
        self.program.loop_depth += 1
        try:
            yield
        finally:
            self.program.loop_depth -= 1

    def index(self, node: cst.CSTNode) -> int:
        """Give the place of a node in the tree."""
        return self.tree.index(node)

    def evaluate(self, node: cst.CSTNode, state: State) -> Value:
        """Give what an expression may be, recording what evaluating it copies."""
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
        """Give what an expression gives once what is supposed is written around it."""
        place = self.module.place(node)
        taking = Taking(place)
        if taking in supposed.put_back:
            made = self.operations.created(place.node, state)
            held = supposed.returned(taking, held, made)
        is_committed = place in supposed.committed and not supposed.rebinds
        return supposed.commit(place, held) if is_committed else held

    def operand(self, node: cst.CSTNode, state: State) -> Operand:
        """Give an expression's place and value, as an operand of an operation."""
        return self.index(node), self.evaluate(node, state)

    def operands(self, node: cst.CSTNode, state: State) -> list[Operand]:
        """Give the operands in an argument: the elements of a literal list, tuple or dict."""
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
                held = self.consumed_generator(argument.value, state)
                found.append((self.index(argument.value), held))
            else:
                found += self.operands(argument.value, state)
        return found

    def spread(self, operands: list[Operand], state: State) -> list[Operand]:
        """Give operands with dicts of their leaves in the place of objects."""
        found: list[Operand] = []
        for place, held in operands:
            parts = self.program.trees.spread(held, state)
            if parts is not held:
                self.record.saw_parts(place, arrays(parts))
            found.append((place, parts))
        return found

    def argument(self, node: cst.BaseExpression | None, state: State) -> Value:
        """Evaluate one argument; a generator expression is consumed by the call."""
        if node is None:
            return UNKNOWN
        if isinstance(node, cst.GeneratorExp):
            return self.consumed_generator(node, state)
        return self.evaluate(node, state)

    def read(self, node: cst.Call, operands: list[Operand]) -> Value:
        """Give what a call gives that reads its first argument into NumPy."""
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
                if array.origin is None:
                    continue
                if self.touched is not None:
                    self.touched.add(array.origin.created)
                elif not array.committed:
                    self.record.escaped.add(array.origin.created)

    def closed_over(self, held: Value, state: State) -> Value:
        """Give the committed arrays that functions close over."""
        return frozenset(
            atom for atom in self.closure(held, state) if isinstance(atom, Array) and atom.committed
        )

    def closure(self, held: Value, state: State) -> Value:
        """Give the arrays that functions close over, noting that they meet their arguments."""
        found: set[Atom] = set()
        for atom in held:
            if not isinstance(atom, Function) or atom.place.module != self.module.name:
                continue
            function = self.program.node(atom.place)
            own = self.program.functions.scopes_of(atom.place)
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
        """Read a variable."""
        qualified = self.names.qualified(node) or ""
        if qualified.startswith(_LIBRARIES) and qualified != _DEFAULT_DEVICE:
            # Of what a name was bound to once, only None says where something is.
            return NONE if qualified == "builtins.None" else _CONSTANTS.get(node.value, PLAIN)
        owner = self.names.owner(node.value, self.names.scope(node))
        if owner is None:
            constant = _CONSTANTS.get(node.value)
            return (
                self.program.linking.star_imported(self.module, node.value, state)
                if constant is None
                else constant
            )
        return self.program.linking.variable_of(self.module, owner, node.value, state)

    def owner_of(self, node: cst.Name) -> Scope:
        """Give the scope that an assignment to a name binds it in."""
        owner = self.names.owner(node.value, self.names.scope(node))
        return owner if owner is not None else self.names.module_scope

    def assign(self, target: cst.CSTNode, held: Value, state: State) -> None:
        """Bind a target to a value."""
        if isinstance(target, cst.Name):
            self.program.bind(variable(self.owner_of(target), target.value), held, state)
            self.record.saw_value(self.index(target), held)
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(target, held, state)
        elif isinstance(target, cst.Subscript):
            self._store(target, held, state)
        elif isinstance(target, cst.Attribute):
            self._set_attribute(target, held, state)

    def loosen(self, node: cst.BaseExpression, state: State) -> None:
        """Forget for sure what a container holds, where something in it was or may be changed."""
        while isinstance(node, cst.Subscript):
            node = node.value
        if not isinstance(node, cst.Name | cst.Attribute):
            return
        held = self.evaluate(node, state)
        if is_container(held):
            self.change(node, held, loosened, state)
        elif any(isinstance(atom, AnyTree) for atom in held):
            self.assign(node, UNKNOWN, state)

    def may_change(self, held: Value, state: State) -> None:
        """Note that something that nobody follows was given containers: it may change them."""
        if is_container(held):
            forget(held, state, self.program.containers, unsure)

    def change(
        self,
        node: cst.BaseExpression,
        held: Value,
        change: Change,
        state: State,
        *,
        surely: bool = True,
    ) -> None:
        """Change the containers that an expression is, under every name that they have.

        `surely` False: of those under other names it is not sure that they are the same.
        """
        change = once(change)
        own = self._variable_of(node, state)
        containers = [atom for atom in held if isinstance(atom, Sequence | Mapping)]
        surely = surely and len(held) == 1
        for site in {atom.site for atom in containers if atom.site is not None}:
            known = surely and self.program.containers.is_one(site)
            held_by = {
                key: self.program.held(key, state)
                for key in self.program.containers.holders(site)
                if key != own
            }
            for key, after in changed_holders(held_by, site, change, surely=known):
                self.program.bind(key, after, state)
        if own is not None or isinstance(node, cst.Name | cst.Attribute):
            new = [change(a) if isinstance(a, Sequence | Mapping) else a for a in held]
            self.assign(node, limited(frozenset(new)), state)
        elif any(atom.site is None for atom in containers):
            self.loosen(node, state)

    def _variable_of(self, node: cst.BaseExpression, state: State) -> Variable | None:
        """Give the variable, or the attribute of one object, that an expression is."""
        if isinstance(node, cst.Name):
            return variable(self.owner_of(node), node.value)
        if isinstance(node, cst.Attribute):
            qualified = self.names.qualified(node)
            if qualified is not None:
                return self.program.linking.attribute_of_module(self.module, qualified)
            receiver = self.evaluate(node.value, state)
            if len(receiver) == 1:
                (atom,) = receiver
                if isinstance(atom, Instance):
                    return (atom, node.attr.value)
        return None

    def made(self, node: cst.CSTNode) -> Site:
        """Give the site of a container that an expression makes now."""
        site = (self.module.place(node),)
        self.program.containers.made(site, again=self.in_loop)
        if self.program.functions.frame is not None:
            self.program.functions.frame.made.add(site)
        return site

    def _set_attribute(self, target: cst.Attribute, held: Value, state: State) -> None:
        self.record.saw_value(self.index(target), held)
        qualified = self.names.qualified(target)
        if qualified is not None:
            key = self.program.linking.attribute_of_module(self.module, qualified)
            if key is not None:
                if not self.program.linking.is_rebound(key):
                    # Where it is not assigned to here, it is what it was.
                    self.program.finish(
                        {key: self.program.linking.imported(self.module, qualified, state)}
                    )
                self.program.linking.rebind(key, held, state)
            else:
                self.escapes(held, state)
            return
        receiver = self.evaluate(target.value, state)
        for cls in receiver:
            if isinstance(cls, Class):
                self.program.linking.rebind(
                    self.program.classes.variable(cls.place, target.attr.value), held, state
                )
        objects = [atom for atom in receiver if isinstance(atom, Instance)]
        for instance in objects:
            self.set_attribute(instance, target.attr.value, held, state, surely=len(receiver) == 1)
        if len(objects) < len(receiver):
            self.escapes(held, state)

    def set_attribute(
        self, instance: Instance, name: str, held: Value, state: State, *, surely: bool
    ) -> None:
        """Set an attribute of an object; `surely` False: or of another one."""
        self.program.objects.named_attribute(instance, name)
        key = (instance, name)
        setter = self.program.classes.setter(instance.cls, name)
        if setter is not None:
            arguments: dict[int | str, Value] = {0: value(instance), 1: held}
            self.program.functions.call(setter, arguments, state, bound=True)
            return
        if self.program.classes.method(
            instance.cls, "__setattr__"
        ) is not None or self.program.classes.is_described(instance, name, state):
            self.escapes(held, state)
            held, surely = UNKNOWN, False
        if not surely:
            held = join(held, state.variables.get(key) or NOTHING)
        elif is_container(held):
            held = self.program.containers.owned(held, instance.site, again=self.in_loop)
        self.program.bind(key, held, state)

    def spoil(self, held: Value, state: State, other: Value = DOUBTFUL) -> None:
        """Note that any attribute of an object may be set, by `vars(x)` or `x.__dict__`.

        `other`: to what.
        """
        for atom in held:
            if isinstance(atom, Instance):
                for name in self.program.objects.attribute_names(atom):
                    before = self.program.held((atom, name), state) or NOTHING
                    self.program.bind((atom, name), join(before, other), state)

    def _unpack(self, target: cst.Tuple | cst.List, held: Value, state: State) -> None:
        held = self._taken_apart(target, self.program.functions.consumed(held, state), state)
        count = len(target.elements)
        star = next(
            (i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None
        )
        if any(isinstance(atom, DeviceList) for atom in held) and star is None and count == 1:
            # `[device] = jax.devices()`: there is one.
            self.assign(target.elements[0].value, iterated_of(held, 0), state)
            return
        for position, element in enumerate(target.elements):
            if position == star:
                part = _middle(held, star, count)
            else:
                key = position if star is None or position < star else position - count
                part = iterated_of(held, key) or UNKNOWN
            self.assign(element.value, part, state)

    def _store(self, target: cst.Subscript, held: Value, state: State) -> None:
        container = self.evaluate(target.value, state)
        keys = [element.slice for element in target.slice]
        for key in keys:
            if isinstance(key, cst.Index):
                self.evaluate(key.value, state)
            elif isinstance(key, cst.Slice):
                for bound in (key.lower, key.upper, key.step):
                    if bound is not None:
                        self.evaluate(bound, state)
        for instance in container:
            if isinstance(instance, Instance):
                index = keys[0].value if isinstance(keys[0], cst.Index) else None
                given = UNKNOWN if index is None else self.evaluate(index, state)
                self.calls.objects.special(instance, "__setitem__", [given, held], state)
        if not all(isinstance(atom, Sequence | Mapping | Host) for atom in container):
            self.escapes(held, state)
        if any(isinstance(atom, AnyTree) for atom in container):
            self.loosen(target.value, state)
        if not is_container(container):
            return
        known = self._key_of(target, state)
        if isinstance(keys[0], cst.Slice):
            held = iterated_of(held) or UNKNOWN
        all_committed = held and all(isinstance(a, Array) and a.committed for a in held)

        def stored(atom: Sequence | Mapping) -> Sequence | Mapping:
            if all_committed and not has_item(atom, known):
                # As a loop that commits every item does.
                return loosened(atom)
            return with_item(atom, known, held)

        self.change(target.value, container, stored, state)

    def key(self, node: cst.BaseExpression, held: Value) -> str | int | None:
        """Give the key that an expression, which has a value, certainly is: a text, a number."""
        number = integer_value(node)
        only = next(iter(held)) if len(held) == 1 else None
        if number is None and isinstance(only, Plain):
            return only.text if only.member is None else f"\1{only.member}"
        return number

    def _key_of(self, node: cst.Subscript, state: State) -> str | int | None:
        if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return None
        index = node.slice[0].slice.value
        if isinstance(index, cst.Name | cst.Attribute | cst.SimpleString | cst.ConcatenatedString):
            return self.key(index, self.evaluate(index, state))
        return integer_value(index)

    def delete_item(self, target: cst.Subscript, state: State) -> None:
        """`del container[key]`."""
        held = self.evaluate(target.value, state)
        if is_container(held):
            key = None if self.in_loop else self._key_of(target, state)
            self.change(target.value, held, lambda c: without_item(c, key), state)

    # -- simple expressions -------------------------------------------------------------------

    def plain(self, node: cst.CSTNode, state: State) -> Value:
        """Evaluate a number."""
        return PLAIN

    def string(self, node: cst.CSTNode, state: State) -> Value:
        """Evaluate a string literal."""
        if isinstance(node, cst.ConcatenatedString):
            pending: list[cst.CSTNode] = [node]
            while pending:
                part = pending.pop()
                if isinstance(part, cst.ConcatenatedString):
                    pending += (part.right, part.left)
                elif isinstance(part, cst.FormattedString):
                    self.formatted(part, state)
        text = string_value(node)
        return PLAIN if text is None else value(Plain(text))

    def formatted(self, node: cst.FormattedString | cst.TemplatedString, state: State) -> Value:
        """Evaluate an f-string: printing an array moves nothing, indexing one inside does."""
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression | cst.TemplatedStringExpression):
                self.evaluate(part.expression, state)
        return PLAIN

    def lambda_(self, node: cst.Lambda, state: State) -> Value:
        """Evaluate a lambda, whose body runs another time."""
        for param in (*node.params.params, *node.params.kwonly_params, *node.params.posonly_params):
            if param.default is not None:
                self.evaluate(param.default, state)
        return value(Function(self.module.place(node)))

    def await_(self, node: cst.Await, state: State) -> Value:
        """Evaluate an await: what the coroutine returns."""
        held = self.evaluate(node.expression, state)
        return awaited(held)

    def yield_(self, node: cst.Yield, state: State) -> Value:
        """Evaluate a yield, which gives what the consumer sends."""
        if isinstance(node.value, cst.From):
            held = self.iterated(node.value.item, self.evaluate(node.value.item, state), state)
        else:
            held = PLAIN if node.value is None else self.evaluate(node.value, state)
        frame = self.program.functions.frame
        if frame is not None:
            frame.yields.append((tuple(state.alternatives(frame.around)), held))
            if frame.suspends:
                frame.suspended.append(state.copy())
                state.suspended = True
            elif frame.resumption is not None:
                state.resume(frame.resumption)
        return UNKNOWN

    def walrus(self, node: cst.NamedExpr, state: State) -> Value:
        """Evaluate an assignment expression."""
        held = self.bound(node.value, self.evaluate(node.value, state), state)
        self.assign(node.target, held, state)
        return held

    def bound(self, node: cst.BaseExpression, held: Value, state: State) -> Value:
        """Note, in what an expression made, that it is bound to a name: there it can be committed.

        Only for one array or one loaded file: `device_put` around a container of other things
        would fail on them.
        """
        whole = all(isinstance(a, Array) or (isinstance(a, Mapping) and not a.items) for a in held)
        if not whole or isinstance(node, cst.Name | cst.Attribute):
            return held
        place = self.module.place(node)
        if state.default.inherited:
            return held
        expression = state.default.expression

        def note(array: Array) -> Array:
            origin = array.origin
            if origin is None or origin.device is None or origin.device != expression:
                return array
            if origin.commit_at != origin.created:
                return array
            return _with_commit_at(array, place)

        return map_arrays(held, note)

    # -- operators ----------------------------------------------------------------------------

    def _compute(self, node: cst.CSTNode, operands: list[Operand], state: State) -> Value:
        if isinstance(node, cst.BinaryOperation):
            combined = self._combined(node, operands, state)
            if combined is not None:
                return combined
        if not any(isinstance(atom, Array | AnyTree) for _, held in operands for atom in held):
            held_atoms = {atom for _, held in operands for atom in held}
            if all(isinstance(atom, Plain) for atom in held_atoms):
                return PLAIN
            if all(isinstance(atom, Plain | Host) for atom in held_atoms):
                return HOST
            return UNKNOWN
        return self.operations.computed(
            self.index(node), operands, state, UseKind.COMPUTED, in_loop=self.in_loop
        )

    def _combined(
        self, node: cst.BinaryOperation, operands: list[Operand], state: State
    ) -> Value | None:
        """Give the list that `xs + ys` or `xs * n` makes, the dict of `d | e`; None: no such."""
        (_, left), (_, right) = operands
        if len(left) != 1 or len(right) != 1:
            return None
        (one,), (other,) = left, right
        if isinstance(node.operator, cst.Add) and isinstance(one, Sequence):
            if not isinstance(other, Sequence):
                return None
            if one.items is None or other.items is None:
                return value(Sequence(None, join(one.element, other.element), self.made(node)))
            return value(of_items(one.items + other.items, self.made(node)))
        if isinstance(node.operator, cst.Multiply) and isinstance(one, Sequence):
            if not isinstance(other, Plain):
                return None
            return value(Sequence(None, one.element, self.made(node)))
        if isinstance(node.operator, cst.BitOr) and isinstance(one, Mapping):
            if not isinstance(other, Mapping):
                return None
            return value(merged(replace(one, site=self.made(node)), right))
        return None

    def binary(self, node: cst.BinaryOperation, state: State) -> Value:
        """Evaluate an arithmetic operation; a long chain of them without recursion."""
        chain = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        left = self.operand(chain[-1].left, state)
        result = UNKNOWN
        for link in reversed(chain):
            right = self.operand(link.right, state)
            result = self._compute(link, [left, right], state)
            self.record.saw_value(self.index(link), result)
            left = (self.index(link), result)
        return result

    def augmented(self, node: cst.AugAssign, state: State) -> None:
        """`x += y`: of a list or a dict a change, of all else `x = x + y`."""
        target = self.operand(node.target, state)
        if is_container(target[1]):
            right = self.evaluate(node.value, state)
            adds = isinstance(node.operator, cst.AddAssign)
            element = self.iterated(node.value, right, state) if adds else UNKNOWN
            only = next(iter(right)) if len(right) == 1 else None
            items = only.items if isinstance(only, Sequence) and not self.in_loop else None

            def change(container: Sequence | Mapping) -> Sequence | Mapping:
                if adds and isinstance(container, Sequence):
                    return with_more(container, items, element, -1)
                if isinstance(node.operator, cst.BitOrAssign):
                    return merged(container, right)
                return loosened(container)

            # Of a tuple it makes another one.
            surely = not adds
            self.change(node.target, target[1], change, state, surely=surely)
            return
        right_operand = self.operand(node.value, state)
        held = self._compute(node, [target, right_operand], state)
        place, _ = target
        read = self.record.values.get(place, target[1])
        self.assign(node.target, held, state)
        # The place stands for the operand: for what was read, not for what is stored.
        self.record.values[place] = read

    def unary(self, node: cst.UnaryOperation, state: State) -> Value:
        """Evaluate a unary operation."""
        operand = self.operand(node.expression, state)
        if isinstance(node.operator, cst.Not):
            ways = {truth(atom) for atom in operand[1]}
            way = ways.pop() if len(ways) == 1 else None
            return PLAIN if way is None else value(Plain(truth=not way))
        return self._compute(node, [operand], state)

    def boolean(self, node: cst.BooleanOperation, state: State) -> Value:
        """Evaluate `and` and `or`: one of the operands."""
        chain = [node]
        while isinstance(chain[-1].left, cst.BooleanOperation):
            chain.append(chain[-1].left)
        held = self.evaluate(chain[-1].left, state)
        for link in reversed(chain):
            # What is certainly true is not handed on by `and`, nor what is false by `or`.
            passes = isinstance(link.operator, cst.And)
            kept = frozenset(a for a in held if not isinstance(a, Plain) or a.truth is not passes)
            held = join(kept, self.evaluate(link.right, state))
        return held

    def comparison(self, node: cst.Comparison, state: State) -> Value:
        """Evaluate a comparison: identity looks at nothing, all else computes."""
        left = self.operand(node.left, state)
        results = []
        for target in node.comparisons:
            right = self.operand(target.comparator, state)
            way = compared(target.operator, left[1], right[1])
            if way is not None:
                results.append(value(Plain(truth=way)))
            elif isinstance(target.operator, cst.Is | cst.IsNot):
                results.append(PLAIN)
            elif isinstance(target.operator, cst.In | cst.NotIn):
                in_array = any(isinstance(atom, Array) for atom in right[1])
                if in_array:
                    self._compute(node, [left, right], state)
                results.append(PLAIN)
            else:
                results.append(self._compute(node, [left, right], state))
            left = right
        return join(*results)

    def conditional(self, node: cst.IfExp, state: State) -> Value:
        """Evaluate a conditional expression: either side."""
        self.evaluate(node.test, state)
        first, second = state.copy(), state.copy()
        ways = []
        for branch, part, holds in ((first, node.body, True), (second, node.orelse, False)):
            if self.narrow(node.test, branch, holds=holds):
                ways.append(self.evaluate(part, branch))
        held = join(*ways)
        met = meet([first, second])
        if met is not None:
            state.become(met)
        return held

    def narrow(self, test: cst.BaseExpression, state: State, *, holds: bool) -> bool:
        """Note what a test says of the variables in it; False where it cannot come out so."""
        names = TestedNames(self.names.qualified, lambda node: self.evaluate(node, state))
        found = narrowed(test, names, holds=holds)
        if found is None:
            return False
        for operand, before, left in found:
            if left != before and isinstance(operand, cst.Name | cst.Attribute):
                # Another part of the test may have left less of it already.
                now = self.evaluate(operand, state) & left
                if not now:
                    return False
                self.assign(operand, now, state)
        return True

    # -- containers -----------------------------------------------------------------------------

    def sequence(self, node: cst.List | cst.Tuple | cst.Set, state: State) -> Value:
        """Evaluate a literal list, tuple or set."""
        items: list[Value] = []
        written = sum(not isinstance(e, cst.StarredElement) for e in node.elements)
        starred = isinstance(node, cst.Set)
        for element in node.elements:
            held = self.evaluate(element.value, state)
            if isinstance(element, cst.StarredElement):
                only = next(iter(held)) if len(held) == 1 else None
                if isinstance(only, Sequence) and only.items is not None:
                    items += only.items
                    continue
                starred = True
                held = self.iterated(element.value, held, state)
            items.append(held)
        site = None if isinstance(node, cst.Tuple) else self.made(node)
        made = of_items(tuple(items), site, written=written)
        return value(replace(made, items=None) if starred else made)

    def dict_(self, node: cst.Dict, state: State) -> Value:
        """Evaluate a literal dict."""
        made: Sequence | Mapping = Mapping((), NOTHING, self.made(node))
        for item in node.elements:
            held = self.evaluate(item.value, state)
            if isinstance(item, cst.DictElement):
                key = self.key(item.key, self.evaluate(item.key, state))
                made = with_item(made, key, held)
            else:
                made = merged(made, held)
        return value(made)

    def comprehension(self, node: cst.ListComp | cst.SetComp, state: State) -> Value:
        """Evaluate a list or set comprehension."""
        element = self._comprehended(node.for_in, [node.elt], state)[0]
        return value(Sequence(None, element, self.made(node)))

    def dict_comprehension(self, node: cst.DictComp, state: State) -> Value:
        """Evaluate a dict comprehension."""
        _, element = self._comprehended(node.for_in, [node.key, node.value], state)
        return value(Mapping((), element, self.made(node)))

    def generator(self, node: cst.GeneratorExp, state: State) -> Value:
        """Evaluate a generator expression that is kept: its body runs where it is consumed."""
        return self.later(node, [node.for_in.iter], state)

    def later(
        self, node: cst.BaseExpression, parts: list[cst.BaseExpression], state: State
    ) -> Value:
        """Evaluate parts of an expression, the rest of which runs where it is consumed."""
        operands = tuple((self.index(part), self.evaluate(part, state)) for part in parts)
        return value(Lazy(self.module.place(node), operands, self.in_loop))

    def consume(self, lazy: Lazy, state: State) -> Value:
        """Give what an iterator gives, which is consumed here."""
        node = self.tree.nodes[lazy.place.node]
        operands = {place: self.grown(held, state) for place, held in lazy.operands}
        before, self.captured = self.captured, operands
        self.operations.later = frozenset(self.captured) if self._is_kept(node) else frozenset()
        try:
            if isinstance(node, cst.GeneratorExp):
                return self.consumed_generator(node, state)
            return self.calls.at_once(node, state) if isinstance(node, cst.Call) else UNKNOWN
        finally:
            self.captured = before
            self.operations.later = frozenset(before)

    def _is_kept(self, node: cst.CSTNode) -> bool:
        """Tell whether an iterator outlives the expression that makes it.

        Then it may never be consumed. A loop over it, or a built-in function that is given it,
        consumes it at once; one that gives another iterator keeps it.
        """
        for ancestor in self.tree.ancestors(node):
            if isinstance(ancestor, cst.For | cst.CompFor | cst.StarredElement):
                return False
            if isinstance(ancestor, cst.Call):
                called = self.module.names.qualified(ancestor.func) or ""
                if not self.calls.gives_iterator(called):
                    return not called.startswith("builtins.")
            elif not isinstance(ancestor, cst.Arg):
                break
        return True

    def consumed_generator(self, node: cst.GeneratorExp, state: State) -> Value:
        """Evaluate a generator expression that the call it is passed to consumes."""
        element = self._comprehended(node.for_in, [node.elt], state)[0]
        return value(Sequence(None, element))

    def _comprehended(
        self, for_in: cst.CompFor, results: list[cst.BaseExpression], state: State
    ) -> list[Value]:
        held = self.evaluate(for_in.iter, state)
        with self.loop():
            clause: cst.CompFor | None = for_in
            while clause is not None:
                if clause is not for_in:
                    held = self.evaluate(clause.iter, state)
                self.assign(clause.target, self.iterated(clause.iter, held, state), state)
                for condition in clause.ifs:
                    self.evaluate(condition.test, state)
                    if not self.narrow(condition.test, state, holds=True):
                        return [NOTHING for _ in results]
                clause = clause.inner_for_in
            return [self.evaluate(result, state) for result in results]

    def grown(self, held: Value, now: State, since: State | None = None) -> Value:
        """Give what is iterated, with what its lists hold now: they may change meanwhile.

        Those are known by the variables that hold them now, and held something else `since`.
        """
        found: set[Atom] = set()
        for atom in held:
            if isinstance(atom, Lazy):
                operands = tuple((p, self.grown(part, now, since)) for p, part in atom.operands)
                found.add(replace(atom, operands=operands))
                continue
            found.add(atom)
            if isinstance(atom, Sequence) and atom.views is not None:
                site, pairs = atom.views
                for changed in self._held_now(site, now, since):
                    if isinstance(changed, Mapping):
                        found.add(view_of(changed, pairs=pairs))
            if isinstance(atom, Sequence | Mapping) and atom.site is not None:
                found.update(self._held_now(atom.site, now, since))
        return limited(frozenset(found))

    def _held_now(
        self, site: Site, now: State, since: State | None
    ) -> Iterator[Sequence | Mapping]:
        """Give a container as variables hold it now that held something else before."""
        for key in self.program.containers.holders(site):
            before = None if since is None else self.program.held(key, since)
            after = self.program.held(key, now)
            if after is not None and after is not before:
                yield from of_site(after, site)

    def iterated(self, node: cst.CSTNode, held: Value, state: State) -> Value:
        """Give what iterating over an expression gives; iterating over an array indexes it."""
        held = self.program.functions.consumed(held, state)
        if any(isinstance(atom, Sequence) and atom.views is not None for atom in held):
            held = self.grown(held, state)
        held = self._taken_apart(node, held, state)
        objects = frozenset(atom for atom in held if isinstance(atom, Instance))
        found = iterated_of(held - objects) if held - objects else NOTHING
        for instance in objects:
            found |= self.calls.objects.iterated_instance(instance, state)
        indexed = frozenset(atom for atom in held if isinstance(atom, Array))
        if indexed:
            row = self.operations.computed(
                self.index(node),
                [(self.index(node), without_parts(held))],
                state,
                UseKind.INDEXED,
                in_loop=self.in_loop,
            )
            taking = Taking(self.module.place(node), iterated=True)
            if self.supposed is not None and taking in self.supposed.put_back:
                made = self.operations.created(self.index(node), state)
                row = self.supposed.returned(taking, row, made, alone=held == indexed)
            found = join(found, row) if found else row
        return found or UNKNOWN

    def _taken_apart(self, node: cst.CSTNode, held: Value, state: State) -> Value:
        """Give a value in which a list of its parts is in the place of each unknown tree.

        Such a tree may be an array: then its rows are wherever taking them puts them.
        """
        if not any(isinstance(atom, AnyTree) for atom in held):
            return held
        return frozenset(
            Sequence(None, self.part(node, atom, state)) if isinstance(atom, AnyTree) else atom
            for atom in held
        )

    def part(self, node: cst.CSTNode, tree: AnyTree, state: State) -> Value:
        """Give what a part of a tree is, or what is computed of it, if it is an array."""
        if self.operations.stays(tree.leaf, state):
            return value(tree)
        if any(is_placed(array) for array in arrays(tree.leaf)):
            return UNKNOWN
        rows = self.operations.created(self.index(node), state)
        return value(AnyTree(join(tree.leaf, rows)))

    # -- attributes and subscripts --------------------------------------------------------------

    def attribute(self, node: cst.Attribute, state: State) -> Value:
        """Read an attribute: of an array, metadata moves nothing and `.T` computes."""
        qualified = self.names.qualified(node)
        if qualified is not None:
            if qualified == _DEFAULT_DEVICE:
                return self.calls.devices.default_in_force(state)
            if qualified.startswith(_LIBRARIES):
                return PLAIN
            owner = self.names.qualified(node.value)
            if (
                owner is None
                or self.program.linking.attribute_of_module(self.module, owner) is None
            ):
                return self.program.linking.imported(self.module, qualified, state)
        held = self.evaluate(node.value, state)
        name = node.attr.value
        found: set[Any] = set()
        if any(isinstance(atom, Array) for atom in held):
            if name in transfer.COMPUTING_ATTRIBUTES:
                operand = (self.index(node.value), without_parts(held))
                found |= self._compute(node, [operand], state)
            elif name in transfer.METADATA_ATTRIBUTES:
                if self.supposed is not None:
                    self.supposed.asked(name, held)
                found |= PLAIN
            else:
                found.add(ANYTHING)
        if any(isinstance(atom, Host) for atom in held):
            found |= PLAIN if name in transfer.METADATA_ATTRIBUTES else HOST
        if name == "__dict__":
            self.spoil(held, state)
        for atom in held:
            if isinstance(atom, AnyTree) and name in transfer.METADATA_ATTRIBUTES:
                found |= PLAIN
            elif isinstance(atom, AnyTree):
                computes = name in transfer.COMPUTING_ATTRIBUTES
                found |= self.part(node, atom, state) if computes else value(atom)
        others = frozenset(atom for atom in held if not isinstance(atom, Array | Host | AnyTree))
        if others:
            found |= self.program.classes.attribute(others, name, state)
        return frozenset(found)

    def subscript(self, node: cst.Subscript, state: State) -> Value:
        """Index: of a container, what it holds; of an array, a copy of all of it."""
        # Nothing comes of indexing None.
        held = self.evaluate(node.value, state)
        held = held - NONE or held
        indices: list[Operand] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                indices += self.operands(element.slice.value, state)
            elif isinstance(element.slice, cst.Slice):
                for bound in (element.slice.lower, element.slice.upper, element.slice.step):
                    if bound is not None:
                        indices.append(self.operand(bound, state))
        found: set[Any] = set()
        key = self._key_of(node, state)
        own = [atom for atom in held if isinstance(atom, Array)]
        if any(isinstance(atom, Anything | External) for atom in held):
            # It may be an array that is committed elsewhere, or an object that does anything.
            for _, given in indices:
                self.escapes(given, state)
        if isinstance(node.slice[0].slice, cst.Slice) and any(
            isinstance(atom, DeviceList) for atom in held
        ):
            return value(Sequence(None, element_of(held)))
        part = _literal_slice(held, node)
        if part is not None:
            return value(replace(part, site=self.made(node)))
        if _is_whole(node) and not any(isinstance(atom, Instance) for atom in held):
            # Of a list it gives another one.
            return sited(anonymous_outside(held), self.made(node)) if is_container(held) else held
        objects = frozenset(atom for atom in held if isinstance(atom, Instance))
        for instance in objects:
            argument = join(*(part for _, part in indices)) if indices else UNKNOWN
            found |= self.calls.objects.special(instance, "__getitem__", [argument], state)
        if held - objects:
            others = held - objects
            parts = others if isinstance(key, str) else self._taken_apart(node, others, state)
            found |= element_of(parts, key)
        if own and not isinstance(key, str):
            found |= self._indexed(node, held, indices, state)
        elif own:
            found.add(ANYTHING)
        return frozenset(found) or UNKNOWN

    def _indexed(
        self, node: cst.Subscript, held: Value, indices: list[Operand], state: State
    ) -> Value:
        place = self.index(node.value)
        if any(True for _, index in indices for _ in arrays(index)):
            self.operations.computed(
                self.index(node), indices, state, UseKind.COMPUTED, in_loop=self.in_loop
            )
        return self.operations.computed(
            self.index(node),
            [
                (place, without_parts(held)),
                *[(i, v) for i, v in indices if any(True for _ in arrays(v))],
            ],
            state,
            UseKind.INDEXED,
            in_loop=self.in_loop,
            judged=1,
            certain=not _may_be_whole(node),
        )


def _with_commit_at(array: Array, place: Place) -> Array:
    origin = array.origin
    return array if origin is None else replace(array, origin=replace(origin, commit_at=place))


def _middle(held: Value, star: int, count: int) -> Value:
    """Give what a starred target takes of a value that is unpacked into `count` targets."""
    only = next(iter(held)) if len(held) == 1 else None
    if not isinstance(only, Sequence) or only.items is None:
        return value(Sequence(None, iterated_of(held) or UNKNOWN))
    return value(of_items(only.items[star : len(only.items) - (count - star - 1)]))


def _literal_slice(held: Value, node: cst.Subscript) -> Sequence | None:
    """Give the part of a list of known length that a slice with literal bounds takes."""
    only = next(iter(held)) if len(held) == 1 else None
    index = node.slice[0].slice
    if not isinstance(only, Sequence) or only.items is None or not isinstance(index, cst.Slice):
        return None
    bounds = (index.lower, index.upper, index.step)
    numbers = [integer_value(bound) for bound in bounds]
    missing = [bound is None for bound in bounds]
    if any(n is None and not none for n, none in zip(numbers, missing, strict=True)):
        return None
    return of_items(only.items[slice(*numbers)] if numbers[2] != 0 else ())


def _is_whole(node: cst.Subscript) -> bool:
    """Tell whether an index takes everything: `x[:]`, `x[...]`, `x[()]` give the array itself."""
    if len(node.slice) != 1:
        return False
    part = node.slice[0].slice
    if isinstance(part, cst.Slice):
        return (
            (part.lower is None or integer_value(part.lower) == 0)
            and (part.upper is None or _is_length(part.upper, node.value))
            and (part.step is None or integer_value(part.step) == 1)
        )
    if isinstance(part, cst.Index):
        inner = part.value
        return isinstance(inner, cst.Ellipsis) or (
            isinstance(inner, cst.Tuple) and not inner.elements
        )
    return False


def _is_length(node: cst.BaseExpression, of: cst.BaseExpression) -> bool:
    """Tell whether an expression is `len(x)` or `x.shape[0]` of another."""
    text = dotted(of)
    if isinstance(node, cst.Call):
        given = [argument.value for argument in node.args]
        return dotted(node.func) == "len" and bool(text) and list(map(dotted, given)) == [text]
    return isinstance(node, cst.Subscript) and dotted(node.value) == f"{text}.shape"


def _may_be_whole(node: cst.Subscript) -> bool:
    """Tell whether an index is `x[:n]`: for an `n` that is large enough, JAX gives `x` itself."""
    part = node.slice[0].slice
    return (
        len(node.slice) == 1
        and isinstance(part, cst.Slice)
        and (part.lower is None or integer_value(part.lower) == 0)
        and part.step is None
    )
