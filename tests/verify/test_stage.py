"""The stage, in a subprocess: what user code sees on it."""

from collections.abc import Callable

import pytest

from placement_lint.verify.environment import VIRTUAL
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Runner, probe, run_side
from placement_lint.verify.versions import is_within

pytestmark = [pytest.mark.usefixtures("needs_jax"), pytest.mark.every]
WriteProof = Callable[[str], Proof]

PROOF = '''"""Ask the stage a question."""
import jax, jax.numpy as jnp
from placement_lint.verify.observation import Observation
STAGE = {stage!r}
def hazard(accelerator, host):
    return {expression}
def fixed(accelerator, host): ...
def observe(run):
    return Observation("python", "answer", repr(run()), "-", True, "-")
'''


def answer(runner: Runner, proof: Proof) -> str:
    outcome = run_side(runner, proof, "hazard", VIRTUAL)
    assert outcome.failure == ""
    return str(outcome.observations[0].measured)


@pytest.mark.parametrize(
    ("stage", "questions"),
    [
        (
            "staged",
            {
                "jax.devices() == [accelerator]": "True",
                "jax.devices('gpu') == jax.devices('cuda') == [accelerator]": "True",
                "jax.devices('cpu') == [host]": "True",
                "jax.local_devices() == [accelerator]": "True",
                "jax.local_devices(backend='cpu') == [host]": "True",
                "(jax.device_count(), jax.local_device_count())": "(1, 1)",
                "jax.default_backend()": "'gpu'",
                "[d.platform for d in jax.devices() + jax.devices('cpu')]": "['gpu', 'cpu']",
                "jnp.zeros(3).devices() == {accelerator}": "True",
                "(jnp.zeros(3) + jax.jit(jnp.sin)(1.0)).devices() == {accelerator}": "True",
                "jax.device_put(jnp.zeros(3), host).devices() == {host}": "True",
            },
        ),
        (
            "plain",
            {
                "accelerator == host == jax.devices()[0] == jax.devices('cpu')[0]": "True",
                "len(jax.devices())": "1",
                "jax.default_backend()": "'cpu'",
                "jax.devices.__module__.startswith('jax')": "True",
            },
        ),
    ],
)
def test_what_code_sees_on_the_stage(
    runner: Runner, write_proof: WriteProof, stage: str, questions: dict[str, str]
) -> None:
    expression = f"[repr(answer) for answer in ({', '.join(questions)},)]"
    proof = write_proof(PROOF.format(stage=stage, expression=expression))
    assert answer(runner, proof) == repr(list(questions.values()))


NAMES = """\
import jax, jax.numpy as jnp
def ask(accelerator, host):
    with jax.default_device("cpu"):
        yield jnp.zeros(3).devices() == {host}
        with jax.default_device("gpu"):
            yield jnp.zeros(3).devices() == {accelerator}
        with jax.default_device(None):
            yield jnp.zeros(3).devices() == {accelerator}
    jax.config.update("jax_default_device", "cpu")
    yield jnp.zeros(3).devices() == {host}
    jax.config.update("jax_default_device", None)
    yield jax.default_device("cpu")(lambda: jnp.zeros(3))().devices() == {host}
    try:
        jax.default_device("cuda:0").__enter__()
    except ValueError as error:
        yield "cuda:0" in str(error)
    try:
        with jax.default_device: pass
    except (TypeError, AttributeError) as error:
        # Before Python 3.11 it is an AttributeError.
        yield "context manager" in str(error) or str(error) == "__enter__"
"""


def test_platform_names_as_default_devices_are_played(
    runner: Runner, write_proof: WriteProof
) -> None:
    environment = probe(runner, VIRTUAL)
    if not is_within(environment.jax, ">=0.4.36"):
        pytest.skip("JAX takes no names as default devices before 0.4.36")
    expression = "list(ask(accelerator, host))"
    source = PROOF.format(stage="staged", expression=expression).replace(
        "def hazard", f"{NAMES}def hazard"
    )
    assert answer(runner, write_proof(source)) == repr([True] * 7)


def test_a_backend_that_is_not_played_is_still_missing(
    runner: Runner, write_proof: WriteProof
) -> None:
    proof = write_proof(PROOF.format(stage="staged", expression="jax.devices('nonsense')"))
    outcome = run_side(runner, proof, "hazard", VIRTUAL)
    assert "raised RuntimeError: Unknown backend" in outcome.failure


def test_the_stage_says_what_it_is(runner: Runner, write_proof: WriteProof) -> None:
    staged = run_side(
        runner, write_proof(PROOF.format(stage="staged", expression="1")), "hazard", VIRTUAL
    )
    assert staged.stage == "virtual: cpu:0 stands in for the accelerator, cpu:1 for the host"
    plain = run_side(
        runner, write_proof(PROOF.format(stage="plain", expression="1")), "hazard", VIRTUAL
    )
    assert plain.stage == "plain: JAX untouched, only cpu:0"


def test_the_callers_environment_does_not_reach_the_stage(
    runner: Runner, write_proof: WriteProof, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "nonsense")
    monkeypatch.setenv("XLA_FLAGS", "--no_such_flag")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    proof = write_proof(PROOF.format(stage="staged", expression="str(jnp.arange(3.0).dtype)"))
    assert answer(runner, proof) == repr("float32")


def test_the_probe_says_what_jax_is_here(runner: Runner) -> None:
    environment = probe(runner, VIRTUAL)
    assert environment.default_backend == "cpu"
    assert not environment.has_accelerator
    assert len(environment.devices) == 2
    assert environment.jax[0].isdigit()
    assert environment.safetensors[0].isdigit()
