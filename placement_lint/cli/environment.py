"""Options that an environment variable sets where the command line does not."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from placement_lint.cli.parser import Parser

_PREFIX = "PLACEMENT_LINT_"
_YES = ("1", "on", "true", "yes")
_NO = ("0", "off", "false", "no")


def add_from(environment: Mapping[str, str], args: argparse.Namespace, parser: Parser) -> None:
    """Set the options of which a variable speaks and the command line does not.

    An empty variable is none. Ends the run where a value cannot be used.
    """
    given = {
        name.removeprefix(_PREFIX): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and value
    }
    if not given:
        return
    if not args.isolated:
        args.config = settings_files(environment, args.config, parser)
    if "OUTPUT_FORMAT" in given and args.output_format is None:
        args.output_format = _format(given["OUTPUT_FORMAT"], parser)
    if "OUTPUT_FILE" in given and not args.output_file:
        args.output_file = [given["OUTPUT_FILE"]]
    if "CACHE_DIR" in given and args.cache_dir is None:
        args.cache_dir = given["CACHE_DIR"]
    if "NO_CACHE" in given and not args.no_cache:
        args.no_cache = _is_true("NO_CACHE", given["NO_CACHE"], parser)


def settings_files(environment: Mapping[str, str], configs: list[str], parser: Parser) -> list[str]:
    """Return the values of `--config`, with the file that a variable names if they name none."""
    value = environment.get(f"{_PREFIX}CONFIG")
    if not value or any(map(_names_file, configs)):
        return configs
    return [_path(value, parser), *configs]


def cache_folder(environment: Mapping[str, str]) -> str:
    """Return the cache directory that a variable names; empty if none does."""
    return environment.get(f"{_PREFIX}CACHE_DIR", "")


def _names_file(config: str) -> bool:
    from placement_lint.config.load import is_file_argument

    return is_file_argument(config)


def _path(value: str, parser: Parser) -> str:
    if not _names_file(value):
        parser.error(f"{_PREFIX}CONFIG: there is no settings file {value}")
    return value


def _format(value: str, parser: Parser) -> str:
    from placement_lint.config.options import FORMAT_ALIASES, FORMATS
    from placement_lint.config.suggest import value_hint

    value = FORMAT_ALIASES.get(value, value)
    if value not in FORMATS:
        hint = value_hint(value, FORMATS) or f"use one of {', '.join(FORMATS)}"
        parser.error(f"{_PREFIX}OUTPUT_FORMAT: unknown format `{value}`; {hint}")
    return value


def _is_true(name: str, value: str, parser: Parser) -> bool:
    word = value.lower()
    if word not in _YES + _NO:
        parser.error(f"{_PREFIX}{name}: `{value}` is neither true nor false")
    return word in _YES
