import json
from pathlib import Path
from typing import Any

import pytest

from placement_lint.verify.record import as_run, main, merged, table


def printed(jax: str, **rules: dict[str, Any]) -> dict[str, Any]:
    """Return what verify prints as JSON, as far as the record reads it."""
    held: dict[str, Any] = {"ok": True, "skipped": None, "problems": [], "digest": "d"}
    return {
        "environment": {"jax": jax, "jaxlib": jax, "python": "3.11.7", "safetensors": "0.8.0"},
        "devices": {"kind": "virtual"},
        "rules": [{"code": code, **held, **changes} for code, changes in rules.items()],
    }


def test_a_cell_says_what_came_of_it() -> None:
    run = as_run(
        printed(
            "0.4.30",
            JDP101={},
            JDP102={"ok": False, "problems": ["a", "b"]},
            JDP103={"ok": False, "skipped": "needs optax"},
        )
    )
    assert run["jax"] == "0.4.30"
    assert run["devices"] == "virtual"
    assert run["rules"] == {
        "JDP101": {"result": "proved", "digest": "d"},
        "JDP102": {"result": "failed", "digest": "d", "reason": "a; b"},
        "JDP103": {"result": "skipped", "digest": "d", "reason": "needs optax"},
    }


def test_a_run_on_an_accelerator_has_its_name() -> None:
    value = printed("0.10.2", JDP101={})
    value["devices"]["kind"] = "gpu"
    value["environment"]["device_kind"] = "NVIDIA A100-SXM4-40GB"
    assert as_run(value)["accelerator"] == "NVIDIA A100-SXM4-40GB"
    assert "accelerator" not in as_run(printed("0.10.2"))


def test_a_run_replaces_the_one_on_the_same_jax_and_versions_are_in_order() -> None:
    first = merged(None, [as_run(printed("0.10.2", JDP101={"ok": False}))], "2026-01-02")
    later = merged(
        first,
        [
            as_run(printed("0.10.2", JDP101={})),
            as_run(printed("0.10.2", JDP103={})),
            as_run(printed("0.4.30", JDP102={})),
        ],
        "2026-01-02",
    )
    assert [run["jax"] for run in later["runs"]] == ["0.4.30", "0.10.2"]
    assert table(later).splitlines() == [
        "rule    0.4.30  0.10.2",
        "JDP101          yes",
        "JDP102  yes",
        "JDP103          yes",
    ]


@pytest.mark.parametrize(("changes", "status"), [({}, 0), ({"ok": False}, 1)])
def test_the_command_adds_to_the_record_of_today(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], status: int
) -> None:
    for jax in ("0.5.3", "0.6.2"):
        answer = tmp_path / f"{jax}.json"
        answer.write_text(json.dumps(printed(jax, JDP101=changes)), encoding="utf-8")
        assert main([str(tmp_path), str(answer)]) == status
    (path,) = tmp_path.glob("*-verify.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["version"] == 1
    assert path.name == f"{record['date']}-verify.json"
    assert [run["jax"] for run in record["runs"]] == ["0.5.3", "0.6.2"]
    assert f"JDP101  {'NO' if status else 'yes'}" in capsys.readouterr().out


def test_runs_on_two_accelerators_are_kept_beside_one_another() -> None:
    one, other = printed("0.10.2", JDP101={}), printed("0.10.2", JDP101={})
    for value, kind in ((one, "NVIDIA H100"), (other, "NVIDIA H200")):
        value["devices"]["kind"] = "gpu"
        value["environment"]["device_kind"] = kind
    whole = merged(merged(None, [as_run(one)], "2026-01-31"), [as_run(other)], "2026-01-31")
    assert [run["accelerator"] for run in whole["runs"]] == ["NVIDIA H100", "NVIDIA H200"]
