"""Runs the sides of proofs in forks of a process that has imported JAX: half of their time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placement_lint.verify.environment import clean_environment
from placement_lint.verify.proofs import MESH, PLAIN, STAGED
from placement_lint.verify.runner import _OUTPUT_KEPT, ChildError, Runner, _how_it_ended
from tests.compile_fast import COMPILE_FAST

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
CAN_FORK = hasattr(os, "fork") and hasattr(os, "waitid")


def _environment(devices: str | None) -> dict[str, str]:
    """Return what the processes of proofs get, which need not compute fast."""
    kept = clean_environment(os.environ, devices)
    return {**kept, "XLA_FLAGS": f"{kept.get('XLA_FLAGS', '')} {COMPILE_FAST}".strip()}


class WarmRunner(Runner):
    """A runner that asks a warm process for a fork, where the stage imports JAX in any case.

    A proof without JAX, one that imports it itself, and one of two processes get processes of
    their own, as ever; so does every proof on a system without fork.
    """

    def __init__(self, *, time_limit: float) -> None:
        super().__init__(time_limit=time_limit)
        self._limit = time_limit
        self._servers: dict[str | None, subprocess.Popen[str]] = {}
        self.forks = 0

    def stop(self) -> None:
        super().stop()
        for server in self._servers.values():
            server.kill()
            server.communicate()
        self._servers.clear()

    def run(
        self,
        task: Mapping[str, Any],
        *,
        devices: str | None,
        folder: Path,
        time_limit: float | None = None,
    ) -> tuple[dict[str, Any], str]:
        if not CAN_FORK or task.get("stage") not in {STAGED, PLAIN, MESH}:
            return super().run(task, devices=devices, folder=folder, time_limit=time_limit)
        limit = self._limit if time_limit is None else time_limit
        with tempfile.TemporaryDirectory(prefix="placement-lint-") as beside:
            answer, printed = Path(beside) / "answer.json", Path(beside) / "printed.txt"
            request = {
                "task": dict(task), "folder": str(folder), "answer": str(answer),
                "printed": str(printed), "limit": limit,
            }  # fmt: skip
            status = self._ask(devices, request)
            output = printed.read_text(encoding="utf-8", errors="replace")[-_OUTPUT_KEPT:]
            if status is None:
                msg = f"no answer within {limit:g} s"
                raise ChildError(msg)
            try:
                value: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                raise ChildError(_how_it_ended(status, output)) from None
        if "error" in value:
            raise ChildError(str(value["error"]))
        return value, output

    def _ask(self, devices: str | None, request: dict[str, Any]) -> int | None:
        server = self._servers.get(devices)
        if server is None:
            server = self._servers[devices] = subprocess.Popen(
                [sys.executable, "-m", "tests.verify.warm_server"],
                cwd=ROOT,
                env=_environment(devices),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert server.stdin is not None
        assert server.stdout is not None
        self.forks += 1
        server.stdin.write(f"{json.dumps(request)}\n")
        server.stdin.flush()
        line = server.stdout.readline()
        if not line:
            msg = f"the warm process ended with {server.wait()}"
            raise RuntimeError(msg)
        status: int | None = json.loads(line)
        return status
