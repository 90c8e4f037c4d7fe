"""Instruments are run where they work, in subprocesses, and must notice when they are blind."""

from collections.abc import Callable, Iterator

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.observation import SideOutcome
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Runner, run_side
from tests.verify.warm import WarmRunner

pytestmark = [pytest.mark.usefixtures("needs_jax"), pytest.mark.every]
WriteProof = Callable[[str], Proof]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with WarmRunner(time_limit=100) as warm:
        yield warm


HEAD = '''"""Title."""
import time
import jax, jax.numpy as jnp
from placement_lint.verify import instruments
from placement_lint.verify.instruments import *
def hazard(accelerator, host):
    with jax.default_device(host):
        tokens = jnp.zeros((512, 1024), jnp.uint16)
    return tokens
def fixed(accelerator, host): return jax.device_put(hazard(accelerator, host), host)
def number(measured):
    return Observation("test", "test", measured, "-", True, "-")
def observe(run):
'''


def observed(
    runner: Runner, write_proof: WriteProof, body: str, side: str = "hazard"
) -> SideOutcome:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return run_side(runner, write_proof(HEAD + lines), side, VIRTUAL)


GUARD = "return copied_by(run, 'a row', lambda tokens: tokens[0])[0]"


def test_the_guard_names_the_whole_array_and_nothing_when_committed(
    runner: Runner, write_proof: WriteProof
) -> None:
    (hazard,) = observed(runner, write_proof, GUARD).observations
    assert (hazard.measured, hazard.seen) == (2**20, True)
    (fixed,) = observed(runner, write_proof, GUARD, "fixed").observations
    assert (fixed.measured, fixed.seen) == (0, False)


def test_a_guard_blinded_by_an_earlier_call_does_not_see_the_hazard(
    runner: Runner, write_proof: WriteProof
) -> None:
    """JAX does not guard a call that was made before: then the proof must fail, not pass."""
    (hazard,) = observed(runner, write_proof, f"run()[0]\n{GUARD}").observations
    assert not hazard.seen


def test_a_guard_that_cannot_be_set_is_noticed(runner: Runner, write_proof: WriteProof) -> None:
    blinded = f"instruments._GUARD = 'jax_transfer_guard_device_to_host'\n{GUARD}"
    outcome = observed(runner, write_proof, blinded, "fixed")
    assert "BlindInstrumentError: the transfer guard let an implicit copy pass" in outcome.failure


def test_a_guard_stopped_by_something_small_is_noticed(
    runner: Runner, write_proof: WriteProof
) -> None:
    body = """\
small = lambda _: instruments._uncommitted_on(run.host, 3, 5)[0]
return copied_by(run, 'a row', small)[0]"""
    outcome = observed(runner, write_proof, body)
    assert "BlindInstrumentError: the transfer guard stopped at an array of 15" in outcome.failure


def test_where_an_array_is(runner: Runner, write_proof: WriteProof) -> None:
    body = "tokens = run()\nreturn [lands(run, tokens, 'it'), lands(run, tokens[0], 'a row')]"
    tokens, row = observed(runner, write_proof, body).observations
    assert (tokens.text, tokens.seen) == ("cpu:1 (the host), uncommitted", False)
    assert (row.text, row.seen) == ("cpu:0 (the accelerator), uncommitted", True)
    tokens, row = observed(runner, write_proof, body, "fixed").observations
    assert (tokens.text, tokens.seen) == ("cpu:1 (the host), committed", False)
    assert (row.text, row.seen) == ("cpu:1 (the host), committed", False)


def test_commitment(runner: Runner, write_proof: WriteProof) -> None:
    body = "return uncommitted(run, run(), 'it')"
    (hazard,) = observed(runner, write_proof, body).observations
    assert (hazard.measured, hazard.seen) == (False, True)
    (fixed,) = observed(runner, write_proof, body, "fixed").observations
    assert (fixed.measured, fixed.seen) == (True, False)


def test_bytes_on_the_accelerator(runner: Runner, write_proof: WriteProof) -> None:
    body = """\
tokens = run()
before = resident(run, tokens, 'it')
copy = jax.device_put(tokens, run.accelerator)
return [before, resident(run, tokens, 'it')]"""
    before, after = observed(runner, write_proof, body).observations
    assert (before.measured, before.seen) == (0, False)
    assert (after.measured, after.seen) == (2**20, True)


def test_live_arrays_that_do_not_show_are_noticed(runner: Runner, write_proof: WriteProof) -> None:
    body = "jax.live_arrays = lambda: []\nreturn resident(run, run(), 'it')"
    assert "BlindInstrumentError" in observed(runner, write_proof, body).failure


@pytest.mark.parametrize(
    ("action", "failure", "seen"),
    [
        ("[][0]", "", True),
        ("1 + 1", "", False),
        ("{}['list index out of range']", "raised KeyError", None),
        ("(_ for _ in ()).throw(IndexError('another'))", "raised IndexError: another", None),
    ],
)
def test_only_the_expected_exception_is_the_sign(
    runner: Runner, write_proof: WriteProof, action: str, failure: str, seen: bool | None
) -> None:
    body = f"run()\nreturn raises(lambda: {action}, IndexError, 'list index out of range', 'it')"
    outcome = observed(runner, write_proof, body)
    if failure:
        assert failure in outcome.failure
    else:
        (found,) = outcome.observations
        assert found.seen is seen


def test_peak_rss_sees_a_copy_that_is_freed_at_once(
    runner: Runner, write_proof: WriteProof
) -> None:
    body = """\
run()
size = 96 * 2**20
peak_rss(lambda: None)
grown = peak_rss(lambda: len(bytearray(size)))
return [number(-1 if grown is None else grown), number(peak_rss(lambda: None) or 0)]"""
    grown, nothing = observed(runner, write_proof, body).observations
    assert isinstance(nothing.measured, int)
    assert nothing.measured < 4 * 2**20
    if grown.measured == -1:
        pytest.skip("this system does not let a process reset its peak RSS")
    assert isinstance(grown.measured, int)
    assert abs(grown.measured - 96 * 2**20) < 8 * 2**20


def test_median_seconds(runner: Runner, write_proof: WriteProof) -> None:
    body = "run()\nreturn number(median_seconds(lambda: time.sleep(0.02), repeat=3))"
    (found,) = observed(runner, write_proof, body).observations
    assert isinstance(found.measured, float)
    assert 0.02 <= found.measured < 0.2
