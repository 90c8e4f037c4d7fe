from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.verify.proofs import (
    Proof,
    ProofError,
    UnknownCodeError,
    choose,
    find_proofs,
    proof_folder,
)

WriteProof = Callable[[str], Proof]
SHIPPED = find_proofs(proof_folder())
WHOLE = '''"""A title.

More.
"""
def hazard(a, h):
    return 1  # kept

def fixed(a, h): ...
def observe(run): ...
'''


def test_the_proofs_of_this_release_are_found() -> None:
    assert {"JDP101", "JDP102", "JDP201", "JDP202", "JDP203", "JDP204"} <= set(SHIPPED)
    assert {"JDP301", "JDP302", "JDP401", "JDP411", "JDP900", "JDP901", "JDP903"} <= set(SHIPPED)


def test_only_folders_named_by_a_code_hold_proofs(tmp_path: Path) -> None:
    for name in ("JDP102", "JDP101", "JDP1011", "JDPxyz", "engine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "proof.py").write_text(WHOLE, encoding="utf-8")
    (tmp_path / "JDP103").mkdir()
    assert list(find_proofs(tmp_path)) == ["JDP101", "JDP102"]


def test_what_is_read_without_running_it(write_proof: WriteProof) -> None:
    proof = write_proof(WHOLE + "raise SystemExit\n")
    proof.check()
    assert proof.title == "A title"
    assert proof.stage == "staged"
    assert proof.code_of("hazard") == "def hazard(a, h):\n    return 1  # kept"


def test_the_stage_that_a_proof_declares(write_proof: WriteProof) -> None:
    assert write_proof(WHOLE + 'STAGE = "plain"\n').stage == "plain"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def hazard(:", "line 1"),
        (WHOLE.replace("def fixed", "def mended"), r"has no fixed\(\)"),
        (WHOLE.replace("def observe", "def look"), r"has no observe\(\)"),
        (WHOLE.replace('"""A title.\n\nMore.\n"""', ""), "has no docstring"),
        (WHOLE + 'STAGE = "cloud"\n', "STAGE must be one of"),
        (WHOLE + "STAGE = print()\n", "STAGE must be a literal"),
        (WHOLE + "JAX = 'new'\n", "JAX: 'new' is not a range of versions"),
        (WHOLE + "JAX = 4\n", "JAX: '4' is not a range of versions"),
        (WHOLE + "NEEDS = 'optax'\n", "NEEDS must be a tuple of names"),
    ],
)
def test_a_proof_that_is_not_whole_is_refused(
    write_proof: WriteProof, source: str, reason: str
) -> None:
    with pytest.raises(ProofError, match=reason):
        write_proof(source).check()


def test_a_proof_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "proof.py"
    with pytest.raises(ProofError, match=r"cannot read proof\.py"):
        Proof("JDP999", path).check()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ProofError, match=r"cannot read proof\.py"):
        Proof("JDP999", path).check()


def test_codes_are_chosen_once_in_order_in_any_case() -> None:
    chosen = choose(["jdp201", "JDP101", "JDP201"], SHIPPED)
    assert [proof.code for proof in chosen] == ["JDP101", "JDP201"]


@pytest.mark.parametrize(
    ("code", "nearest"),
    [("JDP20", "JDP20[0-9]"), ("JPD411", "JDP411"), ("datapth", "datapath"), ("JDP302x", "JDP302")],
)
def test_an_unknown_code_is_answered_with_the_nearest(code: str, nearest: str) -> None:
    message = f"no rule to reproduce is called `{code}`; did you mean `{nearest}`"
    with pytest.raises(UnknownCodeError, match=message):
        choose([code], SHIPPED)
