"""Two real processes that find each other; and what goes wrong in one of them is a failure."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.verify.environment import DEVICES_EACH, PROCESSES, VIRTUAL
from placement_lint.verify.observation import SideOutcome
from placement_lint.verify.processes import (
    ProcessError,
    see_in_two_processes,
)
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Runner, run_side
from tests.verify.test_runner import is_running

WriteProof = Callable[[str], Proof]

HEAD = '''"""Title."""
import os, sys, time
from placement_lint.verify.observation import Observation
STAGE = "processes"
def hazard(accelerator, host): return 8
def fixed(accelerator, host): return 0
def number(): return int(os.environ["OMPI_COMM_WORLD_RANK"])
'''
OBSERVE = """
def observe(run):
    first, second = run.in_two_processes(see)
    return Observation("ruler", "length", second, f"{first} and {second} m", second > 0, "saw 1 m")
"""


def outcome_of(runner: Runner, proof: Proof, side: str = "hazard") -> SideOutcome:
    return run_side(runner, proof, side, VIRTUAL)


def test_each_process_answers_in_its_place(runner: Runner, write_proof: WriteProof) -> None:
    proof = write_proof(HEAD + "def see(run): return run() + number()\n" + OBSERVE)
    for side, expected in (("hazard", "8 and 9 m"), ("fixed", "0 and 1 m")):
        (found,) = outcome_of(runner, proof, side).observations
        assert found.text == expected


@pytest.mark.parametrize(
    ("see", "failure"),
    [
        (
            "def see(run): return run() if number() else [][0]",
            "process 0 raised IndexError: list index out of range",
        ),
        (
            "def see(run):\n"
            "    return run() if not number() else (print('so long', flush=True), os._exit(3))",
            "process 1 ended with status 3: so long",
        ),
        ("def see(run): return run() if number() else {1, 2}", "process 0 raised TypeError"),
        ("def see(run): return 8", "observe() never ran the code"),
        ("def look(run): return run()\nsee = 8", "'int' object has no attribute '__name__'"),
    ],
)
def test_a_process_that_does_not_say_what_it_saw_is_a_failure(
    runner: Runner, write_proof: WriteProof, see: str, failure: str
) -> None:
    outcome = outcome_of(runner, write_proof(f"{HEAD}{see}\n{OBSERVE}"))
    assert outcome.observations == ()
    assert failure in outcome.failure


def test_the_other_stages_have_no_processes(runner: Runner, write_proof: WriteProof) -> None:
    source = HEAD.replace('"processes"', '"none"') + "def see(run): return run()\n" + OBSERVE
    outcome = outcome_of(runner, write_proof(source))
    assert 'in_two_processes needs STAGE = "processes"' in outcome.failure


def test_out_of_time_ends_both(write_proof: WriteProof, tmp_path: Path) -> None:
    see = f"""\
def see(run):
    open({str(tmp_path)!r} + f"/{{number()}}.pid", "w").write(str(os.getpid()))
    if number():
        time.sleep(60)
    return run()
"""
    proof = write_proof(HEAD + see)
    started = time.monotonic()
    with pytest.raises(ProcessError, match=r"^process 1 did not answer in time$"):
        see_in_two_processes(proof.path, "hazard", "see", time_limit=3)
    assert time.monotonic() - started < 30
    for number in range(PROCESSES):
        pid = int((tmp_path / f"{number}.pid").read_text(encoding="ascii"))
        assert not is_running(pid)


DISTRIBUTED = """
import jax
import numpy as np

def hazard(accelerator, host):
    jax.distributed.initialize()
    return jax.device_put(np.ones(4), jax.local_devices()[0])

def see(run):
    array = run()
    return [
        jax.process_index(), jax.process_count(), len(jax.devices()), len(jax.local_devices()),
        array.is_fully_addressable, jax.devices("cpu")[0].process_index,
    ]

def observe(run):
    both = run.in_two_processes(see)
    return Observation("jax", "both", repr(both), repr(both), True, "none")
"""


@pytest.mark.every
@pytest.mark.usefixtures("needs_jax")
def test_the_processes_are_of_one_jax_program(runner: Runner, write_proof: WriteProof) -> None:
    outcome = outcome_of(runner, write_proof(HEAD + DISTRIBUTED))
    assert outcome.failure == ""
    devices = PROCESSES * DEVICES_EACH
    expected = tuple(
        [number, PROCESSES, devices, DEVICES_EACH, True, 0] for number in range(PROCESSES)
    )
    assert outcome.observations[0].measured == repr(expected)
    assert outcome.stage.startswith("two processes of jax.distributed on loopback")


@pytest.mark.parametrize(("seen", "expected"), [("run()", "8 m"), ("run() + number()", None)])
def test_both_processes_have_to_see_the_same(
    runner: Runner, write_proof: WriteProof, seen: str, expected: str | None
) -> None:
    observe = """
def observe(run):
    both = run.same_in_two_processes(see)
    return Observation("ruler", "length", both, f"{both} m", both > 0, "saw 1 m")
"""
    outcome = outcome_of(runner, write_proof(f"{HEAD}def see(run): return {seen}\n{observe}"))
    if expected is None:
        assert "the processes differ: 8, 9" in outcome.failure
    else:
        assert [found.text for found in outcome.observations] == [expected]
