from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import placement_lint.config
from placement_lint.cli.schema import schema, schema_text
from placement_lint.config.options import OPTIONS, Option
from placement_lint.config.values import SettingsError, check_extend, check_table

TOP = Path(__file__).parents[2]
OF_FILES = [option for option in OPTIONS if option.in_files]
SHIPPED = Path(placement_lint.config.__file__).with_name("schema.json")


def test_the_shipped_schema_is_what_the_table_gives() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == schema_text()


def test_the_module_prints_it() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint.cli.schema"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == schema_text()


def test_it_is_strict_and_whole() -> None:
    properties = schema()["properties"]
    assert list(properties) == ["extend", *(option.name for option in OF_FILES)]
    assert schema()["additionalProperties"] is False
    assert properties["unsafe-fixes"]["default"] is False
    assert "default" not in properties["select"]
    assert properties["min-confidence"]["enum"] == ["definite", "likely", "possible"]
    json.dumps(properties)


def test_it_offers_codes_and_names() -> None:
    offered = schema()["definitions"]["selector"]["anyOf"][0]["enum"]
    assert {"ALL", "JDP", "JDP2", "JDP201", "uncommitted-array-indexed"} <= {*offered}
    reference = {"$ref": "#/definitions/selector"}
    properties = schema()["properties"]
    assert properties["select"]["items"] == reference
    assert properties["per-file-ignores"]["additionalProperties"]["items"] == reference
    assert properties["severity"]["propertyNames"] == reference
    assert properties["exclude"]["items"] == {"type": "string"}


TEXTS = st.sampled_from(
    [
        "JDP2",
        "flake8",
        "json",
        "likely",
        "definite",
        "auto",
        "0.7.2",
        "v1",
        "info",
        "~=0.1",
        "0.7.2\n",
        "",
        "1.",
        "é",
    ]
)
# To JSON Schema 0.0 is an integer, to TOML it is not.
FRACTIONS = st.floats(0, 1, exclude_min=True, exclude_max=True)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 2), FRACTIONS, TEXTS, st.text(max_size=3)
)
LISTS = st.lists(TEXTS | SCALARS, max_size=2)
VALUES = SCALARS | LISTS | st.dictionaries(TEXTS, LISTS | TEXTS, max_size=2)
KEYS = st.sampled_from(
    ["extend", *(option.name for option in OPTIONS), "fixx", "extend_select", ""]
)


def loads(table: dict[str, object]) -> bool:
    """Return whether settings are taken; a table in `extend` is read without the file in it."""
    given = dict(table)
    try:
        if "extend" in given:
            check_extend(given.pop("extend"), "x.toml")
        check_table(given, "x.toml", is_file=True)
    except SettingsError:
        return False
    return True


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is not installed; the dev extra brings it"
    )
    jsonschema.Draft7Validator.check_schema(schema())
    return jsonschema.Draft7Validator(schema())


# The first text takes long: Hypothesis then sorts all characters.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(table=st.dictionaries(KEYS, VALUES, max_size=3))
def test_what_loads_is_valid_and_nothing_else(validator: Any, table: dict[str, object]) -> None:
    assert validator.is_valid(table) == loads(table)


def test_no_file_can_ask_for_fixes(validator: Any) -> None:
    assert [option.name for option in OPTIONS if not option.in_files] == ["fix"]
    assert not validator.is_valid({"fix": True})
    assert not loads({"fix": True})


@pytest.mark.parametrize("option", OF_FILES, ids=lambda option: option.name)
def test_both_verdicts_are_given_for_every_setting(validator: Any, option: Option) -> None:
    samples: list[object] = [
        ["JDP2"], {"a": ["JDP2"]}, True, "auto", "0.4.30rc1", "x.json", 3, *option.choices,
        {"JDP2": "info"}, ">=0.1,<0.2", {"acme.load": {"effect": "load"}},
    ]  # fmt: skip
    verdicts = {validator.is_valid({option.name: sample}) for sample in samples}
    assert verdicts == {True, False}
    for sample in samples:
        assert validator.is_valid({option.name: sample}) == loads({option.name: sample})


@pytest.mark.parametrize("path", [TOP / "pyproject.toml"], ids=lambda path: path.name)
def test_our_own_settings_are_valid(validator: Any, path: Path) -> None:
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["placement-lint"]
    assert list(validator.iter_errors(table)) == []
