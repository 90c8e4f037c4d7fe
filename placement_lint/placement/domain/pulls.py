"""Operations that run on the host because an operand is committed there, while another one is an
uncommitted array of the accelerator: JAX copies that one to the host, each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from placement_lint.placement.domain.contents import MAX_DEPTH, arrays
from placement_lint.placement.domain.devices import differ, is_host
from placement_lint.placement.domain.places import NOWHERE
from placement_lint.placement.domain.program_values import External
from placement_lint.placement.domain.values import Anything, AnyTree, Array, Container

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from placement_lint.placement.domain.devices import Device
    from placement_lint.placement.domain.places import Place
    from placement_lint.placement.domain.state import DefaultDevice
    from placement_lint.placement.domain.values import Value


@dataclass
class Pull:
    """One operation that surely runs on the host because of operands that are committed there."""

    node: int
    device: Device
    pulling: dict[int, frozenset[Place]] = field(default_factory=dict)
    """The operands that surely are, or hold, arrays that are committed there, with what committed
    these: see `Array.via`."""
    pulled: dict[int, set[Array]] = field(default_factory=dict)
    """The operands that may be uncommitted arrays of the accelerator, and those arrays."""
    surely: bool = False
    """Once at least, one of these was nothing else."""
    replaced: set[int] = field(default_factory=set)
    """The operands that are, another time, what an earlier run of the operation gave."""
    is_open: bool = False
    """An operand may be anything."""
    in_loop: bool = False


class Pulls:
    """The operations of one module that surely run on the host while the accelerator is the
    default device.
    """

    def __init__(self) -> None:
        self.found: dict[int, Pull] = {}
        self.meets_unknown = False
        """An array that is committed to the host was given to something that nobody follows, or to
        a jitted function beside something that may be anything."""

    def operation(
        self,
        place: Place,
        operands: SequenceOf[tuple[int, Value]],
        default: DefaultDevice,
        *,
        accelerator: bool,
        movable: int | None,
        in_loop: bool,
        certain: bool,
        is_call: bool,
    ) -> frozenset[Place]:
        """Note an operation; give what commits its result to the host.

        `movable`: how many of the operands, from the first, are more than indices. `is_call`: it
        is a call of a jitted function, or of one like it.
        """
        committed = [array for _, held in operands for array in arrays(held) if array.committed]
        device = committed[0].device if committed else None
        if device is None or not is_host(device) or any(a.device != device for a in committed):
            return NOWHERE
        via = NOWHERE.union(*(array.via for array in committed))
        known = self.found.get(place.node)
        if known is not None:
            known.replaced.update(
                operand
                for operand, held in operands
                if any(place in array.via for array in arrays(held) if array.committed)
            )
        if default.is_chosen or not all(
            differ(device, other, accelerator=accelerator) for other in default.devices
        ):
            return via
        pulling = {
            operand: NOWHERE.union(*(array.via for array in arrays(held)))
            for operand, held in operands
            if is_surely_committed(held, partly=True)
        }
        moving = operands[:movable]
        pulled = {
            operand: found
            for operand, held in moving
            # What is beside an array that pulls, in one tree, need not be used.
            if operand not in pulling
            and (found := _uncommitted(held, device, place, accelerator=accelerator))
        }
        is_open = bool(pulling) and any(_may_be_anything(held) for _, held in moving)
        self.meets_unknown |= is_open and is_call
        if not pulling or not pulled:
            return via
        pull = self.found.setdefault(place.node, Pull(place.node, device))
        for operand, by in pulling.items():
            pull.pulling[operand] = pull.pulling.get(operand, NOWHERE) | by
        for operand, found in pulled.items():
            pull.pulled.setdefault(operand, set()).update(found)
        pull.surely |= certain and any(
            operand in pulled and _is_surely_uncommitted(held) for operand, held in moving
        )
        pull.is_open |= is_open
        pull.in_loop |= in_loop
        return via | {place}


def _uncommitted(held: Value, device: Device, operation: Place, *, accelerator: bool) -> set[Array]:
    """Return the uncommitted arrays in a value that are on another device, and were made by another
    operation: what an operation itself gives is on the device that it ran on.
    """
    return {
        array
        for array in arrays(held)
        if not array.committed
        and not array.is_small
        and array.origin is not None
        and array.origin.created != operation
        and differ(array.device, device, accelerator=accelerator) is True
    }


def is_surely_committed(held: Value, depth: int = MAX_DEPTH, *, partly: bool = False) -> bool:
    """Return whether a value is committed arrays, or containers of such in which no other is;
    `partly`: in which others may be.
    """
    return bool(held) and all(
        atom.committed
        if isinstance(atom, Array)
        else is_surely_committed(atom.leaf, 0)
        if isinstance(atom, AnyTree)
        else depth > 0
        and isinstance(atom, Container)
        and (partly or all(array.committed for array in arrays(frozenset({atom}), depth)))
        and any(is_surely_committed(part, depth - 1, partly=partly) for part in atom.parts())
        for atom in held
    )


def _is_surely_uncommitted(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Return whether a value is, or surely holds, uncommitted arrays that are not small."""
    return bool(held) and all(
        not atom.committed and not atom.is_small
        if isinstance(atom, Array)
        else _is_surely_uncommitted(atom.leaf, 0)
        if isinstance(atom, AnyTree)
        else depth > 0
        and isinstance(atom, Container)
        and any(_is_surely_uncommitted(part, depth - 1) for part in atom.parts())
        for atom in held
    )


def _may_be_anything(held: Value, depth: int = MAX_DEPTH) -> bool:
    """Return whether nothing is known of the arrays in a value, and there may be some."""
    return not any(True for _ in arrays(held, depth)) and any(
        isinstance(atom, Anything | External)
        or (
            depth > 0
            and isinstance(atom, Container)
            and any(_may_be_anything(part, depth - 1) for part in atom.parts())
        )
        for atom in held
    )
