"""The JSON schema of the settings, made from their table and the rules.

`config/schema.json` is its text; `python -m placement_lint.cli.schema` prints it.
"""

from __future__ import annotations

import json
from typing import Any

from placement_lint.config.options import (
    EFFECTS,
    EXTEND,
    GIVES,
    OPTIONS,
    SEVERITIES,
    Option,
    OptionKind,
)
from placement_lint.config.values import MODELLED, MOST, VERSION, VERSIONS
from placement_lint.rules.registry import all_rules

_ID = (
    "https://raw.githubusercontent.com/placement-lint/placement-lint/main/"
    "placement_lint/config/schema.json"
)


def schema() -> dict[str, Any]:
    """Return the schema of a `placement-lint.toml`, or of the section in a `pyproject.toml`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": _ID,
        "title": "placement-lint",
        "description": "Settings of placement-lint.",
        "type": "object",
        "additionalProperties": False,
        "definitions": {"selector": _selector()},
        "properties": {
            EXTEND.name: _property(EXTEND),
            **{option.name: _property(option) for option in OPTIONS if option.in_files},
        },
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def _selector() -> dict[str, Any]:
    """Return the schema of what names rules: editors offer the codes and names."""
    rules = all_rules()
    known = {"ALL", *(rule.name for rule in rules)}
    for rule in rules:
        known.update(rule.code[:length] for length in range(len("JDP"), len(rule.code) + 1))
    return {
        "description": "A code, the beginning of codes, a name, or ALL.",
        # Capitals make no difference, and codes of other versions are said at the run.
        "anyOf": [{"enum": sorted(known)}, {"type": "string"}],
    }


def _property(option: Option) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    selector = {"$ref": "#/definitions/selector"} if option.metavar.endswith("CODES") else text
    strings = {"type": "array", "items": selector}
    levels = {"type": "string", "enum": [*SEVERITIES]}
    model = {
        "type": "object",
        "required": ["effect"],
        "additionalProperties": False,
        "properties": {
            "effect": {"type": "string", "enum": [*EFFECTS]},
            "gives": {"type": "string", "enum": [*GIVES]},
            "example": text,
        },
    }
    kinds: dict[OptionKind, dict[str, Any]] = {
        OptionKind.STRINGS: strings,
        OptionKind.MAP: {"type": "object", "additionalProperties": strings},
        OptionKind.BOOLEAN: {"type": "boolean"},
        OptionKind.CHOICE: {"type": "string", "enum": [*option.choices, *option.aliases]},
        OptionKind.NUMBER: {"type": "integer", "minimum": 0, "maximum": MOST},
        OptionKind.LEVELS: {
            "type": "object",
            "propertyNames": {"$ref": "#/definitions/selector"},
            "additionalProperties": levels,
        },
        OptionKind.MODELS: {
            "type": "object",
            "propertyNames": {"pattern": rf"^({MODELLED.pattern})$(?!\n)"},
            "additionalProperties": model,
        },
        OptionKind.VERSIONS: {"type": "string", "pattern": rf"^({VERSIONS.pattern})$(?!\n)"},
        OptionKind.PATH: {"type": "string", "pattern": r"^[^\u0000]+$"},
        # A line end at the end is no end for Python's `$`.
        OptionKind.VERSION: {"type": "string", "pattern": rf"^(auto|{VERSION.pattern})$(?!\n)"},
    }
    sentence = option.help[0].upper() + option.help[1:] + "."
    described = {"description": sentence, **kinds[option.kind]}
    if option is not EXTEND and option.default is not None:
        described["default"] = option.default
    return described


if __name__ == "__main__":
    print(schema_text(), end="")
