"""The schemas that formats are held to; a test is skipped where their readers are not installed."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "schemas"
_WHY = "comes with the extra `dev`"


def demand_json(text: str, schema: str) -> Any:
    """Read a JSON text that a schema takes; else fail."""
    value = json.loads(text)
    errors = _json_validator(schema).iter_errors(value)
    assert [f"{error.json_path}: {error.message[:300]}" for error in errors] == []
    return value


def demand_xml(text: str, schema: str) -> None:
    """Fail for an XML text that a schema does not take."""
    _xml_schema(schema).validate(text)


@functools.cache
def _json_validator(schema: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason=f"jsonschema {_WHY}")
    told = json.loads((FOLDER / schema).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(told)
    validator.check_schema(told)
    return validator(told)


@functools.cache
def _xml_schema(schema: str) -> Any:
    xmlschema = pytest.importorskip("xmlschema", reason=f"xmlschema {_WHY}")
    return xmlschema.XMLSchema(str(FOLDER / schema))
