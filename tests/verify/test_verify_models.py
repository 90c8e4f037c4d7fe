"""`verify --models` executes the models in the settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from placement_lint.verify.command import VerifyRequest, verify

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = """\
import jax.numpy as jnp


def norm(x):
    return jnp.linalg.norm(x)


def sum_of(x):
    return x.sum().item()


def load(path):
    return {"w": jnp.load(path)}
"""
MODELS = """\
[models]
"acme_ops.norm" = { effect = "compute" }
"acme_ops.sum_of" = { effect = "plain" }
"acme_ops.load" = { effect = "load", gives = "arrays", example = "f(folder / 'array.npy')" }
"acme_ops.absent" = { effect = "host" }
"acme_ops.load.nothing" = { effect = "load" }
"acme_none.f" = { effect = "host" }
"""


@pytest.mark.usefixtures("needs_jax")
def test_each_function_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acme_ops.py").write_text(PACKAGE, encoding="utf-8")
    (tmp_path / "placement-lint.toml").write_text(MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert verify(VerifyRequest(models=True, output_format="json")) == 1
    report = json.loads(capsys.readouterr().out)
    models = {model["name"]: model for model in report["models"]}
    assert models["acme_ops.norm"]["wrong"] == []
    assert models["acme_ops.norm"]["calls"] == {
        "away": "moved, gave 1U",
        "home": "gave 1U",
        "committed": "gave 1C",
        "numpy": "gave 1U",
    }
    assert models["acme_ops.load"]["calls"] == {"outside": "gave 0U", "home": "gave 1U"}
    assert models["acme_ops.load"]["wrong"] == []
    assert models["acme_ops.sum_of"]["wrong"] == [
        "f(x) away: moved, gave no array; expected no move"
    ]
    assert models["acme_ops.absent"]["skipped"] == "there is no acme_ops.absent"
    assert models["acme_none.f"]["skipped"] == "acme_none is not installed"


@pytest.mark.parametrize(
    ("settings", "codes", "message"),
    [
        ("", [], "the settings of this directory have no `models`"),
        (MODELS, ["JDP201"], "--models runs no rules and no data path"),
        ("[models]\nx = 1\n", [], "is not the qualified name of a function"),
    ],
)
def test_what_cannot_be_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    codes: list[str],
    message: str,
) -> None:
    (tmp_path / "placement-lint.toml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert verify(VerifyRequest(models=True, codes=codes)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.every
def test_models_of_a_settings_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    settings = tmp_path / "models.toml"
    settings.write_text('[models]\n"acme_none.f" = { effect = "create" }\n', encoding="utf-8")
    monkeypatch.chdir(here)
    assert verify(VerifyRequest(models=True, output_format="json", configs=[str(settings)])) == 2
    assert [model["name"] for model in json.loads(capsys.readouterr().out)["models"]] == [
        "acme_none.f"
    ]
    assert verify(VerifyRequest(models=True, configs=['models."acme_none.f" = {}'])) == 2
    assert "has no `effect`" in capsys.readouterr().err
