from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import placement_lint.config
from placement_lint.config.options import OPTIONS
from placement_lint.config.schema import schema, schema_text

SHIPPED = Path(placement_lint.config.__file__).with_name("schema.json")


def test_the_shipped_schema_is_what_the_table_gives() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == schema_text()


def test_the_module_prints_it() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "placement_lint.config.schema"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == schema_text()


def test_it_is_strict_and_whole() -> None:
    properties = schema()["properties"]
    assert list(properties) == [option.name for option in OPTIONS]
    assert schema()["additionalProperties"] is False
    assert properties["fix"]["default"] is False
    assert "default" not in properties["select"]
    assert properties["min-confidence"]["enum"] == ["definite", "likely"]
    json.dumps(properties)
