"""Every claim, attacked: with its hazard, its fix or its sight taken away, `verify` must fail.

A proof that also holds when it is broken proves nothing. The attacks are the same for each proof
that there is, so a new rule is attacked without anyone's doing: `pytest -m attack -n auto`. The
default tests attack a proof of their own, in `test_runner.py`.

The sides run in forks of a process that has imported JAX, where they would import it first. That
they are the same in processes of their own is what `placement-lint verify` shows, and a test here.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.observation import SideOutcome, Verdict, judge
from placement_lint.verify.proofs import FRESH, Proof, find_proofs, proof_folder
from placement_lint.verify.runner import Environment, Runner, probe, reason_to_skip, run_side
from tests.verify.warm import CAN_FORK, WarmRunner

pytestmark = [pytest.mark.attack, pytest.mark.usefixtures("needs_jax")]
WriteProof = Callable[[str], Proof]

SHIPPED = find_proofs(proof_folder())
BOTH_WAYS = ("JDP201",)
"""The claims of which either side is put in the place of the other."""

# What blinds each instrument, put before a proof's own imports. `jax` may already be imported
# and its stage set; the proof's code itself is left alone.
BLINDFOLDS = {
    "device-to-device transfer guard": """
import jax as _jax
_update = _jax.config.update
_jax.config.update = lambda name, value: None if "_guard_" in name else _update(name, value)
""",
    ".committed": """
from placement_lint.verify import instruments as _instruments
_instruments.is_committed = lambda array: True
""",
    ".devices()": """
import jax as _jax, jax.numpy as _jnp
type(_jnp.zeros(1)).devices = lambda array: {_jax.devices()[0]}
""",
    "jax.live_arrays()": """
import jax as _jax
_jax.live_arrays = lambda *platform: []
""",
    "exception": """
from placement_lint.verify import instruments as _instruments
_raises = _instruments.raises
_instruments.raises = lambda action, *rest: _raises(lambda: None, *rest)
""",
    "placement-lint": """
import subprocess as _subprocess
from placement_lint.verify import own as _own
class _Silent:
    run = staticmethod(lambda *a, **k: _subprocess.CompletedProcess([], 0, stdout="", stderr=""))
_own.subprocess = _Silent
""",
}


SIDES: tuple[str, str] = ("hazard", "fixed")
Genuine = tuple[SideOutcome, SideOutcome]


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmRunner]:
    with WarmRunner(time_limit=100) as runner:
        yield runner


@pytest.fixture(scope="module")
def here() -> Environment:
    with Runner(time_limit=100) as runner:
        return probe(runner, VIRTUAL)


@functools.cache
def genuine(code: str, runner: Runner) -> Genuine:
    """Run a shipped proof as it is, once for all the attacks on it."""
    hazard, fixed = (run_side(runner, SHIPPED[code], side, VIRTUAL) for side in SIDES)
    return hazard, fixed


def blindfolded(proof: Proof, instrument: str) -> str:
    opening, docstring, rest = proof.source.split('"""', 2)
    return f'{opening}"""{docstring}"""\n{BLINDFOLDS[instrument]}\n{rest}'


class Attack:
    """One proof, and what comes of it when a side of it is changed."""

    def __init__(self, code: str, runner: Runner, write_proof: WriteProof) -> None:
        self.proof = SHIPPED[code]
        self.genuine = genuine(code, runner)
        self._runner = runner
        self._write_proof = write_proof

    def one_side(self, text: str, side: str) -> Verdict:
        outcomes = dict(zip(SIDES, self.genuine, strict=True))
        outcomes[side] = run_side(self._runner, self._write_proof(text), side, VIRTUAL)
        return judge(outcomes["hazard"], outcomes["fixed"])

    def put_in_place(self, kept: str, lost: str) -> None:
        """Put one side in the place of the other."""
        verdict = self.one_side(f"{self.proof.source}\n\n{lost} = {kept}\n", lost)
        assert not verdict.ok
        assert verdict.reproduced == (kept == "hazard")
        assert verdict.cured == (kept == "fixed")

    def measure_the_same(self) -> None:
        """Let every observation measure the same in both sides."""
        same = [
            replace(side, observations=tuple(replace(seen, measured=7) for seen in each))
            for side in self.genuine
            for each in [side.observations]
        ]
        verdict = judge(*same)
        assert not verdict.ok
        assert all("the observation is blind" in problem for problem in verdict.problems)

    def instruments(self) -> list[str]:
        """Return the instruments that the proof uses, and that can be blinded here."""
        if self.proof.stage == FRESH:
            # To put a blindfold on would import JAX before the code under proof does.
            return []
        used = {seen.instrument for seen in self.genuine[0].observations}
        return sorted(used & BLINDFOLDS.keys())

    def blind(self, instrument: str) -> None:
        """Take an instrument's sight away."""
        text = blindfolded(self.proof, instrument)
        verdict = self.one_side(text, "hazard")
        if verdict.ok:
            # One that takes the sign for given is only caught where there must be none.
            verdict = self.one_side(text, "fixed")
        assert not verdict.ok


def exchanges(code: str) -> list[tuple[str, str]]:
    """Return which side is put in the place of which.

    A proof that looks at which side it is, and not at what that does, is caught by either way:
    one proof and the next take turns, but for those that are attacked in both.
    """
    both = [SIDES, SIDES[::-1]]
    return both if code in BOTH_WAYS else [both[[*SHIPPED].index(code) % 2]]


@pytest.mark.parametrize("code", SHIPPED)
def test_the_claim_holds_and_every_attack_on_it_fails(
    subtests: pytest.Subtests,
    warm: WarmRunner,
    here: Environment,
    write_proof: WriteProof,
    code: str,
) -> None:
    reason = reason_to_skip(SHIPPED[code], here)
    if reason:
        pytest.skip(reason)
    attack = Attack(code, warm, write_proof)
    with subtests.test("the claim holds"):
        verdict = judge(*attack.genuine)
        assert verdict.problems == ()
        assert verdict.ok
    for kept, lost in exchanges(code):
        with subtests.test(f"{kept} in the place of {lost}"):
            attack.put_in_place(kept, lost)
    with subtests.test("the same is measured in both"):
        attack.measure_the_same()
    for instrument in attack.instruments():
        with subtests.test(f"blinded: {instrument}"):
            attack.blind(instrument)


def test_the_attacks_cover_the_instruments(warm: WarmRunner) -> None:
    codes = ("JDP201", "JDP302", "JDP401", "JDP900")
    used = {seen.instrument for code in codes for seen in genuine(code, warm)[0].observations}
    assert used >= BLINDFOLDS.keys() - {".committed"}


@pytest.mark.parametrize("code", ["JDP101", "JDP201", "JDP302", "JDP706"])
def test_a_warm_process_sees_what_one_of_its_own_sees(
    runner: Runner, warm: WarmRunner, code: str
) -> None:
    for side, seen in zip(SIDES, genuine(code, warm), strict=True):
        alone = run_side(runner, SHIPPED[code], side, VIRTUAL)
        assert not alone.failure
        assert (seen.observations, seen.stage) == (alone.observations, alone.stage)
    assert bool(warm.forks) == CAN_FORK


@pytest.mark.parametrize("side", ["hazard", "fixed"])
def test_what_goes_wrong_in_a_warm_process_is_said_as_in_one_of_its_own(
    runner: Runner, warm: WarmRunner, write_proof: WriteProof, side: str
) -> None:
    proof = write_proof(BROKEN)
    assert run_side(warm, proof, side, VIRTUAL).failure == FAILURES[side]
    assert run_side(runner, proof, side, VIRTUAL).failure == FAILURES[side]
    # The next one finds nothing of it.
    assert genuine("JDP302", warm)[0].observations


BROKEN = '''"""It ends in two ways."""
import os

def hazard(accelerator, host):
    raise KeyError("x")

def fixed(accelerator, host):
    print("the last words", flush=True)
    os._exit(3)

def observe(run):
    return run()
'''
FAILURES = {
    "hazard": "raised KeyError: 'x'",
    "fixed": "ended with status 3 and no answer: the last words",
}
