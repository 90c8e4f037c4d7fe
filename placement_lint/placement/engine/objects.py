"""The objects that a program makes: their attributes, and which it goes on with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import MAX_DEPTH, arrays
from placement_lint.placement.domain.program_values import Function, Instance
from placement_lint.placement.domain.values import (
    NONE,
    NOTHING,
    Array,
    Closure,
    Computation,
    Container,
    Generator,
    Lazy,
    Method,
    Partial,
    Value,
    join,
)
from placement_lint.placement.engine.pytrees import objects_in, with_objects

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import State, Variable
    from placement_lint.placement.engine.frames import Frame
    from placement_lint.placement.engine.protocols import Interpreter


_MOST_ROUNDS = 81
"""Rounds of one loop in another, by which objects that a call gives are distinguished."""


class Objects:
    """What is known of the objects of a program, but for what their attributes hold."""

    def __init__(self, program: Interpreter) -> None:
        self._program = program
        self._attributes: dict[Instance, dict[str, None]] = {}
        self.superseded: set[Instance] = set()
        """Objects that the program goes on with in another place: what is put on a device."""

    def made(self, instance: Instance) -> None:
        self._program.now.instances.setdefault(instance.cls, {})[instance] = None
        frame = self._program.functions.frame
        if frame is not None:
            frame.objects.add(instance)

    def supersede(self, held: Value, by: Value, state: State) -> None:
        """Note that objects were put on devices: it is the others that methods are called on."""
        committed = all(
            array.committed
            for leaf in self._program.trees.leaves(by, state)
            for array in arrays(leaf)
        )
        if committed:
            self.superseded.update(set(objects_in(held)) - set(objects_in(by)))

    def take_apart(self, held: Value, state: State) -> None:
        """Note that the program goes on with other objects, made of the arrays of these.

        So it does with objects in their attributes.
        """
        pending = [*objects_in(held)]
        while pending:
            instance = pending.pop()
            if instance not in self.superseded:
                self.superseded.add(instance)
                for inner in self._program.trees.fields(instance, state).values():
                    pending += objects_in(inner)

    def attribute_names(self, instance: Instance) -> list[str]:
        """Return the attributes that were ever set on an object."""
        return list(self._attributes.get(instance, ()))

    def named_attribute(self, instance: Instance, name: str) -> None:
        self._attributes.setdefault(instance, {})[name] = None

    def keep_made(self, receiver: Instance, after: State, kept: State) -> None:
        """Let the attributes that are arrays, or objects, also be what a method made of them."""
        for name in self.attribute_names(receiver):
            key = (receiver, name)
            before, held = kept.variables.get(key), after.variables.get(key)
            if before in (None, NONE) and self._is_filled_later(receiver, name, held):
                # Who reads it before that, reads None, or raises.
                kept.variables[key] = held or NOTHING
                continue
            if before is None or held is None:
                continue
            made = [atom for atom in held - before if isinstance(atom, Instance)]
            was_object = any(isinstance(atom, Instance) for atom in before)
            if any(True for _ in arrays(before)) or (was_object and made):
                kept.variables[key] = join(before, held)
                self._keep_fields(made, after, kept)

    def _is_filled_later(self, receiver: Instance, name: str, held: Value | None) -> bool:
        """Return whether an attribute holds nothing but the arrays that one method puts there."""
        if not held or not all(isinstance(atom, Array) for atom in held):
            return False
        bases = self._program.classes.bases(receiver.cls)
        setting = [self._program.module_of(cls).attributes_set for cls in bases]
        inside = sum(each[cls, name] for cls, each in zip(bases, setting, strict=True))
        return inside == 1 and not any(each[None, name] for each in setting)

    def _keep_fields(self, objects: list[Instance], after: State, kept: State) -> None:
        """Let objects that a method has made keep what they hold."""
        for made in objects:
            for name in self.attribute_names(made):
                held = after.variables.get((made, name))
                if held is not None and kept.variables.get((made, name)) is None:
                    kept.variables[made, name] = held

    def own(self, frame: Frame, writes: dict[Variable, Value], result: Value) -> set[Instance]:
        """Return the objects that an execution made, and that nothing but its result holds."""
        inside = sum(1 for _ in objects_in(result))
        if not inside:
            return set()
        if len(frame.own) > 1 and any(map(_has_function, (result, *writes.values()))):
            # One that is defined in it may keep them.
            return set()
        pending = [(key, held) for key, held in writes.items() if key[0] not in frame.objects]
        kept: set[Instance] = set()
        while pending:
            _, held = pending.pop()
            for instance in objects_in(held):
                if instance not in kept:
                    kept.add(instance)
                    pending += [each for each in writes.items() if each[0][0] == instance]
        return frame.objects - kept

    def handed_out(
        self, result: Value, made: AbstractSet[Instance], call: Place, state: State
    ) -> Value:
        """Return what a call returns: objects that it made are others than the last time."""
        found: set[Instance] = set()
        pending = [each for each in objects_in(result) if each in made]
        while pending:
            old = pending.pop()
            if old in found:
                continue
            found.add(old)
            for held in self._program.trees.fields(old, state).values():
                pending += [each for each in objects_in(held) if each in made]
        renamed = self._renamed(found, call)
        self.superseded.update(renamed)
        for old in found:
            fields = self._program.trees.fields(old, state)
            for name in fields:
                state.variables[old, name] = NOTHING
            self._program.trees.make(
                renamed.get(old, old),
                {name: with_objects(held, renamed) for name, held in fields.items()},
                state,
            )
        return with_objects(result, renamed)

    def _renamed(self, found: AbstractSet[Instance], call: Place) -> dict[Instance, Instance]:
        """Return the objects that others stand for which a call gives, each for its own.

        An object and its copy, as `device_put` gives one, differ by the call that made the copy:
        of them one is renamed, and the others stay what they are.
        """
        renamed: dict[Instance, Instance] = {}
        taken: set[Instance] = set()
        for old in sorted(found, key=lambda each: (each.through is not None, each.through or call)):
            new = replace(old, through=call, nth=_nth(self._program.nth, old.nth))
            if new not in taken:
                taken.add(new)
                renamed[old] = new
        return renamed


def _nth(outer: int, inner: int) -> int:
    """Return in which round of two loops an object was made: of the call, and in what it calls."""
    return outer * _MOST_ROUNDS + inner if inner < _MOST_ROUNDS else outer


def _has_function(held: Value, depth: int = MAX_DEPTH) -> bool:
    return any(
        isinstance(atom, Closure | Computation | Function | Generator | Lazy | Method | Partial)
        or (
            depth > 0
            and isinstance(atom, Container)
            and any(_has_function(part, depth - 1) for part in atom.parts())
        )
        for atom in held
    )
