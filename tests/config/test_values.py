from __future__ import annotations

import re

import pytest

from placement_lint.config.options import OPTIONS, OptionKind
from placement_lint.config.settings import Settings
from placement_lint.config.suggest import nearest
from placement_lint.config.values import SettingsError, check_table


def test_every_setting_is_in_the_table_once() -> None:
    fields = set(vars(Settings())) - {"root", "source", "project"}
    assert sorted(option.field for option in OPTIONS) == sorted(fields)


def test_values_of_every_kind_are_taken() -> None:
    values: dict[OptionKind, object] = {
        OptionKind.STRINGS: ["JDP201", "JDP2"],
        OptionKind.MAP: {"tests/*": ["JDP401"]},
        OptionKind.BOOLEAN: True,
        OptionKind.VERSION: "0.7.2",
        OptionKind.NUMBER: 0,
        OptionKind.PATH: "known.json",
        OptionKind.LEVELS: {"JDP4": "info"},
        OptionKind.VERSIONS: ">=0.1,<0.2",
        OptionKind.MODELS: {"acme.load": {"effect": "load"}},
    }
    for option in OPTIONS:
        value = values.get(option.kind, option.choices[0] if option.choices else None)
        table = check_table({option.name: value}, "x.toml")
        assert list(table) == [option.field]
        Settings(**table)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("selct", [], "x.toml: unknown setting `selct`; did you mean `select`?"),
        ("extend_select", [], "unknown setting `extend_select`; did you mean `extend-select`?"),
        ("qqqqqq", 1, "unknown setting `qqqqqq`; known settings: select, "),
        ("select", "JDP2", "`select` must be a list of strings, not a string"),
        ("select", ["JDP2", 3], "`select` must be a list of strings, not a list with a number"),
        ("ignore", {}, "`ignore` must be a list of strings, not a table"),
        ("fix", "yes", "`fix` must be true or false, not a string"),
        ("fix", 1, "`fix` must be true or false, not a number"),
        ("target-jax", "newest", "`target-jax` must be `auto` or a version such as `0.7.2`"),
        (
            "target-jax",
            "0.7.0+",
            "must be `auto` or a version such as `0.7.2`, not `0.7.0+`; for a",
        ),
        ("target-jax", 0.7, "not a number"),
        (
            "line-length",
            100,
            "unknown setting `line-length`: lines are measured by the formatter's",
        ),
        ("src", ["src"], "unknown setting `src`: modules are found from the files of the run"),
        ("output-format", "pylint", "not `pylint`; use `flake8`"),
        ("accelerator", [], "`accelerator` must be true or false, not a list"),
        ("per-file-ignores", ["x"], "must be a table of lists of strings, not a list"),
        ("per-file-ignores", {"a": "x"}, "table of lists of strings, not a string at `a`"),
        ("per-file-ignores", {"a": [True]}, "not a list with true at `a`"),
        (
            "output-format",
            "jsn",
            "`gitlab`, `junit`, `rdjson`, `markdown`, not `jsn`; did you mean",
        ),
        ("max-findings", -1, "`max-findings` must be a whole number, 0 or more, not a number"),
        ("max-findings", True, "whole number, 0 or more, not true"),
        ("max-findings", "3", "whole number, 0 or more, not a string"),
        ("fail-on", "bad", "`fail-on` must be one of `error`, `warning`, `info`, not `bad`"),
        ("severity", {"JDP4": "bad"}, "must be a table of severities: error, warning or info"),
        ("required-version", ">=", "must be versions, such as `>=0.1,<0.2`, as a string"),
        ("baseline", "", "`baseline` must be a path, as a string, not a string"),
        ("baseline", ["x"], "`baseline` must be a path, as a string, not a list"),
        ("extend", "x.toml", "`extend` belongs in a settings file"),
        ("extends", "x.toml", "unknown setting `extends`; did you mean `extend`?"),
        ("min-confidence", False, "`min-confidence` must be a string, not false"),
    ],
)
def test_what_is_wrong_is_said(key: str, value: object, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        check_table({key: value}, "x.toml")


def test_nearest() -> None:
    assert nearest("ignroe", ["select", "ignore"]) == "ignore"
    assert nearest("zzz", ["select", "ignore"]) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--watch", None),
        ("--nocache", "--no-cache"),
        ("--slect", "--select"),
        ("--ingore", "--ignore"),
        ("lint", None),
        ("chekc", "check"),
        ("x" * 100_000, None),
        ("", None),
    ],
)
def test_only_a_few_letters_may_be_wrong(word: str, meant: str | None) -> None:
    assert nearest(word, ["--no-cache", "--select", "--ignore", "baseline", "check"]) == meant
