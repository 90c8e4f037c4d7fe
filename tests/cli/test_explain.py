"""`placement-lint explain`: one place, the way to it, and the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placement_lint.cli import main
from placement_lint.cli.explain import Spot, parse

Captured = pytest.CaptureFixture[str]

PROGRAM = """\
import jax
import jax.numpy as jnp

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    tokens = jnp.zeros((1000, 512))

batch = tokens[0]
"""


@pytest.fixture(autouse=True)
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("spot", ["train.py:8", "train.py:8:9", "train.py:8:12:"])
def test_the_way_the_reason_and_the_rule(spot: str, capsys: Captured) -> None:
    assert main(["explain", spot]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("warning[JDP201]: ")
    assert "--> train.py:8:9" in out
    assert "--> train.py:6:14" in out  # where it was made
    assert out.endswith(
        "See `placement-lint rule JDP201` for an example and what is not flagged.\n"
    )


@pytest.mark.parametrize("spot", ["train.py:1", "train.py:8:1"])
def test_nothing_is_found_there(spot: str, capsys: Captured) -> None:
    assert main(["explain", spot]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("No findings at train.py:")
    assert "train.py:8:9: JDP201" in out


@pytest.mark.parametrize("folder", ["", "./"])
def test_what_follows_from_other_files(folder: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "rows.py").write_text("def first(table):\n    return table[0]\n", encoding="utf-8")
    with (tmp_path / "train.py").open("a", encoding="utf-8") as file:
        file.write("\nimport rows\n\nprint(rows.first(tokens))\n")
    assert main(["explain", f"{folder}rows.py:2"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "--> rows.py:2:12" in out
    assert "--> train.py:6:14" in out
    assert main(["explain", "rows.py:1"]) == 0
    assert "rows.py:2:12: JDP201" in capsys.readouterr().out


def test_a_file_elsewhere_is_explained_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert main(["explain", f"{tmp_path}/train.py:1"]) == 0
    assert "JDP201" in capsys.readouterr().out


def test_json(capsys: Captured) -> None:
    assert main(["explain", "train.py:8", "--output-format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["code"] == "JDP201"
    assert found["why"]
    assert main(["explain", "train.py:2", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("spot", "message"),
    [
        ("train.py", "`train.py` names no line; use FILE:LINE[:COLUMN]"),
        ("train.py:x", "`train.py:x` names no line"),
        (":8", "`:8` names no line"),
        ("missing.py:8", "no such file: missing.py"),
        (".:8", "no such file: ."),
    ],
)
def test_what_is_no_place(spot: str, message: str, capsys: Captured) -> None:
    assert main(["explain", spot]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


def test_a_file_that_cannot_be_parsed_is_explained(capsys: Captured) -> None:
    Path("broken.py").write_text("import jax\njax.devices(\n", encoding="utf-8")
    assert main(["explain", "broken.py:2"]) in {0, 1}
    assert "broken.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        ("a.py:3", Spot("a.py", 3)),
        ("a.py:3:5", Spot("a.py", 3, 5)),
        ("a:1:2:3", Spot("a:1", 2, 3)),
        ("C:\\x\\a.py:3", Spot("C:\\x\\a.py", 3)),
        ("n.ipynb:cell 2:3:5", Spot("n.ipynb", 3, 5, 2)),
        ("n.ipynb:cell 2:3", Spot("n.ipynb", 3, None, 2)),
        ("a.py:" + "9" * 5000, None),
        ("a.py:\N{SUPERSCRIPT TWO}", None),
    ],
)
def test_places_are_read_as_reports_write_them(text: str, spot: Spot | None) -> None:
    assert parse(text) == spot
