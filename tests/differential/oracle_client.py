"""The oracle as the tests ask it: one subprocess, started when it is first needed."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.compile_fast import ANY_VERSION, COMPILE_FAST
from tests.differential.oracle import DEVICES

ROOT = Path(__file__).parents[2]
_CACHE_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

Place = tuple[int, int, int, int]


@dataclass(frozen=True)
class Use:
    """One operation that had an array of the program among its operands."""

    module: str
    operation: Place
    operands: tuple[Place, ...]
    moved: bool
    away: bool
    small: bool
    known: bool
    device: int
    committed: bool
    to_mesh: bool


@dataclass(frozen=True)
class Run:
    """What the oracle saw of one execution."""

    uses: tuple[Use, ...]
    evaluated: frozenset[tuple[str, Place]]
    printed: str
    error: str | None
    error_places: tuple[tuple[str, int], ...]


class OracleError(Exception):
    """The oracle itself failed."""


class OracleDiedError(OracleError):
    """Its process ended without an answer."""


class OracleClient:
    """A subprocess with virtual devices that runs programs."""

    module = "tests.differential.oracle"
    devices = DEVICES

    def __init__(self, cache: str | None = None, python: str = sys.executable) -> None:
        """Start it. In the folder `cache`, several share what XLA has compiled.

        `python`: of an environment that has the JAX to ask.
        """
        self._python = python
        self._cache = {} if cache is None else {"JAX_COMPILATION_CACHE_DIR": cache, **_CACHE_ALL}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._process = self._started()
        atexit.register(self.close)

    def _started(self) -> subprocess.Popen[str]:
        fast = COMPILE_FAST if self._python == sys.executable else ANY_VERSION
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={self.devices} {fast}",
            "PYTHONHASHSEED": "0",
            **self._cache,
        }
        return subprocess.Popen(
            [self._python, "-W", "ignore", "-m", self.module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def run(self, modules: dict[str, str], seeds: list[int]) -> list[Run]:
        """Run a program once for each seed. Raises OracleError."""
        return [decoded(run) for run in self.ask({"modules": modules, "seeds": seeds})]

    def ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Give what the oracle answers, for each run. Raises OracleError."""
        if self._process.poll() is not None:
            self._process = self._started()
        try:
            line = self._asked(json.dumps(request))
        except BaseException:
            # A question that was not waited for would be answered in place of the next one.
            self._kill()
            raise
        if not line:
            self._kill()
            self._errors.seek(0)
            raise OracleDiedError(f"the oracle died:\n{self._errors.read()[-4000:]}")
        answer = json.loads(line)
        if "failure" in answer:
            raise OracleError(answer["failure"])
        runs: list[dict[str, Any]] = answer["runs"]
        return runs

    def _kill(self) -> None:
        """End it at once. Until it has ended, it would be asked the next question."""
        self._process.kill()
        self._process.communicate()

    def _asked(self, question: str) -> str:
        requests, answers = self._pipe(self._process.stdin), self._pipe(self._process.stdout)
        requests.write(question + "\n")
        requests.flush()
        return answers.readline()

    def close(self) -> None:
        """End it."""
        if self._process.poll() is None:
            self._pipe(self._process.stdin).close()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                # On a machine with much else to do; it holds nothing that could be lost.
                self._process.kill()
                self._process.wait()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise OracleError("the oracle has no pipe")
        return pipe


@functools.cache
def shared_oracle() -> OracleClient:
    """Give the oracle of this process of the tests: importing JAX takes it seconds.

    A program leaves nothing behind for the next one, which `test_oracle` checks.
    """
    return OracleClient()


def decoded(run: dict[str, Any]) -> Run:
    return Run(
        tuple(
            Use(
                use["module"],
                place(use["operation"]),
                tuple(place(operand) for operand in use["operands"]),
                use["moved"],
                use["away"],
                use["small"],
                use["known"],
                use["device"],
                use["committed"],
                use["to_mesh"],
            )
            for use in run["uses"]
        ),
        frozenset((module, place(where)) for module, where in run["evaluated"]),
        run["printed"],
        run["error"],
        tuple((module, line) for module, line in run["error_places"]),
    )


def place(numbers: list[int]) -> Place:
    """Give a range as the oracle wrote it."""
    line, column, end_line, end_column = numbers
    return (line, column, end_line, end_column)
