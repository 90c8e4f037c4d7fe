"""The harness must fail what it cannot see. These proofs need no jax, so they run fast."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.observation import Verdict
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import ChildError, Runner, run_side, verify_rules

WriteProof = Callable[[str], Proof]

HEAD = '''"""Title."""
import os, signal, sys, time
from placement_lint.verify.observation import Observation
STAGE = "none"
def observation(measured, seen):
    return Observation("ruler", "length", measured, f"{measured} m", seen, "saw 1 m")
'''
HAZARD = "def hazard(accelerator, host): return 8\n"
FIXED = "def fixed(accelerator, host): return 0\n"
OBSERVE = """\
def observe(run):
    value = run()
    return observation(value, value > 0)
"""


def verdict_of(runner: Runner, proof: Proof) -> Verdict:
    (result,) = verify_rules(runner, [proof], devices=VIRTUAL, jobs=2)
    assert result.verdict.ok == (not result.verdict.problems)
    return result.verdict


def test_a_good_proof_holds(runner: Runner, write_proof: WriteProof) -> None:
    assert verdict_of(runner, write_proof(HEAD + HAZARD + FIXED + OBSERVE)).ok


def test_a_hazard_replaced_by_its_fix_fails(runner: Runner, write_proof: WriteProof) -> None:
    verdict = verdict_of(
        runner, write_proof(HEAD + HAZARD.replace("return 8", "return 0") + FIXED + OBSERVE)
    )
    assert verdict.problems == ("the hazard was not reproduced: length",)


def test_a_fix_replaced_by_its_hazard_fails(runner: Runner, write_proof: WriteProof) -> None:
    verdict = verdict_of(
        runner, write_proof(HEAD + HAZARD + FIXED.replace("return 0", "return 8") + OBSERVE)
    )
    assert verdict.problems == ("the fix does not cure: length",)


@pytest.mark.parametrize(
    ("observe", "reason"),
    [
        ("    run()\n", "observe() returned NoneType"),
        ("    run()\n    return True\n", "observe() returned bool"),
        ("    run()\n    return []\n", "observe() saw nothing"),
        ("    return observation(8, True)\n", "observe() never ran the code"),
        ("    run()\n    return observation(8, True)\n", "the fix does not cure"),
        ("    run()\n    return observation(0, False)\n", "the hazard was not reproduced"),
        ("    return observation(8, run() > 0)\n", "the observation is blind"),
        ("    run()\n    return observation(None, True)\n", "measured nothing"),
        (
            "    try:\n        run() / 0\n    except ArithmeticError:\n        pass\n",
            "observe() returned NoneType",
        ),
        ("    run()\n    raise OSError('no ruler')\n", "raised OSError: no ruler"),
    ],
)
def test_a_blinded_observation_fails(
    runner: Runner, write_proof: WriteProof, observe: str, reason: str
) -> None:
    verdict = verdict_of(runner, write_proof(f"{HEAD}{HAZARD}{FIXED}def observe(run):\n{observe}"))
    assert not verdict.ok
    assert any(reason in problem for problem in verdict.problems), verdict.problems


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('bad\\n  luck')", "raised ValueError: bad luck"),
        ("raise SystemExit(0)", "raised SystemExit: 0"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("os._exit(0)", "ended with status 0 and no answer"),
        ("print('last words', flush=True); os._exit(3)", "status 3 and no answer: last words"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("import not_there", "no module: not_there"),
    ],
)
@pytest.mark.parametrize("side", ["hazard", "fixed"])
def test_a_crash_is_a_failure_with_a_short_reason(
    runner: Runner, write_proof: WriteProof, side: str, body: str, reason: str
) -> None:
    good = {"hazard": HAZARD, "fixed": FIXED}
    good[side] = f"def {side}(accelerator, host):\n    {body}\n"
    verdict = verdict_of(runner, write_proof(HEAD + good["hazard"] + good["fixed"] + OBSERVE))
    assert not verdict.ok
    (problem,) = verdict.problems
    assert problem.startswith(f"{side}: ")
    assert reason in problem
    assert "Traceback" not in problem


def test_a_proof_that_breaks_while_it_is_loaded_fails(
    runner: Runner, write_proof: WriteProof
) -> None:
    verdict = verdict_of(runner, write_proof(HEAD + HAZARD + FIXED + OBSERVE + "1 / 0\n"))
    assert "raised ZeroDivisionError" in verdict.problems[0]


def test_a_proof_that_is_not_whole_fails(runner: Runner, write_proof: WriteProof) -> None:
    verdict = verdict_of(runner, write_proof(HEAD + HAZARD + OBSERVE))
    assert verdict.problems[0] == "hazard: proof.py has no fixed()"


def test_out_of_time_is_a_failure_and_ends_the_process_and_its_children(
    write_proof: WriteProof, tmp_path: Path
) -> None:
    left = tmp_path / "left.pid"
    body = f"""\
def hazard(accelerator, host):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open({str(left)!r}, "w").write(str(child.pid))
    time.sleep(60)
"""
    proof = write_proof(HEAD + body + FIXED + OBSERVE)
    with Runner(time_limit=2) as runner:
        started = time.monotonic()
        outcome = run_side(runner, proof, "hazard", VIRTUAL)
        assert time.monotonic() - started < 20
    assert outcome.failure == "no answer within 2 s"
    assert not is_running(int(left.read_text(encoding="ascii")))


def is_running(pid: int) -> bool:
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text(encoding="ascii").split()[2] == "Z":
            return False
        time.sleep(0.1)
    return True


def test_stopping_ends_what_is_running_and_starts_no_more(
    write_proof: WriteProof, tmp_path: Path
) -> None:
    begun = tmp_path / "begun.pid"
    body = f"open({str(begun)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    proof = write_proof(HEAD + HAZARD.replace("return 8", body) + FIXED + OBSERVE)
    started = time.monotonic()
    with Runner() as runner, ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_side, runner, proof, "hazard", VIRTUAL)
        while not (begun.exists() and begun.read_text(encoding="ascii")):
            assert time.monotonic() - started < 20
            time.sleep(0.05)
        runner.stop()
        assert "ended by SIGKILL" in running.result().failure
        assert run_side(runner, proof, "hazard", VIRTUAL).failure == "interrupted"
    assert not is_running(int(begun.read_text(encoding="ascii")))
    assert time.monotonic() - started < 30


def test_results_come_in_the_order_of_the_proofs(runner: Runner, tmp_path: Path) -> None:
    proofs = []
    for number in range(4):
        path = tmp_path / f"proof{number}.py"
        wait = (
            f"def hazard(accelerator, host):\n    time.sleep({0.3 * (3 - number)})\n    return 8\n"
        )
        path.write_text(HEAD + wait + FIXED + OBSERVE, encoding="utf-8")
        proofs.append(Proof(f"JDP99{number}", path))
    results = list(verify_rules(runner, proofs, devices=VIRTUAL, jobs=4))
    assert [result.proof for result in results] == proofs
    assert all(result.verdict.ok for result in results)


def test_what_the_code_prints_does_not_disturb_the_answer(
    runner: Runner, write_proof: WriteProof
) -> None:
    loud = HAZARD.replace("return 8", "print('{\"error\": 1}', file=sys.stderr); return 8")
    outcome = run_side(runner, write_proof(HEAD + loud + FIXED + OBSERVE), "hazard", VIRTUAL)
    assert outcome.failure == ""
    assert outcome.output.strip() == '{"error": 1}'


def test_each_side_runs_in_an_empty_folder_of_its_own(
    runner: Runner, write_proof: WriteProof
) -> None:
    litter = (
        "def hazard(accelerator, host):\n    open('x', 'x').close()\n    return len(os.listdir())"
    )
    proof = write_proof(f"{HEAD}{litter}\n{FIXED}{OBSERVE}")
    for _ in range(2):
        (found,) = run_side(runner, proof, "hazard", VIRTUAL).observations
        assert found.measured == 1
    assert [path.name for path in proof.path.parent.iterdir()] == ["proof.py"]


def test_an_unknown_task_is_refused(runner: Runner, tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="raised KeyError"):
        runner.run({"task": "dance"}, devices=None, folder=tmp_path)


def test_the_parent_imports_no_jax() -> None:
    program = (
        "import sys; import placement_lint.cli.verify, placement_lint.verify.command; "
        "heavy = {'jax', 'jaxlib', 'numpy', 'safetensors', 'libcst'}; print(heavy & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
