"""Trace on a mesh: what calls copy to all of its devices, state that was made on one, and what is
compiled again because of that; joined with JDP706 and JDP707.

JAX is started for each program: `pytest -m every tests/trace`.
"""

from __future__ import annotations

from textwrap import dedent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from placement_lint.trace.compilations import AskedCall, Compilations, placement
from placement_lint.trace.recorder import size_on
from tests.marks import NEEDS_JAX
from tests.trace.running import Traced, trace

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data"))
whole = NamedSharding(mesh, P())
"""


def sharding(devices: str, part: tuple[int, ...] = (), *, spec: tuple[str, ...] = ()) -> Any:
    """Give a sharding over devices with names of one letter, each of which gets such a part."""
    made = SimpleNamespace(device_set={*devices}, shard_shape=lambda _: part, spec=spec)
    made.is_equivalent_to = lambda other, _: (other.device_set, other.spec) == ({*devices}, spec)
    return made


def array(placed: Any, shape: tuple[int, ...] = (8, 128)) -> Any:
    """Give an array of such a sharding; None: NumPy data."""
    if placed is None:
        return np.zeros(shape, np.float32)
    size = 4 * int(np.prod(shape))
    return SimpleNamespace(
        shape=shape, ndim=len(shape), dtype=np.dtype("float32"), nbytes=size, sharding=placed
    )


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (sharding("b"), 4096),
        (sharding("abcd", (8, 128)), 3 * 4096),
        (sharding("bcd", (8, 128)), 3 * 4096),
        (sharding("abcd", (2, 128)), 3 * 1024),
    ],
)
def test_the_bytes_that_come_to_others(wanted: Any, size: int) -> None:
    assert size_on(array(sharding("a")), wanted) == size


def test_data_of_numpy_is_on_no_device() -> None:
    assert size_on(array(None), sharding("abcd", (8, 128))) == 4 * 4096


def test_an_empty_array_takes_nothing() -> None:
    assert size_on(array(sharding("a"), (0, 128)), sharding("abcd", (0, 128))) == 0


def step(params: Any, batch: Any) -> Any:
    """Stand for the function that is jitted."""


ONE, SPLIT, WHOLE = sharding("a"), sharding("abcd", spec=("data",)), sharding("abcd")


class Executable:
    """As hashable, and as weakly kept, as one of JAX."""


class Program:
    """What is executed: an executable of its own for each call, where none is given."""

    def __init__(self) -> None:
        self.compilations = Compilations()
        self._kept: list[Executable] = []

    def calls(
        self, *operands: Any, function: Any = step, executable: Executable | None = None
    ) -> Any:
        made = executable or Executable()
        self._kept.append(made)
        return self.compilations.because_of(
            AskedCall(function, 5), made, operands, lambda _: "a line"
        )


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    named = "placement_lint.simulated_devices.device_name"
    monkeypatch.setattr(named, lambda device: f"cpu:{device}")
    return Program()


def test_state_of_one_device_that_is_on_the_mesh_at_the_next_call(program: Program) -> None:
    assert program.calls(array(ONE), array(SPLIT, (64,))) is None
    why = program.calls(array(SPLIT), array(SPLIT, (64,)))
    assert (why.shape, why.dtype, why.others) == ((8, 128), "float32", 0)
    assert (why.before, why.after) == ("cpu:a", "P('data') on 4 devices")
    assert why.made == "a line"


def test_of_several_operands_the_largest_is_said(program: Program) -> None:
    program.calls(array(ONE, ()), array(ONE), array(None, (64,)))
    why = program.calls(array(WHOLE, ()), array(SPLIT), array(WHOLE, (64,)))
    assert (why.shape, why.others) == ((8, 128), 2)


def test_the_earlier_call_that_is_most_like_this_one_is_compared(program: Program) -> None:
    program.calls(array(ONE), array(ONE, (64,)))
    program.calls(array(SPLIT), array(SPLIT, (64,)))
    why = program.calls(array(WHOLE), array(SPLIT, (64,)))
    assert (why.before, why.others) == ("P('data') on 4 devices", 0)


def test_numpy_in_place_of_an_array_of_the_mesh(program: Program) -> None:
    program.calls(array(None))
    assert program.calls(array(SPLIT)).before == "NumPy"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param([array(SPLIT)], [array(SPLIT)], id="a static argument differs"),
        pytest.param([array(SPLIT)], [array(WHOLE, (16, 128))], id="other shapes"),
        pytest.param([array(ONE)], [array(sharding("b"))], id="no mesh"),
        pytest.param([array(None)], [array(ONE)], id="NumPy and one device"),
    ],
)
def test_what_is_compiled_for_another_reason(program: Program, first: Any, second: Any) -> None:
    program.calls(*first)
    assert program.calls(*second) is None


def test_another_function_and_one_of_jax_are_not_compared(program: Program) -> None:
    program.calls(array(ONE))
    assert program.calls(array(SPLIT), function=lambda params: params) is None
    for placed in (ONE, SPLIT):
        assert program.calls(array(placed), function=np.sum) is None
        assert program.calls(array(placed), function=None) is None


def test_an_executable_is_compared_once(program: Program) -> None:
    executable = Executable()
    program.calls(array(ONE), executable=executable)
    assert program.calls(array(SPLIT), executable=executable) is None


def test_the_time_is_taken_once() -> None:
    compilations = Compilations()
    compilations.asked(step)
    assert compilations.take() == AskedCall(step, 0)
    assert compilations.take() == AskedCall(None, 0)


def test_how_a_sharding_without_a_spec_is_said() -> None:
    split = SimpleNamespace(device_set={*"abcd"}, is_fully_replicated=False)
    assert placement(split) == "split on 4 devices"


def traced(folder: Path, text: str, **files: str) -> Traced:
    for name, code in {"train": text, **files}.items():
        (folder / f"{name}.py").write_text(HEAD + dedent(code), encoding="utf-8")
    return trace(folder, "train.py", variables=EIGHT)


def lines_of(text: str, mark: str) -> list[int]:
    """Give the lines of a program that hold a mark."""
    lines = (HEAD + dedent(text)).splitlines()
    return [number for number, line in enumerate(lines, start=1) if f"# {mark}" in line]


PARAMETERS = """
    step = jax.jit(lambda params, batch: batch @ params)


    def main():
        params = jnp.ones((512, 512))
        for _ in range(3):
            batch = jax.device_put(np.ones((64, 512), np.float32), rows)
            print(step(params, batch).shape)  # here


    main()
"""


@pytest.mark.every
@NEEDS_JAX
def test_parameters_that_each_call_replicates(tmp_path: Path) -> None:
    done = traced(tmp_path, PARAMETERS)
    (found,) = [each for each in done.report["findings"] if each["code"] == "JDP707"]
    assert found["state"] == "confirmed"
    (here,) = lines_of(PARAMETERS, "here")
    (line,) = done.lines("spread")["train.py", here]
    assert (line["count"], line["bytes"]) == (3, 3 * 7 * 2**20)
    assert [each["again"] for each in line["arrays"]] == [False, True]
    assert not done.report["recompilations"]


STATE = """
    def init(params):
        zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
        return {"mu": zeros, "count": jnp.zeros((), jnp.int32)}


    @jax.jit
    def train_step(params, state, batch):
        def loss(params):
            return jnp.mean((batch @ params["in"] @ params["out"]) ** 2)

        grads = jax.grad(loss)(params)
        mu = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, state["mu"], grads)
        params = jax.tree_util.tree_map(lambda p, m: p - 0.01 * m, params, mu)
        return params, {"mu": mu, "count": state["count"] + 1}


    def main():
        params = {"in": np.ones((64, 256), np.float32), "out": np.ones((256, 8), np.float32)}
        params = jax.device_put(params, rows)
        state = jax.jit(init)(params)  # made
        for _ in range(4):
            batch = jax.device_put(np.ones((32, 64), np.float32), rows)
            params, state = train_step(params, state, batch)  # met


    main()
"""


@pytest.mark.every
@NEEDS_JAX
def test_state_made_on_one_device_meets_a_mesh(tmp_path: Path) -> None:
    done = traced(tmp_path, STATE)
    (made,), (met,) = lines_of(STATE, "made"), lines_of(STATE, "met")
    (found,) = [each for each in done.report["findings"] if each["code"] == "JDP706"]
    assert (found["line"], found["state"]) == (made, "confirmed")
    # Both moments and the counter, once: after that they are where the step has put them.
    assert (found["count"], found["recompilations"]) == (3, 1)
    (again,) = done.report["recompilations"]
    assert (again["at"]["line"], again["count"]) == (met, 1)
    assert again["because"]["before"] == "cpu:0"
    assert again["because"]["after"].endswith("on 8 devices")
    assert again["because"]["other_operands"] == 2
    assert again["because"]["made"]["line"] == made
    assert again["seconds"] > 0


CURED = STATE.replace("jax.jit(init)(params)", "jax.device_put(jax.jit(init)(params), whole)")


@pytest.mark.every
@NEEDS_JAX
def test_state_put_on_the_mesh_is_compiled_for_once_less(tmp_path: Path) -> None:
    done = traced(tmp_path, CURED)
    assert not done.lines("spread", "small")
    # The moments come out of the step split, as its parameters: it is compiled for that once.
    befores = [each["because"]["before"] for each in done.report["recompilations"]]
    assert befores == ["P() on 8 devices"]


EVALUATION = """
    from evaluation import evaluate

    table = np.ones((512, 512), np.float32)
    weights = jax.device_put(table, whole)
    batches = [np.ones((64, 512), np.float32) for _ in range(3)]
    print(evaluate(table, batches), evaluate(weights, batches))
"""
EVALUATE = """
    loss = jax.jit(lambda table, batch: (batch @ table).mean())


    def evaluate(table, batches):
        return [float(loss(table, jax.device_put(batch, rows))) for batch in batches]  # here
"""


@pytest.mark.every
@NEEDS_JAX
def test_numpy_that_is_replicated_again_is_a_missed_alarm(tmp_path: Path) -> None:
    done = traced(tmp_path, EVALUATION, evaluation=EVALUATE)
    (here,) = lines_of(EVALUATE, "here")
    (line,) = done.lines("spread")["evaluation.py", here]
    assert (line["count"], line["bytes"]) == (3, 3 * 8 * 2**20)
    assert line["judgement"] == "not-flagged"
    assert line["arrays"][0]["from"] == []
    (again,) = done.report["recompilations"]
    assert (again["because"]["before"], again["because"]["after"]) == (
        "NumPy",
        "P() on 8 devices",
    )


ONCE = """
    norm = jax.jit(lambda params, batch: (batch @ params).mean())
    print(norm(jnp.ones((512, 512)), jax.device_put(np.ones((64, 512), np.float32), rows)))
"""


@pytest.mark.every
@NEEDS_JAX
def test_what_is_copied_once_is_no_missed_alarm(tmp_path: Path) -> None:
    done = traced(tmp_path, ONCE)
    assert done.report["summary"]["not_flagged"] == 0
    assert [line["judgement"] for line in done.report["lines"]] == ["beside"]


RESTORED = """
    @jax.jit
    def step(params, batch):
        return params - (batch @ params).mean()


    def restore():
        return jax.device_put(np.ones((64, 64), np.float32), jax.devices()[0])  # committed


    def main():
        params = restore()
        for _ in range(2):
            params = step(params, jax.device_put(np.ones((8, 64), np.float32), rows))  # used


    main()
"""


@pytest.mark.every
@NEEDS_JAX
def test_state_committed_to_one_device_ends_the_program(tmp_path: Path) -> None:
    done = traced(tmp_path, RESTORED)
    (committed,), (used,) = lines_of(RESTORED, "committed"), lines_of(RESTORED, "used")
    said = [line for line in done.err.splitlines() if line.startswith("placement-lint trace: ")]
    assert said == [
        f"placement-lint trace: train.py:{used} computes with an array of one device and one of "
        f"a mesh: the one was committed to its device at train.py:{committed}"
    ]
    assert "incompatible devices" in done.err
