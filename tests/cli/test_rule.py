from __future__ import annotations

import json

import pytest

from placement_lint.cli import main
from placement_lint.rules.registry import all_rules

RECORDED = {"jax", "not_proved", "no_claim", "devices", "date"}
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("word", ["JDP204", "jdp204", "device-put-discarded"])
def test_text(word: str, capsys: Captured) -> None:
    assert main(["rule", word]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "device-put-discarded (JDP204)\nerror, fixed by --fix\n\n"
        "A `jax.device_put` whose result is discarded.\n\nWhat it does\n"
    )
    assert "```" not in out
    assert "\n    import jax\n" in out
    assert err == ""


def test_markdown_is_the_docstring(capsys: Captured) -> None:
    assert main(["rule", "JDP204", "--output-format", "markdown"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("# device-put-discarded (JDP204)\n\nerror, fixed by --fix\n\nA `jax.")
    assert "\n## Use instead\n```python\nimport jax\n" in out


def test_json(capsys: Captured) -> None:
    assert main(["rule", "JDP204", "JDP900", "--output-format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert set(first.pop("proved") or RECORDED) == RECORDED
    assert all(set(proved) == RECORDED for proved in first.pop("proved_on_accelerators"))
    assert first.pop("documentation").startswith("A `jax.device_put` whose")
    assert first == {
        "url": None,
        "code": "JDP204",
        "name": "device-put-discarded",
        "summary": "A `jax.device_put` whose result is discarded.",
        "severity": "error",
        "fix": "safe",
        "pedantic": False,
    }
    assert (second["code"], second["fix"]) == ("JDP900", None)


def test_the_list(capsys: Captured) -> None:
    assert main(["rule"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in all_rules()]
    assert main(["rule", "--output-format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("| code | name | fix | what |\n|---|---|---|---|\n")


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_all_pages(form: str, capsys: Captured) -> None:
    assert main(["rule", "--all", "--output-format", form]) == 0
    out, _ = capsys.readouterr()
    for rule in all_rules():
        assert f"{rule.name} ({rule.code})" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["JDP2044"], "error: unknown rule `JDP2044`; did you mean `JDP204`?\n"),
        (["device-put-discard"], "did you mean `device-put-discarded`?"),
        (["--all", "JDP204"], "--all explains every rule"),
        (
            ["--output-format", "yaml"],
            "unknown value `yaml`; use `text`, `markdown` or `json`",
        ),
    ],
)
def test_wrong_usage_is_2(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main(["rule", *arguments]) == 2
    assert message in capsys.readouterr().err
