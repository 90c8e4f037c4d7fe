"""What can be said of each shipped proof without running it; running: test_claims_under_attack."""

import pytest

from placement_lint.verify.proofs import NO_JAX, find_proofs, proof_folder

SHIPPED = find_proofs(proof_folder())
WITH_JAX = [code for code, proof in SHIPPED.items() if proof.stage != NO_JAX]


def test_there_are_proofs() -> None:
    assert len(WITH_JAX) >= 13


@pytest.mark.parametrize("code", SHIPPED)
def test_the_proof_is_whole(code: str) -> None:
    SHIPPED[code].check()
    assert len(SHIPPED[code].title) <= 100
    if code in WITH_JAX:
        the_fix_is_not_the_hazard(code)
        the_sides_are_called_in_the_same_way(code)


def the_fix_is_not_the_hazard(code: str) -> None:
    hazard, fixed = (SHIPPED[code].code_of(name).partition("\n")[2] for name in ("hazard", "fixed"))
    assert hazard != fixed


def the_sides_are_called_in_the_same_way(code: str) -> None:
    for name in ("hazard", "fixed"):
        signature, _, body = SHIPPED[code].code_of(name).partition("\n")
        assert signature == f"def {name}(accelerator, host):"
        assert body.strip()
