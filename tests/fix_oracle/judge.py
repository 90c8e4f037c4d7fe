"""What fixing did to a program, by what JAX did before and after: the verdicts.

Operations are matched by where they are written: a place of the fixed text is carried back through
the edits to the original, and at each place the operations must be the same ones, in the same
order, on the same devices. What begins or ends in text that a fix wrote is the fix's own and may
run anywhere. Of the rest one thing alone may run elsewhere than before: indexing, where it used to
copy an uncommitted array whole, and now runs where that array is.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.differential.analysis import bare
from tests.differential.instrument import Place, place_of
from tests.differential.oracle import MAX_STEPS
from tests.fix_oracle.leftovers import leftovers
from tests.fix_oracle.messages import changes_types, goes_to, may_raise
from tests.fix_oracle.trees import Carried, inside, tree_of
from tests.fix_oracle.watch import ACCELERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.fix_oracle.client import Event, Left, Operand, Put, Watched
    from tests.fix_oracle.fixing import Applied, Fixed, Found
    from tests.fix_oracle.trees import Tree

    Modules = dict[str, str]

MOVED = "an operation runs on another device"
CHANGED = "other operations than before"
DISPLACED = "an array that outlives the program is on another device"
COMMITTED = "an array that outlives the program is committed, and was not, or the reverse"
VALUE = "an array that outlives the program has another value or type"
PRINTED = "something else is printed"
RAISED = "it raises, and did not"
LEFT = "the copy that the finding speaks of is still made"
COPIED = "an array is copied that was not"
FINDING = "the fixed text has a finding that was not there"
BROKEN = "the linter fails on its own fix"

_INCOMPATIBLE = "Received incompatible devices"
"""What JAX says of operands that are committed to different devices."""

WHATS = (
    MOVED, CHANGED, DISPLACED, COMMITTED, VALUE, PRINTED, RAISED, LEFT, COPIED, FINDING, BROKEN,
)  # fmt: skip

_MORE_BELOW = "more below"

COPYING = frozenset({"JDP201", "JDP202"})
"""The rules whose findings speak of the implicit copy of an operand."""

CREATING = frozenset({"JDP203", "JDP207", "JDP401", "JDP402", "JDP404"})
"""The rules that flag what makes an array, which the fix makes elsewhere, or commits."""

PLACING = {
    "JDP101": "the assignment had no effect, and now sets the default device",
    "JDP102": "the context was never entered, and now is",
    "JDP103": "the context is left at another time",
    "JDP106": "the context held at the definition, and now holds in the calls",
    "JDP108": "the call raised, and now places an array",
    "JDP109": "the assignment raised, and now sets the default device",
    "JDP204": "the call's result was thrown away, and now is bound to the operand's name",
    "JDP301": "the devices of another platform are asked for",
    "JDP303": "the comparison was always the same, and now chooses",
}
"""The rules whose fix is to have a word about devices that had no effect take effect."""

_CONVERSIONS = frozenset({"jit(convert_element_type)", "jit(copy)"})
_MISSING = re.compile(r"NameError: name '(?P<name>\w+)' is not defined")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Verdict:
    """One thing that is wrong with what a fix made."""

    what: str
    where: str
    """A place of the original text, or the path of an array."""
    detail: str

    def __str__(self) -> str:
        """Say what and where."""
        return f"{self.what}: {self.where}: {self.detail}"


@dataclass
class Judgement:
    """What came of one way to fix one program."""

    verdicts: list[Verdict] = field(default_factory=list)
    operations: int = 0
    """Operations that were compared."""
    exempt: int = 0
    """Operations that index what the fix committed, and now run where it is."""
    leftovers: int = 0
    """Last values of a loop's own names, which nothing reads afterwards, on another device."""
    arrays: int = 0
    copies: int = 0
    """Copies that the applied findings spoke of, made before."""
    said: int = 0
    """Operations and arrays that are elsewhere, and arrays of another type, as the message of an
    unsafe fix says."""
    placing: int = 0
    """1 where an applied fix is meant to place arrays otherwise: where is not compared."""
    cut: int = 0
    """Runs in which not all was seen: they went on too long."""

    def add(self, what: str, where: str, detail: str) -> None:
        """Note what is wrong."""
        verdict = Verdict(what, where, detail)
        if verdict not in self.verdicts:
            self.verdicts.append(verdict)


def judge(
    modules: Modules, fixed: Fixed, found: Sequence[Found], runs: Sequence[tuple[Watched, Watched]]
) -> Judgement:
    """Compare the runs of a program with those of what fixing made of it, pair by pair."""
    judging = _Judging(modules, fixed)
    judging.text(found)
    for before, after in runs:
        judging.run(before, after)
    return judging.result


def asked(fixed: Fixed) -> tuple[set[tuple[str, Place]], set[tuple[str, Place]]]:
    """Give the flagged uses of the applied fixes: in the original, and in the fixed text."""
    before = set(_flagged(fixed))
    after = set()
    for module, old in before:
        alignment = fixed.alignments[module]
        trees = tree_of(alignment.original.text), tree_of(alignment.text)
        place = Carried(*trees, alignment).to_fixed(old)
        if place is not None:
            after.add((module, place))
    return before, after


def _flagged(fixed: Fixed) -> Iterator[tuple[str, Place]]:
    for each in fixed.applied:
        if each.place is not None:
            yield each.module, bare(fixed.alignments[each.module].original.text, each.place)


class _Judging:
    def __init__(self, modules: Modules, fixed: Fixed) -> None:
        self.modules = modules
        self.fixed = fixed
        self.result = Judgement()
        self.before = {name: tree_of(text) for name, text in modules.items()}
        self.after = {name: tree_of(text) for name, text in fixed.modules.items()}
        self.carried = {
            name: Carried(self.before[name], self.after[name], fixed.alignments[name])
            for name in modules
        }
        self.flagged, self.flagged_after = asked(fixed)
        self.placing = any(each.code in PLACING for each in fixed.applied)
        self.result.placing = int(self.placing)
        self.created = [
            (each.module, self._put(each.module, each.place))
            for each in fixed.applied
            if each.code in CREATING and each.place is not None
        ]
        unsafe = [each.message for each in fixed.applied if each.unsafe]
        self.said = frozenset().union(*map(goes_to, unsafe))
        self.other_types = any(map(changes_types, unsafe))
        self.leftover = leftovers(modules)

    # -- what is found ----------------------------------------------------------------------------

    def text(self, found: Sequence[Found]) -> None:
        """Compare what is found in the fixed text with what was found in the original."""
        for failure in self.fixed.broken:
            self.result.add(BROKEN, failure.partition(": ")[0], failure)
        if self.placing:
            return
        known = Counter((each.code, each.module, self._statement(each)) for each in found)
        for each in self.fixed.found:
            place = self._origin(each.module, each.place)
            statement = None if place is None else self.before[each.module].statement(place)
            if place is None:
                # It begins with what the fix wrote, in a statement that may have been there.
                around = self.after[each.module].statement(each.place)
                alignment = self.fixed.alignments[each.module]
                kept = None if around is None else alignment.kept(around)
                statement = None if kept is None else self.before[each.module].statement(kept)
            key = (each.code, each.module, statement)
            if known[key] == 0 and _MORE_BELOW in each.message:
                # The first of several, with the number of the others: the fix may have added one.
                key = next((other for other in known if known[other] and other[:2] == key[:2]), key)
                statement = key[2]
            is_new = statement is None or known[key] == 0
            if is_new and (self._is_said_unseen(each.module) or self._is_said_pull(each)):
                self.result.said += 1
            elif is_new:
                line = each.place[0]
                self.result.add(FINDING, f"{each.module}:{line}", f"{each.code} {each.message}")
            else:
                known[key] -= 1

    def _is_said_pull(self, found: Found) -> bool:
        """Tell whether a finding is about what an unsafe fix says: computations go to the host."""
        return found.code == "JDP208" and True in self.said

    def _is_said_unseen(self, module: str) -> bool:
        """Tell whether a fix of another file, made without seeing this one, says that it may move
        what is computed here.
        """
        return self.fixed.how.alone and any(
            each.unsafe and each.module != module and goes_to(each.message)
            for each in self.fixed.applied
        )

    def _is_said_refused(self, after: Watched) -> bool:
        """Tell whether a fix of another file, made without seeing this one, says that what is
        computed here may raise, as it does.
        """
        module = after.error_places[-1][0] if after.error_places else None
        return (
            self.fixed.how.alone
            and _INCOMPATIBLE in (after.error or "")
            and any(
                each.unsafe and each.module != module and may_raise(each.message)
                for each in self.fixed.applied
            )
        )

    def _statement(self, found: Found) -> Place | None:
        return self.before[found.module].statement(found.place)

    # -- what JAX did -----------------------------------------------------------------------------

    def run(self, before: Watched, after: Watched) -> None:
        """Compare two runs with the same inputs."""
        is_short = before.whole and not _is_endless(before) and before.steps < MAX_STEPS / 2
        if not is_short and (_is_endless(before) or _is_endless(after) or not after.whole):
            self.result.cut += 1
            return
        if self._is_new_error(before, after):
            if self._is_said_refused(after):
                self.result.said += 1
                return
            where = ":".join(map(str, after.error_places[-1])) if after.error_places else "?"
            self.result.add(RAISED, where, after.error or "")
            return
        if self.placing:
            return
        self._operations(before, after)
        self._copies(before, after)
        if before.error is None:
            self._arrays(before, after)
            if _plain(before.printed) != _plain(after.printed) and not self.other_types:
                self.result.add(PRINTED, "main", _first_difference(before.printed, after.printed))

    def _is_new_error(self, before: Watched, after: Watched) -> bool:
        if after.error is None or self._is_missing_name(after.error):
            return False
        # What raised before may go further, and raise something else there.
        return before.error is None or after.steps < before.steps

    def _is_missing_name(self, error: str) -> bool:
        """Tell whether the original reads a name too that nothing in it binds."""
        found = _MISSING.match(error)
        return found is not None and any(
            isinstance(node, ast.Name) and node.id == found["name"]
            for tree in self.before.values()
            for nodes in tree.expressions.values()
            for node in nodes
        )

    def _origin(self, module: str, place: Place) -> Place | None:
        """Give which expression of the original one of the fixed text is; None: the fix's own."""
        return self.carried[module].to_original(place)

    def _operations(self, before: Watched, after: Watched) -> None:
        old: dict[tuple[str, Place], list[Event]] = defaultdict(list)
        new: dict[tuple[str, Place], list[Event]] = defaultdict(list)
        for event in before.events:
            old[event.module, event.place].append(event)
        for event in after.events:
            place = self._origin(event.module, event.place)
            if place is not None:
                new[event.module, place].append(event)
        for where in dict.fromkeys([*old, *new]):
            self._sequences(where, old[where], new[where], ended=before.error is not None)

    def _sequences(
        self, where: tuple[str, Place], old: list[Event], new: list[Event], *, ended: bool
    ) -> None:
        """Compare what ran at one place; `ended`: the original was cut by an error."""
        module, place = where
        alignment = self.fixed.alignments[module]
        if self.other_types:
            # Of another type, JAX may compute the same in another order, gradients say, and
            # converts other things.
            old, new = _in_any_order(old), _in_any_order(new)
        matcher = difflib.SequenceMatcher(
            None, [event.name for event in old], [event.name for event in new], autojunk=False
        )
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind == "equal":
                for one, other in zip(old[a:b], new[c:d], strict=True):
                    self._pair(where, one, other)
                continue
            around = self.before[module].statement(place)
            now = self.carried[module].to_fixed(place)
            whole = None if around is None else self.carried[module].to_fixed(around)
            is_changed = now is None or alignment.is_added_to(now)
            is_rewritten = is_changed or whole is None or alignment.is_added_to(whole)
            # The flagged use itself may be written as something that JAX does not run.
            gone = [
                each
                for each in old[a:b]
                if _has_array(each)
                and not (each.indexing and (is_rewritten or self._is_flagged(each)))
            ]
            more = list(filter(_has_array, new[c:d]))
            if gone and not alignment.is_cut(place):
                detail = f"{', '.join(sorted({e.name for e in gone}))} no longer ran"
                self._changed(where, detail)
            if more and not ended and not is_changed:
                self._changed(where, f"{', '.join(sorted({e.name for e in more}))} ran")

    def _is_flagged(self, event: Event) -> bool:
        """Tell whether a part is taken of an array in a statement with a flagged use."""
        return event.indexing and any(
            event.module == module and event.statement == self.before[module].statement(place)
            for module, place in self.flagged
        )

    def _changed(self, where: tuple[str, Place], detail: str) -> None:
        self.result.add(CHANGED, self._where(where), f"{self._source(where)}: {detail}")

    def _pair(self, where: tuple[str, Place], old: Event, new: Event) -> None:
        self.result.operations += 1
        if old.devices != new.devices:
            if _is_indexing_where_it_is(old, new, made_anew=bool(self.created)):
                self.result.exempt += 1
            elif self._is_said(new.devices) or self._is_creation(where):
                self.result.said += 1
            else:
                detail = f"{new.name} ran on {_names(old.devices)}, now on {_names(new.devices)}"
                self.result.add(MOVED, self._where(where), f"{self._source(where)}: {detail}")
                return
        if old.indexing or self.said:
            return
        for one, other in zip(old.operands, new.operands, strict=False):
            if other.moved and not one.moved and not other.small and other.known:
                detail = f"an operand on {_names(other.devices)}, for {new.name}"
                self.result.add(COPIED, self._where(where), f"{self._source(where)}: {detail}")

    def _where(self, where: tuple[str, Place]) -> str:
        module, (line, column, _, _) = where
        return f"{module}:{line}:{column + 1}"

    def _source(self, where: tuple[str, Place]) -> str:
        module, place = where
        start, end = self.fixed.alignments[module].original.range(place)
        return f"`{self.modules[module][start:end].splitlines()[0]}`"

    # -- the copies that the findings spoke of ----------------------------------------------------

    def _copies(self, before: Watched, after: Watched) -> None:
        for each in self.fixed.applied:
            if each.code not in COPYING or each.place is None:
                continue
            alignment = self.fixed.alignments[each.module]
            place = bare(alignment.original.text, each.place)
            old = list(self._copied(before, each, place, self.before))
            self.result.copies += len(old)
            now = self.carried[each.module].to_fixed(place)
            if now is None:
                continue
            where, source = (each.module, place), self._source((each.module, place))
            new = list(self._copied(after, each, now, self.after))
            if new:
                self.result.add(LEFT, self._where(where), f"{source}: for {new[0][0].name}")
            if not old:
                continue
            size = max(operand.nbytes for _, operand in old)
            again = [
                put
                for put in after.puts
                if put.module == each.module
                and self._origin(put.module, put.place) is None
                and inside(now, put.place)
                and max(put.sizes, default=0) >= size
                and not self._is_of_part(put)
            ]
            if len(again) > 1:
                self.result.add(LEFT, self._where(where), f"{source}: the fix makes it itself")

    def _is_of_part(self, put: Put) -> bool:
        """Tell whether what is put is written as a part that is taken, however large it is."""
        return any(
            isinstance(part, ast.Subscript)
            for node in self.after[put.module].expressions.get(put.place, ())
            for got in _first_argument(node)
            for part in _first_argument(got)
        )

    def _copied(
        self, run: Watched, applied: Applied, place: Place, trees: dict[str, Tree]
    ) -> Iterator[tuple[Event, Operand]]:
        """Give the copies of what an expression gave, in the statement that it is in."""
        given = run.given.get((applied.module, place), frozenset())
        statement = trees[applied.module].statement(place)
        for event in run.events:
            if event.module != applied.module or event.statement != statement:
                continue
            for operand in event.operands:
                from_host = operand.moved and min(operand.devices) >= ACCELERATORS
                is_seen = not self.fixed.how.alone or operand.made_in in {None, applied.module}
                if from_host and is_seen and operand.serial in given and not operand.small:
                    yield event, operand

    # -- the arrays that are left -----------------------------------------------------------------

    def _arrays(self, before: Watched, after: Watched) -> None:
        used = {serial for place in self.flagged_after for serial in after.given.get(place, ())}
        for path, old in before.left.items():
            new = after.left.get(path)
            self.result.arrays += 1
            if new is None:
                self.result.add(CHANGED, path, "the array is no longer there")
                continue
            if self.said and new.devices and not old.devices:
                # It was donated to what runs elsewhere now, and JAX only copies it there.
                self.result.said += 1
                continue
            if self.other_types and bool(old.devices) != bool(new.devices):
                # What is donated is only taken where a result is of its type.
                self.result.said += 1
                continue
            if (old.kind, old.digest) != (new.kind, new.digest):
                if self.other_types:
                    self.result.said += 1
                else:
                    self.result.add(VALUE, path, f"{old.kind}, now {new.kind}")
            written = self._is_put_by_fix(new)
            if old.devices != new.devices:
                self._displaced(path, old, new, put=written)
            elif old.committed != new.committed and not written and new.serial not in used:
                self._recommitted(path, new)

    def _put(self, module: str, flagged: Place) -> Place:
        """Give the expression around a flagged one that is all that a call of the fix is given."""
        largest = flagged
        for place, nodes in self.after[module].expressions.items():
            for node in nodes:
                if not isinstance(node, ast.Call) or self._origin(module, place) is not None:
                    continue
                for argument in node.args:
                    whole = self._origin(module, place_of(argument))
                    if whole is not None and inside(largest, whole):
                        largest = whole
        return largest

    def _is_creation(self, where: tuple[str, Place]) -> bool:
        module, place = where
        return any(module == name and inside(place, flagged) for name, flagged in self.created)

    def _is_said(self, devices: Sequence[int]) -> bool:
        return bool(devices) and (min(devices) >= ACCELERATORS) in self.said

    def _recommitted(self, path: str, new: Left) -> None:
        if path in self.leftover:
            self.result.leftovers += 1
        elif self._is_said(new.devices):
            self.result.said += 1
        else:
            word = "committed" if new.committed else "uncommitted"
            self.result.add(COMMITTED, path, f"now {word}, on {_names(new.devices)}")

    def _displaced(self, path: str, old: Left, new: Left, *, put: bool) -> None:
        if path in self.leftover:
            self.result.leftovers += 1
        elif self._is_said(new.devices) or (put and self.created):
            self.result.said += 1
        else:
            self.result.add(
                DISPLACED,
                path,
                f"on {_names(old.devices)}, now on {_names(new.devices)}"
                f"{', where the fix puts it' if put else ''}",
            )

    def _is_put_by_fix(self, left: Left) -> bool:
        """Tell whether an array comes from what a fix wrote, or from a call that it added to."""
        if left.first is None:
            return False
        module, place = left.first
        if self._origin(module, place) is None:
            return True
        return any(
            isinstance(node, ast.Call) and self._is_added_to(module, node)
            for node in self.after[module].at(place)
        )

    def _is_added_to(self, module: str, call: ast.Call) -> bool:
        """Tell whether a fix wrote something in a call that is not around one of its arguments."""
        alignment = self.fixed.alignments[module]
        whole = alignment.lines.range(place_of(call))
        fresh = {
            whole[0] + number
            for number, origin in enumerate(alignment.origins(place_of(call)))
            if origin < 0
        }
        for child in (call.func, *call.args, *(each.value for each in call.keywords)):
            place = place_of(child)
            if any(origin >= 0 for origin in alignment.origins(place)):
                fresh -= set(range(*alignment.lines.range(place)))
        return any(alignment.text[offset].isalnum() for offset in fresh)


def _has_array(event: Event) -> bool:
    """Tell whether an array was computed with.

    Constants JAX makes when it first needs them; and whether an array has to be converted to a
    type depends on whether it has that weakly.
    """
    return event.name not in _CONVERSIONS and any(not operand.small for operand in event.operands)


def _first_argument(node: ast.AST) -> list[ast.expr]:
    return node.args[:1] if isinstance(node, ast.Call) else []


def _in_any_order(events: list[Event]) -> list[Event]:
    computed = [event for event in events if event.name != "jit(convert_element_type)"]
    return sorted(computed, key=lambda event: event.name)


def _is_indexing_where_it_is(old: Event, new: Event, *, made_anew: bool) -> bool:
    """Tell whether indexing now runs where a fix committed the array, and did not before.

    That is where it was, or a part of it, and was copied from; unless a fix makes arrays elsewhere:
    `made_anew`.
    """
    if not (old.indexing and new.indexing):
        return False
    return any(
        other.origin_devices == new.devices
        and (made_anew or new.devices in one.passed)
        and other.origin_committed
        and not one.origin_committed
        and not other.moved
        for one, other in zip(old.operands, new.operands, strict=False)
    )


def _is_endless(run: Watched) -> bool:
    return (run.error or "").startswith("EndlessError")


def _names(devices: Sequence[int]) -> str:
    if not devices:
        return "no device"
    return "+".join(
        f"accelerator {number}" if number < ACCELERATORS else f"host {number - ACCELERATORS}"
        for number in devices
    )


def _plain(printed: str) -> str:
    return _ADDRESS.sub("0x", printed)


def _first_difference(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    for one, other in zip(old, new, strict=False):
        if one != other:
            return f"`{one}`, now `{other}`"
    return f"{len(old)} lines, now {len(new)}"
