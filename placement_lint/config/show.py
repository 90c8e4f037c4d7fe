"""Settings as text: what `--show-settings` prints, in the words of a settings file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from placement_lint.config.options import OPTIONS

if TYPE_CHECKING:
    from placement_lint.config.settings import Settings


def show(settings: Settings) -> str:
    """Return settings as the TOML that would set them; what is unset is a comment."""
    source = "no settings file" if settings.source is None else str(settings.source)
    # A comment ends with its line.
    lines = ["# read from: " + source.replace("\n", "\\n").replace("\r", "\\r")]
    for option in OPTIONS:
        if not option.in_files:
            continue
        value = getattr(settings, option.field)
        lines.append(
            f"# {option.name} is not set" if value is None else f"{option.name} = {_toml(value)}"
        )
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        entries = ", ".join(f"{_toml(key)} = {_toml(entry)}" for key, entry in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON's booleans are TOML's, and its strings, but for two characters in the place of one, and
    # for one that TOML wants to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
