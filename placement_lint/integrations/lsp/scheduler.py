"""When the analysis runs: after a pause in the typing, or at once where somebody waits for it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pygls.exceptions import JsonRpcInternalError

from placement_lint.integrations.lsp.analysis import AnalysisService
from placement_lint.lint.gc_pause import collection_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.integrations.lsp.analysis import SnapshotResult
    from placement_lint.integrations.lsp.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

PAUSE = 0.1
"""Seconds without a change after which the files are looked at: people type a key each 0.1 to 0.3
seconds, and nobody wants to be told of half a word."""


class Scheduler:
    """Analyses the workspace, in a thread of its own, one snapshot after the other."""

    def __init__(
        self,
        workspace: Workspace,
        tell: Callable[[SnapshotResult], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """Take the workspace, whom to tell what was seen, and whom to tell what went wrong."""
        self.analysis = AnalysisService()
        self._workspace = workspace
        self._tell = tell
        self._fail = fail
        self._seen: SnapshotResult | None = None
        self._failed = -1
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, "placement-lint analysis")

    def soon(self) -> None:
        """Check after a pause; a pause that has begun starts again."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(PAUSE, self._pause_is_over)

    def _pause_is_over(self) -> None:
        self._timer = None
        self._keep_checking()

    async def current(self) -> SnapshotResult:
        """Return what is seen of everything as it is now, or is a little later.

        Raises JsonRpcInternalError where the analysis failed.
        """
        wanted = self._workspace.number
        while self._seen is None or self._seen.snapshot.number < wanted:
            if self._failed >= wanted:
                raise JsonRpcInternalError("the analysis failed: see the log")
            # Whoever asked may be gone by then; others may wait for the same.
            await asyncio.shield(self._keep_checking())
        return self._seen

    async def ask(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Put a question to the analysis, who answers one after the other."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def _keep_checking(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        return self._task

    async def _look(self) -> None:
        # A pause that ends while the analysis runs is not waited for again.
        while self._is_behind and await self._look_once() and self._timer is None:
            pass

    @property
    def _is_behind(self) -> bool:
        reached = -1 if self._seen is None else self._seen.snapshot.number
        return max(reached, self._failed) < self._workspace.number

    async def _look_once(self) -> bool:
        # What is left of earlier views is cleared away once this one has been told.
        with collection_paused():
            return await self._look_at_all()

    async def _look_at_all(self) -> bool:
        snapshot = self._workspace.snapshot()
        try:
            seen = await self.ask(self.analysis.look, snapshot)
        except Exception as error:  # our fault, and no reason to end
            self._failed = snapshot.number
            self._fail(error)
            return True
        self._seen = seen
        self._tell(seen)
        return True
