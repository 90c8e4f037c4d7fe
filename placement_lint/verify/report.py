"""What `verify` prints: text for people, or one versioned JSON object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from placement_lint.rules.proof_records import digest
from placement_lint.verify.datapath_run import (
    BEST,
    GOOD,
    LABELS,
    SLOW,
    DataPathResult,
    commitment,
)
from placement_lint.verify.meshpath_run import LABELS as MESHPATH_LABELS
from placement_lint.verify.meshpath_run import MUST_EXCEED, MeshPathResult
from placement_lint.verify.observation import Observation, SideOutcome
from placement_lint.verify.proofs import PLAIN, ProofError
from placement_lint.verify.runner import Environment, RuleResult
from placement_lint.verify.sizes import format_seconds, format_size

JSON_VERSION = 1


@dataclass(frozen=True)
class Done:
    """A whole run: what was run, where, and what came of it."""

    version: str
    environment: Environment
    devices: str
    stage: str
    rules: tuple[RuleResult, ...]
    without_proof: tuple[str, ...] = ()
    datapaths: tuple[DataPathResult, ...] = ()
    growth_problems: tuple[str, ...] = ()
    """What does not hold of the data path over its sizes."""
    meshpath: MeshPathResult | None = None
    """What was measured on a mesh; None: it was not asked for."""
    seconds: float = 0.0

    @property
    def failed(self) -> list[str]:
        """What does not hold: codes of rules, `datapath` and `meshpath`."""
        failed = [*self.without_proof]
        failed += [result.proof.code for result in self.rules if result.failed]
        failed += [] if self.datapath_ok else ["datapath"]
        return failed + ([] if self.meshpath is None or self.meshpath.ok else ["meshpath"])

    @property
    def datapath_ok(self) -> bool:
        """Whether nothing is wrong with the data path, at any size and over all."""
        return not self.growth_problems and all(result.ok for result in self.datapaths)

    @property
    def held(self) -> bool:
        return not self.failed


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
    if result.skipped:
        return f"{result.proof.code}  skipped  {title_of(result)}\n  {result.skipped}"
    verdict, seconds = result.verdict, result.hazard.seconds + result.fixed.seconds
    lines = [
        f"{result.proof.code}  {'ok' if verdict.ok else 'FAILED'}  {title_of(result)}",
        (
            f"  {'hazard reproduced' if verdict.reproduced else 'HAZARD NOT REPRODUCED'}, "
            f"{'fix cures it' if verdict.cured else 'FIX NOT SEEN TO CURE IT'} ({seconds:.1f} s)"
        ),
    ]
    run_on = result.hazard.stage or result.fixed.stage
    if run_on and run_on != stage:
        lines.append(f"  devices: {run_on}")
    for before, after in pairs(result.hazard, result.fixed):
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


def title_of(result: RuleResult) -> str:
    """Return what a rule's proof is about, in a line."""
    try:
        return result.proof.title
    except ProofError:
        return "(its proof cannot be read)"


def digest_of(result: RuleResult) -> str | None:
    """Return what names the text of a rule's proof; None when it cannot be read."""
    try:
        return digest(result.proof.source)
    except ProofError:
        return None


def pairs(
    hazard: SideOutcome, fixed: SideOutcome
) -> list[tuple[Observation | None, Observation | None]]:
    """Return the observations side by side, first with first; None where one is missing."""
    length = max(len(hazard.observations), len(fixed.observations))

    def padded(outcome: SideOutcome) -> list[Observation | None]:
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


_DATAPATH_COLUMNS = (
    "tokens loaded by",
    "they are on",
    "load",
    "first item",
    "per item",
    "tokens/s",
    "moved by one",
    "accelerator",
    "process",
)


def _row(value: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        LABELS[str(value["way"])],
        place_of(value),
        format_seconds(float(value["load_seconds"])),
        format_seconds(float(value["first_item_seconds"])),
        format_seconds(float(value["item_seconds"])),
        f"{float(value['tokens_per_second']):.2g}",
        size_or_unknown(value["bytes_moved_by_an_item"]),
        size_or_unknown(value["peak_bytes_on_accelerator"]),
        size_or_unknown(value["peak_bytes_of_process"]),
    )


def place_of(value: Mapping[str, Any]) -> str:
    """Return where a dataset is: `host, uncommitted`."""
    return f"{value['on']}, {commitment(value['committed'])}"


def size_or_unknown(count: int | None) -> str:
    """Return a number of bytes in words, or that it is not known."""
    return "unknown" if count is None else format_size(count)


def datapath_text(result: DataPathResult, *, stage: str) -> str:
    """Return the data path's small table, and the ratio under it."""
    rows = [_DATAPATH_COLUMNS, *(_row(value) for value in result.ways)]
    lines = [
        (
            f"datapath  {'ok' if result.ok else 'FAILED'}  {format_size(result.size)} of tokens, "
            f"{result.rows:,} rows, batches put on the accelerator"
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
            f"  the fastest item of the uncommitted dataset costs {result.ratio:,.0f} times that "
            f"of the committed (must exceed {result.bar:.3g} at this size)"
        )
    lines += [f"  ! {problem}" for problem in result.problems]
    return "\n".join(lines)


def meshpath_text(result: MeshPathResult) -> str:
    """Return the mesh path's small table, and the ratio under it."""
    said = "ok" if result.ok else "FAILED"
    lines = [f"meshpath  {said}  one training step on a mesh of virtual devices"]
    rows = [_MESHPATH_COLUMNS, *map(meshpath_row, result.ways)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines += [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if result.ratio is not None:
        lines.append(
            f"  the fastest call that copies the parameters costs {result.ratio:,.1f} times that "
            f"of one that does not (must exceed {MUST_EXCEED:g})"
        )
    return "\n".join([*lines, *(f"  ! {problem}" for problem in result.problems)])


_MESHPATH_COLUMNS = ("way", "what is put", "a call", "copies", "computes", "bytes by device")


def meshpath_row(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the tables say of one way, each cell as text."""
    held = [int(each) for each in value["bytes_by_device"]]
    first, others = held[0], {*held[1:]}
    by_device = format_size(first)
    if others:
        by_device += f", others {' to '.join(format_size(each) for each in sorted(others))}"
    return (
        str(value["way"]),
        MESHPATH_LABELS[str(value["way"])],
        format_seconds(float(value["fastest_call_seconds"])),
        format_size(int(value["bytes"])) if value["copies_parameters"] else "nothing",
        f"{value['devices_at_work']} of {len(held)}",
        by_device,
    )


def summary_text(done: Done) -> str:
    """Return the last line: how many claims hold."""
    skipped = sum(bool(result.skipped) for result in done.rules)
    claims = len(done.rules) - skipped + len(done.without_proof) + bool(done.datapaths)
    claims += done.meshpath is not None
    parts = [f"{claims - len(done.failed)} of {claims} reproduced"]
    if done.failed:
        parts.append(f"failed: {', '.join(done.failed)}")
    if skipped:
        parts.append(f"skipped: {skipped}")
    return "; ".join(parts)


def as_json(done: Done, *, verbose: bool) -> dict[str, Any]:
    """Return the run as one object; `version` says how to read it."""
    environment = done.environment
    return {
        "version": JSON_VERSION,
        "tool": {"name": "placement-lint", "version": done.version},
        "environment": {
            "python": environment.python,
            "jax": environment.jax,
            "jaxlib": environment.jaxlib,
            "safetensors": environment.safetensors or None,
            "default_backend": environment.default_backend,
            "devices": list(environment.devices),
            "device_kind": environment.device_kind or None,
        },
        "devices": {"kind": done.devices, "stage": done.stage},
        "rules": [_rule_json(result, verbose=verbose) for result in done.rules],
        "without_proof": list(done.without_proof),
        "datapath": _datapath_json(done) if done.datapaths else None,
        "meshpath": None if done.meshpath is None else _meshpath_json(done.meshpath),
        "summary": {
            "rules": len(done.rules),
            "skipped": sum(bool(result.skipped) for result in done.rules),
            "failed": len(done.failed),
            "seconds": round(done.seconds, 3),
        },
    }


def _rule_json(result: RuleResult, *, verbose: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "code": result.proof.code,
        "title": title_of(result),
        "skipped": result.skipped or None,
        "digest": digest_of(result),
        "ok": result.verdict.ok,
        "reproduced": result.verdict.reproduced,
        "cured": result.verdict.cured,
        "problems": list(result.verdict.problems),
        "stage": result.hazard.stage or result.fixed.stage or None,
        "seconds": round(result.hazard.seconds + result.fixed.seconds, 3),
        "observations": [
            _observation_json(before, after) for before, after in pairs(result.hazard, result.fixed)
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


def _datapath_json(done: Done) -> dict[str, Any]:
    return {
        "ok": done.datapath_ok,
        "problems": list(done.growth_problems),
        "slow": SLOW,
        "good": GOOD,
        "best": BEST,
        "sizes": [_size_json(result) for result in done.datapaths],
    }


def _meshpath_json(result: MeshPathResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "problems": list(result.problems),
        "ratio": result.ratio,
        "ratio_must_exceed": MUST_EXCEED,
        "ways": [dict(way) for way in result.ways],
    }


def _size_json(result: DataPathResult) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "problems": list(result.problems),
        "bytes": result.size,
        "rows": result.rows,
        "stage": result.stage or None,
        "ratio": result.ratio,
        "ratio_must_exceed": result.bar,
        "ways": [
            {name: value for name, value in way.items() if name != "stage"} for way in result.ways
        ],
    }


def stage_of(environment: Environment, devices: str) -> str:
    """Return the stage in words, as the subprocesses will set it."""
    if devices == PLAIN:
        return "plain: JAX untouched"
    if devices == "virtual":
        return "virtual: cpu:0 stands in for the accelerator, cpu:1 for the host"
    return f"{environment.devices[0]} ({environment.device_kind}) beside cpu"
