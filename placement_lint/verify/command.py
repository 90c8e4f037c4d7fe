"""The command `placement-lint verify`: from what was asked for to what is printed."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from placement_lint.verify import report
from placement_lint.verify.datapath_run import (
    DEFAULT_SIZE,
    SMALLEST_SIZE,
    DataPathError,
    DataPathResult,
    judge_growth,
    run_sizes,
    sizes_that_fit,
)
from placement_lint.verify.environment import GPU, VIRTUAL
from placement_lint.verify.interrupts import stopped_by_signals
from placement_lint.verify.meshpath_run import MeshPathResult, run_meshpath
from placement_lint.verify.models import execute_models, models_as_json, models_text
from placement_lint.verify.proofs import (
    PROCESSES,
    Proof,
    UnknownCodeError,
    choose,
    find_proofs,
    proof_folder,
)
from placement_lint.verify.runner import (
    ChildError,
    Environment,
    RuleResult,
    Runner,
    probe,
    verify_rules,
)
from placement_lint.verify.sizes import format_size, parse_size
from placement_lint.version import __version__, installing

OK, FAILED, USAGE = 0, 1, 2
DATAPATH, MESHPATH = "datapath", "meshpath"
ALL_THAT_FIT = "auto"
_MOST_JOBS = 8
_MINUTES_FROM = 90
"""Seconds from which a time is said in minutes."""
QUICK_SIZE = 16 * 2**20
"""Bytes of the dataset of the data path under --quick."""


class VerifyProgress(Protocol):
    """A line on the terminal that says how far the run is."""

    def show(self, text: str) -> None:
        """Show a text in place of what is shown."""

    def clear(self) -> None:
        """Take away what is shown: something else is to be written there."""


class UsageError(Exception):
    """What was asked for cannot be done here; the message is for the user."""


@dataclass(frozen=True)
class VerifyRequest:
    """What was asked for on the command line, as it was written there."""

    codes: Sequence[str] = ()
    devices: str = "auto"
    size: str | None = None
    sizes: str | None = None
    output_format: str = "text"
    jobs: str = "auto"
    report: str | None = None
    verbose: bool = False
    quick: bool = False
    models: bool = False
    configs: Sequence[str] = ()
    """Settings files, and settings in TOML, from which models are read before those of files."""


@dataclass(frozen=True)
class _Plan:
    """What is to be run."""

    proofs: Sequence[Proof]
    without_proof: Sequence[str]
    with_datapath: bool
    with_meshpath: bool
    sizes: Sequence[int] | None
    jobs: int
    page: Path | None


def verify(request: VerifyRequest, status: VerifyProgress | None = None) -> int:
    """Reproduce the hazards of the rules with these codes (all, and the data path, when there are
    none).

    Prints a report, and shows its progress in `status`. Returns 0 when every claim holds; 1 when
    one does not; and 2, with a message on stderr, when they could not be run, or when one that was
    asked for by its code makes no claim about the JAX that is here.
    """
    if request.models:
        return _verify_models(request)
    try:
        with stopped_by_signals():
            done, plan = _run(request, status)
            if plan.page is not None:
                _write_page(plan.page, done)
    except (UsageError, UnknownCodeError, DataPathError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    if request.output_format == "json":
        print(json.dumps(report.as_json(done, verbose=request.verbose), indent=2))
    if not done.held:
        return FAILED
    skipped = [result.proof.code for result in done.rules if result.skipped]
    if request.codes and skipped:
        print(
            f"note: skipped here, and so not reproduced: {', '.join(skipped)}",
            file=sys.stderr,
        )
        return USAGE
    return OK


def _verify_models(request: VerifyRequest) -> int:
    """Execute the models in the settings of the current directory, as `verify` does the rules."""
    from placement_lint.config.values import SettingsError

    here = Path.cwd()
    try:
        models = _models_in(here, request)
        with stopped_by_signals(), Runner() as runner:
            environment = environment_here(runner)
            results = execute_models(runner, models, here)
    except (UsageError, SettingsError, ChildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    if request.output_format == "json":
        print(json.dumps(models_as_json(results, __version__, environment), indent=2))
    else:
        print(models_text(results, __version__, environment, verbose=request.verbose))
    if any(result.wrong for result in results):
        return FAILED
    return OK if all(result.calls for result in results) else USAGE


def _models_in(folder: Path, request: VerifyRequest) -> Mapping[str, Mapping[str, str]]:
    """Return the models in the settings of a directory; raises UsageError, SettingsError."""
    from placement_lint.config.load import SettingsLoader

    if request.codes or request.quick or request.report or request.size or request.sizes:
        raise UsageError("--models runs no rules and no data path: it cannot be combined with them")
    models = SettingsLoader(configs=request.configs).for_folder(str(folder)).models
    if not models:
        raise UsageError("the settings of this directory have no `models`")
    return models


def _run(request: VerifyRequest, status: VerifyProgress | None) -> tuple[report.Done, _Plan]:
    """Run what was asked for, and print it as it comes when text is wanted."""
    started = time.monotonic()
    text = request.output_format == "text"

    def say(words: str) -> None:
        # At once: proofs take their time.
        if text:
            if status is not None:
                status.clear()
            print(words, flush=True)

    if request.configs:
        raise UsageError("--config: only --models reads settings")
    plan = _planned(request)
    rules: list[RuleResult] = []
    datapaths: list[DataPathResult] = []
    with Runner() as runner:
        environment = environment_here(runner)
        kind = devices_here(request.devices, environment)
        stage = report.stage_of(environment, kind)
        say(report.header(__version__, environment, stage) + "\n")
        for code in plan.without_proof:
            say(f"{code}  FAILED  no proof: nothing shows that this rule is right")
        for result in verify_rules(
            runner, plan.proofs, devices=kind, jobs=plan.jobs, environment=environment
        ):
            rules.append(result)
            say(report.rule_text(result, stage=stage, verbose=request.verbose))
            if status is not None:
                seconds = time.monotonic() - started
                status.show(progress_text(len(rules), len(plan.proofs), seconds))
        if plan.with_datapath:
            if status is not None:
                status.show("measuring the data path")
            for measured in run_sizes(runner, _sizes(plan, environment, kind), devices=kind):
                datapaths.append(measured)
                say(report.datapath_text(measured, stage=stage))
        meshpath: MeshPathResult | None = None
        if plan.with_meshpath:
            if status is not None:
                status.show("measuring the mesh path")
            meshpath = run_meshpath(runner)
            say(report.meshpath_text(meshpath))
    done = report.Done(
        version=__version__,
        environment=environment,
        devices=kind,
        stage=stage,
        rules=tuple(rules),
        without_proof=tuple(plan.without_proof),
        datapaths=tuple(datapaths),
        growth_problems=tuple(judge_growth(datapaths)),
        meshpath=meshpath,
        seconds=time.monotonic() - started,
    )
    if status is not None:
        status.clear()
    for problem in done.growth_problems:
        say(f"  ! {problem}")
    say(f"\n{report.summary_text(done)} in {done.seconds:.0f} s")
    return done, plan


def _sizes(plan: _Plan, environment: Environment, kind: str) -> Sequence[int]:
    """Return the sizes of the files by which the data path is measured."""
    if plan.sizes is not None:
        return plan.sizes
    return sizes_that_fit(environment.accelerator_memory if kind == GPU else None)


def progress_text(done: int, total: int, seconds: float) -> str:
    """Return how many rules are done, and about how long the others take."""
    if done == total:
        return f"{done} of {total} rules"
    left = seconds / done * (total - done)
    about = f"{left / 60:.0f} min" if left >= _MINUTES_FROM else f"{max(left, 1):.0f} s"
    return f"{done} of {total} rules, about {about} left"


def _planned(request: VerifyRequest) -> _Plan:
    """Return what to run; raises UsageError or UnknownCodeError for what makes no sense."""
    if request.quick and request.codes:
        raise UsageError("--quick chooses the rules: it cannot be combined with others")
    proofs, with_datapath, with_meshpath = chosen(request.codes)
    sizes = chosen_sizes(request.size, request.sizes, for_page=request.report is not None)
    if request.quick:
        proofs = one_of_each_family(proofs)
        if request.size is None and request.sizes is None:
            sizes = [QUICK_SIZE]
    return _Plan(
        proofs=proofs,
        without_proof=[] if request.codes else rules_without_proof(),
        with_datapath=with_datapath or request.report is not None,
        with_meshpath=with_meshpath or request.report is not None,
        sizes=sizes,
        jobs=parsed_jobs(request.jobs),
        page=None if request.report is None else page_path(request.report),
    )


def chosen(codes: Sequence[str]) -> tuple[list[Proof], bool, bool]:
    """Return the proofs to run, and whether to run the data path, and the mesh path.

    Raises UnknownCodeError for a code without proof, UsageError when there are no proofs at all.
    """
    known = find_proofs(proof_folder())
    if not known:
        msg = f"no proofs in {proof_folder()}: the installation is incomplete"
        raise UsageError(msg)
    if not codes:
        return list(known.values()), True, True
    paths = {code.lower() for code in codes} & {DATAPATH, MESHPATH}
    rules = [code for code in codes if code.lower() not in paths]
    return choose(rules, known), DATAPATH in paths, MESHPATH in paths


def one_of_each_family(proofs: Sequence[Proof]) -> list[Proof]:
    """Return the first proof of each family of rules that starts no processes of its own."""
    families: dict[str, Proof] = {}
    for proof in proofs:
        if proof.stage != PROCESSES:
            families.setdefault(proof.code[:4], proof)
    return list(families.values())


def rules_without_proof() -> list[str]:
    """Return the codes of the rules without a proof: none, unless something is amiss."""
    from placement_lint.rules.registry import all_rules

    known = find_proofs(proof_folder())
    return [rule.code for rule in all_rules() if rule.code not in known]


def chosen_sizes(size: str | None, sizes: str | None, *, for_page: bool) -> list[int] | None:
    """Return the sizes of the data path in bytes, in order; None for all that fit.

    Raises UsageError for what is no size, or too small to measure.
    """
    if size is not None and sizes is not None:
        raise UsageError("--size and --sizes exclude each other")
    if sizes is None:
        if size is not None:
            return [parsed_size("--size", size)]
        return None if for_page else [DEFAULT_SIZE]
    if sizes.strip().lower() == ALL_THAT_FIT:
        return None
    return sorted({parsed_size("--sizes", text) for text in sizes.split(",")})


def parsed_size(option: str, text: str) -> int:
    """Bytes of the dataset; raises UsageError for what is no size, or too small to measure."""
    try:
        size = parse_size(text)
    except ValueError as error:
        msg = f"{option}: {error}"
        raise UsageError(msg) from error
    if size < SMALLEST_SIZE:
        msg = f"{option}: {text} is too small to measure; at least {format_size(SMALLEST_SIZE)}"
        raise UsageError(msg)
    return size


def parsed_jobs(text: str) -> int:
    """How many processes may run at a time; raises UsageError for what is no number."""
    if text == "auto":
        return min(os.cpu_count() or 1, _MOST_JOBS)
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        msg = f"--jobs: {text!r} is not a number of processes"
        raise UsageError(msg)
    return int(text)


def page_path(text: str) -> Path:
    """Where to write the page; raises UsageError when it cannot be drawn or written there.

    Minutes of proofs are in vain when only their end shows that.
    """
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        msg = f"--report: matplotlib is not installed for {sys.executable}: {installing('report')}"
        raise UsageError(msg)
    path = Path(text)
    if path.is_dir():
        msg = f"--report: {text} is a directory; name a file, such as report.html"
        raise UsageError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"--report: there is no directory {path.absolute().parent}"
        raise UsageError(msg)
    return path


def _write_page(path: Path, done: report.Done) -> None:
    from placement_lint.verify.page import page

    try:
        path.write_text(page(done), encoding="utf-8")
    except OSError as error:
        msg = f"--report: cannot write {path}: {error.strerror}"
        raise UsageError(msg) from error


def environment_here(runner: Runner) -> Environment:
    """Find out what JAX is here; raises UsageError when it, or safetensors, cannot be used."""
    try:
        environment = probe(runner)
    except ChildError as error:
        if str(error) in {"no module: jax", "no module: jaxlib", "no module: numpy"}:
            msg = f"JAX is not installed for {sys.executable}: {installing('verify')}"
        else:
            msg = f"JAX does not start: {error}"
        raise UsageError(msg) from error
    if not environment.safetensors:
        msg = f"safetensors is not installed for {sys.executable}: {installing('verify')}"
        raise UsageError(msg)
    return environment


def devices_here(wanted: str, environment: Environment) -> str:
    """Return the devices to run on; raises UsageError when a GPU is wanted and there is none."""
    if wanted == VIRTUAL or (wanted == "auto" and not environment.has_accelerator):
        return VIRTUAL
    if not environment.has_accelerator:
        msg = (
            f"JAX sees no accelerator here, only {', '.join(environment.devices)}: "
            "use --devices virtual"
        )
        raise UsageError(msg)
    return GPU
