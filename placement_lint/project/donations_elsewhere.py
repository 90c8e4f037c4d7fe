"""What functions and classes donate, as far as other files than their own call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from placement_lint.project.dependencies import Dependencies, Donated
from placement_lint.project.donating_files import may_donate
from placement_lint.project.queries import TrackedQueries
from placement_lint.semantic.donation.exported import exported
from placement_lint.syntax.deep_stack import run_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.donation.analysis import Aliases
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import DonationElsewhere

_MOST_STEPS = 8
"""Re-exports of one name."""


class DonationsElsewhere:
    """What is donated in the files of a run, as far as other files ask for it."""

    def __init__(
        self,
        project: Modules,
        borrowed: Callable[[str], AbstractContextManager[ModuleFacts | None]],
        opened: Callable[[str], Iterable[Dependencies]],
        still_gives: Callable[[Dependencies, str], bool],
    ) -> None:
        """`borrowed` lends the facts of a file, `opened` returns the answers that it got on names.

        `still_gives`: whether a file would get the same answers now.
        """
        self._project = project
        self._borrowed = borrowed
        self._opened = opened
        self._known: dict[_Place, DonationElsewhere | None] = {}
        self._aliases: dict[str, Aliases] = {}
        """What was found out of the initializers of files: a file is asked for many names."""
        self._learned: dict[str, Donated] = {}
        self._answers: dict[str, dict[int, Dependencies]] = {}
        self._recalled = _Recalled(project.known_donations, still_gives, self._forget)
        self._executed: list[_Place] = []

    def of(self, path: str, name: str) -> DonationElsewhere | None:
        """Return what something donates that a file names; None: nothing, or it is not known."""
        located = self._project.module_of(path, name)
        for _ in range(_MOST_STEPS):
            if located is None or not located[1] or located[0] == path:
                return None
            if located in self._known:
                return self._known[located]
            file, rest = located
            if not may_donate(file, rest, self._project):
                return None
            top, dot, below = rest.partition(".")
            before = self._recalled.of(file, len(self._executed))
            if before is not None and rest in before.donations:
                return before.donations[rest]
            target = None if before is None else before.targets.get(top)
            if target is None:
                # What leads back to it while it is executed donates nothing before that.
                self._known[located] = None
                with self._borrowed(file) as facts:
                    if facts is None:
                        return None
                    only = facts.names.module_scope.sole_binding(top)
                    target = None if only is None else only.target
                    if target is None:
                        self._executed.append(located)
                        aliases = self._aliases.setdefault(file, {})
                        found = run_deep(exported, facts, rest, aliases)
                        self._known[located] = found
                        self._learn(file, facts, donations={rest: found})
                        return found
                    self._learn(file, facts, targets={top: target})
                del self._known[located]
            located = self._project.module_of(file, f"{target}{dot}{below}")
        return None

    def take_learned(self) -> dict[str, Donated]:
        """Return what files donate, as far as it was found out, or found to hold, since then.

        Whoever keeps it adds the digests of their code.
        """
        learned, self._learned = self._learned, {}
        for path, by_identity in self._answers.items():
            for answers in by_identity.values():
                if path in learned:
                    learned[path].add(Donated(answers=answers))
        self._answers = {}
        for path, before in self._recalled.take_confirmed().items():
            learned.setdefault(path, Donated(before.code)).add(before)
        return learned

    def _learn(
        self,
        path: str,
        facts: ModuleFacts,
        donations: Mapping[str, DonationElsewhere | None] | None = None,
        targets: Mapping[str, str] | None = None,
    ) -> None:
        known = self._learned.setdefault(path, Donated())
        known.add(Donated("", dict(donations or {}), dict(targets or {})))
        got = [*self._opened(path)]
        if isinstance(facts.run, TrackedQueries):
            got.append(facts.run.answers)
        self._answers.setdefault(path, {}).update((id(answers), answers) for answers in got)

    def _forget(self, count: int) -> None:
        """Forget what was executed after so many, of what may not hold."""
        for located in self._executed[count:]:
            self._known.pop(located, None)
            self._learned.pop(located[0], None)
            self._aliases.pop(located[0], None)
        del self._executed[count:]


_Place: TypeAlias = "tuple[str, str]"
"""A file, and a name in it."""


class _Recalled:
    """What the last run found out, as far as it still holds.

    The answers to files may depend on one another in a circle: while one is asked about, what it
    donated is taken to hold. If it does not, neither does what was found by that.
    """

    def __init__(
        self,
        before: Callable[[str], Donated | None] | None,
        still_gives: Callable[[Dependencies, str], bool],
        forget: Callable[[int], None],
    ) -> None:
        self._before = before
        self._still_gives = still_gives
        self._forget = forget
        self._holds: dict[str, bool] = {}
        self._open: dict[str, int] = {}
        """The files that are being asked about, by how many others were then."""
        self._supposed: dict[str, int] = {}
        """Files that hold if one does that is being asked about: by its number."""
        self._lowest = 0
        """The first of these on which an answer depends since the last one was opened."""
        self._confirmed: dict[str, Donated] = {}

    def of(self, path: str, executed: int) -> Donated | None:
        """Return what a file donated, if it still does; `executed`: how many names were by now."""
        before = None if self._before is None else self._before(path)
        if before is None or not self._holds.get(path, True):
            return None
        if path in self._holds:
            return before
        supposed = self._open.get(path, self._supposed.get(path))
        if supposed is not None:
            self._lowest = min(self._lowest, supposed)
            return before
        number = self._open[path] = len(self._open)
        outer, self._lowest = self._lowest, number
        holds = self._still_gives(before.answers, path)
        lowest, self._lowest = self._lowest, min(outer, self._lowest)
        del self._open[path]
        inner = [each for each, least in self._supposed.items() if least >= number]
        if not holds:
            self._holds[path] = False
            for each in inner:
                del self._supposed[each]
            self._forget(executed)
            return None
        if lowest < number:
            self._supposed[path] = lowest
            self._supposed.update(dict.fromkeys(inner, lowest))
            return before
        for each in (path, *inner):
            self._holds[each] = True
            self._supposed.pop(each, None)
        return before

    def take_confirmed(self) -> dict[str, Donated]:
        """Return what was found to hold since this was called last."""
        holding = [path for path, holds in self._holds.items() if holds]
        found = {path: self._before(path) for path in holding} if self._before else {}
        new = {
            path: before
            for path, before in found.items()
            if before is not None and path not in self._confirmed
        }
        self._confirmed |= new
        return new
