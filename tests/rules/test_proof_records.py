"""A record says what was proved, of the proofs as they are, and of nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from placement_lint.cli import main
from placement_lint.rules import proof_records, proved
from placement_lint.rules.proof_records import (
    VIRTUAL,
    digest,
    proof_folder,
    proved_on,
    read_record,
    record_name,
    runs_by_devices,
    sentence,
)
from placement_lint.rules.registry import all_rules

TEXT = '"""A proof."""\n'


def run(jax: str, result: str, *, text: str = TEXT) -> dict[str, Any]:
    return {
        "jax": jax,
        "devices": "virtual",
        "rules": {"JDP201": {"result": result, "digest": digest(text)}},
    }


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(proof_records, "proof_folder", lambda: str(tmp_path))
    (tmp_path / "JDP201").mkdir()
    (tmp_path / "JDP201" / "proof.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "records").mkdir()

    def write(*runs: dict[str, Any], date: str = "2026-01-02") -> None:
        value = {"version": 1, "date": date, "runs": runs}
        path = tmp_path / "records" / record_name(date)
        path.write_text(json.dumps(value), encoding="utf-8")

    return write


def test_what_was_proved_is_said_in_a_line(write: Any) -> None:
    write(run("0.4.30", "skipped"), run("0.5.3", "proved"), run("0.6.2", "proved"))
    (found,) = proved_on("JDP201")
    assert found.sentence() == (
        "reproduced on JAX 0.5.3, 0.6.2; makes no claim about JAX 0.4.30 "
        "(virtual devices, 2026-01-02)"
    )
    assert found.as_json()["jax"] == ["0.5.3", "0.6.2"]


def test_what_was_not_proved_is_said_too(write: Any) -> None:
    write(run("0.4.30", "failed"))
    (found,) = proved_on("JDP201")
    assert found.sentence() == "NOT reproduced on JAX 0.4.30 (virtual devices, 2026-01-02)"


def test_a_proof_that_was_changed_since_is_not_spoken_of(write: Any, tmp_path: Path) -> None:
    write(run("0.4.30", "proved", text="another"), run("0.5.3", "proved"))
    (found,) = proved_on("JDP201")
    assert found.proved == ("0.5.3",)
    (tmp_path / "JDP201" / "proof.py").write_text(TEXT + "# edited\n", encoding="utf-8")
    assert proved_on("JDP201") == ()


def test_each_kind_of_devices_has_its_newest_record(write: Any) -> None:
    on_gpu = {"devices": "gpu", "accelerator": "NVIDIA A100-SXM4-40GB"}
    write(run("0.5.3", "proved"), {**run("0.6.2", "proved"), **on_gpu})
    write({**run("0.7.2", "proved"), **on_gpu}, date="2026-01-03")
    write(run("0.4.30", "proved", text="another"), date="2026-01-04")
    virtual, real = proved_on("JDP201")
    assert virtual.sentence() == "reproduced on JAX 0.5.3 (virtual devices, 2026-01-02)"
    assert real.sentence() == "reproduced on JAX 0.7.2 (NVIDIA A100-SXM4-40GB, 2026-01-03)"
    assert sentence((virtual, real)) == f"{virtual.sentence()}; {real.sentence()}"


def test_a_rule_or_a_folder_without_record_says_nothing(write: Any, tmp_path: Path) -> None:
    assert proved_on("JDP201") == ()
    runs_by_devices.cache_clear()
    write(run("0.5.3", "proved"))
    assert proved_on("JDP202") == ()
    # Of one that has a proof, in a record of others.
    (tmp_path / "JDP202").mkdir()
    (tmp_path / "JDP202" / "proof.py").write_text(TEXT, encoding="utf-8")
    assert proved_on("JDP202") == ()
    assert proved_on("JDP201") != ()
    assert runs_by_devices(str(tmp_path / "nowhere")) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2}', "\xff"])
def test_what_is_no_record_is_passed_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "2026-01-01-verify.json"
    path.write_bytes(text.encode("latin-1"))
    assert read_record(str(path)) is None
    assert runs_by_devices(str(tmp_path)) == {}


def shipped_runs() -> list[dict[str, Any]]:
    records = runs_by_devices(str(Path(proof_folder(), "records")))[VIRTUAL]
    return [run for _, runs in records for run in runs]


def test_the_shipped_record_is_of_rules_that_exist_and_hold() -> None:
    codes = {rule.code for rule in all_rules()}
    assert len(shipped_runs()) >= 6
    for one in shipped_runs():
        assert set(one["rules"]) <= codes
        failed = [code for code, cell in one["rules"].items() if cell["result"] == "failed"]
        assert failed == [], one["jax"]


def test_the_pages_show_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    """Each page shows what the record knows of the proof as it is now, or nothing."""
    for rule in all_rules():
        found = proved_on(rule.code)
        known = found[0].proved if found and found[0].devices == VIRTUAL else ()
        assert main(["rule", rule.code]) == 0
        page = capsys.readouterr().out
        assert ("eproduced on JAX" in page) == bool(found)
        assert f"Reproduced on JAX {', '.join(known)}" in page or not known


def test_the_sentences_that_are_kept_are_those_of_the_record() -> None:
    kept = Path(proved.FILE).read_text(encoding="utf-8")
    assert kept == proved.lines(), "run: python -m placement_lint.rules.proved"


def test_a_sentence_is_of_the_proof_as_it_is(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proved, "proof_folder", lambda: str(tmp_path))
    monkeypatch.setattr(proved, "FILE", str(tmp_path / "proved.txt"))
    assert proved.kept_sentence("JDP201") is None
    write(run("0.5.3", "proved"))
    Path(proved.FILE).write_text(proved.lines(), encoding="utf-8")
    assert proved.kept_sentence("JDP201") == "reproduced on JAX 0.5.3 (virtual devices, 2026-01-02)"
    assert proved.kept_sentence("JDP202") is None
    proof = tmp_path / "JDP201" / "proof.py"
    proof.write_bytes(proof.read_bytes().replace(b"\n", b"\r\n"))
    assert proved.kept_sentence("JDP201") is not None
    proof.write_text(TEXT + "# edited\n", encoding="utf-8")
    assert proved.kept_sentence("JDP201") is None


def test_sentences_that_cannot_be_read_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proved, "FILE", str(tmp_path / "proved.txt"))
    Path(proved.FILE).write_bytes(b"JDP201\tbroken\nJDP202\xff")
    assert proved.kept_sentence("JDP201") is None
