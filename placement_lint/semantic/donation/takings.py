"""What a call of a compiled function takes of what it is given, and what it is given twice."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from placement_lint.semantic.donation.buffers import Nature, Surety, sorted_parts
from placement_lint.semantic.donation.callables import parameters_of
from placement_lint.semantic.donation.carried import DonationsCarried
from placement_lint.semantic.donation.choices import unlikely
from placement_lint.semantic.donation.expressions import DATA
from placement_lint.semantic.donation.outputs import DonationOutputs, Takeover
from placement_lint.semantic.donation.parts import BufferPart, around, is_any, may_be_same
from placement_lint.semantic.donation.readings import Idle, Repeat
from placement_lint.semantic.donation.replaced_names import is_replaced, is_replaced_by
from placement_lint.syntax.dotted import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

    from placement_lint.semantic.donation.callables import Donor
    from placement_lint.semantic.donation.choices import Things
    from placement_lint.semantic.donation.libraries import Given
    from placement_lint.syntax.definitions import Function


class DonationsTaken(DonationsCarried):
    """Which buffers a call takes."""

    _beside: Sequence[Given] = ()
    """All that the call is given which donates."""

    def outputs_of(self, function: Function) -> DonationOutputs:
        return self.facts_of(function).fact(DonationOutputs)

    def _idle(self, node: cst.Call, donor: Donor, each: Given) -> None:
        """Note an argument that is donated, and not used."""
        at = each.at
        if at is not None and donor.donates(at) and not donor.is_static(at) and not self.inert:
            self._note_idle(node, donor, each, "the function does not use it")

    def _note_idle(self, node: cst.Call, donor: Donor, each: Given, why: str) -> None:
        if donor.jit.first is not None:
            # Whoever donates all arguments does not mean each of them.
            return
        to = dotted(node.func) or "a compiled function"
        self.idle[id(each.node)] = Idle(each.node, each.text, to, why)

    def _is_used(self, donor: Donor, at: int | str) -> bool:
        parameter = donor.parameter(at)
        if donor.jit.keeps_unused:
            return True
        if donor.elsewhere is not None:
            return parameter not in donor.elsewhere.unused
        if donor.inner is None or parameter is None:
            return True
        if parameter not in {
            *parameters_of(donor.inner.node),
            *(each.name.value for each in donor.inner.node.params.kwonly_params),
        }:
            return True
        return self.outputs_of(donor.inner.node).reads(donor.inner.node, parameter)

    def _is_read(self, donor: Donor, parameter: str) -> bool:
        """Return whether the function reads a parameter, or would not be given it otherwise."""
        if not donor.jit.keeps_unused or donor.inner is None:
            return True
        return self.outputs_of(donor.inner.node).reads(donor.inner.node, parameter)

    def _taking(
        self, node: cst.Call, donor: Donor, each: Given, donated: Sequence[Given]
    ) -> Takeover:
        if self.is_kept(donor, each, self._beside):
            return Takeover.NEVER
        if donor.inner is not None and each.at is not None:
            parameter = donor.parameter(each.at)
            every = [donor.parameter(other.at) for other in donated if other.at is not None]
            if parameter is not None and self._is_read(donor, parameter):
                found = self.outputs_of(donor.inner.node).taking(
                    donor.inner.node, parameter, [name for name in every if name is not None]
                )
                if found is not Takeover.UNKNOWN:
                    return found
        if donor.elsewhere is not None and each.at is not None:
            known = dict(donor.elsewhere.takeovers).get(donor.parameter(each.at) or "")
            if known is not None and known != Takeover.UNKNOWN:
                return Takeover(known)
        targets = self.targets if each.passed_on is None else self.targets_around
        text = each.text or ""
        is_likely = is_replaced(text, targets) or is_replaced_by(node, text, self.facts)
        return Takeover.LIKELY if is_likely else Takeover.UNKNOWN

    def _check_repeats(
        self,
        node: cst.Call,
        donor: Donor,
        donated: Sequence[Given],
        others: Sequence[Given],
    ) -> None:
        """Note a buffer that a call is given twice, and donated once at least."""
        found: dict[BufferPart, tuple[Given, bool]] = {}
        rests: dict[BufferPart, tuple[tuple[Given, bool], frozenset[str]]] = {}
        chosen: dict[tuple[int, BufferPart], tuple[Given, bool]] = {}
        perhaps: dict[BufferPart, tuple[tuple[Given, bool], Surety]] = {}
        for each in [*donated, *others]:
            one = (each, each in donated)
            if each in donated and self._has_twice(each.things):
                self._note_repeat(node, donor, (one, one), Surety.LIKELY)
            for leaf in self.state.leaves(each.things, self.roots):
                part, among, is_sure, is_whole, but, *_ = leaf
                if not part.root or self.roots[part.root].nature is Nature.DATA:
                    continue
                if not is_whole:
                    if is_sure and len(among) == 1:
                        rests.setdefault(part, (one, but))
                    continue
                # On a way that leads here it is this one: it is no other one for certain.
                surety = Surety.LIKELY if is_sure and part not in unlikely(among) else Surety.MAYBE
                earlier = None
                if is_sure and len(among) == 1:
                    earlier = next((found[up] for up in around(part) if up in found), None)
                    found.setdefault(part, one)
                elif is_sure and not among & DATA:
                    # Whichever of several things it is: both times it is the same.
                    earlier = chosen.get((id(among), part))
                    chosen.setdefault((id(among), part), one)
                at_most = Surety.DEFINITE
                if earlier is None:
                    before = (perhaps[up] for up in around(part) if up in perhaps)
                    beside = (
                        (known, Surety.MAYBE)
                        for up, (known, _) in perhaps.items()
                        if may_be_same(part, up) and not (is_any(part) or is_any(up))
                    )
                    earlier, other = next(itertools.chain(before, beside), (None, surety))
                    at_most = min(surety, other)
                    if earlier is not None and earlier[0] is each and len(each.things) > 1:
                        # It may be in two things, of which the argument is one only.
                        earlier = None
                if earlier is not None and (one[1] or earlier[1]):
                    if part in self.state.rows and part not in perhaps:
                        at_most = Surety.MAYBE
                    self._note_repeat(node, donor, (earlier, one), at_most)
                perhaps.setdefault(part, (one, surety))
        for part, one in found.items() if rests else ():
            rest = next((rests[up] for up in around(part)[:-1] if up in rests), None)
            if rest is not None and self._is_in_rest(part, rest[1]) and (one[1] or rest[0][1]):
                self._note_repeat(node, donor, (rest[0], one), Surety.LIKELY)

    def _is_in_rest(self, part: BufferPart, but: frozenset[str]) -> bool:
        """Return whether a part of a thing is among what a copy of it has, but for some keys."""
        return part.keys[0] not in but and not self.is_assigned(part)

    def _has_twice(self, things: Things) -> bool:
        """Return whether one of several objects has one thing twice, whichever that is.

        `state.replace(ema=state.params)`, where `state` was made in one of two ways.
        """
        if len(things) < 2:
            return False
        for each in sorted_parts(things - unlikely(things)):
            seen: set[tuple[int, BufferPart]] = set()
            rests: dict[BufferPart, frozenset[str]] = {}
            for leaf in self.state.leaves(frozenset({each}), self.roots):
                part, nature = leaf.part, self.roots[leaf.part.root].nature
                if not part.root or nature is Nature.DATA or leaf.among & DATA or not leaf.is_sure:
                    continue
                if not leaf.is_whole:
                    rests[part] = leaf.but
                elif (id(leaf.among), part) in seen:
                    return True
                else:
                    seen.add((id(leaf.among), part))
            if any(
                up in rests and self._is_in_rest(part, rests[up])
                for _, part in seen
                for up in around(part)[:-1]
            ):
                return True
        return False

    def _note_repeat(
        self,
        node: cst.Call,
        donor: Donor,
        both: tuple[tuple[Given, bool], tuple[Given, bool]],
        at_most: Surety,
    ) -> None:
        """`both`: what the call is given, and whether it is donated, first and then again."""
        if self.expecting:
            return
        (before, was_donated), (each, is_donated) = both
        pairs = [before, each]
        takings = [self._taking(node, donor, one, pairs) for one, is_one in both if is_one]
        # One output is enough that takes the buffer, if the function uses both arguments.
        if min(takings) is Takeover.NEVER or max(takings) <= Takeover.UNLIKELY:
            return
        is_sure = max(takings) is Takeover.SURE and not self.cautious
        surety = min(at_most, Surety.DEFINITE if is_sure else Surety.LIKELY)
        text = (not each.is_item and each.text) or before.text
        to = dotted(node.func) or "a compiled function"
        # An object has its parts in all of its methods, whoever calls them. Where the method is
        # one of another file, that file is where it is said, if it is sure by itself.
        is_own = all(given.text.startswith("self.") for given, _ in both) and self.is_own(each.node)
        is_of_caller = bool(self.stack) and not is_own and self.is_own(self.stack[0])
        at: cst.CSTNode = self.stack[0] if is_of_caller else each.node
        known = self.repeats.get(id(at))
        if known is None or known.surety < surety:
            is_twice, inside = is_donated and was_donated, self.stack[1:] if is_of_caller else ()
            self.repeats[id(at)] = Repeat(
                at, text, to, surety, is_twice, node, is_of_caller, inside
            )
