"""The settings, one by one, from their table and its schema."""

from __future__ import annotations

import json
from typing import Any

from placement_lint.cli.schema import schema
from placement_lint.config.options import BY_NAME


def settings() -> str:
    """Give a section for each key that a settings file may have."""
    properties: dict[str, dict[str, Any]] = schema()["properties"]
    return "\n\n".join(_section(name, facts) for name, facts in properties.items())


def _section(name: str, facts: dict[str, Any]) -> str:
    option = BY_NAME.get(name)
    kind = option.kind.value if option else f"a {facts['type']}"
    choices = ", ".join(f"`{choice}`" for choice in facts.get("enum", ()))
    lines = [f"- Type: {kind}" + f", one of {choices}" * bool(choices)]
    if "default" in facts:
        # What JSON writes of these is what TOML does.
        lines.append(f"- Default: `{json.dumps(facts['default'])}`")
    if option and option.on_command_line:
        flag = f"--{name} {option.metavar}".rstrip()
        lines.append(f"- On the command line: `{flag}`")
    else:
        lines.append("- Not available on the command line")
    return f"### {name}\n\n{facts['description']}\n\n" + "\n".join(lines)
