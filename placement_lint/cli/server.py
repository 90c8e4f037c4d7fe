"""`placement-lint server`: the language server, over standard input and output."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from placement_lint.cli import streams
from placement_lint.cli.parser import USAGE_ERROR, Parser
from placement_lint.version import installing

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = """\
Run the language server: diagnostics as you type, fixes, explanations of rules, and where each array
lives. Editors start it, and use the Language Server Protocol over standard input and output."""

_MISSING = (
    f"error: the language server needs pygls, which is not installed here: {installing('lsp')}"
)


def main(arguments: Sequence[str]) -> int:
    """Run the command; it ends the process, or gives the exit code where it cannot be run."""
    parser = Parser("placement-lint server", description=_DESCRIPTION)
    parser.add_argument(
        "--stdio", action="store_true", help="use standard input and output (the default)"
    )
    parser.parse_args(arguments)
    if importlib.util.find_spec("pygls") is None:
        streams.complain(_MISSING)
        return USAGE_ERROR

    from placement_lint.integrations.lsp.run import run

    return run()
