"""The command `placement-lint verify`: from what was asked for to what is printed."""

import json
import os
import sys
import time
from collections.abc import Sequence

from placement_lint import __version__
from placement_lint.verify import report
from placement_lint.verify.datapath_run import SMALLEST_SIZE, DataPathError, run_datapath
from placement_lint.verify.environment import GPU, VIRTUAL
from placement_lint.verify.proofs import (
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

OK, FAILED, USAGE = 0, 1, 2
DATAPATH = "datapath"
_EXTRA = 'pip install "placement-lint[verify]"'
_MOST_JOBS = 8


class UsageError(Exception):
    """What was asked for cannot be done here; the message is for the user."""


def verify(
    codes: Sequence[str],
    *,
    devices: str,
    size: str,
    output_format: str,
    jobs: str,
    verbose: bool,
) -> int:
    """Prove the rules with these codes (all, and the data path, when there are none).

    Prints a report. Returns 0 when every claim holds, 1 when one does not, and 2, with a message
    on stderr, when they could not be run.
    """
    started = time.monotonic()
    text = output_format == "text"
    try:
        proofs, with_datapath = chosen(codes)
        bytes_wanted, processes = parsed_size(size), parsed_jobs(jobs)
        results: list[RuleResult] = []
        with Runner() as runner:
            environment = environment_here(runner)
            kind = devices_here(devices, environment)
            stage = report.stage_of(environment, kind)
            if text:
                print(report.header(__version__, environment, stage), end="\n\n", flush=True)
            for result in verify_rules(runner, proofs, devices=kind, jobs=processes):
                results.append(result)
                if text:
                    print(report.rule_text(result, stage=stage, verbose=verbose), flush=True)
            datapath = (
                run_datapath(runner, size=bytes_wanted, devices=kind) if with_datapath else None
            )
    except (UsageError, UnknownCodeError, DataPathError) as error:
        print(f"placement-lint verify: {error}", file=sys.stderr)
        return USAGE
    seconds = time.monotonic() - started
    if text:
        if datapath is not None:
            print(report.datapath_text(datapath, stage=stage))
        print(f"\n{report.summary_text(results, datapath)} in {seconds:.0f} s")
    else:
        value = report.as_json(
            version=__version__,
            environment=environment,
            devices=kind,
            stage=stage,
            results=results,
            datapath=datapath,
            seconds=seconds,
            verbose=verbose,
        )
        print(json.dumps(value, indent=2))
    held = all(result.verdict.ok for result in results) and (datapath is None or datapath.ok)
    return OK if held else FAILED


def chosen(codes: Sequence[str]) -> tuple[list[Proof], bool]:
    """Give the proofs to run, and whether to run the data path.

    Raises UnknownCodeError for a code without proof, UsageError when there are no proofs at all.
    """
    known = find_proofs(proof_folder())
    if not known:
        msg = f"no proofs in {proof_folder()}: the installation is incomplete"
        raise UsageError(msg)
    if not codes:
        return list(known.values()), True
    rules = [code for code in codes if code.lower() != DATAPATH]
    return choose(rules, known), len(rules) < len(codes)


def parsed_size(text: str) -> int:
    """Bytes of the dataset; raises UsageError for what is no size, or too small to measure."""
    try:
        size = parse_size(text)
    except ValueError as error:
        msg = f"--size: {error}"
        raise UsageError(msg) from error
    if size < SMALLEST_SIZE:
        msg = f"--size: {text} is too small to measure; at least {format_size(SMALLEST_SIZE)}"
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


def environment_here(runner: Runner) -> Environment:
    """Find out what JAX is here; raises UsageError when it, or safetensors, cannot be used."""
    try:
        environment = probe(runner)
    except ChildError as error:
        if str(error) in {"no module: jax", "no module: jaxlib", "no module: numpy"}:
            msg = f"JAX is not installed for {sys.executable}: {_EXTRA}"
        else:
            msg = f"JAX does not start: {error}"
        raise UsageError(msg) from error
    if not environment.safetensors:
        msg = f"safetensors is not installed for {sys.executable}: {_EXTRA}"
        raise UsageError(msg)
    return environment


def devices_here(wanted: str, environment: Environment) -> str:
    """Give the devices to run on; raises UsageError when a GPU is wanted and there is none."""
    if wanted == VIRTUAL or (wanted == "auto" and not environment.has_accelerator):
        return VIRTUAL
    if not environment.has_accelerator:
        msg = (
            f"JAX sees no accelerator here, only {', '.join(environment.devices)}: "
            "use --devices virtual"
        )
        raise UsageError(msg)
    return GPU
