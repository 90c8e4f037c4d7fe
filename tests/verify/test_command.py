import json
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from placement_lint.cli import verify as cli
from placement_lint.cli.parser import Parser
from placement_lint.verify import command
from placement_lint.verify.datapath_run import DataPathResult
from placement_lint.verify.meshpath_run import MeshPathResult
from placement_lint.verify.proofs import PROCESSES, Proof
from placement_lint.verify.runner import Environment

WriteProof = Callable[[str], Proof]
HERE = Environment("3.11.7", "0.10.2", "0.10.2", "0.8.0", "cpu", ("cpu:0",))


@pytest.fixture(autouse=True)
def _no_meshpath(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure nothing on a mesh: that is seconds for each run of all."""
    monkeypatch.setattr(command, "run_meshpath", lambda _: MeshPathResult((), None, ()))


def run(*arguments: str) -> int:
    parser = Parser("placement-lint verify")
    cli.add_arguments(parser)
    return cli.run(parser.parse_args(arguments), parser)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["JDP20"], "no rule to reproduce is called `JDP20`; did you mean `JDP20"),
        (["JDP201", "nonsense"], "no rule to reproduce is called `nonsense`; did you mean "),
        (["--size", "huge"], "--size: 'huge' is not a size; write it like 64MiB or 1GiB"),
        (["--size", "12KB"], "--size: 12KB is too small to measure; at least 1 MiB"),
        (["--size", "64MB", "--sizes", "64MB"], "--size and --sizes exclude each other"),
        (["--sizes", "64MB,12KB"], "--sizes: 12KB is too small to measure; at least 1 MiB"),
        (["--sizes", "64MB,,1GB"], "--sizes: '' is not a size; write it like 64MiB or 1GiB"),
        (["--report", "/"], "--report: / is a directory; name a file, such as report.html"),
        (["--report", "/nowhere/at/all.html"], "--report: there is no directory /nowhere/at"),
        (["--jobs", "0"], "--jobs: '0' is not a number of processes"),
        (["--quick", "JDP201"], "--quick chooses the rules: it cannot be combined with others"),
        (["--config", "x.toml"], "--config: only --models reads settings"),
        (["--jobs", "many"], "--jobs: 'many' is not a number of processes"),
    ],
)
def test_usage_errors_end_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("missing", ["jax", "jaxlib", "numpy"])
def test_jax_that_is_not_installed_is_a_clear_message(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    missing: str,
) -> None:
    fake = f"raise ModuleNotFoundError('No module named {missing}', name={missing!r})\n"
    (tmp_path / "jax.py").write_text(fake, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert run("JDP201") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "JAX is not installed" in err
    assert "pip install 'placement-lint[verify]'" in err


def test_jax_that_does_not_start_is_a_short_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jax.py").write_text("raise RuntimeError('jaxlib is too old')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert run("JDP201") == 2
    assert capsys.readouterr().err == (
        "error: JAX does not start: raised RuntimeError: jaxlib is too old\n"
    )


def test_safetensors_that_is_not_installed_is_a_clear_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without = Environment("3.11.7", "0.10.2", "0.10.2", "", "cpu", ("cpu:0",))
    monkeypatch.setattr(command, "probe", lambda _: without)
    assert run("JDP201") == 2
    assert "safetensors is not installed" in capsys.readouterr().err


def test_a_gpu_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "probe", lambda _: HERE)
    assert run("JDP201", "--devices", "gpu") == 2
    assert "JAX sees no accelerator here, only cpu:0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "backend", "devices"),
    [
        ("auto", "cpu", "virtual"),
        ("auto", "gpu", "gpu"),
        ("virtual", "gpu", "virtual"),
        ("gpu", "gpu", "gpu"),
    ],
)
def test_the_devices_that_are_used(wanted: str, backend: str, devices: str) -> None:
    environment = Environment("", "", "", "0.8.0", backend, (f"{backend}:0",))
    assert command.devices_here(wanted, environment) == devices


def test_no_proofs_at_all_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "proof_folder", lambda: tmp_path)
    assert run() == 2
    assert "the installation is incomplete" in capsys.readouterr().err


def test_what_is_chosen() -> None:
    everything, *paths = command.chosen([])
    assert paths == [True, True]
    assert len(everything) >= 13
    assert command.chosen(["datapath"]) == ([], True, False)
    assert command.chosen(["MeshPath"]) == ([], False, True)
    proofs, *paths = command.chosen(["JDP201"])
    assert [proof.code for proof in proofs] == ["JDP201"]
    assert paths == [False, False]


def test_the_sizes_of_the_data_path() -> None:
    sizes = command.chosen_sizes
    assert sizes(None, None, for_page=False) == [256 * 2**20]
    assert sizes(None, None, for_page=True) is None
    assert sizes("64MiB", None, for_page=True) == [64 * 2**20]
    assert sizes(None, "1GiB, 64MiB,64MiB", for_page=True) == [64 * 2**20, 2**30]
    assert sizes(None, "Auto", for_page=False) is None


def test_a_page_without_matplotlib_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert run("JDP201", "--report", str(tmp_path / "report.html")) == 2
    err = capsys.readouterr().err
    assert "matplotlib is not installed" in err
    assert "pip install 'placement-lint[report]'" in err


def test_every_rule_has_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.rules_without_proof() == []
    monkeypatch.setattr(command, "find_proofs", lambda _: {"JDP201": None})
    without = command.rules_without_proof()
    assert "JDP201" not in without
    assert {"JDP101", "JDP202", "JDP900"} <= set(without)


GOOD = '''"""Title."""
from placement_lint.verify.observation import Observation
STAGE = "none"
def hazard(accelerator, host): return 8
def fixed(accelerator, host): return 0
def observe(run):
    value = run()
    return Observation("ruler", "length", value, f"{value} m", value > 0, "saw 1 m")
'''


@pytest.mark.parametrize(
    ("source", "status"), [(GOOD, 0), (GOOD.replace("return 8", "return 0"), 1)]
)
def test_the_exit_status_is_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write_proof: WriteProof,
    source: str,
    status: int,
) -> None:
    proof = write_proof(source)
    monkeypatch.setattr(command, "probe", lambda _: HERE)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)

    assert run("JDP999") == status
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[3] == f"JDP999  {'FAILED' if status else 'ok'}  Title"
    assert f"{1 - status} of 1 reproduced" in out

    assert run("JDP999", "--output-format", "json") == status
    out, err = capsys.readouterr()
    assert err == ""
    value: dict[str, Any] = json.loads(out)
    assert value["summary"]["failed"] == status
    assert value["rules"][0]["ok"] == (status == 0)


def test_a_rule_without_proof_fails_a_whole_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], write_proof: WriteProof
) -> None:
    proof = write_proof(GOOD)
    monkeypatch.setattr(command, "probe", lambda _: HERE)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)
    monkeypatch.setattr(command, "run_sizes", lambda *_, **__: [])
    assert run() == 1
    out = capsys.readouterr().out
    assert "JDP201  FAILED  no proof: nothing shows that this rule is right" in out
    assert "JDP999  ok  Title" in out


@pytest.mark.parametrize(
    ("constant", "reason"),
    [
        ("JAX = '>=0.10.3'", "a claim about JAX >=0.10.3; here is 0.10.2"),
        ("JAX = '<0.7,>=0.5'", "a claim about JAX <0.7,>=0.5; here is 0.10.2"),
        ("NEEDS = ('no-such-thing',)", "needs no-such-thing, not installed here"),
    ],
)
def test_what_makes_no_claim_here_is_skipped_and_not_taken_for_proved(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write_proof: WriteProof,
    constant: str,
    reason: str,
) -> None:
    proof = write_proof(f"{GOOD}{constant}\n")
    monkeypatch.setattr(command, "probe", lambda _: HERE)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)
    monkeypatch.setattr(command, "rules_without_proof", list)
    monkeypatch.setattr(command, "run_sizes", lambda *_, **__: [])
    # Asked for by its code it could not be run; among all, it is not what was asked.
    assert run("JDP999") == 2
    out, err = capsys.readouterr()
    assert f"JDP999  skipped  Title\n  {reason}" in out
    assert "skipped here, and so not reproduced: JDP999" in err
    assert run() == 0
    # The mesh path is what else there is.
    assert "1 of 1 reproduced; skipped: 1" in capsys.readouterr().out


def test_what_makes_a_claim_here_is_run(
    monkeypatch: pytest.MonkeyPatch, write_proof: WriteProof
) -> None:
    proof = write_proof(f"{GOOD}JAX = '>=0.4.31'\nNEEDS = ('JAX',)\n")
    here = replace(HERE, installed=frozenset({"jax"}))
    monkeypatch.setattr(command, "probe", lambda _: here)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)
    assert run("JDP999") == 0


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_page_is_written_beside_what_is_printed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    write_proof: WriteProof,
) -> None:
    proof = write_proof(GOOD)
    sizes: list[int] = []

    def run_sizes(_: object, wanted: list[int], *, devices: str) -> list[DataPathResult]:
        assert devices == "virtual"
        sizes.extend(wanted)
        return [DataPathResult(size, 8, "", (), 7.0, 2.0, ()) for size in wanted]

    monkeypatch.setattr(command, "probe", lambda _: HERE)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)
    monkeypatch.setattr(command, "run_sizes", run_sizes)
    path = tmp_path / "report.html"
    arguments = ["JDP999", "--report", str(path), "--output-format", "json"]
    assert run(*arguments, "--sizes", "1MiB,16MiB") == 0
    value = json.loads(capsys.readouterr().out)
    assert [size["bytes"] for size in value["datapath"]["sizes"]] == sizes == [2**20, 2**24]
    assert value["meshpath"]["ok"]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    # A page without the data path would be no page: its sizes are all that fit.
    sizes.clear()
    assert run(*arguments) == 0
    assert sizes[0] == 16 * 2**20


@pytest.mark.every
@pytest.mark.usefixtures("needs_jax")
def test_a_real_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("JDP204", "--devices", "virtual", "-v") == 0
    out = capsys.readouterr().out
    assert "devices: virtual: cpu:0 stands in for the accelerator, cpu:1 for the host" in out
    assert "hazard reproduced, fix cures it" in out
    assert "jax.device_put(losses, jax.devices" in out
    assert "1 of 1 reproduced" in out


def test_a_quick_run_takes_one_proof_of_each_family() -> None:
    proofs, *_ = command.chosen([])
    taken = command.one_of_each_family(proofs)
    families = [proof.code[:4] for proof in taken]
    assert sorted(families) == sorted({proof.code[:4] for proof in proofs})
    assert all(proof.stage != PROCESSES for proof in taken)


class Shown:
    """Keeps what is shown of the progress."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def show(self, text: str) -> None:
        self.texts.append(text)

    def clear(self) -> None:
        self.texts.append("")


def test_progress_is_shown_between_the_results(
    monkeypatch: pytest.MonkeyPatch, write_proof: WriteProof
) -> None:
    proof = write_proof(GOOD)
    monkeypatch.setattr(command, "probe", lambda _: HERE)
    monkeypatch.setattr(command, "proof_folder", lambda: proof.path.parent.parent)
    shown = Shown()
    command.verify(command.VerifyRequest(codes=["JDP999"], devices="virtual"), shown)
    assert [text for text in shown.texts if text] == ["1 of 1 rules"]
    assert shown.texts[-1] == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (1, 4, 2.0, "1 of 4 rules, about 6 s left"),
        (1, 61, 3.0, "1 of 61 rules, about 3 min left"),
        (3, 4, 0.3, "3 of 4 rules, about 1 s left"),
        (4, 4, 9.0, "4 of 4 rules"),
    ],
)
def test_the_time_that_is_left_is_estimated(
    done: int, total: int, seconds: float, text: str
) -> None:
    assert command.progress_text(done, total, seconds) == text
