"""The setting `models`: what functions of other packages do, as data."""

from __future__ import annotations

import typing
from collections.abc import Callable
from pathlib import Path

import pytest

from placement_lint.config.options import EFFECTS, GIVES
from placement_lint.jaxmodel.effects import Gives
from placement_lint.jaxmodel.own_models import OWN_EFFECTS

Lint = Callable[..., tuple[int, str, str]]

SETTINGS = """\
[models]
"acme.io.load_params" = { effect = "load", gives = "arrays" }
"acme.io.load_tokens" = { effect = "load" }
"acme.io.as_numpy" = { effect = "host" }
"acme.ops.norm" = { effect = "compute" }
"acme.ops.count" = { effect = "compute", gives = "nothing" }
"acme.ops.same" = { effect = "identity" }
"acme.ops.zeros" = { effect = "create" }
"acme.ops.shape_of" = { effect = "plain" }
"""
HEAD = """\
import jax
from acme import ops
from acme.io import as_numpy, load_params, load_tokens

cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    tokens = load_tokens("x")
    params = load_params("x")
"""


@pytest.fixture
def found(files: Path, lint: Lint) -> Callable[..., list[str]]:
    """Return the codes that a program has with the models above, or with others."""
    for path in files.iterdir():
        path.unlink()

    def run(program: str, settings: str = SETTINGS) -> list[str]:
        Path("placement-lint.toml").write_text(settings, encoding="utf-8")
        Path("a.py").write_text(program, encoding="utf-8")
        _, output, error = lint("--output-format", "flake8")
        assert "error" not in error
        return [line.split(": ")[1].split()[0] for line in output.splitlines()]

    return run


Found = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("ops.norm(tokens)", ["JDP202"]),
        ("ops.norm(params['w'])", ["JDP202"]),
        ("ops.count(tokens)", ["JDP202"]),
        ("ops.same(tokens)[0]", ["JDP201"]),
        ("tokens[0]", ["JDP201"]),
        ("jax.tree.map(ops.norm, params)", ["JDP202"]),
        ("jax.device_put(ops.zeros((2048, 2048)), jax.devices()[1])", ["JDP402"]),
        ("params[0]", []),
        ("as_numpy(tokens)[0]", []),
        ("ops.shape_of(tokens)", []),
        ("ops.norm(ops.shape_of(tokens))", []),
        ("ops.norm(jax.device_put(tokens, jax.devices()[0]))", []),
        ("ops.norm(ops.norm)", []),
        ("ops.unknown(tokens)", []),
        ("ops.unknown(tokens)[0]", []),
    ],
)
def test_what_a_model_says_is_applied(found: Found, line: str, codes: list[str]) -> None:
    assert found(f"{HEAD}\nresult = {line}\n") == codes


def test_without_models_nothing_is_known(found: Found) -> None:
    program = f"{HEAD}\nresult = ops.norm(tokens)\nrow = tokens[0]\n"
    assert found(program) == ["JDP202", "JDP201"]
    # The cache keeps results by all settings.
    assert found(program, SETTINGS.replace('"compute"', '"host"')) == ["JDP201"]
    assert found(program, "") == []
    assert found(program) == ["JDP202", "JDP201"]


def test_a_file_that_names_nothing_of_jax(found: Found) -> None:
    program = (
        "from acme.io import load_tokens\n\ntrain_tokens = load_tokens('train.tokens')\n"
        "for step in range(100):\n    batch = train_tokens[step] + 1\n"
    )
    assert found(program) == ["JDP401"]
    assert found(program, "") == []


def test_a_name_of_another_package_is_not_meant(found: Found) -> None:
    program = HEAD.replace("acme", "other") + "\nresult = ops.norm(tokens)\n"
    assert found(program) == []


def test_modules_of_one_program_go_by_the_same_models(found: Found) -> None:
    Path("data.py").write_text(
        "import jax\nfrom acme.io import load_tokens\n\n\ndef read():\n"
        "    with jax.default_device(jax.devices('cpu')[0]):\n        return load_tokens('x')\n",
        encoding="utf-8",
    )
    program = "from acme import ops\nfrom data import read\n\nresult = ops.norm(read())\n"
    assert found(program) == ["JDP202"]


@pytest.mark.parametrize(
    ("row", "place", "message"),
    [
        (
            '"acme.load" = { effect = "lod" }',
            "2:27",
            "`models`: `acme.load`: `effect` must be one of `compute`, `convert`, `copy`, "
            "`create`, `host`, `identity`, `key`, `load`, `plain`, `sample`, not `lod`; "
            "did you mean `load`?",
        ),
        ('"acme.load" = { gives = "array" }', "2:2", "`acme.load` has no `effect`"),
        (
            '"acme.load" = { efect = "load" }',
            "2:2",
            "`acme.load`: unknown key `efect`; did you mean `effect`?",
        ),
        ('"acme.load" = "load"', "2:2", "must be a table with an `effect`, not a string"),
        ('"acme.load" = { effect = 1 }', "2:2", "`effect` must be a string, not a number"),
        ("load = { effect = 'load' }", "2:1", "`load` is not the qualified name of a function"),
        ('"a-b.load" = {effect = "load"}', "2:2", "is not the qualified name of a function"),
        (
            '"jax.numpy.sum" = { effect = "compute" }',
            "2:2",
            "`jax.numpy.sum`: what functions of jax do is built in",
        ),
    ],
)
def test_mistakes_are_said_with_their_place(
    files: Path, lint: Lint, row: str, place: str, message: str
) -> None:
    (files / "placement-lint.toml").write_text(f"[models]\n{row}\n", encoding="utf-8")
    code, output, error = lint()
    assert (code, output) == (2, "")
    assert error.startswith("error: ")
    assert f"placement-lint.toml:{place}: " in error
    assert message in error
    assert row in error


def test_settings_know_the_effects_of_the_table() -> None:
    assert list(EFFECTS) == sorted(effect.name.lower() for effect in OWN_EFFECTS)
    assert list(GIVES) == [gives.name.lower() for gives in typing.cast("list[Gives]", [*Gives])]
