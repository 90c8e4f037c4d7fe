"""Start the subprocesses that run JAX: clean environment, time limit, no traceback for the user."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from placement_lint.verify.environment import clean_environment
from placement_lint.verify.observation import (
    InvalidObservationError,
    Observation,
    SideOutcome,
    Verdict,
    judge,
)
from placement_lint.verify.proofs import MESH, PLAIN, STAGED, Proof, ProofError
from placement_lint.verify.versions import is_within

if TYPE_CHECKING:
    from typing_extensions import Self

TIME_LIMIT = 120.0

_OUTPUT_KEPT = 4000
_TICK = 0.02


class ChildError(Exception):
    """A subprocess that gave no answer; the message is the short reason."""


@dataclass(frozen=True)
class Environment:
    """What JAX is here, as a subprocess found it."""

    python: str
    jax: str
    jaxlib: str
    safetensors: str
    default_backend: str
    devices: tuple[str, ...]
    installed: frozenset[str] = frozenset()
    """Names of the distributions, in lower case."""
    accelerator_memory: int | None = None
    """Bytes of memory that JAX may use on the accelerator, where it says so."""
    device_kind: str = ""
    """What JAX calls its default device, such as "NVIDIA A100-SXM4-40GB"."""

    @property
    def has_accelerator(self) -> bool:
        """Whether JAX computes on something other than the CPU here."""
        return self.default_backend != "cpu"


@dataclass(frozen=True)
class RuleResult:
    """One rule's proof, run; or skipped, for the reason given."""

    proof: Proof
    hazard: SideOutcome
    fixed: SideOutcome
    verdict: Verdict
    skipped: str = ""

    @property
    def failed(self) -> bool:
        """Whether it was run and the claim does not hold."""
        return not self.skipped and not self.verdict.ok


class Runner:
    """Runs tasks of `placement_lint.verify.child`, each in a fresh process.

    Use it as a context manager: leaving it ends every process that is still running.
    """

    def __init__(self, *, python: str = sys.executable, time_limit: float = TIME_LIMIT) -> None:
        self._python = python
        self._time_limit = time_limit
        self._live: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every process that is still running, and start no more."""
        with self._lock:
            self._closed = True
            for process in self._live:
                _end(process)

    def run(
        self,
        task: Mapping[str, Any],
        *,
        devices: str | None,
        folder: Path,
        time_limit: float | None = None,
    ) -> tuple[dict[str, Any], str]:
        """Run one task in the folder; returns its answer and what it printed.

        Raises ChildError when it did not answer: it crashed, was killed, or ran out of time.
        """
        limit = self._time_limit if time_limit is None else time_limit
        answer = folder / "answer.json"
        command = [
            self._python,
            "-m",
            "placement_lint.verify.child",
            json.dumps(dict(task)),
            str(answer),
        ]
        environment = clean_environment(os.environ, devices)
        # A file, not a pipe: what the code leaves running would keep a pipe open.
        with tempfile.TemporaryFile() as printed:
            with self._process(command, folder, environment, printed) as process:
                if not _ended_within(process, limit):
                    msg = f"no answer within {limit:g} s"
                    raise ChildError(msg)
            printed.seek(0)
            text = printed.read()
        output = text.decode("utf-8", "replace")[-_OUTPUT_KEPT:]
        try:
            value = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ChildError(_how_it_ended(process.returncode, output)) from None
        if not isinstance(value, dict):
            raise ChildError("its answer is not an object")
        if "error" in value:
            raise ChildError(str(value["error"]))
        return value, output

    @contextlib.contextmanager
    def _process(
        self,
        command: list[str],
        folder: Path,
        environment: dict[str, str],
        printed: IO[bytes],
    ) -> Iterator[subprocess.Popen[bytes]]:
        with self._lock:
            if self._closed:
                raise ChildError("interrupted")
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                # Held open, never written to: it closes when we die, and so ends the process.
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._live.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._live.discard(process)
                _end(process)
            with process:
                process.wait()


def _ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Wait until the process has ended, and leave it unreaped; False when time ran out first.

    As long as it is not reaped nothing else gets its number, so what it left running can be
    ended by the number of its group.
    """
    if not hasattr(os, "waitid"):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    deadline = time.monotonic() + seconds
    try:
        while os.waitid(os.P_PID, process.pid, how) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_TICK)
    except ChildProcessError:
        # Whoever has the run stopped has reaped it already.
        pass
    return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process and what it started; nothing happens when it has already been reaped."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _how_it_ended(returncode: int, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = f": {lines[-1][:200]}" if lines else ""
    if returncode < 0:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = f"signal {-returncode}"
        return f"ended by {name}{last}"
    return f"ended with status {returncode} and no answer{last}"


def probe(runner: Runner, devices: str | None = None) -> Environment:
    """Ask a subprocess what JAX is here; raises ChildError when it cannot be imported or started.

    The message is `no module: NAME` when a package is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="placement-lint-") as folder:
        value, _ = runner.run({"task": "probe"}, devices=devices, folder=Path(folder))
    return Environment(
        python=str(value["python"]),
        jax=str(value["jax"]),
        jaxlib=str(value["jaxlib"]),
        safetensors=str(value["safetensors"]),
        default_backend=str(value["default_backend"]),
        devices=tuple(str(name) for name in value["devices"]),
        installed=frozenset(str(name) for name in value["installed"]),
        accelerator_memory=value["memory"],
        device_kind=str(value["device_kind"]),
    )


def reason_to_skip(proof: Proof, environment: Environment) -> str:
    """Return why a proof makes no claim about the JAX that is here; "" when it does.

    A proof that cannot be read is not skipped: running it will fail, with the reason.
    """
    try:
        wanted, needs = proof.jax_range, proof.needs
    except ProofError:
        return ""
    if wanted and not is_within(environment.jax, wanted):
        return f"a claim about JAX {wanted}; here is {environment.jax}"
    missing = [name for name in needs if name.lower() not in environment.installed]
    return f"needs {', '.join(missing)}, not installed here" if missing else ""


def run_side(runner: Runner, proof: Proof, side: str, devices: str) -> SideOutcome:
    """Run `hazard` or `fixed` of a proof in a fresh process and folder, and observe it."""
    started = time.monotonic()
    try:
        proof.check()
        stage = proof.stage
        with tempfile.TemporaryDirectory(prefix="placement-lint-") as folder:
            value, output = runner.run(
                {"task": "proof", "path": str(proof.path.absolute()), "side": side, "stage": stage},
                devices=_devices_for(stage, devices),
                folder=Path(folder),
            )
        observations = _observations(value)
    except (ChildError, InvalidObservationError, ProofError) as error:
        return SideOutcome(failure=str(error), seconds=time.monotonic() - started)
    return SideOutcome(
        observations=observations,
        seconds=time.monotonic() - started,
        stage=str(value["stage"]),
        output=output,
    )


def _devices_for(stage: str, devices: str) -> str:
    """Return the devices of a proof's stage; `devices` are those of an accelerator and a host."""
    if stage == STAGED:
        return devices
    return MESH if stage == MESH else PLAIN


def _observations(value: Mapping[str, Any]) -> tuple[Observation, ...]:
    if value["calls"] < 1:
        raise InvalidObservationError("observe() never ran the code")
    return tuple(Observation.from_json(item) for item in value["observations"])


def verify_rules(
    runner: Runner,
    proofs: Iterable[Proof],
    *,
    devices: str,
    jobs: int,
    environment: Environment | None = None,
) -> Iterator[RuleResult]:
    """Run the hazard and the fix of each proof, at most `jobs` processes at a time.

    Yields the results in the order of the proofs, each as soon as it and those before it are done.
    Skips those that make no claim about the environment, when it is given.

    Each side gets a process of its own, and shares nothing with the others: what JAX reads from
    its environment and what it caches is what proofs are about. A side costs 0.6 to 1.1 s of CPU,
    0.55 s of which is `import jax` (0.10.2, measured); 40 rules are some 40 s on two processors.
    """
    work = list(proofs)
    reasons = [reason_to_skip(proof, environment) if environment else "" for proof in work]
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures = [
            [pool.submit(run_side, runner, proof, side, devices) for side in ("hazard", "fixed")]
            if not reason
            else []
            for proof, reason in zip(work, reasons, strict=True)
        ]
        try:
            for proof, reason, sides in zip(work, reasons, futures, strict=True):
                if reason:
                    yield RuleResult(
                        proof,
                        SideOutcome(),
                        SideOutcome(),
                        Verdict(reproduced=False, cured=False),
                        reason,
                    )
                    continue
                before, after = (side.result() for side in sides)
                yield RuleResult(proof, before, after, judge(before, after))
        except BaseException:
            # Leaving the pool waits for its threads, and these wait for their processes.
            runner.stop()
            raise
