"""What to use here for what other linters have: asked only where something is unknown."""

from __future__ import annotations

from placement_lint.config.suggest import nearest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection

COMMANDS = (
    *("check", "rule", "explain", "verify", "trace", "server", "daemon", "clean"),
    "generate-shell-completion",
)
"""The names of all commands."""
_OPTIONS = {
    "--add-ignore": "use `--add-noqa`",
    "--baseline-commit": "use `--new-since`",
    "--diff-filter": "use `--new-since`",
    "--disable": "use `--ignore`",
    "--enable": "use `--extend-select`",
    "--explain": "use `placement-lint rule CODE`",
    "--format": "use `--output-format`",
    "--generate-baseline": "use `--write-baseline`",
    "--line-length": "lines are measured by the formatter's own settings",
    "--new-from-rev": "use `--new-since`",
    "--output": "use `--output-file` or `--output-format`",
    "--preview": "rules that are off by default run where they are selected",
    "--show-source": "use `--output-format full`",
    "--silent": "use `--quiet`",
    "--target-version": "use `--target-jax`; no version of Python is needed",
    "-e": "use `--exit-zero`",
    "-n": "use `--no-cache`",
    "-o": "use `--output-file`",
    "-s": "use `--quiet`",
}
_COMMANDS = {
    "config": "`placement-lint --show-settings` shows the settings",
    "fix": "`placement-lint --fix` applies fixes",
    "format": "this is no formatter",
    "help": "use `placement-lint --help`",
    "lint": "use `placement-lint [PATH ...]`",
    "linter": "`placement-lint rule` lists the rules",
    "lsp": "use `placement-lint server`",
    "rules": "`placement-lint rule` lists the rules",
    "version": "use `placement-lint --version`",
}


def option_hint(word: str, known: Collection[str]) -> str | None:
    """Return what to use in the place of an unknown option, in a few words."""
    if word in _OPTIONS:
        return _OPTIONS[word]
    longer = [name for name in known if name.startswith(word)] if len(word) > 3 else []
    if len(longer) == 1:
        return f"did you mean `{longer[0]}`?"
    near = nearest(word, known) if word.startswith("--") else None
    return None if near is None else f"did you mean `{near}`?"


def command_hint(word: str) -> str | None:
    """Return which command was probably meant by a path that is not there, in a few words."""
    if word in _COMMANDS:
        return _COMMANDS[word]
    near = nearest(word, COMMANDS)
    return None if near is None else f"did you mean `placement-lint {near}`?"
