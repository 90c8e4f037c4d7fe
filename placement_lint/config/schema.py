"""The JSON schema of the settings, made from their table; `schema.json` beside it is its text.

`python -m placement_lint.config.schema` prints it.
"""

from __future__ import annotations

import json
from typing import Any

from placement_lint.config.options import EXTEND, OPTIONS, SEVERITIES, Option, OptionKind
from placement_lint.config.values import MOST, VERSION, VERSIONS

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
        "properties": {
            EXTEND.name: _property(EXTEND),
            **{option.name: _property(option) for option in OPTIONS if option.in_files},
        },
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def _property(option: Option) -> dict[str, Any]:
    strings = {"type": "array", "items": {"type": "string"}}
    levels = {"type": "string", "enum": [*SEVERITIES]}
    kinds: dict[OptionKind, dict[str, Any]] = {
        OptionKind.STRINGS: strings,
        OptionKind.MAP: {"type": "object", "additionalProperties": strings},
        OptionKind.BOOLEAN: {"type": "boolean"},
        OptionKind.CHOICE: {"type": "string", "enum": list(option.choices)},
        OptionKind.NUMBER: {"type": "integer", "minimum": 0, "maximum": MOST},
        OptionKind.LEVELS: {"type": "object", "additionalProperties": levels},
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
