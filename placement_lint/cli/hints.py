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
    "--extend-fixable": "use `--fixable`",
    "--extend-unfixable": "use `--unfixable`",
    "--extension": "files are read by their endings: .py, .pyi and .ipynb",
    "--fix-only": "use `--fix`, with `--exit-zero` if what is left may stay",
    "--format": "use `--output-format`",
    "--generate-baseline": "use `--write-baseline`",
    "--ignore-noqa": "remove the comments, or list what they suppress with `--output-format sarif`",
    "--line-length": "lines are measured by the formatter's own settings",
    "--new-from-rev": "use `--new-since`",
    "--no-preview": "it is the default",
    "--no-show-fixes": "it is the default",
    "--output": "use `--output-file` or `--output-format`",
    "--preview": "rules that are off by default run where they are selected",
    "--show-source": "use `--output-format full`",
    "--silent": "use `--quiet`",
    "--target-version": "use `--target-jax`; no version of Python is needed",
    "-s": "use `--quiet`",
}
_COMMANDS = {
    "analyze": "`placement-lint --show-files` lists the files of a run",
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
    if word in COMMANDS:
        return f"a command goes before its options: `placement-lint {word} …`"
    near = nearest(word, COMMANDS)
    return None if near is None else f"did you mean `placement-lint {near}`?"
