"""Every claim, attacked: with its hazard, its fix or its sight taken away, `verify` must fail.

A proof that also holds when it is broken proves nothing. The attacks are the same for each proof
that there is, so a new rule is attacked without anyone's doing. A few run always, one for each
kind of stage and instrument; the others are marked `attack`.
"""

import functools
from collections.abc import Callable
from dataclasses import replace

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.observation import Outcome, Verdict, judge
from placement_lint.verify.proofs import FRESH, Proof, find_proofs, proof_folder
from placement_lint.verify.runner import Runner, probe, reason_to_skip, run_side

pytestmark = pytest.mark.usefixtures("needs_jax")
WriteProof = Callable[[str], Proof]

SHIPPED = find_proofs(proof_folder())
ALWAYS = ("JDP101", "JDP201", "JDP302", "JDP401", "JDP900")
every_claim = pytest.mark.parametrize(
    "code",
    [code if code in ALWAYS else pytest.param(code, marks=pytest.mark.attack) for code in SHIPPED],
)

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


@functools.cache
def genuine(code: str) -> tuple[Outcome, Outcome]:
    """Run a shipped proof as it is, once for all the attacks on it."""
    with Runner(time_limit=100) as runner:
        reason = reason_to_skip(SHIPPED[code], probe(runner, VIRTUAL))
        if reason:
            pytest.skip(reason)
        hazard, fixed = (run_side(runner, SHIPPED[code], side, VIRTUAL) for side in SIDES)
    return hazard, fixed


SIDES = ("hazard", "fixed")


def blindfolded(proof: Proof, instrument: str) -> str:
    """Give a proof's text with the blindfold of an instrument right after its docstring."""
    opening, docstring, rest = proof.source.split('"""', 2)
    return f'{opening}"""{docstring}"""\n{BLINDFOLDS[instrument]}\n{rest}'


def one_side(runner: Runner, proof: Proof, code: str, side: str) -> Verdict:
    """Judge a changed side beside the other one as it is."""
    outcomes = dict(zip(SIDES, genuine(code), strict=True))
    outcomes[side] = run_side(runner, proof, side, VIRTUAL)
    return judge(outcomes["hazard"], outcomes["fixed"])


@every_claim
def test_the_claim_holds(code: str) -> None:
    verdict = judge(*genuine(code))
    assert verdict.problems == ()
    assert verdict.ok


@every_claim
@pytest.mark.parametrize(("lost", "kept"), [SIDES, SIDES[::-1]])
def test_one_side_in_the_place_of_the_other_fails(
    runner: Runner, write_proof: WriteProof, code: str, lost: str, kept: str
) -> None:
    genuine(code)
    proof = write_proof(f"{SHIPPED[code].source}\n\n{lost} = {kept}\n")
    verdict = one_side(runner, proof, code, lost)
    assert not verdict.ok
    assert verdict.reproduced == (kept == "hazard")
    assert verdict.cured == (kept == "fixed")


@every_claim
def test_an_observation_that_measures_the_same_in_both_fails(code: str) -> None:
    same = [
        replace(side, observations=tuple(replace(seen, measured=7) for seen in side.observations))
        for side in genuine(code)
    ]
    verdict = judge(*same)
    assert not verdict.ok
    assert all("the observation is blind" in problem for problem in verdict.problems)


@every_claim
def test_a_blinded_instrument_fails(runner: Runner, write_proof: WriteProof, code: str) -> None:
    """Each instrument that the proof uses, and that is known here, is blinded in its turn."""
    hazard, _ = genuine(code)
    used = {seen.instrument for seen in hazard.observations}
    if SHIPPED[code].stage == FRESH:
        # To put a blindfold on would import JAX before the code under proof does.
        used -= BLINDFOLDS.keys()
    for instrument in sorted(used & BLINDFOLDS.keys()):
        proof = write_proof(blindfolded(SHIPPED[code], instrument))
        verdict = one_side(runner, proof, code, "hazard")
        if verdict.ok:
            # One that takes the sign for given is only caught where there must be none.
            verdict = one_side(runner, proof, code, "fixed")
        assert not verdict.ok, instrument


def test_the_attacks_that_always_run_cover_the_instruments_and_exist() -> None:
    assert set(ALWAYS) <= SHIPPED.keys()
    used = {seen.instrument for code in ALWAYS for seen in genuine(code)[0].observations}
    assert used >= BLINDFOLDS.keys() - {".committed"}
