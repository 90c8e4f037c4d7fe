"""What `verify` prints: text for people, or one versioned JSON object."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_lint.verify.datapath_run import GOOD, SLOW, DataPathResult, commitment
from placement_lint.verify.observation import Observation, Outcome
from placement_lint.verify.proofs import PLAIN, ProofError
from placement_lint.verify.runner import Environment, RuleResult
from placement_lint.verify.sizes import format_seconds, format_size

JSON_VERSION = 1
_LABELS = {
    "as-is": "load_file(path)",
    "assigned": "after jax.default_device = cpu",
    "in-block": "in `with jax.default_device(cpu)`",
    "committed": "the same, with jax.device_put(..., cpu)",
}


def header(version: str, environment: Environment, stage: str) -> str:
    """Return the lines that say what the proofs run on."""
    lines = [
        (
            f"placement-lint {version} verify: JAX {environment.jax}, jaxlib {environment.jaxlib}, "
            f"safetensors {environment.safetensors or 'not installed'}, Python {environment.python}"
        ),
        f"devices: {stage}",
    ]
    return "\n".join(lines)


def rule_text(result: RuleResult, *, stage: str, verbose: bool) -> str:
    """Return the lines of one rule: what was claimed, whether it holds, what was seen."""
    verdict, seconds = result.verdict, result.hazard.seconds + result.fixed.seconds
    lines = [
        f"{result.proof.code}  {'ok' if verdict.ok else 'FAILED'}  {_title(result)}",
        (
            f"  {'hazard reproduced' if verdict.reproduced else 'HAZARD NOT REPRODUCED'}, "
            f"{'fix cures it' if verdict.cured else 'FIX NOT SEEN TO CURE IT'} ({seconds:.1f} s)"
        ),
    ]
    run_on = result.hazard.stage or result.fixed.stage
    if run_on and run_on != stage:
        lines.append(f"  devices: {run_on}")
    for before, after in _pairs(result.hazard, result.fixed):
        shown = before or after
        if shown is not None:
            lines += [
                f"  {shown.what} [{shown.instrument}]",
                f"    hazard: {before.text if before else 'not observed'}",
                f"    fixed:  {after.text if after else 'not observed'}",
            ]
    lines += [f"  ! {problem}" for problem in verdict.problems]
    if verbose:
        lines += _code(result)
    return "\n".join(lines)


def _title(result: RuleResult) -> str:
    try:
        return result.proof.title
    except ProofError:
        return "(its proof cannot be read)"


def _pairs(hazard: Outcome, fixed: Outcome) -> list[tuple[Observation | None, Observation | None]]:
    """Give the observations side by side, first with first; None where one is missing."""
    length = max(len(hazard.observations), len(fixed.observations))

    def padded(outcome: Outcome) -> list[Observation | None]:
        return [*outcome.observations, *[None] * (length - len(outcome.observations))]

    return list(zip(padded(hazard), padded(fixed), strict=True))


def _code(result: RuleResult) -> list[str]:
    lines = [f"  from {result.proof.path}"]
    for function in ("hazard", "fixed", "observe"):
        try:
            text = result.proof.code_of(function)
        except ProofError as error:
            text = f"({error})"
        lines += ["", *(f"    {line}".rstrip() for line in text.splitlines())]
    for side, outcome in (("hazard", result.hazard), ("fixed", result.fixed)):
        controls = [f"{item.instrument}: {item.control}" for item in outcome.observations]
        lines += (
            ["", *(f"  control, {side}: {control}" for control in controls)] if controls else []
        )
        printed = outcome.output.strip()
        lines += [f"  printed by {side}: {line}" for line in printed.splitlines()]
    lines.append("")
    return lines


def datapath_text(result: DataPathResult, *, stage: str) -> str:
    """Return the data path's small table, and the ratio under it."""
    rows = [("tokens loaded by", "they are on", "load", "first item", "per item", "moved by one")]
    for value in result.ways:
        moved = value["bytes_moved_by_an_item"]
        rows.append(
            (
                _LABELS[str(value["way"])],
                f"{value['on']}, {commitment(value['committed'])}",
                format_seconds(float(value["load_seconds"])),
                format_seconds(float(value["first_item_seconds"])),
                format_seconds(float(value["item_seconds"])),
                "not measured" if moved is None else format_size(int(moved)),
            )
        )
    lines = [
        (
            f"datapath  {'ok' if result.ok else 'FAILED'}  {format_size(result.size)} of tokens, "
            f"{result.items:,} items, each put on the accelerator"
        )
    ]
    if result.stage and result.stage != stage:
        lines.append(f"  devices: {result.stage}")
    if result.ways:
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
            right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
            lines.append("  " + "  ".join(left + right))
    if result.ratio is not None:
        lines.append(
            f"  an item of the uncommitted dataset costs {result.ratio:,.0f} times one of the "
            f"committed (must exceed {result.bar:g} at this size)"
        )
    lines += [f"  ! {problem}" for problem in result.problems]
    return "\n".join(lines)


def summary_text(results: Sequence[RuleResult], datapath: DataPathResult | None) -> str:
    """Return the last line: how many claims hold."""
    failed = [result.proof.code for result in results if not result.verdict.ok]
    if datapath is not None and not datapath.ok:
        failed.append("datapath")
    claims = len(results) + (datapath is not None)
    held = f"{claims - len(failed)} of {claims} proved"
    return f"{held}; failed: {', '.join(failed)}" if failed else held


def as_json(
    *,
    version: str,
    environment: Environment,
    devices: str,
    stage: str,
    results: Sequence[RuleResult],
    datapath: DataPathResult | None,
    seconds: float,
    verbose: bool,
) -> dict[str, Any]:
    """Return the run as one object, the same for every run that measured the same."""
    failed = sum(not result.verdict.ok for result in results)
    failed += datapath is not None and not datapath.ok
    return {
        "version": JSON_VERSION,
        "tool": {"name": "placement-lint", "version": version},
        "environment": {
            "python": environment.python,
            "jax": environment.jax,
            "jaxlib": environment.jaxlib,
            "safetensors": environment.safetensors or None,
        },
        "devices": {"kind": devices, "stage": stage},
        "rules": [_rule_json(result, verbose=verbose) for result in results],
        "datapath": None if datapath is None else _datapath_json(datapath),
        "summary": {
            "rules": len(results),
            "failed": failed,
            "seconds": round(seconds, 3),
        },
    }


def _rule_json(result: RuleResult, *, verbose: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "code": result.proof.code,
        "title": _title(result),
        "ok": result.verdict.ok,
        "reproduced": result.verdict.reproduced,
        "cured": result.verdict.cured,
        "problems": list(result.verdict.problems),
        "stage": result.hazard.stage or result.fixed.stage or None,
        "seconds": round(result.hazard.seconds + result.fixed.seconds, 3),
        "observations": [
            _observation_json(before, after)
            for before, after in _pairs(result.hazard, result.fixed)
        ],
    }
    if verbose:
        value["source"] = result.proof.source
    return value


def _observation_json(before: Observation | None, after: Observation | None) -> dict[str, Any]:
    def side(item: Observation | None) -> Mapping[str, Any] | None:
        if item is None:
            return None
        return {"measured": item.measured, "text": item.text, "seen": item.seen}

    shown = before or after
    return {
        "instrument": None if shown is None else shown.instrument,
        "what": None if shown is None else shown.what,
        "control": None if shown is None else shown.control,
        "hazard": side(before),
        "fixed": side(after),
    }


def _datapath_json(result: DataPathResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "problems": list(result.problems),
        "bytes": result.size,
        "items": result.items,
        "stage": result.stage or None,
        "ways": [
            {name: value for name, value in way.items() if name != "stage"} for way in result.ways
        ],
        "slow": SLOW,
        "good": GOOD,
        "ratio": result.ratio,
        "ratio_must_exceed": result.bar,
    }


def stage_of(environment: Environment, devices: str) -> str:
    """Return the stage in words, as the subprocesses will set it."""
    if devices == PLAIN:
        return "plain: JAX untouched"
    if devices == "virtual":
        return "virtual: cpu:0 plays the accelerator, cpu:1 the host"
    return f"{environment.devices[0]} ({environment.default_backend}) beside cpu"
