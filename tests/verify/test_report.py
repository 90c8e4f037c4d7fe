import json
import re
from collections.abc import Callable
from typing import Any

from placement_lint.rules.proof_records import digest
from placement_lint.verify import report
from placement_lint.verify.datapath_run import DataPathResult
from placement_lint.verify.observation import Observation, SideOutcome, judge
from placement_lint.verify.proofs import Proof
from placement_lint.verify.runner import Environment, RuleResult

WriteProof = Callable[[str], Proof]
SOURCE = (
    '"""A title."""\ndef hazard(a, h): return 8\ndef fixed(a, h): return 0\ndef observe(run): ...\n'
)
ENVIRONMENT = Environment("3.11.7", "0.10.2", "0.10.2", "0.8.0", "cpu", ("cpu:0",))
STAGE = "virtual: cpu:0 stands in for the accelerator, cpu:1 for the host"
DATAPATH = DataPathResult(
    size=256 * 2**20,
    rows=131072,
    stage=STAGE,
    ways=(
        {
            "way": "in-block",
            "on": "host",
            "committed": False,
            "load_seconds": 0.8,
            "first_item_seconds": 0.232,
            "item_seconds": 0.167,
            "bytes_moved_by_an_item": 256 * 2**20,
            "tokens_per_second": 49000.0,
            "peak_bytes_on_accelerator": 16384,
            "peak_bytes_of_process": 3 * 2**30,
            "stage": STAGE,
        },
        {
            "way": "committed",
            "on": "host",
            "committed": True,
            "load_seconds": 0.9,
            "first_item_seconds": 0.05,
            "item_seconds": 118e-6,
            "bytes_moved_by_an_item": None,
            "tokens_per_second": 49000.0,
            "peak_bytes_on_accelerator": 16384,
            "peak_bytes_of_process": 3 * 2**30,
            "stage": STAGE,
        },
    ),
    ratio=1415.2,
    bar=100,
    problems=(),
)


def outcome(measured: int, *, seen: bool, stage: str = STAGE) -> SideOutcome:
    item = Observation("guard", "bytes copied", measured, f"{measured} bytes", seen, "saw 7 bytes")
    return SideOutcome((item,), seconds=1.0, stage=stage, output="a word\n")


def result(proof: Proof, hazard: SideOutcome, fixed: SideOutcome) -> RuleResult:
    return RuleResult(proof, hazard, fixed, judge(hazard, fixed))


def test_a_rule_that_holds(write_proof: WriteProof) -> None:
    good = result(write_proof(SOURCE), outcome(8, seen=True), outcome(0, seen=False))
    assert report.rule_text(good, stage=STAGE, verbose=False).splitlines() == [
        "JDP999  ok  A title",
        "  hazard reproduced, fix cures it (2.0 s)",
        "  bytes copied [guard]",
        "    hazard: 8 bytes",
        "    fixed:  0 bytes",
    ]


def test_a_rule_that_does_not(write_proof: WriteProof) -> None:
    bad = result(
        write_proof(SOURCE), outcome(8, seen=True), SideOutcome(failure="ended by SIGSEGV")
    )
    assert report.rule_text(bad, stage=STAGE, verbose=False).splitlines() == [
        "JDP999  FAILED  A title",
        "  hazard reproduced, FIX NOT SEEN TO CURE IT (1.0 s)",
        "  bytes copied [guard]",
        "    hazard: 8 bytes",
        "    fixed:  not observed",
        "  ! fixed: ended by SIGSEGV",
    ]


def test_another_stage_than_the_rest_is_said(write_proof: WriteProof) -> None:
    plain = [outcome(number, seen=number > 0, stage="plain") for number in (8, 0)]
    text = report.rule_text(result(write_proof(SOURCE), *plain), stage=STAGE, verbose=False)
    assert "  devices: plain" in text.splitlines()


def test_verbose_shows_the_code_the_controls_and_what_was_printed(write_proof: WriteProof) -> None:
    good = result(write_proof(SOURCE), outcome(8, seen=True), outcome(0, seen=False))
    text = report.rule_text(good, stage=STAGE, verbose=True)
    for part in (
        "def hazard(a, h): return 8",
        "def fixed(a, h): return 0",
        "def observe(run): ...",
        "control, fixed: guard: saw 7 bytes",
        "printed by hazard: a word",
    ):
        assert part in text


def test_a_proof_that_cannot_be_read_is_reported_too(write_proof: WriteProof) -> None:
    broken = result(
        write_proof("def hazard(:"), SideOutcome(failure="line 1"), SideOutcome(failure="line 1")
    )
    text = report.rule_text(broken, stage=STAGE, verbose=True)
    assert "(its proof cannot be read)" in text
    assert "! hazard: line 1" in text


def done(*rules: RuleResult, **changes: Any) -> report.Done:
    whole: dict[str, Any] = {
        "version": "1.2.3",
        "environment": ENVIRONMENT,
        "devices": "virtual",
        "stage": STAGE,
        "rules": rules,
        "seconds": 1.23456,
    }
    return report.Done(**{**whole, **changes})


def test_the_table_of_the_data_path() -> None:
    head, names, slow, good, ratio = report.datapath_text(DATAPATH, stage=STAGE).splitlines()
    assert head == "datapath  ok  256 MiB of tokens, 131,072 rows, batches put on the accelerator"
    assert re.split(r"\s{2,}", names.strip()) == [
        "tokens loaded by", "they are on", "load", "first item", "per item", "tokens/s",
        "moved by one", "accelerator", "process",
    ]  # fmt: skip
    assert re.split(r"\s{2,}", slow.strip()) == [
        "with jax.default_device(cpu):", "host, uncommitted", "800 ms", "232 ms", "167 ms",
        "4.9e+04", "256 MiB", "16 KiB", "3 GiB",
    ]  # fmt: skip
    assert re.split(r"\s{2,}", good.strip()) == [
        "... and jax.device_put(..., cpu)", "host, committed", "900 ms", "50 ms", "118 µs",
        "4.9e+04", "unknown", "16 KiB", "3 GiB",
    ]  # fmt: skip
    assert len({len(line) for line in (names, slow, good)}) == 1
    assert ratio == (
        "  the fastest item of the uncommitted dataset costs 1,415 times that of the committed "
        "(must exceed 100 at this size)"
    )


def test_the_summary(write_proof: WriteProof) -> None:
    good = result(write_proof(SOURCE), outcome(8, seen=True), outcome(0, seen=False))
    bad = result(write_proof(SOURCE), outcome(0, seen=False), outcome(0, seen=False))
    nothing = RuleResult(
        good.proof, SideOutcome(), SideOutcome(), judge(SideOutcome(), SideOutcome()), "too old"
    )
    assert report.summary_text(done(good, datapaths=(DATAPATH,))) == "2 of 2 reproduced"
    assert report.summary_text(done(good, bad)) == "1 of 2 reproduced; failed: JDP999"
    assert report.summary_text(done(good, nothing)) == "1 of 1 reproduced; skipped: 1"
    unproved = done(good, without_proof=("JDP998",))
    assert report.summary_text(unproved) == "1 of 2 reproduced; failed: JDP998"
    curved = done(good, datapaths=(DATAPATH,), growth_problems=("committed: grows",))
    assert report.summary_text(curved) == "1 of 2 reproduced; failed: datapath"
    assert [run.held for run in (done(good, nothing), unproved, curved)] == [True, False, False]


def test_a_rule_that_makes_no_claim_here_says_why(write_proof: WriteProof) -> None:
    skipped = RuleResult(
        write_proof(SOURCE),
        SideOutcome(),
        SideOutcome(),
        judge(SideOutcome(), SideOutcome()),
        "needs optax",
    )
    assert not skipped.failed
    assert report.rule_text(skipped, stage=STAGE, verbose=True).splitlines() == [
        "JDP999  skipped  A title",
        "  needs optax",
    ]
    value = report.as_json(done(skipped), verbose=False)
    assert value["rules"][0]["skipped"] == "needs optax"
    assert value["summary"] == {"rules": 1, "skipped": 1, "failed": 0, "seconds": 1.235}


def test_json_is_versioned_and_says_the_same(write_proof: WriteProof) -> None:
    good = result(write_proof(SOURCE), outcome(8, seen=True), outcome(0, seen=False))
    bad = result(write_proof(SOURCE), outcome(0, seen=False), SideOutcome(failure="no"))
    value: dict[str, Any] = json.loads(
        json.dumps(
            report.as_json(done(good, bad, datapaths=(DATAPATH,)), verbose=False),
            allow_nan=False,
        )
    )
    assert value["version"] == 1
    assert value["tool"] == {"name": "placement-lint", "version": "1.2.3"}
    assert value["devices"] == {"kind": "virtual", "stage": STAGE}
    assert value["environment"]["devices"] == ["cpu:0"]
    assert value["summary"] == {"rules": 2, "skipped": 0, "failed": 1, "seconds": 1.235}
    first, second = value["rules"]
    assert first["ok"]
    assert first["observations"] == [
        {
            "instrument": "guard",
            "what": "bytes copied",
            "control": "saw 7 bytes",
            "hazard": {"measured": 8, "text": "8 bytes", "seen": True},
            "fixed": {"measured": 0, "text": "0 bytes", "seen": False},
        }
    ]
    assert not second["ok"]
    assert second["observations"][0]["fixed"] is None
    assert second["problems"] == ["fixed: no", "the hazard was not reproduced: bytes copied"]
    assert first["digest"] == digest(SOURCE)
    (size,) = value["datapath"]["sizes"]
    assert (size["bytes"], size["ratio"]) == (256 * 2**20, 1415.2)
    assert [way["way"] for way in size["ways"]] == ["in-block", "committed"]
