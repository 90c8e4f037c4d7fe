"""Each shipped proof, really run; and the same proofs, broken, must fail."""

from collections.abc import Callable

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.observation import Verdict
from placement_lint.verify.proofs import NO_JAX, Proof, find_proofs, proof_folder
from placement_lint.verify.runner import Runner, verify_rules

pytestmark = pytest.mark.usefixtures("needs_jax")
WriteProof = Callable[[str], Proof]
SHIPPED = find_proofs(proof_folder())
WITH_JAX = [code for code, proof in SHIPPED.items() if proof.stage != NO_JAX]


def verdict_of(runner: Runner, proof: Proof) -> Verdict:
    (result,) = verify_rules(runner, [proof], devices=VIRTUAL, jobs=2)
    return result.verdict


@pytest.mark.parametrize("code", SHIPPED)
def test_the_hazard_is_seen_and_the_fix_cures_it(runner: Runner, code: str) -> None:
    verdict = verdict_of(runner, SHIPPED[code])
    assert verdict.problems == ()
    assert verdict.ok


@pytest.mark.parametrize("code", ["JDP101", "JDP201", "JDP302", "JDP401"])
@pytest.mark.parametrize("kept", ["hazard", "fixed"])
def test_one_side_in_the_place_of_the_other_fails(
    runner: Runner, write_proof: WriteProof, code: str, kept: str
) -> None:
    lost = {"hazard": "fixed", "fixed": "hazard"}[kept]
    source = SHIPPED[code].source + f"\n\n{lost} = {kept}\n"
    verdict = verdict_of(runner, write_proof(source))
    assert not verdict.ok
    assert verdict.reproduced == (kept == "hazard")
    assert verdict.cured == (kept == "fixed")


@pytest.mark.parametrize("code", WITH_JAX)
def test_the_fix_is_not_the_hazard(code: str) -> None:
    hazard, fixed = (SHIPPED[code].code_of(name).partition("\n")[2] for name in ("hazard", "fixed"))
    assert hazard != fixed


@pytest.mark.parametrize("code", WITH_JAX)
def test_the_code_is_the_users_own(code: str) -> None:
    """The linter cannot know that a parameter is the host, so the code does not use it as one."""
    for name in ("hazard", "fixed"):
        signature, _, body = SHIPPED[code].code_of(name).partition("\n")
        assert signature == f"def {name}(accelerator, host):"
        assert "host" not in body
        assert "accelerator" not in body
