"""Trace on the fixtures: what JAX copies in them is named line by line, and nothing once fixed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from placement_lint.trace.join import FindingState, Judgement, join
from placement_lint.trace.launch import VIRTUAL, TraceTarget, run
from placement_lint.trace.record import TraceRecord, read
from placement_lint.trace.recorder import DRAGGED
from tests import records
from tests.compile_fast import COMPILE_FAST
from tests.marks import NEEDS_JAX
from tests.program_cases import ProgramCase, Text, all_programs
from tests.trace.running import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

MOVES = frozenset({"JDP201", "JDP202"})
PROGRAMS = [each for each in all_programs() if each.run is not None and not each.missing]

pytestmark = NEEDS_JAX

HAZARDS = [program for program in PROGRAMS if program.group == "hazards"]
OTHERS = [program for program in PROGRAMS if program.group != "hazards"]
SAMPLE = [*HAZARDS[::80], *OTHERS[::80]]
_PARTS = 12
_TIME = pytest.mark.timeout(900)
ALL = [
    # In parts, which several processes share. Continuous integration has time for half of them.
    pytest.param(
        PROGRAMS[part::_PARTS],
        id=f"all, part {part}",
        marks=[pytest.mark.fuzz if part % 2 else pytest.mark.every, _TIME],
    )
    for part in range(_PARTS)
]
COMPUTED = {
    "hazards/diffusion-ema-mixin-on-the-host",
    "hazards/dqn-buffer-sampled-by-index",
    "hazards/ema-scope-swaps-weights",
    "hazards/hooks-registered-by-event",
    "hazards/nnx-trainer-that-evaluates-a-host-copy",
    "hazards/nerf-rays-fetched-by-a-partial",
    "hazards/normaliser-fitted-on-the-host-in-a-pipeline",
    "hazards/ppo-rollouts-kept-on-the-host",
    "hazards/replay-dataclass-with-a-default-device",
    "hazards/replay-server-with-a-lock",
    "hazards/resumed-training-from-a-host-template",
    "hazards/stack-of-wrappers-around-an-environment",
}
"""What is copied there was computed, by `.at[…].set` or by what `jax.tree.map` calls, of what the
marked lines have made; or trace names what was reshaped, not the reshaping; or it cannot tell two
arrays of one shape apart that were made in one function."""
FOLLOWING = {
    "hazards/expert-weights-fetched-by-layer",
    "hazards/offloaded-optimizer-loses-its-host",
    "hazards/optimizer-of-frozen-and-trained-parts",
}
"""A computation runs on the host there since an array is not where the marked line wants it: that
line is reported, and no other."""
TOGETHER = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Several such processes share the memory of a GPU."""
DRIVER = '''\
"""Runs each program as if it were alone: its own modules, and its own default device."""
import functools, importlib, json, os, sys, threading
import jax

# JAX makes a context of MLIR for each program, which takes as long as all else of the lowering.
mlir = importlib.import_module("jax._src.interpreters.mlir")
mlir.make_ir_context = functools.cache(mlir.make_ir_context)

failed = {}

def list_of(places):
    try:
        return list(places)
    except TypeError:
        return []

def run(folder, statements):
    try:
        exec(statements, {})
    except Exception as error:
        failed[folder] = repr(error)

for folder, statements, clear in json.load(open("programs.json")):
    if clear:
        jax.clear_caches()  # it compiles what it needs, as if it were alone
    before, path = set(sys.modules), list(sys.path)
    sys.path[:0] = [os.path.abspath(folder), os.path.abspath(os.path.join(folder, "src"))]
    thread = threading.Thread(target=run, args=(folder, statements))
    thread.start()
    thread.join()
    sys.path[:] = path
    # A package without a file asks for the place of the one that it is in.
    # Some libraries answer any attribute of what they put among the modules with an object.
    places = {
        name: [getattr(module, "__file__", None), *list_of(getattr(module, "__path__", ()))]
        for name, module in list(sys.modules.items())
        if name not in before
    }
    for name, own in places.items():
        if any(str(place).startswith(os.path.abspath(folder)) for place in own):
            del sys.modules[name]
    jax.config.update("jax_default_device", None)
sys.exit(json.dumps(failed) if failed else 0)
'''


def kept_in(folder: Path) -> dict[str, str]:
    """Return what has JAX keep what it compiles, for the next process that needs the same."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def write(folder: Path, texts: dict[str, Text]) -> None:
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.expected.text, encoding="utf-8")


@dataclass(frozen=True)
class Run:
    """The programs of one process."""

    status: int
    folder: Path
    whole: TraceRecord

    def part(self, program: ProgramCase) -> TraceRecord:
        """Return what was seen of the files of one program."""
        mine = self.folder / program.name
        return replace(
            self.whole,
            moves=[
                move
                for move in self.whole.moves
                if move.site and Path(move.site.path).is_relative_to(mine)
            ],
            host_runs=[
                host_run
                for host_run in self.whole.host_runs
                if host_run.site and Path(host_run.site.path).is_relative_to(mine)
            ],
            lines={p: n for p, n in self.whole.lines.items() if Path(p).is_relative_to(mine)},
        )


def traced(
    folder: Path,
    programs: Sequence[tuple[ProgramCase, dict[str, Text]]],
    devices: str = VIRTUAL,
) -> Run:
    from safetensors.numpy import save_file

    table = np.arange(16, dtype=np.float32).reshape(4, 4)
    save_file({"tokens": table}, str(folder / "tokens.safetensors"))
    np.save(folder / "tokens.npy", table)
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    for program, files in programs:
        write(folder / program.name, files)
    todo = [(program.name, program.run, program in HAZARDS) for program, _ in programs]
    (folder / "programs.json").write_text(json.dumps(todo), encoding="utf-8")
    ledger = folder / "ledger"
    ledger.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        variables = {**environment(), **TOGETHER}
        if devices == VIRTUAL:
            variables["XLA_FLAGS"] = f"{variables.get('XLA_FLAGS', '')} {COMPILE_FAST}".strip()
            variables |= kept_in(folder.parent / "compiled")
        status = run(TraceTarget("driver.py", False, ()), ledger, devices, variables)
    whole = read(ledger)
    assert whole.failed is None
    return Run(status, folder, whole)


def inside(path: str, program: ProgramCase) -> str:
    return path.rpartition(f"/{program.name}/")[2]


def dragged(program: ProgramCase, run: Run) -> set[tuple[str, int]]:
    return {
        (inside(move.site.path, program), move.site.line)
        for move in run.part(program).moves
        if move.kind == DRAGGED and move.site is not None
    }


def wanted(files: dict[str, Text], *, missed: bool = True) -> set[tuple[str, int]]:
    return {
        (path, each.line)
        for path, text in files.items()
        for each in (*text.expected.findings, *(text.expected.missed if missed else ()))
        if each.code in MOVES
    }


def is_changed(program: ProgramCase, fixed: dict[str, Text]) -> bool:
    return any(text.expected.text != program.texts()[path] for path, text in fixed.items())


def test_there_are_enough() -> None:
    assert len(HAZARDS) >= 20
    assert any(wanted(program.files) for program in SAMPLE)
    assert any(is_changed(program, program.fixed(unsafe=True)) for program in SAMPLE)


@pytest.mark.parametrize("programs", [pytest.param(SAMPLE, id="sample"), *ALL])
def test_as_written(tmp_path: Path, programs: list[ProgramCase]) -> None:
    """One test, not one for each program: they share a process that takes long to start.

    All of them: `pytest -m "every or fuzz" tests/trace/test_programs.py`.
    """
    run = traced(tmp_path, [(program, program.files) for program in programs])
    assert run.status == 0
    assert {p.id: dragged(p, run) for p in programs} == {p.id: wanted(p.files) for p in programs}
    for program in programs:
        if program in HAZARDS:
            check_findings(program, run)
            check_creations(program, run)
        check_host_runs(program, run)


def check_host_runs(program: ProgramCase, run: Run) -> None:
    """Where JDP208 is expected, the computation ran on the host; nowhere does one come back that
    no rule speaks of.
    """
    flagged = {
        (path, each.line)
        for path, text in program.files.items()
        for each in text.expected.findings
        if each.code == "JDP208"
    }
    part = run.part(program)
    if program.id in FOLLOWING or (not flagged and not part.host_runs):
        return
    seen = join(part)
    places = {
        judgement: {
            (inside(place.site.path, program), place.site.line)
            for place in seen.on_host(judgement)
            if place.site is not None
        }
        for judgement in Judgement
    }
    assert places[Judgement.FLAGGED] == flagged, program.id
    assert places[Judgement.NOT_FLAGGED] == set(), program.id


def check_findings(program: ProgramCase, run: Run) -> None:
    seen = join(run.part(program))
    undecided = {(path, line) for path, line, _ in program.undecided}
    states = {
        (inside(each.finding.path, program), each.finding.span.line): each.state
        for each in seen.findings
        if each.is_about_moves
    }
    for place in wanted(program.files, missed=False) - undecided:
        assert states[place] is FindingState.CONFIRMED, (program.id, place)
    unflagged = {
        (inside(line.site.path, program), line.site.line)
        for line in seen.judged(Judgement.NOT_FLAGGED)
        if line.site is not None
    }
    missed = wanted(program.files) - wanted(program.files, missed=False)
    assert unflagged == missed, program.id


def check_creations(program: ProgramCase, run: Run) -> None:
    if program.id in COMPUTED:
        return
    if program.needs:
        # What a library makes in code that it compiles, trace sees nobody make.
        return
    made = {
        (inside(move.made.path, program), line)
        for move in run.part(program).moves
        if move.made is not None and move.exact
        for line in range(move.made.line, move.made.end_line + 1)
    }
    expected = {(path, line) for path, text in program.files.items() for line in text.made_here}
    assert expected <= made, program.id


@pytest.mark.parametrize(
    "programs", [pytest.param(SAMPLE, id="sample", marks=pytest.mark.every), *ALL]
)
def test_nothing_moves_once_they_are_fixed(tmp_path: Path, programs: list[ProgramCase]) -> None:
    """All of them: `pytest -m "every or fuzz" tests/trace/test_programs.py`.

    But for those that no fix changes: of these it would say what the test above says.
    """
    fixed = {each.id: each.fixed(unsafe=True) for each in programs if each in HAZARDS}
    hazards = [each for each in programs if each.id in fixed and is_changed(each, fixed[each.id])]
    fixed = {program.id: fixed[program.id] for program in hazards}
    run = traced(tmp_path, [(program, fixed[program.id]) for program in hazards])
    assert run.status == 0
    assert {p.id: dragged(p, run) for p in hazards} == {p.id: wanted(fixed[p.id]) for p in hazards}


def test_on_a_gpu_they_move_where_they_do_here() -> None:
    """The newest record of them, which `python -m tests.trace.programs_record` writes."""
    path = records.newest("-traced-programs.json", records.RECORDS)
    assert path is not None
    whole = records.read(path, 1)
    assert whole["devices"] == "gpu"
    assert whole["accelerator"]
    assert whole["programs"] > 150
    assert whole["differing"] == {}
